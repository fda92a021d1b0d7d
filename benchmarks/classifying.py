"""Accuracy and F1 of a classifier beside TF-IDF with logistic regression (scikit-learn) trained on the same data.

The baseline reads the whole training file of the model's recipe, the share that the recipe holds out too (the model
chose its best step by it); its two settings, the strength of regularization and the lengths of n-grams, are chosen by
cross-validation on that file alone. The test file is read once by each. The difference is paired: of the same texts,
resampled together.

    pip install scikit-learn
    python benchmarks/classifying.py runs/bert_classify_disaster_tweets/best ../shared/data/disaster_tweets/test.tsv.gz
    python benchmarks/classifying.py runs/bert_classify_nsmc_ko/best ../shared/data/nsmc_ko/test.tsv.gz \\
        --analyzer characters --other runs/bert_classify_nsmc_ko_new/best
"""

import argparse
import importlib.metadata
import json
import os
import pathlib
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

from tfsum.models import BertClassifier
from tfsum.tasks.classification.batches import pack_texts
from tfsum.tasks.classification.prepare import LabelledTexts, read_labelled
from tfsum.tasks.classification.report import evaluate_labels
from tfsum.tasks.classification.train import probabilities
from tfsum.text.word_piece import WordPiece

BASELINE = "tf-idf, logistic regression"
# scikit-learn's words are runs of letters and digits; "char_wb" are characters inside of words and their borders.
ANALYZERS = {"words": ("word", [(1, 1), (1, 2)]), "characters": ("char_wb", [(1, 4), (2, 5)])}
STRENGTHS = [0.3, 1.0, 3.0, 10.0]


def recipe_of(folder: str) -> dict:
    """The recipe that a model folder remembers."""
    return json.loads((pathlib.Path(folder) / "tfsum.json").read_text(encoding="utf-8"))


def answers_of_model(folder: str, texts: LabelledTexts) -> tuple[np.ndarray, tuple[str, ...]]:
    """Places of the labels that a model folder answers, and its labels."""
    model, text = BertClassifier.from_pretrained(folder), recipe_of(folder)["text"]
    word_piece = WordPiece.from_file(pathlib.Path(folder) / "vocab.txt", lowercase=text["lowercase"],
                                     strip_accents=text["strip_accents"])
    packed = pack_texts(texts, model.label_names, word_piece, text["max_length"])
    print(json.dumps({"model": folder, **packed.counts}))
    return probabilities(model, packed, 4096).argmax(1), model.label_names


def answers_of_baseline(train: LabelledTexts, texts: LabelledTexts, label_names, analyzer: str) -> np.ndarray:
    """Places of the labels that TF-IDF with logistic regression answers, its settings chosen on `train`."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    kind, ranges = ANALYZERS[analyzer]
    model = make_pipeline(TfidfVectorizer(analyzer=kind, sublinear_tf=True, min_df=2),
                          LogisticRegression(max_iter=1000))
    search = GridSearchCV(model, {"tfidfvectorizer__ngram_range": ranges, "logisticregression__C": STRENGTHS}, cv=5)
    begin = time.perf_counter()
    search.fit(joined(train), train.label_ids(label_names))
    print(json.dumps({"baseline": BASELINE, "texts": len(train), "seconds": round(time.perf_counter() - begin, 1),
                      "cross_validated_accuracy": round(100 * search.best_score_, 2), **search.best_params_}))
    return search.predict(joined(texts))


def joined(texts: LabelledTexts) -> list[str]:
    """One string a text; those of a pair one after the other."""
    return texts.texts if texts.pairs is None else [f"{a} {b}" for a, b in zip(texts.texts, texts.pairs)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="the model folder of a classifier that a recipe trained")
    parser.add_argument("test", help="labelled texts that no training saw, with the recipe's columns")
    parser.add_argument("--other", help="another model folder on the same data, such as one without pretraining")
    parser.add_argument("--analyzer", choices=ANALYZERS, default="words", help="of TF-IDF (default words)")
    parser.add_argument("--samples", type=int, default=2000, help="of the bootstrap (default 2000)")
    options = parser.parse_args()
    data = recipe_of(options.model)["recipe"]["data"]
    columns = {name: data[name] for name in ("text", "label", "text_pair")}
    train, texts = (read_labelled(path, **columns) for path in (data["train"], options.test))
    print(json.dumps({"test": options.test, "texts": len(texts), "train": len(train), "processors": os.cpu_count(),
                      **{name: importlib.metadata.version(name) for name in ("tfsum", "tensorflow", "scikit-learn")}}))
    answers, label_names = answers_of_model(options.model, texts)
    systems = {BASELINE: answers_of_baseline(train, texts, label_names, options.analyzer), "model": answers}
    if options.other:
        systems["other model"], _ = answers_of_model(options.other, texts)
    labels = texts.label_ids(label_names)
    print(evaluate_labels(systems, labels, label_names, BASELINE, options.samples).to_text())


if __name__ == "__main__":
    main()
