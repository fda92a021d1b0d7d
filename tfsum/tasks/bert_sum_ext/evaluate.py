"""Evaluates an extractive model beside lead, the longest sentences, a random pick and an oracle: a
table with intervals, or JSON."""

import dataclasses
import hashlib
import itertools
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Literal, get_args

import numpy as np

from tfsum.data.documents.oracle import greedy_labels
from tfsum.data.preparation import batched
from tfsum.data.readers import Corpus, corpus_name, read_corpus
from tfsum.errors import DataError, require
from tfsum.evaluation.comparison import DIFFERENCE, Report, bootstrap_intervals, comparison_lines
from tfsum.evaluation.readability import fault_shares, repeated_pairs
from tfsum.evaluation.rouge import METRICS, WORDS, score_each
from tfsum.papers.selection import original_systems
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer
from tfsum.text.sentence_splitter import SentenceSplitter
from tfsum.text.words import is_unspaced, split_words

Selection = Literal["model", "bertsum", "bertsum_recall"]
Summaries = Sequence[Sequence[str]]
BASELINE = "lead"
KEYS = ("precision", "recall", "f", "low", "high", *DIFFERENCE)
PLACES = {"1": range(1), "2": range(1, 2), "3": range(2, 3), "4-10": range(3, 10)}  # and later
REASONS = {"empty": "text", "without_summary": "summary"}
"""Why a document is left out: the field that is blank."""


@dataclasses.dataclass
class ExtractiveReport(Report):
    """Scores of every system on the same documents, from 0 to 100.

    Attributes:
        documents: Number of documents.
        baseline: The system that `difference` compares with.
        settings: Further settings of the evaluation (sentences, seed, samples, words; units where
            ROUGE counts characters, in references of a script without spaces).
        systems: Name -> metric -> `precision`, `recall`, `f`, `low`, `high` (95 % interval of f),
            `difference` (mean of f minus the baseline's f of the same document), `difference_low`,
            `difference_high`; name -> `sentences` and `words`, mean numbers, and `repeated`, the
            share of the pairs of words that a summary has already; and, with the documents, name ->
            `faults`, see `tfsum.evaluation.readability.fault_shares`, and `places`, the share of
            the chosen sentences at each of `PLACES` of the document and "later".

    Example:
        >>> report = score_systems(
        ...     {"model": [["It rained."]]}, ["It rained."], [["It rained."]], samples=10
        ... )
        >>> report.systems["model"]["rouge1"]["f"]
        100.0
    """

    documents: int
    baseline: str
    settings: dict
    systems: dict[str, dict]

    def to_text(self) -> str:
        """Returns the report as a table: F with intervals, then the differences."""
        lines = comparison_lines(
            self.systems, METRICS, "f", self.baseline, unit=" F", count="sentences"
        )
        if any("faults" in system for system in self.systems.values()):
            lines += ["", "share of the summaries with a fault, and words of a summary"]
            for name, system in self.systems.items():
                lines.append(f"{name:7s} {_percent(system['faults'])}; {system['words']:.1f} words")
            lines += ["", "places of the sentences, and pairs of words that a summary repeats"]
            for name, system in self.systems.items():
                repeated = _percent({"repeated": system["repeated"]})
                lines.append(f"{name:7s} {_percent(system['places'])}; {repeated}")
        return "\n".join([*lines, "", f"{self.documents} documents; {self.settings_line()}"])


def evaluate(
    summarizer: Summarizer,
    corpus: Corpus,
    *,
    sentences: int | Literal["auto"] = 3,
    words: str = "english",
    limit: int | None = None,
    samples: int = 1000,
    seed: int = 0,
    text: str = "text",
    summary: str = "summary",
    selection: Selection = "model",
) -> ExtractiveReport:
    """Scores an extractive model.

    Args:
        summarizer: The loaded model.
        corpus: A file, or rows with `text` and `summary`, a sentence a line; see
            `tfsum.data.readers.read_corpus`.
        sentences: Number of sentences that every system chooses; "auto" for the model's own choice,
            beside three of the others.
        words: "english" (stemmed) or "plain", see `tfsum.evaluation.rouge.score_pair`.
        limit: Number of documents to read, from the first; None reads all.
        samples: Samples of the bootstrap.
        seed: Seed of the random pick and the bootstrap.
        text, summary: The corpus's names of these fields.
        selection: "model", as the model was exported; "bertsum", as the test of BertSum and
            PreSumm: by score and with trigram blocking, also for lead, and in the order of choice;
            or "bertsum_recall", their `recall_eval`: as many sentences as fill the number of words
            of the reference, to which they are cut.

    Returns:
        The report; the number of documents left out is written to standard error.

    Raises:
        DataError: Corpus cannot be read, or no document has a text and a summary.
        Error: `selection` is none of these, or one of the papers' with "auto".
    """
    require(
        selection in get_args(Selection),
        f"evaluate: selection is {selection!r}; expected one of {', '.join(get_args(Selection))}",
    )

    require(
        sentences != "auto" or selection == "model",
        f"evaluate: sentences is 'auto' and selection {selection!r}; give a number",
    )
    number = 3 if sentences == "auto" else sentences

    documents = _documents(corpus, limit, text, summary)
    references = [document["summary"] for document in documents]

    told: dict[str, object] = {"selection": selection}
    split: list[list[str]] | None = None  # for baselines, which the papers' selections have
    if selection == "model":
        told = {"sentences": sentences}
        splitter, split = SentenceSplitter(summarizer.description["text"]["newline"]), []
        systems: dict[str, list[list[str]]] = {"model": []}
        for texts in batched([document["text"] for document in documents], unit="documents"):
            answers = summarizer(texts, sentences=sentences)
            systems["model"] += [answer.sentences for answer in answers]
            rows = splitter.split(texts)["sentences"].to_list()
            split += [[sentence.decode("utf-8") for sentence in row] for row in rows]
    else:
        scored = [
            summarizer.score(document["text"])
            for group in batched(documents, unit="documents")
            for document in group
        ]
        systems = original_systems(
            [(each.sentences, each.scores) for each in scored],
            [reference.split("\n") for reference in references],
            number,
            recall=selection == "bertsum_recall",
        )

    report = score_systems(
        systems,
        references,
        split,
        sentences=number,
        english=words == "english",
        samples=samples,
        seed=seed,
    )
    report.settings |= told
    return report


def _documents(corpus: Corpus, limit: int | None, text: str, summary: str) -> list[dict[str, str]]:
    """The documents that have a text and a summary; the others are counted on standard error."""
    left_out: Counter[str] = Counter()

    def is_whole(row: dict[str, str]) -> bool:
        missing = [reason for reason, field in REASONS.items() if not row[field].strip()]
        left_out.update(missing)
        return not missing

    rows = read_corpus(corpus, text=text, summary=summary)
    documents = list(itertools.islice(filter(is_whole, rows), limit))

    name = corpus_name(corpus)
    if left_out:
        counted = ", ".join(f"{left_out[reason]} {reason}" for reason in sorted(left_out))
        print(f"tfsum: {name}: left out {counted}", file=sys.stderr)
    require(
        documents,
        f"{name}: no document has a text and a summary in its fields {text} and {summary}; name"
        " the fields that hold them (text, summary)",
        DataError,
    )
    return documents


def score_systems(
    systems: Mapping[str, Summaries],
    references: Sequence[str],
    documents: Summaries | None = None,
    *,
    sentences: int = 3,
    english: bool = True,
    samples: int = 1000,
    seed: int = 0,
) -> ExtractiveReport:
    """Scores systems on the same documents, beside baselines made of the documents' own sentences.

    Args:
        systems: Name -> (D,) chosen sentences of each document.
        references: (D,) reference summaries, with a sentence a line.
        documents: (D,) all sentences of each document; given, the baselines `lead`, `longest`,
            `random` and `oracle` are added. Without them `lead` is one of the systems.
        sentences: Number of sentences in a baseline's summary.
        english: Whether words are stemmed, as in `tfsum.evaluation.rouge.score_pair`.
        samples: Samples of the bootstrap.
        seed: Seed of the random pick and the bootstrap.

    Returns:
        The report.

    Example:
        >>> documents = [["It snowed.", "It rained."]]
        >>> systems = {"model": [["It rained."]]}
        >>> report = score_systems(systems, ["It rained."], documents, sentences=1, samples=10)
        >>> list(report.systems)
        ['model', 'lead', 'longest', 'random', 'oracle']
    """
    if documents is not None:
        systems = {
            **systems,
            BASELINE: [document[:sentences] for document in documents],
            "longest": longest_pick(documents, sentences),
            "random": random_pick(documents, sentences, seed),
            "oracle": oracle(documents, references, sentences),
        }

    scores = {
        name: score_each(summaries, references, english) for name, summaries in systems.items()
    }
    table = _table(scores, samples, seed)

    for name, summaries in systems.items():
        words = [sum(len(sentence.split()) for sentence in summary) for summary in summaries]
        table[name] |= {
            "sentences": float(np.mean([*map(len, summaries)])),
            "words": float(np.mean(words)),
            "repeated": float(np.mean([*map(repeated_pairs, summaries)])),
        }
        if documents is not None:
            places = places_of(summaries, documents)
            table[name]["faults"] = fault_shares(summaries, follows(places))
            table[name]["places"] = _shares_of(places)

    settings = {"sentences": sentences, "words": WORDS[english], "samples": samples, "seed": seed}
    counted = split_words(" ".join(references))
    if 2 * sum(is_unspaced(ord(word[0])) for word in counted) > len(counted):
        settings["units"] = "characters"
    return ExtractiveReport(len(references), BASELINE, settings, table)


def _table(scores: dict[str, np.ndarray], samples: int, seed: int) -> dict[str, dict]:
    """Means, intervals and paired differences of (D, metrics, P R F) scores of each system."""
    # (D, systems, metrics, P R F), and (D, systems, metrics, F and its difference)
    every = np.stack([*scores.values()], axis=1)
    f = 100 * every[..., 2]
    columns = np.stack([f, f - f[:, [list(scores).index(BASELINE)]]], axis=-1)
    ends = [columns.mean(0), *bootstrap_intervals(columns, samples, seed)]

    values = [*np.moveaxis(100 * every[..., :2].mean(0), -1, 0)]
    values += [end[..., i] for i in range(2) for end in ends]  # in the order of `KEYS`
    rows = np.stack(values, axis=-1).tolist()
    return {
        name: {metric: dict(zip(KEYS, row)) for metric, row in zip(METRICS, metrics)}
        for name, metrics in zip(scores, rows)
    }


def places_of(summaries: Summaries, documents: Summaries) -> list[list[int]]:
    """The places of chosen sentences in their documents, from 0; -1 for one that is not there.

    Args:
        summaries: (D,) chosen sentences of each document, whole or without a dateline.
        documents: (D,) all sentences of each document.

    Example:
        >>> places_of([["It rained.", "It froze."]], [["It rained.", "It snowed.", "It froze."]])
        [[0, 2]]
    """
    return [
        [
            next((i for i, whole in enumerate(document) if whole.endswith(sentence)), -1)
            for sentence in summary
        ]
        for summary, document in zip(summaries, documents, strict=True)
    ]


def follows(places: Sequence[Sequence[int]]) -> list[list[bool]]:
    """Tells of each chosen sentence whether the one before it in the document is chosen too.

    Args:
        places: (D,) places of the chosen sentences, see `places_of`.

    Returns:
        (D,) lists of flags, True also for a document's first sentence.

    Example:
        >>> follows([[0, 2, 3]])
        [[True, False, True]]
    """
    return [[place == 0 or place - 1 in row for place in row] for row in places]


def _shares_of(places: Sequence[Sequence[int]]) -> dict[str, float]:
    """The share of the sentences at each of `PLACES`, and of those later."""
    flat = [place for row in places for place in row if place >= 0]
    counts = {name: sum(place in held for place in flat) for name, held in PLACES.items()}
    counts["later"] = len(flat) - sum(counts.values())
    return {name: count / max(1, len(flat)) for name, count in counts.items()}


def _percent(shares: Mapping[str, float]) -> str:
    return ", ".join(f"{name} {100 * share:.1f} %" for name, share in shares.items())


def longest_pick(documents: Summaries, sentences: int = 3) -> list[list[str]]:
    """The longest sentences, in the order of the document: what a model finds that knows no word.

    Args:
        documents: (D,) lists of sentences.
        sentences: Number of sentences.

    Returns:
        (D,) lists of at most that many sentences.

    Example:
        >>> longest_pick([["Yes.", "It rained all day.", "It snowed."]], sentences=2)
        [['It rained all day.', 'It snowed.']]
    """
    chosen = [
        sorted(range(len(document)), key=lambda i: -len(document[i]))[:sentences]
        for document in documents
    ]
    return [[document[i] for i in sorted(row)] for document, row in zip(documents, chosen)]


def random_pick(documents: Summaries, sentences: int = 3, seed: int = 0) -> list[list[str]]:
    """Sentences drawn without replacement, in the order of the document.

    Args:
        documents: (D,) lists of sentences.
        sentences: Number of sentences.
        seed: Seed of the draw, which depends on the document alone, not on its place in the
            corpus.

    Returns:
        (D,) lists of at most that many sentences.

    Example:
        >>> random_pick([["It rained.", "It snowed."]], sentences=2)
        [['It rained.', 'It snowed.']]
    """
    picked = []
    for document in documents:
        content = "\n".join(document).encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(content, digest_size=8).digest()
        random = np.random.default_rng([seed, int.from_bytes(digest, "little")])
        places = np.sort(random.permutation(len(document))[:sentences])
        picked.append([document[i] for i in places])
    return picked


def oracle(documents: Summaries, references: Sequence[str], sentences: int = 3) -> list[list[str]]:
    """The sentences that the greedy oracle labels, the upper bound of the training labels.

    Args:
        documents: (D,) lists of sentences.
        references: (D,) reference summaries.
        sentences: Number of sentences.

    Returns:
        (D,) lists of at most that many sentences, in the order of the document.

    Example:
        >>> oracle([["It rained.", "The bridge was closed."]], ["The bridge closed."])
        [['The bridge was closed.']]
    """
    return [
        list(itertools.compress(document, greedy_labels(document, reference, sentences)))
        for document, reference in zip(documents, references, strict=True)
    ]
