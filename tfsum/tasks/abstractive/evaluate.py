"""A Transformer measured on pairs of texts, by BLEU and ROUGE."""

import itertools
import pathlib
import sys

from tfsum.data.readers import Corpus, corpus_name
from tfsum.errors import DataError, Error
from tfsum.evaluation.groups import groups
from tfsum.tasks.abstractive.generator import Generator
from tfsum.tasks.abstractive.prepare import read_pairs
from tfsum.tasks.abstractive.report import GenerationReport, evaluate_texts


def evaluate(
    generator: Generator,
    corpus: Corpus,
    *,
    targets: str | pathlib.Path | None = None,
    source: str = "source",
    target: str = "target",
    target_lines: int | None = None,
    tokenize: str = "13a",
    words: str = "english",
    limit: int | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> GenerationReport:
    """Scores an abstractive model.

    Args:
        generator: the loaded model.
        corpus: a file with both texts, or rows of them, or beside `targets` a file of sources, one a line.
        targets: a file of as many targets.
        source, target: names of the columns, see `tfsum.tasks.abstractive.prepare.read_pairs`.
        target_lines: the first lines of a target that are kept; None is as in the model's recipe, else all.
        tokenize: the words of BLEU, as sacrebleu names its tokenizers.
        words: those of ROUGE: "english" (stemmed) or "plain".
        limit: only the first pairs.
        samples: of both bootstraps.
        seed: of ROUGE's bootstrap.

    Returns:
        The report, with the numbers of sources cut and of answers that reached the maximum length; the number of
        pairs left out is written to standard error.

    Raises:
        DataError: the corpus cannot be read, or no pair has both texts.
        Error: `target_lines` is below 1.
    """
    if target_lines is None:
        target_lines = generator.description.get("recipe", {}).get("data", {}).get("target_lines")
    elif target_lines < 1:
        raise Error(f"evaluate: target_lines is {target_lines}; expected 1 or more")
    pairs = _pairs(corpus, targets, source, target, target_lines, limit)
    answers = [
        written for group in groups(pairs) for written in generator([text for text, _ in group])
    ]
    return evaluate_texts(
        [written.summary for written in answers],
        [expected for _, expected in pairs],
        tokenize=tokenize,
        english=words == "english",
        samples=samples,
        seed=seed,
        cut=sum(written.coverage < 1 for written in answers),
        unended=sum(not written.ended for written in answers),
    )


def _pairs(
    corpus: Corpus,
    targets: str | pathlib.Path | None,
    source: str,
    target: str,
    lines: int | None,
    limit: int | None,
) -> list[tuple[str, str]]:
    """The pairs that have both texts, with the first `lines` of a target; the others are counted on standard error."""
    every = read_pairs(corpus, targets, source=source, target=target)
    found = [
        (text, "\n".join(expected.split("\n")[:lines]))
        for text, expected in itertools.islice(every, limit)
    ]
    whole = [pair for pair in found if all(pair)]
    name = corpus_name(corpus)
    if len(whole) < len(found):
        print(
            f"tfsum: {name}: left out {len(found) - len(whole)} pairs without a text",
            file=sys.stderr,
        )
    if not whole:
        raise DataError(
            f"{name}: no pair has both texts; name their columns with source and target (--source and "
            "--target)"
        )
    return whole
