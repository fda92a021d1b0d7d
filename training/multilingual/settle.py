"""Frees the vectors of a `BertSumExt` of the length of sentences, and moves their mean.

    python training/multilingual/settle.py MODEL CORPUS OUTPUT --mean 0.7

MODEL is a model folder with embeddings and a length input, CORPUS rows for validation. A sentence's
vector holds a function of its length, which the head needs; trained on sentences, it sends the
vectors of long texts to one place. The embedding no longer sees the two directions in which that
function moves. `--mean` is how much of the mean vector of the rows' sentences is added to every
vector: more is nearer to the teacher's vectors, less finds more long texts. No other weight
changes, and no score of a sentence.
"""

import argparse
import json
import pathlib
import re

import numpy as np
from corpus import read
from distil import ENDS, padded
from keras import ops

import tfsum
from tfsum.formats.text_settings import read_text_settings
from tfsum.text.word_piece import WordPiece

SENTENCES = 800


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=pathlib.Path, help="model folder to read")
    parser.add_argument("corpus", type=pathlib.Path, help="rows whose sentences are embedded")
    parser.add_argument("output", type=pathlib.Path, help="model folder to write")
    parser.add_argument("--mean", type=float, default=0.7, help="share of the mean that is added")
    options = parser.parse_args()

    model = tfsum.BertSumExt.from_pretrained(options.model)
    case = read_text_settings(options.model, None, None)
    word_piece = WordPiece.from_file(options.model / "vocab.txt", **case)

    # (D, 2) an orthonormal basis of the directions of the length, and the embedding without them
    along = np.linalg.qr(model.length.kernel.numpy().T)[0]
    kernel = model.embedding.kernel.numpy()
    model.embedding.kernel.assign(kernel - along @ (along.T @ kernel))

    lines = [re.sub(r"\s+", " ", row["text"]) for row in read(options.corpus)]
    sentences = [part for line in lines for part in ENDS.split(line)[:4] if len(part) > 8]
    pieces = sorted(
        (p[:200] for p in word_piece.tokenize(sentences[:SENTENCES]).to_list()), key=len
    )
    vectors = []
    for first in range(0, len(pieces), 64):
        rows = pieces[first : first + 64]
        ids = padded([[word_piece.cls_id, *row, word_piece.sep_id] for row in rows])
        starts = np.zeros((len(ids), 1), np.int32)
        vectors.append(model.pool_sentences(model.bert.encode(ids), ids, starts)[:, 0])
    mean = ops.mean(ops.concatenate(vectors), axis=0, keepdims=True)
    model.embedding.bias.assign_add(options.mean * model.embedding(mean)[0])

    settings = json.loads((options.model / "tfsum.json").read_text("utf-8"))
    model.save_pretrained(options.output, word_piece.vocabulary, settings)


if __name__ == "__main__":
    main()
