"""Share of texts that decode from their word pieces byte for byte, in per cent.

python benchmarks/round_trip.py runs/transformer_tatoeba_en_fr/best/vocab.txt PAIRS.tsv.gz --columns
1,2 python benchmarks/round_trip.py vocab.txt CORPUS.jsonl.gz --columns text --show 5
"""

import argparse
import itertools
import json
import os
import unicodedata

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import tensorflow as tf

import tfsum
from tfsum.data.readers import read_texts
from tfsum.text.detokenizer import Detokenizer

BATCH = 1000


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vocabulary", help="a vocab.txt")
    parser.add_argument("corpus", nargs="+")
    parser.add_argument(
        "--columns", default="text", help="column names, or numbers from 1 without a header line"
    )
    parser.add_argument(
        "--lowercase",
        action="store_true",
        help="lowercase the texts, as the vocabulary was learned",
    )
    parser.add_argument(
        "--show", type=int, default=0, metavar="N", help="print the first N texts that differ"
    )
    arguments = parser.parse_args()
    word_piece = tfsum.WordPiece.from_file(arguments.vocabulary, lowercase=arguments.lowercase)
    detokenizer = Detokenizer(word_piece.vocabulary)
    # NFC: what vocabularies are learned in
    counts = {"texts": 0, "byte_for_byte": 0, "in_normal_form_c": 0}
    texts_of = read_texts(arguments.corpus, arguments.columns.split(","))
    while texts := list(itertools.islice(texts_of, BATCH)):
        given = tf.constant([text.encode() for text in texts])
        back = [
            text.decode() for text in detokenizer.detokenize(word_piece.tokenize(given)).numpy()
        ]
        for text, again in zip(texts, back, strict=True):
            counts["texts"] += 1
            counts["byte_for_byte"] += text == again
            counts["in_normal_form_c"] += unicodedata.normalize("NFC", text) == again
            if text != again and arguments.show > 0:
                arguments.show -= 1
                print(json.dumps({"text": text, "back": again}, ensure_ascii=False))
    shares = {
        f"{name}_share": round(100 * counts[name] / max(1, counts["texts"]), 2)
        for name in list(counts)[1:]
    }
    print(json.dumps({**counts, **shares}))


if __name__ == "__main__":
    main()
