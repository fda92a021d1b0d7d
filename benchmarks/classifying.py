"""Accuracy and F1 of a classifier compared with TF-IDF and logistic regression (scikit-learn) on
the same data.

The baseline is trained on the whole training file of the model's recipe, including the share that
the recipe holds out (the model selects its best step on that share). Its two hyperparameters, the
regularization strength and the n-gram lengths, are selected by cross-validation on that file only.
Each system is evaluated once on the test file. The difference is paired: both systems are resampled
on the same texts.

    pip install scikit-learn
    python benchmarks/classifying.py runs/bert_classify_disaster_tweets/best
    ../shared/data/disaster_tweets/test.tsv.gz python benchmarks/classifying.py
    runs/bert_classify_nsmc_ko/best ../shared/data/nsmc_ko/test.tsv.gz \\
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
from tfsum.tasks.bert_classifier.batches import LabelledTexts, pack_texts, read_labelled
from tfsum.tasks.bert_classifier.report import evaluate_labels
from tfsum.tasks.bert_classifier.train import ClassificationValidation
from tfsum.text.word_piece import WordPiece

BASELINE = "tf-idf, logistic regression"
# scikit-learn's words are sequences of letters and digits; "char_wb" are characters within word
# boundaries.
ANALYZERS = {"words": ("word", [(1, 1), (1, 2)]), "characters": ("char_wb", [(1, 4), (2, 5)])}
STRENGTHS = [0.3, 1.0, 3.0, 10.0]


def recipe_of(folder: str) -> dict:
    """The recipe stored in a model folder."""
    return json.loads((pathlib.Path(folder) / "tfsum.json").read_text(encoding="utf-8"))


def answers_of_model(folder: str, texts: LabelledTexts) -> tuple[np.ndarray, tuple[str, ...]]:
    """Label indices predicted by the model of a folder, and its labels."""
    model, text = BertClassifier.from_pretrained(folder), recipe_of(folder)["text"]
    word_piece = WordPiece.from_file(
        pathlib.Path(folder) / "vocab.txt",
        lowercase=text["lowercase"],
        strip_accents=text["strip_accents"],
    )
    packed = pack_texts(texts, model.label_names, word_piece, text["max_length"])
    print(json.dumps({"model": folder, **packed.counts}))
    return (
        ClassificationValidation(model, packed, 4096).probabilities().argmax(1),
        model.label_names,
    )


def answers_of_baseline(
    train: LabelledTexts, texts: LabelledTexts, label_names, analyzer: str
) -> np.ndarray:
    """Label indices predicted by TF-IDF with logistic regression, with hyperparameters selected on
    `train`."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV
    from sklearn.pipeline import make_pipeline

    kind, ranges = ANALYZERS[analyzer]
    model = make_pipeline(
        TfidfVectorizer(analyzer=kind, sublinear_tf=True, min_df=2),
        LogisticRegression(max_iter=1000),
    )
    search = GridSearchCV(
        model, {"tfidfvectorizer__ngram_range": ranges, "logisticregression__C": STRENGTHS}, cv=5
    )
    begin = time.perf_counter()
    search.fit(joined(train), train.label_ids(label_names))
    print(
        json.dumps(
            {
                "baseline": BASELINE,
                "texts": len(train),
                "seconds": round(time.perf_counter() - begin, 1),
                "cross_validated_accuracy": round(100 * search.best_score_, 2),
                **search.best_params_,
            }
        )
    )
    return search.predict(joined(texts))


def joined(texts: LabelledTexts) -> list[str]:
    """One string per text; the two texts of a pair are joined."""
    return (
        texts.texts
        if texts.pairs is None
        else [f"{a} {b}" for a, b in zip(texts.texts, texts.pairs)]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="the model folder of a classifier that a recipe trained")
    parser.add_argument(
        "test", help="labelled texts that were not used for training, with the recipe's columns"
    )
    parser.add_argument(
        "--other", help="another model folder on the same data, such as one without pretraining"
    )
    parser.add_argument(
        "--analyzer", choices=ANALYZERS, default="words", help="units of TF-IDF (default words)"
    )
    parser.add_argument(
        "--samples", type=int, default=2000, help="bootstrap samples (default 2000)"
    )
    options = parser.parse_args()
    data = recipe_of(options.model)["recipe"]["data"]
    columns = {name: data[name] for name in ("text", "label", "text_pair")}
    train, texts = (read_labelled(path, **columns) for path in (data["train"], options.test))
    print(
        json.dumps(
            {
                "test": options.test,
                "texts": len(texts),
                "train": len(train),
                "processors": os.cpu_count(),
                **{
                    name: importlib.metadata.version(name)
                    for name in ("tfsum", "tensorflow", "scikit-learn")
                },
            }
        )
    )
    answers, label_names = answers_of_model(options.model, texts)
    systems = {
        BASELINE: answers_of_baseline(train, texts, label_names, options.analyzer),
        "model": answers,
    }
    if options.other:
        systems["other model"], _ = answers_of_model(options.other, texts)
    labels = texts.label_ids(label_names)
    print(evaluate_labels(systems, labels, label_names, BASELINE, options.samples).to_text())


if __name__ == "__main__":
    main()
