"""Learning a WordPiece vocabulary from texts of any language; needs the library `tokenizers` (extra
`vocab`).

`tokenizers` and not TensorFlow Text's `bert_vocab`: it merges pairs in compiled code, in seconds
where the other counts all parts of words in Python, in minutes. Only its merging is used: texts
come to it as words between spaces, split by the tables that split them in the graph.
"""

import collections
import itertools
import pathlib
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

import tensorflow as tf

from tfsum.atomic_files import write_atomically
from tfsum.errors import needs_extra, require
from tfsum.formats.text_settings import tokenizer_config
from tfsum.text.escape import PIECES, Escape
from tfsum.text.normalizer import load_code_point_map

SPECIAL_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
COVERAGE = 0.9995  # share of the texts' characters in the alphabet, the most frequent first
_TOGETHER = 1024  # texts worked on in one call


def learn_vocabulary(
    texts: Iterable[str],
    size: int,
    *,
    lowercase: bool = False,
    strip_accents: bool | None = None,
    reversible: bool = True,
) -> list[str]:
    """Learns the pieces of a vocabulary; the same texts in the same order give the same pieces.

    [CLS] and [SEP] serve as start and end tokens of generated texts. The alphabet holds 99.95 % of
    the texts' characters and printable ASCII; other characters are bytes, or unknown in a plain
    vocabulary.

    Args:
        texts: They are read twice, so give a list or an object that starts again with each loop.
        size: Pieces of the vocabulary, special tokens and alphabet included; fewer where the texts
            hold no more.
        lowercase: Whether letters are lowered.
        strip_accents: Whether accents are dropped; None means as `lowercase`.
        reversible: Whether ids shall give back the text (`tfsum.text.escape`); False makes a plain
            BERT vocabulary, as other people's tools read it.

    Returns:
        The pieces in the order of their ids: special tokens, marks and bytes, the alphabet, then
        what was learned, the most frequent first.

    Raises:
        tfsum.Error: `tokenizers` is not installed, an argument is impossible, there is no text, or
            `size` cannot hold the alphabet.

    Example:
        >>> pieces = learn_vocabulary(
        ...     ["rain rain rain", "rain again"], size=200, lowercase=True, reversible=False
        ... )
        >>> pieces[:5], "rain" in pieces
        (['[PAD]', '[UNK]', '[CLS]', '[SEP]', '[MASK]'], True)
    """
    require(
        iter(texts) is not texts,
        "learn_vocabulary: texts can be read only once; give a list or an object that starts"
        " again with each loop",
    )
    if strip_accents is None:
        strip_accents = lowercase
    normal = load_code_point_map(lowercase, strip_accents)
    alphabet, others = _alphabet(_characters(texts, normal))
    alphabet = sorted({*alphabet, *_normalized(map(chr, range(0x21, 0x7F)), normal)})
    alone = [character for character in alphabet if normal.get(ord(character), "").startswith(" ")]
    letters = sorted(set(alphabet) - set(alone))
    inner = [f"##{letter}" for letter in letters]
    if reversible:  # every word begins with a mark: letters are only inside words
        pieces = [*SPECIAL_TOKENS, *PIECES, *alone, *inner]
        # The library merges only letters that it knows outside of words too; those are dropped at
        # the end.
        escape, spare = Escape(pieces, lowercase, strip_accents), letters
    else:
        pieces, escape, spare = [*SPECIAL_TOKENS, *alphabet, *inner], None, []
        gone = dict.fromkeys(map(ord, set(others) - set(alphabet)), "")
        normal = {point: text.translate(gone) for point, text in normal.items()} | gone
    require(
        size >= len(pieces),
        f"learn_vocabulary: size is {size}, and special tokens and the alphabet alone are"
        f" {len(pieces)} pieces; take that size or more, or texts of fewer characters",
    )
    learned = _train(_words(texts, escape, normal), [*pieces, *spare], size + len(spare))
    return pieces + learned[len(pieces) + len(spare) :]


def write_vocabulary(
    pieces: Sequence[str], path: str | pathlib.Path, case: dict[str, bool | None] | None = None
) -> None:
    """Writes a vocab.txt, one piece a line, under a temporary name first.

    Args:
        pieces: The word pieces in the order of their ids.
        path: The file; its folder is made if there is none.
        case: `lowercase` and `strip_accents` of the tokenizer, for a tokenizer_config.json in the
            same folder, which `WordPiece.from_file` reads; None writes none.

    Raises:
        OSError: The file cannot be written.

    Example:
        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_vocabulary(["[PAD]", "rain"], pathlib.Path(folder, "vocab.txt"))
        ...     pathlib.Path(folder, "vocab.txt").read_text()
        '[PAD]\\nrain\\n'
    """
    path = pathlib.Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, "".join(f"{piece}\n" for piece in pieces))
    if case is not None:
        write_atomically(path.with_name("tokenizer_config.json"), tokenizer_config(case))


def _characters(texts: Iterable[str], normal: dict[int, str]) -> collections.Counter:
    """How often each character occurs in the texts, as WordPiece sees them."""
    composed = (unicodedata.normalize("NFC", text) for text in texts)
    raw = collections.Counter(itertools.chain.from_iterable(composed))
    counts: collections.Counter[str] = collections.Counter()
    for character, count in raw.items():
        for changed in _normalized(character, normal):
            counts[changed] += count
    require(
        counts, "learn_vocabulary: found no text in the corpus; is it the right file and column?"
    )
    return counts


def _normalized(characters: Iterable[str], normal: dict[int, str]) -> str:
    """The characters that WordPiece makes of some, white space aside."""
    return "".join("".join(characters).translate(normal).split())


def _alphabet(counts: collections.Counter) -> tuple[list[str], list[str]]:
    """The most frequent characters, up to a share of all; and the others."""
    ranks = sorted(counts, key=lambda character: (-counts[character], character))
    below = itertools.accumulate((counts[character] for character in ranks), initial=0)
    wanted = COVERAGE * counts.total()
    covered = {character for character, count in zip(ranks, below) if count < wanted}
    return sorted(covered - set(PIECES)), sorted(set(counts) - covered)


def _words(
    texts: Iterable[str], escape: Escape | None, normal: dict[int, str]
) -> Iterator[list[str]]:
    """Texts as words between spaces, many at once."""
    if escape is not None:
        escape = tf.function(
            escape.__call__, input_signature=[tf.TensorSpec([None], tf.string)], autograph=False
        )
    composed = (unicodedata.normalize("NFC", text) for text in texts)
    while batch := list(itertools.islice(composed, _TOGETHER)):
        if escape is not None:
            batch = [text.decode() for text in escape(tf.constant(batch)).numpy()]
        yield [text.translate(normal) for text in batch]


def _train(words: Iterable[list[str]], first: list[str], size: int) -> list[str]:
    """Merges the most frequent pairs of pieces into new ones, after the pieces that come
    `first`."""
    with needs_extra("vocab", "learning a vocabulary"):
        from tokenizers import Tokenizer, models, pre_tokenizers, trainers
    tokenizer = Tokenizer(models.WordPiece(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    # Given as "special", pieces have their ids before the library's hash tables decide on any.
    trainer = trainers.WordPieceTrainer(
        vocab_size=size, min_frequency=2, special_tokens=first, show_progress=False
    )
    tokenizer.train_from_iterator(words, trainer)
    ids = tokenizer.get_vocab()
    return sorted(ids, key=ids.__getitem__)
