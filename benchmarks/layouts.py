"""How a summary depends on the layout of its text, and whether a foreign language is reported.

    python benchmarks/layouts.py --corpus ../shared/data/news/validation.jsonl.gz \\
        --foreign ../shared/data/multilingual/*_docs.jsonl.gz
        ../shared/data/multi30k_en_de/train.{de,en}.gz \\
                  ../shared/data/tatoeba_fra_eng/train.tsv.gz:{1,2}

Wraps the documents of a corpus (a paragraph a line) at 72 columns, with blank lines between the
paragraphs, and prints the share of the chosen sentences that equal those of the text as it is: in
one line (as `tfsum summarize` shows them), with white space collapsed, and without any (wrapping
also breaks after hyphens), and how many texts were taken for wrapped ones, wrapped at 60, 72 and 80
columns and as they are. Then the share of texts for which the model warns of another language:
those of the corpus, and those of each file of `--foreign` (`.jsonl` with `text`, a sentence a line,
or `.tsv:N`, a sentence in each cell of column N: ten make a text).
"""

import argparse
import collections
import itertools
import json
import os
import sys
import textwrap
from collections.abc import Callable

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import tfsum
from tfsum.data.readers import read_columns, read_corpus, read_lines
from tfsum.text.one_line import one_line
from tfsum.text.sentence_splitter import SentenceSplitter

MOST = 200  # texts of a foreign file
REPORTED = "in a language that the model was not trained on"


def sentences(summarize, texts: list[str], **options) -> list[collections.Counter]:
    return [collections.Counter(answer.sentences) for answer in summarize(texts, **options)]


FORMS = {
    "equal": one_line,
    "equal_white_space_collapsed": lambda text: " ".join(text.split()),
    "equal_without_white_space": lambda text: "".join(text.split()),
}


def written(chosen: collections.Counter, form: Callable[[str], str]) -> collections.Counter:
    found: collections.Counter = collections.Counter()
    for sentence, times in chosen.items():
        found[form(sentence)] += times
    return found


def wrap(text: str, columns: int | None) -> str:
    """A text with a paragraph a line, its paragraphs wrapped and parted by blank lines; as it is
    without columns."""
    return (
        "\n\n".join(textwrap.fill(line, columns) for line in text.split("\n")) if columns else text
    )


def foreign_texts(name: str) -> list[str]:
    """The first texts of a file."""
    file, _, column = name.partition(":")
    if ".jsonl" in file:
        return [document["text"] for document in read_corpus(file, summary=None)][:MOST]
    sentences = (cell for (cell,) in read_columns(file, [column])) if column else read_lines(file)
    lines = list(itertools.islice(sentences, 10 * MOST))
    return [" ".join(lines[first : first + 10]) for first in range(0, len(lines), 10)]


def warned(summarize, texts: list[str]) -> float:
    answers = summarize(texts)
    return sum(any(REPORTED in warning for warning in answer.warnings) for answer in answers) / len(
        answers
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", help="an extractive export (default: the shipped)")
    parser.add_argument("--corpus", required=True)
    parser.add_argument("--foreign", nargs="*", metavar="FILE[:COLUMN]", default=[])
    parser.add_argument("--documents", type=int, default=500)
    parser.add_argument("--columns", type=int, default=72)
    options = parser.parse_args()
    summarize = tfsum.load(options.model)
    texts = [document["text"] for document in read_corpus(options.corpus)][: options.documents]
    splitter = SentenceSplitter("auto")
    for columns in (60, 72, 80, None):
        laid_out = [wrap(text, columns) for text in texts]
        taken = sum(
            int(splitter.split(tf.constant(laid_out[i : i + 50]))["wrapped"].numpy().sum())
            for i in range(0, len(texts), 50)
        )
        print(
            json.dumps(
                {
                    "what": f"wrapped at {columns} columns" if columns else "as they are",
                    "documents": len(texts),
                    "taken_for_wrapped": taken,
                }
            ),
            flush=True,
        )
    wrapped = [wrap(text, options.columns) for text in texts]
    plain = sentences(summarize, texts)
    for newline in ("auto", "sentence", "paragraph"):
        answers = sentences(summarize, wrapped, newline=newline)
        row = {
            "what": f"wrapped at {options.columns} columns",
            "documents": len(texts),
            "newline": newline,
        }
        for name, form in FORMS.items():
            pairs = [(written(a, form), written(b, form)) for a, b in zip(plain, answers)]
            row[name] = round(
                sum((a & b).total() for a, b in pairs) / sum(a.total() for a, _ in pairs), 4
            )
        print(json.dumps(row), flush=True)
    print(
        json.dumps(
            {
                "what": "reported as foreign",
                "texts": len(texts),
                "of": options.corpus,
                "share": warned(summarize, texts),
            }
        ),
        flush=True,
    )
    for file in options.foreign:
        foreign = foreign_texts(file)
        print(
            json.dumps(
                {
                    "what": "reported as foreign",
                    "texts": len(foreign),
                    "of": os.path.basename(file),
                    "share": warned(summarize, foreign),
                }
            ),
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
