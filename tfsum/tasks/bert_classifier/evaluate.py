"""A classifier measured on labelled texts, by accuracy and F1."""

import sys

from tfsum.data.readers import Corpus, corpus_name
from tfsum.evaluation.batched import batched
from tfsum.tasks.bert_classifier.batches import read_labelled
from tfsum.tasks.bert_classifier.classifier import Classified, Classifier
from tfsum.tasks.bert_classifier.report import ClassificationReport, evaluate_labels


def evaluate(
    classifier: Classifier,
    corpus: Corpus,
    *,
    text: str | None = None,
    label: str | None = None,
    text_pair: str | None = None,
    limit: int | None = None,
    samples: int = 1000,
    seed: int = 0,
) -> ClassificationReport:
    """Scores a classifier.

    Args:
        classifier: Loaded model.
        corpus: A file, or rows of texts with labels; see
            `tfsum.tasks.bert_classifier.batches.read_labelled`.
        text, label, text_pair: Names of the columns; None is as in the model's recipe, else their
            own names.
        limit: Number of texts to read; None reads all.
        samples, seed: Number of samples and seed of the bootstrap.

    Returns:
        The report; the number of texts cut is written to standard error.

    Raises:
        DataError: Corpus cannot be read, or a label is unknown to the model.
    """
    known = {
        "text": "text",
        "label": "label",
        "text_pair": "text_pair" if classifier.description["text"]["pair"] else None,
        **classifier.description.get("recipe", {}).get("data", {}),
    }
    texts = read_labelled(
        corpus, text or known["text"], label or known["label"], text_pair or known["text_pair"]
    )
    texts, names = texts.first(limit), classifier.description["labels"]
    labels = texts.label_ids(names)  # unknown labels are an error before the work, not after it
    answers: list[Classified] = []

    for group in batched(range(len(texts)), "texts"):
        pairs = None if texts.pairs is None else [texts.pairs[i] for i in group]
        answers += classifier([texts.texts[i] for i in group], pairs)

    if cut := sum(answer.coverage < 1 for answer in answers):
        print(
            f"tfsum: {corpus_name(corpus)}: {cut} of {len(texts)} texts were cut to what the model"
            " reads",
            file=sys.stderr,
        )

    return evaluate_labels(
        {"model": [names.index(answer.label) for answer in answers]},
        labels,
        names,
        samples=samples,
        seed=seed,
    )
