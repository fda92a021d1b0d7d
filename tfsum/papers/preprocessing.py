"""Documents as the preprocessing of BertSum and PreSumm makes examples of them, quirk by quirk."""

import collections
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal

import numpy as np

from tfsum.data.documents.prepare import DocumentWriter
from tfsum.data.records import make_record
from tfsum.errors import DataError
from tfsum.papers.selection import combination_labels, greedy_labels

Program = Literal["bertsum", "presumm"]
"""Whose computations: nlpyang/BertSum's or nlpyang/PreSumm's."""

# The defaults of both programs.
MORE_TOKENS_THAN, MOST_TOKENS = 5, 200  # of a sentence
FEWEST_SENTENCES, MOST_SENTENCES = 3, 100  # of a document
MOST_PIECES = 510  # of a BertSum document; PreSumm cuts when it loads a document
FEWEST_TARGET_PIECES, MOST_TARGET_PIECES = 5, 500
LONGEST_WORD = 100  # characters; a longer one is unknown
# before a target, between its sentences, after it
TARGET_TOKENS = ("[unused0]", "[unused2]", "[unused1]")


@dataclasses.dataclass
class Example:
    """A document as the originals save it.

    Attributes:
        src: Ids, `[CLS] pieces [SEP]` for each sentence.
        segs: The segment of each.
        clss: The place of each sentence's [CLS].
        labels: 1 for a sentence of the oracle.
        src_txt: The sentences that are long enough, whole, also those of which `src` has nothing.
        tgt: Ids of the summary; empty for BertSum.
        too_short: Whether the originals leave the document out (PreSumm keeps it where it is for a
            test).

    Example:
        >>> Example([101, 102], [0, 0], [0], [0], ["a"], [], False).clss
        [0]
    """

    src: list[int]
    segs: list[int]
    clss: list[int]
    labels: list[int]
    src_txt: list[str]
    tgt: list[int]
    too_short: bool


def bertsum_example(
    sentences: Sequence[Sequence[str]],
    labels: Sequence[float],
    tokenize: Callable[[list[str]], list[list[int]]],
    cls_id: int,
    sep_id: int,
) -> Example:
    """Preprocesses a document as BertSum.

    Args:
        sentences: (S,) its sentences, lists of tokens.
        labels: (S,) of the oracle.
        tokenize: Function from texts to the ids of their word pieces, with BERT's splitting at
            punctuation.
        cls_id, sep_id: Ids of [CLS] and [SEP].

    Source: nlpyang/BertSum, prepro/data_builder.py, `BertData.preprocess`.

    Example:
        >>> words = [["it", "rained", "all", "day", "long", "."]] * 3
        >>> example = bertsum_example(words, [1, 0, 0], lambda texts: [[7]] * len(texts), 101, 102)
        >>> example.src, example.segs, example.labels
        ([101, 7, 102, 101, 7, 102, 101, 7, 102], [0, 0, 0, 1, 1, 1, 0, 0, 0], [1, 0, 0])
    """
    kept, texts = _kept(sentences)
    between = [piece for pieces in tokenize(texts) for piece in (sep_id, cls_id, *pieces)]
    src = [cls_id, *between[2:][:MOST_PIECES], sep_id]
    return _example(src, sentences, labels, kept, cls_id, sep_id, [], len(texts) < FEWEST_SENTENCES)


def presumm_example(
    sentences: Sequence[Sequence[str]],
    summary: Sequence[Sequence[str]],
    labels: Sequence[float],
    vocabulary: dict[str, int],
) -> Example:
    """Preprocesses a document as PreSumm, whose words are parted by blanks alone.

    Args:
        sentences: (S,) its sentences, lists of tokens, lower-cased where the model is.
        summary: The sentences of its summary, likewise.
        labels: (S,) of the oracle; 0 is that of a sentence beyond them.
        vocabulary: Word piece -> id.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `BertData.preprocess`.

    Example:
        >>> names = [
        ...     "[CLS]",
        ...     "[SEP]",
        ...     "[UNK]",
        ...     "[unused0]",
        ...     "[unused1]",
        ...     "[unused2]",
        ...     "rain",
        ...     "##ed",
        ... ]
        >>> ids = {name: i for i, name in enumerate(names)}
        >>> example = presumm_example([["rained"] * 6] * 3, [["rain"]] * 2, [], ids)
        >>> example.src[:5], example.tgt
        ([0, 6, 7, 6, 7], [3, 6, 5, 6, 4])
    """
    cls_id, sep_id = vocabulary["[CLS]"], vocabulary["[SEP]"]
    begin, between, end = (vocabulary[token] for token in TARGET_TOKENS)
    kept, texts = _kept(sentences)
    src = [
        piece
        for text in texts
        for piece in (cls_id, *pieces_between_blanks(text, vocabulary), sep_id)
    ]

    tgt = [
        piece
        for line in summary
        for piece in (between, *pieces_between_blanks(" ".join(line), vocabulary))
    ]
    tgt = [begin, *tgt[1:], end][:MOST_TARGET_PIECES]
    too_short = len(texts) < FEWEST_SENTENCES or len(tgt) < FEWEST_TARGET_PIECES

    return _example(
        src or [cls_id, sep_id], sentences, labels, kept, cls_id, sep_id, tgt, too_short
    )


def _kept(sentences: Sequence[Sequence[str]]) -> tuple[list[int], list[str]]:
    """The numbers of the sentences that are long enough, and the texts that are read of them."""
    kept = [i for i, tokens in enumerate(sentences) if len(tokens) > MORE_TOKENS_THAN]
    return kept, [" ".join(sentences[i][:MOST_TOKENS]) for i in kept[:MOST_SENTENCES]]


def _example(
    src: list[int],
    sentences: Sequence[Sequence[str]],
    labels: Sequence[float],
    kept: list[int],
    cls_id: int,
    sep_id: int,
    tgt: list[int],
    too_short: bool,
) -> Example:
    clss = [i for i, piece in enumerate(src) if piece == cls_id]
    chosen = [int(i < len(labels) and labels[i] > 0) for i in kept[:MOST_SENTENCES]]
    return Example(
        src,
        segments(np.array(src), sep_id).tolist(),
        clss,
        chosen[: len(clss)],
        [" ".join(sentences[i]) for i in kept],
        tgt,
        too_short,
    )


def segments(src: np.ndarray, sep_id: int) -> np.ndarray:
    """The segments 0 and 1 in turn, each up to a [SEP].

    Args:
        src: (T,) ids.
        sep_id: Id of [SEP].

    Example:
        >>> segments(np.array([101, 7, 102, 101, 102, 102]), 102).tolist()
        [0, 0, 0, 1, 1, 0]
    """
    ends = (src == sep_id).astype(np.int32)
    return (np.cumsum(ends) - ends) % 2


def pieces_between_blanks(text: str, vocabulary: dict[str, int]) -> list[int]:
    """The word pieces of a text whose words are parted by blanks alone, as PreSumm tokenizes.

    Args:
        text: Lower-cased where the model is.
        vocabulary: Word piece -> id.

    Source: nlpyang/PreSumm, others/tokenization.py, `tokenize` without `use_bert_basic_tokenizer`.

    Example:
        >>> pieces_between_blanks("rained", {"[UNK]": 0, "rain": 1, "##ed": 2})
        [1, 2]
    """
    return [piece for word in text.split() for piece in _word_pieces(word, vocabulary)]


def _word_pieces(word: str, vocabulary: dict[str, int]) -> list[int]:
    """The longest pieces from the left; the unknown one for a word that cannot be put together."""
    pieces: list[int] = []
    start = 0
    while start < len(word) <= LONGEST_WORD:
        begin, ends = "##" if start else "", range(len(word), start, -1)
        end = next((end for end in ends if begin + word[start:end] in vocabulary), None)
        if end is None:
            return [vocabulary["[UNK]"]]
        pieces.append(vocabulary[begin + word[start:end]])
        start = end

    return pieces or [vocabulary["[UNK]"]]


class OriginalWriter(DocumentWriter):
    """Labels and preprocesses documents as BertSum or PreSumm does.

    `legacy` of the settings names the program.

    A record has the sentences that the original reads, whole, and the pieces that it reads of them;
    where it ends a document with two [SEP], the first one is a piece.

    Raises:
        DataError: PreSumm's vocabulary has no [unused0], [unused1] and [unused2].
    """

    oracles: ClassVar = {"greedy": greedy_labels, "combination": combination_labels}
    count_names = (
        "documents",
        "sentences",
        "pieces",
        "labelled_sentences",
        "empty",
        "short_documents",
        "short_sentences",
        "sentences_beyond",
        "labels_lost",
        "without_overlap",
    )

    def __init__(self, settings: Mapping[str, Any], vocabularies: Sequence[str]) -> None:
        super().__init__(settings, vocabularies)
        self._presumm = settings["legacy"] == "presumm"
        self._ids = {piece: i for i, piece in enumerate(self.word_pieces[0].vocabulary)}
        missing = [token for token in TARGET_TOKENS if token not in self._ids]
        if self._presumm and missing:
            raise DataError(
                f"{vocabularies[0]}: has no {', '.join(missing)}, which PreSumm puts into"
                " summaries; take BERT's own vocabulary, or legacy 'bertsum'"
            )

    def _records_of(
        self, document: dict[str, Any], sentences: list[bytes], counts: collections.Counter
    ) -> Iterator[bytes]:
        texts = [sentence.decode("utf-8", "replace") for sentence in sentences]
        read = texts[:MOST_SENTENCES] if self._presumm else texts
        summary = document["summary"]
        labels = self._labels(document, read)
        if self._presumm and self.settings["lowercase"]:
            texts, summary = [text.lower() for text in texts], summary.lower()
        example = self._example(texts, summary, labels)
        if example.too_short:
            counts["short_documents"] += 1
            return

        # The pieces of each sentence, without its [CLS] and [SEP]
        ends = [*example.clss[1:], len(example.src)]
        pieces = [example.src[start + 1 : end - 1] for start, end in zip(example.clss, ends)]
        counts.update(
            documents=1,
            sentences=len(pieces),
            pieces=sum(map(len, pieces)),
            labelled_sentences=sum(example.labels),
            short_sentences=len(texts) - len(example.src_txt),
            sentences_beyond=len(example.src_txt) - len(pieces),
            labels_lost=sum(label > 0 for label in labels) - sum(example.labels),
            without_overlap=int(not any(labels)),
        )
        encoded = [text.encode() for text in example.src_txt[: len(pieces)]]
        yield make_record(document["id"], pieces, example.labels, encoded, summary)

    def _example(self, texts: list[str], summary: str, labels: list[float]) -> Example:
        tokens, word_piece = [text.split() for text in texts], self.word_pieces[0]
        if self._presumm:
            return presumm_example(
                tokens, [line.split() for line in summary.split("\n")], labels, self._ids
            )

        return bertsum_example(
            tokens,
            labels,
            lambda lines: word_piece.tokenize(lines).to_list(),
            word_piece.cls_id,
            word_piece.sep_id,
        )
