"""WordPiece in the graph: raw strings to the ids that Hugging Face's BertWordPieceTokenizer
gives."""

import importlib.util
import os
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfsum.errors import Error, require
from tfsum.formats import model_folder, text_settings
from tfsum.text.core_word_piece import CoreWordPiece, merge
from tfsum.text.escape import Escape, is_reversible
from tfsum.text.nfkc import MARK, Nfkc
from tfsum.text.normalizer import fast_bert_model


class Vocabulary:
    """A checked list of word pieces and the ids of the special ones.

    Args:
        words: The pieces in the order of their ids, with [PAD] at 0, [CLS], [SEP] and the unknown
            token; [MASK] may be missing (`mask_id` is None then).
        unknown_token: The piece of a word with no pieces.
        source: What a message calls the list, for example the file it came from.

    Raises:
        tfsum.Error: It is a file's name, is empty, a piece is empty or twice in it, or a special
            token is missing or misplaced.

    Example:
        >>> vocabulary = Vocabulary(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain"])
        >>> vocabulary.cls_id, vocabulary.mask_id
        (2, None)
    """

    def __init__(
        self, words: Sequence[str], unknown_token: str = "[UNK]", source: str = "vocabulary"
    ) -> None:
        if isinstance(words, str | os.PathLike):
            raise Error(
                f"{source}: found {str(words)!r}, expected a list of word pieces; a file of them is"
                f" read by WordPiece.from_file({str(words)!r})"
            )
        self.words = list(words)
        require(
            self.words,
            f"{source}: found no word pieces, expected one a line; is it the right file?",
        )
        if "" in self.words:
            raise Error(
                f"{source}: line {self.words.index('') + 1} is empty, expected a word piece; remove"
                " the line if the model was trained without it"
            )

        id_of = {word: i for i, word in enumerate(self.words)}
        if len(id_of) != len(self.words):
            twice = [word for word, count in Counter(self.words).items() if count > 1]
            lines = [i + 1 for i, word in enumerate(self.words) if word == twice[0]]
            raise Error(
                f"{source}: found {len(twice)} word pieces more than once, the first is"
                f" {twice[0]!r} on lines {lines}; expected each once; rename all but one, for"
                " example to [unused1]"
            )
        special = ("[PAD]", unknown_token, "[CLS]", "[SEP]")
        if missing := [token for token in special if token not in id_of]:
            raise Error(
                f"{source}: found {len(self.words)} word pieces but no {' and no '.join(missing)};"
                " use a BERT vocabulary, or add a line for each"
            )
        self.pad_id, self.unk_id, self.cls_id, self.sep_id = (id_of[token] for token in special)
        self.mask_id = id_of.get("[MASK]")
        require(
            self.pad_id == 0,
            f"{source}: found [PAD] at id {self.pad_id}, expected at 0, the id of all padding;"
            " for a new model move it to the first line; a model that was trained with this"
            " vocabulary cannot be used",
        )

    @classmethod
    def from_file(cls, path: str | os.PathLike, unknown_token: str = "[UNK]") -> "Vocabulary":
        """Reads a vocab.txt, or the file used instead of it (`read_pieces`).

        Args:
            path: The file.
            unknown_token: The piece of a word with no pieces.

        Raises:
            tfsum.Error: The file cannot be read, or see the class.
        """
        pieces, source = text_settings.read_pieces(path), str(text_settings.piece_file(path))
        return cls(pieces, unknown_token, source=source)


class WordPiece(tf.Module):
    """BERT's tokenizer as graph operations: cleaning, lowering, splitting, longest match.  (Devlin
    2019)

    Ids equal those of Hugging Face `BertWordPieceTokenizer` without special tokens in raw text: a
    "[SEP]" written in a document is plain text; but ligatures are plain letters (`LIGATURES` of
    `tfsum.text.normalizer`). Invalid UTF-8 is dropped. Tables are stored once in
    an exported `tf.Module`. With a vocabulary made for it (`tfsum vocab`; `reversible` is True
    then) texts are written by `Escape` first, so that `Detokenizer` gives them back from their ids.
    With a vocabulary that has the piece [NFKC] they are normalized by `Nfkc` first.

    Args:
        vocabulary: The word pieces in the order of their ids; [PAD] is the first.
        lowercase: Whether letters are lowered.
        strip_accents: Whether text is decomposed and accents dropped; None means "as `lowercase`",
            as in BERT.
        unknown_token: The piece of a word that cannot be built from pieces.
        max_characters: Words with more characters become the unknown token. Hugging Face's limit is
            100; google-research/bert (tokenization.py) has 200.
        ops: "text" uses TF Text's kernels, some 8 times faster; "core" only TensorFlow's own, which
            any host has. None is "text" where TF Text is installed (there is none for Windows),
            else "core".

    Raises:
        tfsum.Error: The vocabulary or an option is not as expected.

    Example:
        >>> word_piece = WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "rain", "##ed"], ops="core")
        >>> word_piece.encode(tf.constant(["Rained", "snow"])).to_list()
        [[2, 4, 5, 3], [2, 1, 3]]
    """

    def __init__(
        self,
        vocabulary: Sequence[str] | Vocabulary,
        lowercase: bool = True,
        strip_accents: bool | None = None,
        unknown_token: str = "[UNK]",
        max_characters: int = 100,
        ops: str | None = None,
    ) -> None:
        super().__init__(name="word_piece")
        installed = importlib.util.find_spec("tensorflow_text") is not None
        ops = ops or ("text" if installed else "core")
        require(
            installed or ops != "text",
            'WordPiece: found ops="text", and TF Text is not installed; pip install'
            ' tensorflow-text, or use ops="core"',
        )
        require(
            ops in ("text", "core"),
            f'WordPiece: found ops={ops!r}, expected "text" (TF Text) or "core" (TensorFlow)',
        )
        if not isinstance(vocabulary, Vocabulary):
            vocabulary = Vocabulary(vocabulary, unknown_token)
        if strip_accents is None:
            strip_accents = lowercase
        self.lowercase, self.strip_accents, self.ops = bool(lowercase), bool(strip_accents), ops
        self.unknown_token, self.max_characters = unknown_token, max_characters
        self._words = vocabulary
        self.pad_id, self.unk_id = vocabulary.pad_id, vocabulary.unk_id
        self.cls_id, self.sep_id, self.mask_id = (
            vocabulary.cls_id,
            vocabulary.sep_id,
            vocabulary.mask_id,
        )
        self.reversible = is_reversible(vocabulary.words)
        with tf.init_scope():
            options = (self.lowercase, self.strip_accents, max_characters)
            self._rewrite: Callable[[tf.Tensor], tf.Tensor] = lambda strings: strings
            if self.reversible:
                self._rewrite = Escape(vocabulary.words, *options)
            elif MARK in vocabulary.words:
                self._rewrite = Nfkc()
            if ops == "text":
                self._tokenizer = _TextOps(self)
            else:
                self._tokenizer = CoreWordPiece(vocabulary.words, self.unk_id, *options)

    @classmethod
    def from_file(cls, path: str | os.PathLike, **options: Any) -> "WordPiece":
        """Makes the tokenizer of a vocab.txt.

        Whether letters are lowered and accents dropped is read from the folder of the file
        (tokenizer_config.json, which `tfsum vocab` and Hugging Face write, or tfsum.json), or
        inferred from the pieces: those of a cased vocabulary have capitals.

        Args:
            path: Path of the file (`read_pieces`), or "package:NAME/FOLDER" for a model folder
                inside an installed package.
            **options: Options of the class. `lowercase` replaces both recorded settings.

        Raises:
            tfsum.Error: The file cannot be read, or an option is not as expected.

        Example:
            >>> import pathlib, tempfile
            >>> folder = pathlib.Path(tempfile.mkdtemp())
            >>> _ = (folder / "vocab.txt").write_text("[PAD]\\n[UNK]\\n[CLS]\\n[SEP]\\nÀ\\ntrès\\n")
            >>> words = WordPiece.from_file(folder / "vocab.txt", ops="core")
            >>> words.lowercase, words.encode(["À très"]).to_list()
            (False, [[2, 4, 5, 3]])
        """
        if str(path).startswith(model_folder.PACKAGE):
            path = model_folder.local_folder(path) / "vocab.txt"
        vocabulary = Vocabulary.from_file(path, options.get("unknown_token", "[UNK]"))
        if "lowercase" not in options:
            options = text_settings.read_text_settings(path) | options
        return cls(vocabulary, **options)

    @property
    def vocabulary(self) -> list[str]:
        """The word pieces in the order of their ids."""
        return list(self._words.words)

    def tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Turns texts into ids without [CLS] and [SEP].

        Args:
            strings: (N,) string; invalid UTF-8 is dropped.

        Returns:
            (N, P) int32, ragged; row_splits are int64.
        """
        strings = tf.convert_to_tensor(strings, tf.string)
        return self._tokenizer.tokenize(self._rewrite(strings))

    def encode(self, strings: tf.Tensor) -> tf.RaggedTensor:
        """Turns texts into ids with [CLS] before and [SEP] after.

        Args:
            strings: (N,) string; invalid UTF-8 is dropped.

        Returns:
            (N, P + 2) int32, ragged; row_splits are int64.
        """
        ids = self.tokenize(strings)
        edge = tf.ones([ids.nrows(), 1], tf.int32)
        return tf.concat([edge * self.cls_id, ids, edge * self.sep_id], axis=1)


class _TextOps(tf.Module):
    """The way through three op libraries of TF Text: FastBertNormalize, white space,
    FastWordpiece."""

    def __init__(self, settings: WordPiece):
        super().__init__(name="text_ops")
        import tensorflow_text as text  # only here: the core-op way must run without it

        model = tf.constant(fast_bert_model(settings.lowercase, settings.strip_accents))
        self._normalizer = text.FastBertNormalizer(model_buffer=model)
        self._splitter = text.WhitespaceTokenizer()
        self._pieces = text.FastWordpieceTokenizer(
            vocab=settings.vocabulary,
            unknown_token=settings.unknown_token,
            token_out_type=tf.int32,
            # never met: BERT counts characters, before this
            max_bytes_per_word=4 * settings.max_characters,
            no_pretokenization=True,
        )
        self._unknown, self._max_characters = settings.unknown_token, settings.max_characters

    def tokenize(self, strings: tf.Tensor) -> tf.RaggedTensor:
        valid = tf.strings.unicode_transcode(strings, "UTF-8", "UTF-8", errors="ignore")
        words = self._splitter.tokenize(self._normalizer.normalize(valid))
        flat = words.flat_values
        too_long = tf.strings.length(flat, unit="UTF8_CHAR") > self._max_characters
        pieces = self._pieces.tokenize(tf.where(too_long, self._unknown, flat))
        return merge(pieces, words.row_splits)
