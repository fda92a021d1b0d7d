"""Measure a model on a corpus, with 95 % intervals: an extractive one by ROUGE, beside lead, oracle and a random pick;
a Transformer by BLEU and ROUGE; a classifier by accuracy and F1."""

import argparse
import collections
import contextlib
import itertools
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Sequence

import tfsum
from tfsum.cli.label_columns import add_label_arguments, label_columns
from tfsum.cli.search_options import add_search_arguments, take_search
from tfsum.errors import DataError, ExportError
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum evaluate saved_models/bert_sum_ext_news_en/1 test.jsonl
  tfsum evaluate runs/news/best test.jsonl.gz --format json
  tfsum evaluate served/translator test.tsv.gz --source 1 --target 2 --words plain
  tfsum evaluate runs/english_german/best test.en --targets test.de --search greedy
  tfsum evaluate runs/tweets/best test.tsv --text 1 --label 2
"""

BATCH = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="an exported model, or a model folder (which is exported for the occasion)")
    add("corpus", metavar="CORPUS", help=".jsonl, .csv or .tsv (or .gz of them) with texts and summaries")
    add("-n", "--sentences", type=int, default=3, metavar="N", help="of every extractive system (default 3)")
    add("--source", metavar="COLUMN", help="of a Transformer's corpus: the texts (default source); a number from 1 in "
        "a table without a header line")
    add("--target", metavar="COLUMN", help="likewise what is expected (default target)")
    add("--targets", metavar="FILE", help="what is expected, a line each, where CORPUS holds the texts, a line each")
    add("--target-lines", type=int, metavar="N", help="likewise only its first N lines (default: as in training)")
    add("--tokenize", choices=("13a", "intl", "zh", "char", "none"), default="13a",
        help="the words of BLEU, see sacrebleu (default 13a)")
    add("--limit", type=int, metavar="N", help="only the first N documents")
    add(
        "--words",
        choices=("english", "plain"),
        default="english",
        help="english (default): rouge-score's words, stemmed; plain: whole words of every alphabet",
    )
    add("--samples", type=int, default=1000, metavar="N", help="of the bootstrap (default 1000)")
    add("--seed", type=int, default=0, help="of the random pick and the bootstrap (default 0)")
    add("--format", choices=("text", "json"), default="text", help="default text")
    add_label_arguments(parser)
    add_search_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    for place in (arguments.model, arguments.corpus, arguments.targets):
        if place is not None and not pathlib.Path(place).exists():
            arguments.parser.error(f"no such file or folder: {place}")
    if arguments.target_lines is not None and arguments.target_lines < 1:
        arguments.parser.error(f"--target-lines is {arguments.target_lines}; expected at least 1")
    load_tensorflow()
    seed, english = arguments.seed, arguments.words == "english"
    with exported(arguments.model, take_search(vars(arguments).copy())) as model:
        answer = tfsum.load(model)
        if answer.description["kind"] == "abstractive":
            columns = {name: getattr(arguments, name) or name for name in ("source", "target")}
            lines = arguments.target_lines or answer.description.get("recipe", {}).get("data", {}).get("target_lines")
            pairs = read_pairs(arguments.corpus, arguments.targets, columns, lines, arguments.limit)
            report = measure_pairs(answer, pairs, arguments.tokenize, english, arguments.samples, seed)
        elif answer.description["kind"] == "classifier":
            columns = label_columns(arguments, answer.description)
            report = measure_labels(answer, arguments.corpus, columns, arguments.limit, arguments.samples, seed)
        else:
            documents = read(arguments.corpus, arguments.limit)
            report = measure(answer, documents, arguments.sentences, english, arguments.samples, seed)
    print(report.to_json() if arguments.format == "json" else report.to_text())
    return 0


def measure_labels(
    classify, corpus: str, columns: dict[str, str | None], limit: int | None = None, samples: int = 1000, seed: int = 0
):
    """Score a classifier on labelled texts; how many of them were cut is told on standard error.

    Args:
        classify: the loaded model.
        corpus: the file.
        columns: see `tfsum.data.labelled_texts.read_labelled`.
        limit: only the first texts.
        samples, seed: of the bootstrap.

    Returns:
        A `tfsum.evaluation.classification.ClassificationReport`.
    """
    from tfsum.data.labelled_texts import read_labelled
    from tfsum.evaluation.classification import evaluate_labels

    texts, names = read_labelled(corpus, **columns).first(limit), classify.description["labels"]
    labels, answers = texts.label_ids(names), []  # strange labels are an error before the work, not after it
    for group in batches(list(range(len(texts)))):
        pairs = None if texts.pairs is None else [texts.pairs[i] for i in group]
        answers += classify([texts.texts[i] for i in group], pairs)
    if cut := sum(answer.coverage < 1 for answer in answers):
        print(f"tfsum: {corpus}: {cut} of {len(texts)} texts were cut to what the model reads", file=sys.stderr)
    return evaluate_labels({"model": [names.index(answer.label) for answer in answers]}, labels, names,
                           samples=samples, seed=seed)


def measure_pairs(
    answer, pairs: Sequence[tuple[str, str]], tokenize: str = "13a", english: bool = True, samples: int = 1000,
    seed: int = 0,
):
    """Score an abstractive model on pairs of texts.

    Args:
        answer: the loaded model.
        pairs: source and target of each.
        tokenize: the words of BLEU.
        english, samples, seed: as in `measure`.

    Returns:
        A `tfsum.evaluation.generation.GenerationReport`, which also tells how many sources were cut, and how many
        answers stop because they may not be longer.
    """
    from tfsum.evaluation.generation import evaluate_texts

    sources, targets = zip(*pairs, strict=True)
    answers = [written for texts in batches(list(sources)) for written in answer(texts)]
    cut = sum(written.coverage < 1 for written in answers)
    unended = sum(not written.ended for written in answers)
    return evaluate_texts([written.summary for written in answers], targets, tokenize=tokenize, english=english,
                          samples=samples, seed=seed, cut=cut, unended=unended)


def read_pairs(
    corpus: str, targets: str | None, columns: dict[str, str], lines: int | None, limit: int | None
) -> list[tuple[str, str]]:
    """The pairs that have both texts, of a target its first `lines`; how many have not is told on standard error."""
    from tfsum.data import pairs

    found = [(source, "\n".join(target.split("\n")[:lines]))
             for source, target in itertools.islice(pairs.read_pairs(corpus, targets, **columns), limit)]
    whole = [pair for pair in found if all(pair)]
    if len(whole) < len(found):
        print(f"tfsum: {corpus}: left out {len(found) - len(whole)} pairs without a text", file=sys.stderr)
    if not whole:
        raise DataError(f"{corpus}: no pair has both texts; name their columns with --source and --target")
    return whole


def measure(
    summarize,
    documents: Sequence[dict[str, str]],
    sentences: int = 3,
    english: bool = True,
    samples: int = 1000,
    seed: int = 0,
):
    """Score an extractive model on documents with summaries.

    Args:
        summarize: the loaded model.
        documents: each with `text` and `summary`, a sentence a line.
        sentences: chosen by every system.
        english: see `tfsum.evaluation.rouge.score_pair`.
        samples: of the bootstrap.
        seed: of the random pick and the bootstrap.

    Returns:
        A `tfsum.evaluation.report.Report`.
    """
    from tfsum.data.oracle import greedy_labels
    from tfsum.evaluation.report import evaluate
    from tfsum.text.sentence_splitter import SentenceSplitter

    splitter = SentenceSplitter(summarize.description["text"]["newline"])
    chosen, split = [], []
    for texts in batches([document["text"] for document in documents]):
        chosen += [answer.sentences for answer in summarize(texts, sentences=sentences)]
        rows = splitter.split(texts)["sentences"].to_list()
        split += [[sentence.decode("utf-8") for sentence in row] for row in rows]
    return evaluate(
        {"model": chosen},
        [document["summary"] for document in documents],
        documents=split,
        label=lambda row, summary: greedy_labels(row, summary, sentences),
        sentences=sentences,
        english=english,
        samples=samples,
        seed=seed,
    )


def read(corpus: str, limit: int | None) -> list[dict[str, str]]:
    """The documents that have a text and a summary; how many have none is told on standard error."""
    from tfsum.data.readers import read_corpus

    counts = collections.Counter()
    documents = []
    for document in read_corpus(corpus, counts=counts):
        if limit is not None and len(documents) >= limit:
            break
        if document["text"].strip() and document["summary"].strip():
            documents.append(document)
    left_out = {name: counts[name] for name in ("empty", "without_summary") if counts[name]}
    if left_out:
        print(f"tfsum: {corpus}: left out " + ", ".join(f"{n} {k}" for k, n in left_out.items()), file=sys.stderr)
    if not documents:
        raise DataError(f"{corpus}: no document has a text and a summary; expected fields named text and summary")
    return documents


def batches(texts: list) -> Iterator[list]:
    """Groups of texts, or of their places, with a bar on standard error."""
    import tqdm

    with tqdm.tqdm(total=len(texts), unit=" documents", file=sys.stderr) as bar:
        for first in range(0, len(texts), BATCH):
            yield texts[first : first + BATCH]
            bar.update(len(texts[first : first + BATCH]))


@contextlib.contextmanager
def exported(model: str, search: dict) -> Iterator[str]:
    """The model where it is exported; a model folder in an export that lives as long as the evaluation."""
    if not (pathlib.Path(model) / "config.json").is_file():
        if search:
            raise ExportError(f"{model}: was exported with a search of its own; leave out {', '.join(sorted(search))}, "
                              "or give the model folder")
        yield model
        return
    from tfsum.export import export_model

    with tempfile.TemporaryDirectory() as folder:
        # TF Text's operations give the same bytes faster, and this process has them.
        yield str(export_model(model, pathlib.Path(folder) / "model" / "1", ops="text", **search))
