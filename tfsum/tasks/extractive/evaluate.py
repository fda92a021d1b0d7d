"""An extractive model measured on documents with summaries, beside lead, oracle and a random pick."""

import collections
import sys

from tfsum.data.oracle import greedy_labels
from tfsum.data.readers import Corpus, corpus_name, read_corpus
from tfsum.errors import DataError
from tfsum.evaluation.groups import groups
from tfsum.tasks.extractive.report import Report, score_systems
from tfsum.tasks.extractive.summarizer import Summarizer
from tfsum.text.sentence_splitter import SentenceSplitter


def evaluate(summarizer: Summarizer, corpus: Corpus, *, sentences: int = 3, words: str = "english",
             limit: int | None = None, samples: int = 1000, seed: int = 0, text: str = "text",
             summary: str = "summary") -> Report:
    """Scores an extractive model.

    Args:
        summarizer: the loaded model.
        corpus: a file, or rows with `text` and `summary`, a sentence a line; see `tfsum.data.readers.read_corpus`.
        sentences: chosen by every system.
        words: "english" (stemmed) or "plain", see `tfsum.evaluation.rouge.score_pair`.
        limit: only the first documents.
        samples: of the bootstrap.
        seed: of the random pick and the bootstrap.
        text, summary: the corpus's names of these fields.

    Returns:
        The report; the number of documents left out is written to standard error.

    Raises:
        DataError: the corpus cannot be read, or no document has a text and a summary.
    """
    documents = _documents(corpus, limit, text, summary)
    splitter = SentenceSplitter(summarizer.description["text"]["newline"])
    chosen, split = [], []
    for texts in groups([document["text"] for document in documents]):
        chosen += [answer.sentences for answer in summarizer(texts, sentences=sentences)]
        rows = splitter.split(texts)["sentences"].to_list()
        split += [[sentence.decode("utf-8") for sentence in row] for row in rows]
    return score_systems(
        {"model": chosen},
        [document["summary"] for document in documents],
        documents=split,
        label=lambda row, summary: greedy_labels(row, summary, sentences),
        sentences=sentences,
        english=words == "english",
        samples=samples,
        seed=seed,
    )


def _documents(corpus: Corpus, limit: int | None, text: str, summary: str) -> list[dict[str, str]]:
    """The documents that have a text and a summary; the others are counted on standard error."""
    counts: collections.Counter = collections.Counter()
    documents: list[dict[str, str]] = []
    for document in read_corpus(corpus, text=text, summary=summary, counts=counts):
        if limit is not None and len(documents) >= limit:
            break
        if document["text"].strip() and document["summary"].strip():
            documents.append(document)
    name = corpus_name(corpus)
    left_out = {reason: counts[reason] for reason in ("empty", "without_summary") if counts[reason]}
    if left_out:
        print(f"tfsum: {name}: left out " + ", ".join(f"{n} {k}" for k, n in left_out.items()), file=sys.stderr)
    if not documents:
        raise DataError(f"{name}: no document has a text and a summary in its fields {text} and {summary}; name the "
                        "fields that hold them (text, summary)")
    return documents
