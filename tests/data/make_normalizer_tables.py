"""Reads BERT's text normalization out of Hugging Face `tokenizers`, code point by code point, into a file.

Cleaning, spacing of Chinese characters, NFD, dropping accents and lowering each act on one code point alone,
and so does the splitting at punctuation: the whole way from a text to "words between spaces" is a table. It
is committed, because a new Unicode version in a dependency must not change what a shipped model reads.

    python tests/data/make_normalizer_tables.py            # writes tfsum/text/normalizer_tables.npz
"""

import pathlib

import numpy as np
import tokenizers
from tokenizers.normalizers import BertNormalizer
from tokenizers.pre_tokenizers import BertPreTokenizer

TABLES = pathlib.Path(__file__).resolve().parents[2] / "tfsum" / "text" / "normalizer_tables.npz"
SETTINGS = {  # name: (lowercase, strip_accents)
    "uncased": (True, True),
    "uncased_keep_accents": (True, False),
    "cased": (False, False),
    "cased_strip_accents": (False, True),
}
SELF = -1  # the code point itself in `values`: 97,000 spaced ideographs compress to nothing


def valid_code_points() -> list[int]:
    """All Unicode scalar values: 0..0x10FFFF without the surrogates."""
    return [c for c in range(0x110000) if not 0xD800 <= c < 0xE000]


def spacing(pre_tokenizer: BertPreTokenizer, character: str, known: dict[str, str]) -> str:
    """What a normalized character becomes so that words can be split at spaces alone."""
    if character not in known:
        count = len(pre_tokenizer.pre_tokenize_str(f"a{character}a"))
        known[character] = {1: character, 2: " ", 3: f" {character} "}[count]
    return known[character]


def code_point_map(lowercase: bool, strip_accents: bool) -> dict[int, str]:
    """The changed code points of one setting and what each turns into."""
    normalizer = BertNormalizer(
        clean_text=True, handle_chinese_chars=True, strip_accents=strip_accents, lowercase=lowercase
    )
    pre_tokenizer, known, changed = BertPreTokenizer(), {}, {}
    for point in valid_code_points():
        plain = chr(point)
        spaced = "".join(spacing(pre_tokenizer, c, known) for c in normalizer.normalize_str(plain))
        if spaced != plain:
            changed[point] = spaced
    return changed


def compact(changed: dict[int, str]) -> dict[str, np.ndarray]:
    """A map as three arrays: steps between points, lengths of the values, the values end to end."""
    points = np.array(sorted(changed), np.int32)
    values = [[SELF if ord(c) == p else ord(c) for c in changed[p]] for p in points.tolist()]
    return {
        "steps": np.diff(points, prepend=0).astype(np.int32),
        "lengths": np.array([len(v) for v in values], np.uint8),
        "values": np.array([c for v in values for c in v], np.int32),
    }


def main() -> None:
    arrays = {"tokenizers_version": np.array(tokenizers.__version__)}
    for name, (lowercase, strip_accents) in SETTINGS.items():
        changed = code_point_map(lowercase, strip_accents)
        arrays |= {f"{name}_{part}": array for part, array in compact(changed).items()}
        print(f"{name}: {len(changed)} changed code points")
    np.savez_compressed(TABLES, **arrays)
    print(f"{TABLES.name}: {TABLES.stat().st_size} bytes, from tokenizers {tokenizers.__version__}")


if __name__ == "__main__":
    main()
