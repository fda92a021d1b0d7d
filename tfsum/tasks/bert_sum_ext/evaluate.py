"""Evaluates an extractive model beside lead, oracle and a random pick."""

import collections
import itertools
import sys
from collections.abc import Iterator
from typing import Any, Literal, get_args

from tfsum.data.documents.oracle import greedy_labels
from tfsum.data.readers import Corpus, corpus_name, read_corpus
from tfsum.errors import DataError, Error
from tfsum.evaluation.batched import batched
from tfsum.papers.selection import original_systems
from tfsum.tasks.bert_sum_ext.report import ExtractiveReport, score_systems
from tfsum.tasks.bert_sum_ext.summarizer import Summarizer
from tfsum.text.sentence_splitter import SentenceSplitter

Selection = Literal["model", "bertsum", "bertsum_recall"]
REASONS = {"empty": "text", "without_summary": "summary"}
"""Why a document is left out: the field that is blank."""


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
    if selection not in get_args(Selection):
        raise Error(
            f"evaluate: selection is {selection!r}; expected one of"
            f" {', '.join(get_args(Selection))}"
        )

    if sentences == "auto" and selection != "model":
        raise Error(f"evaluate: sentences is 'auto' and selection {selection!r}; give a number")
    number = 3 if sentences == "auto" else sentences
    documents = _documents(corpus, limit, text, summary)
    own: dict[str, Any] = {}  # what only the comparison with the model's own selection has
    if selection == "model":
        splitter = SentenceSplitter(summarizer.description["text"]["newline"])
        chosen, split = [], []
        for texts in batched([document["text"] for document in documents]):
            chosen += [answer.sentences for answer in summarizer(texts, sentences=sentences)]
            rows = splitter.split(texts)["sentences"].to_list()
            split += [[sentence.decode("utf-8") for sentence in row] for row in rows]
        systems = {"model": chosen}
        own = {
            "documents": split,
            "label": lambda row, summary: greedy_labels(row, summary, number),
        }
    else:
        scored = [
            summarizer.score(document["text"]) for group in batched(documents) for document in group
        ]
        systems = original_systems(
            [(each.sentences, each.scores) for each in scored],
            [document["summary"].split("\n") for document in documents],
            number,
            recall=selection == "bertsum_recall",
        )

    report = score_systems(
        systems,
        [document["summary"] for document in documents],
        **own,
        sentences=number,
        english=words == "english",
        samples=samples,
        seed=seed,
    )
    report.settings |= {"sentences": sentences} if own else {"selection": selection}
    return report


def _documents(corpus: Corpus, limit: int | None, text: str, summary: str) -> list[dict[str, str]]:
    """The documents that have a text and a summary; the others are counted on standard error."""
    left_out: collections.Counter[str] = collections.Counter()

    def whole() -> Iterator[dict[str, str]]:
        for row in read_corpus(corpus, text=text, summary=summary):
            missing = [reason for reason, field in REASONS.items() if not row[field].strip()]
            left_out.update(missing)
            if not missing:
                yield row

    documents = list(itertools.islice(whole(), limit))
    name = corpus_name(corpus)
    if left_out:
        counted = ", ".join(
            f"{left_out[reason]} {reason}" for reason in REASONS if left_out[reason]
        )
        print(f"tfsum: {name}: left out {counted}", file=sys.stderr)
    if not documents:
        raise DataError(
            f"{name}: no document has a text and a summary in its fields {text} and {summary}; name"
            " the fields that hold them (text, summary)"
        )

    return documents
