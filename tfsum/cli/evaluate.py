"""Measure a model by ROUGE on a corpus, beside lead, oracle and a random pick, with 95 % intervals."""

import argparse
import collections
import contextlib
import pathlib
import sys
import tempfile
from collections.abc import Iterator, Sequence

import tfsum
from tfsum.cli.quiet_tensorflow import load_tensorflow
from tfsum.errors import DataError

EXAMPLES = """examples:
  tfsum evaluate saved_models/bert_sum_ext_news_en/1 test.jsonl
  tfsum evaluate runs/news/best test.jsonl.gz --format json
"""

BATCH = 32


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("model", metavar="MODEL", help="an exported model, or a model folder (which is exported for the occasion)")
    add("corpus", metavar="CORPUS", help=".jsonl, .csv or .tsv (or .gz of them) with texts and summaries")
    add("-n", "--sentences", type=int, default=3, metavar="N", help="of every system (default 3)")
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


def run(arguments: argparse.Namespace) -> int:
    for place in (arguments.model, arguments.corpus):
        if not pathlib.Path(place).exists():
            arguments.parser.error(f"no such file or folder: {place}")
    load_tensorflow()
    documents = read(arguments.corpus, arguments.limit)
    with exported(arguments.model) as model:
        report = measure(
            model, documents, arguments.sentences, arguments.words == "english", arguments.samples, arguments.seed
        )
    print(report.to_json() if arguments.format == "json" else report.to_text())
    return 0


def measure(
    model: str | pathlib.Path,
    documents: Sequence[dict[str, str]],
    sentences: int = 3,
    english: bool = True,
    samples: int = 1000,
    seed: int = 0,
):
    """Score an exported model on documents with summaries.

    Args:
        model: the folder of the exported model.
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

    summarize = tfsum.load(model)
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


def batches(texts: list[str]) -> Iterator[list[str]]:
    """Groups of texts, with a bar on standard error."""
    import tqdm

    with tqdm.tqdm(total=len(texts), unit=" documents", file=sys.stderr) as bar:
        for first in range(0, len(texts), BATCH):
            yield texts[first : first + BATCH]
            bar.update(len(texts[first : first + BATCH]))


@contextlib.contextmanager
def exported(model: str) -> Iterator[str]:
    """The model where it is exported; a model folder in an export that lives as long as the evaluation."""
    if not (pathlib.Path(model) / "config.json").is_file():
        yield model
        return
    from tfsum.export import export_extractive

    with tempfile.TemporaryDirectory() as folder:
        # TF Text's operations give the same bytes faster, and this process has them.
        yield str(export_extractive(model, pathlib.Path(folder) / "model" / "1", ops="text"))
