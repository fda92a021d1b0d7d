"""Fine-tuning a BertClassifier on labelled texts, from an encoder to the best model folder."""

import pathlib
from collections.abc import Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.data.labelled_batches import PackedTexts, assemble_texts, labelled_batches, pack_texts, plan_texts
from tfsum.data.labelled_texts import LabelledTexts, read_labelled
from tfsum.errors import RecipeError
from tfsum.evaluation.classification import evaluate_labels
from tfsum.models import Bert, BertClassifier, model_folder
from tfsum.text.word_piece import WordPiece
from tfsum.training.encoder import CASE, check_segments, encoder_folder, freeze, text_settings
from tfsum.training.environment import set_precision_and_seed, strategy_of
from tfsum.training.optimizer import NOT_DECAYED, Adam, WarmUp, encoder_factor
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders, write_recipe
from tfsum.training.run import Run, say


def schema() -> dict[str, dict[str, Key]]:
    """What a recipe may say: section -> key -> `Key`; the keys are arguments of the functions they go to."""
    return {
        "data": {**keys_of(read_splits), **keys_of(read_labelled, "path")},
        "text": {**CASE, **keys_of(pack_texts, "texts", "label_names", "word_piece")},
        "model": keys_of(build_model, "label_names", "precision", "seed"),
        "train": {"strategy": Key((str,), "one", ("one", "mirrored")), **keys_of(set_precision_and_seed),
                  **keys_of(Run, "model", "optimizer"),
                  **keys_of(ClassificationRun, "model", "train", "validation", "vocabulary", "settings")},
    }


def train(recipe: dict[str, dict[str, Any]]) -> pathlib.Path:
    """Reads the texts and trains; see `tfsum.training.recipes.train`."""
    strategy, precision, seed = (recipe["train"][k] for k in ("strategy", "precision", "seed"))
    texts, label_names = read_splits(**recipe["data"])
    model_options = {k: v for k, v in recipe["model"].items() if k != "kind"}
    # The precision is global in Keras: it must stand before the first layer does.
    with strategy_of(strategy).scope():
        model, folder = build_model(label_names=label_names, **model_options, precision=precision, seed=seed)
    text = text_settings(folder, **recipe["text"]) | {"pair": recipe["data"]["text_pair"] is not None}
    longest = model.bert.config["max_position_embeddings"]
    if text["max_length"] > longest:
        raise RecipeError(f"[text] max_length is {text['max_length']}; the encoder has positions for {longest} tokens")
    if text["pair"]:
        check_segments(model.bert, "a pair of texts ([data] text_pair)")
    word_piece = WordPiece.from_file(folder / "vocab.txt", **{name: text[name] for name in CASE})
    packed = {name: pack_texts(part, label_names, word_piece, text["max_length"]) for name, part in texts.items()}
    for name, part in packed.items():
        counts = part.counts | {f"of label {label!r}": int((part.labels == i).sum())
                                for i, label in enumerate(label_names)}
        say(f"{name}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
    if absent := [label for i, label in enumerate(label_names) if i not in packed["train"].labels]:
        say(f"warning: no text to train on has label {', '.join(map(repr, absent))}, which will hardly be answered")
    arguments = {k: v for k, v in recipe["train"].items() if k not in ("strategy", "precision")}
    settings = {"text": text, "recipe": without_folders(recipe)}
    run = ClassificationRun(model, packed["train"], packed["validation"], word_piece.vocabulary, settings, **arguments)
    write_recipe(recipe, run.folder / "recipe.toml")
    return run.fit()


def read_splits(train: str, validation: str | None = None, validation_share: float = 0.1,
                labels: list | None = None, **columns) -> tuple[dict[str, LabelledTexts], tuple[str, ...]]:
    """Reads the texts to train on and those to choose the best model by.

    Args:
        train: the file.
        validation: that of the others; without one a share of `train` is held out.
        validation_share: the share, see `LabelledTexts.held_out`.
        labels: the labels in the order of the model's scores; by default those of `train`, sorted.
        **columns: see `read_labelled`.

    Returns:
        Texts by split, and the labels.

    Raises:
        DataError: see `read_labelled` and `LabelledTexts`.
    """
    texts = read_labelled(train, **columns)
    names = texts.label_names() if labels is None else tuple(map(str, labels))
    if validation is None:
        rest, held = texts.held_out(validation_share)
    else:
        rest, held = texts, read_labelled(validation, **columns)
    return {"train": rest, "validation": held}, names


def build_model(encoder: str, label_names: Sequence[str], pretrained: bool = True, freeze_layers: int = 0,
                hidden_dropout_prob: float = 0.1, attention_probs_dropout_prob: float = 0.1,
                classifier_dropout: float = 0.1, precision: str = "float32",
                seed: int = 0) -> tuple[BertClassifier, pathlib.Path]:
    """Builds a BertClassifier around an encoder.

    Args:
        encoder: see `tfsum.training.encoder.encoder_folder`.
        label_names: the labels.
        pretrained: False takes the encoder's size and vocabulary alone and begins with new weights: the control
            that shows what pretraining is worth.
        freeze_layers, hidden_dropout_prob, attention_probs_dropout_prob: see `tfsum.training.extractive.build_model`.
        classifier_dropout: dropout on the pooled output.
        precision, seed: see `set_precision_and_seed`.

    Returns:
        The built model, and its encoder's folder.
    """
    set_precision_and_seed(precision, seed)
    folder = encoder_folder(encoder)
    dropout = {"hidden_dropout_prob": hidden_dropout_prob,
               "attention_probs_dropout_prob": attention_probs_dropout_prob}
    stored = model_folder.read(folder)
    bert = model_folder.load_bert(Bert, stored, dropout) if pretrained else Bert(**{**stored.config, **dropout})
    model = BertClassifier(bert, label_names, classifier_dropout)
    model.build()
    freeze(bert, freeze_layers)
    return model, folder


class ClassificationRun(Run):
    """A `Run` that trains a BertClassifier and validates it by accuracy and F1.

    Args:
        model: a built `BertClassifier`.
        train: the texts to train on.
        validation: the texts to choose the best model by.
        vocabulary: the word pieces.
        settings: what tfsum.json of the best model says.
        steps: optimizer steps of the whole run.
        tokens_per_batch: padded tokens of a step's batch, of each replica.
        learning_rate: peak rate of the classifier and of the pooler, which in many encoders nobody trained.
        encoder_learning_rate: peak rate of the rest of the encoder.
        warmup_steps: steps of linear growth of the rates, which then fall linearly to 0.
        weight_decay: of AdamW; biases and normalizations are spared.
        clip_norm: largest global norm of the gradients; 0 never clips.
        seed: of the order of the texts.
        **run: the other arguments of `Run`.
    """

    def __init__(self, model: BertClassifier, train: PackedTexts, validation: PackedTexts, vocabulary: list[str],
                 settings: dict, steps: int, tokens_per_batch: int = 1024, learning_rate: float = 5e-4,
                 encoder_learning_rate: float = 5e-5, warmup_steps: int = 50, weight_decay: float = 0.01,
                 clip_norm: float = 1.0, seed: int = 0, **run):
        lower = encoder_factor(encoder_learning_rate, learning_rate)
        with model.distribute_strategy.scope():
            optimizer = Adam(WarmUp(learning_rate, warmup_steps, steps), {"bert": lower, "pooler": 1.0},
                             epsilon=1e-6, global_clipnorm=clip_norm or None, weight_decay=weight_decay or None)
            optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
        super().__init__(model, optimizer, steps=steps, **run)
        self.settings, self._vocabulary = settings, vocabulary
        self._train, self._validation, self._tokens, self._seed = train, validation, tokens_per_batch, seed
        self._report = None  # of the newest validation

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """See `Run.batches`."""
        def batches(skip):
            return labelled_batches(self._train, tokens_per_batch=self._tokens, training=True, seed=self._seed,
                                    skip_batches=skip)

        return self.replicated(batches, done), self.steps

    def measure(self) -> dict[str, float]:
        """Accuracy and F1 on the validation texts, in points."""
        answers = probabilities(self.model, self._validation, self._tokens).argmax(1)
        self._report = evaluate_labels({"model": answers}, self._validation.labels, self.model.label_names)
        scores = self._report.systems["model"]
        return {name: scores[name]["value"] for name in scores if name != "labels"}

    def goodness(self, scores: dict[str, float]) -> float:
        """The mean of accuracy and macro F1."""
        return (scores["accuracy"] + scores["f1_macro"]) / 2

    def keep(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores and their intervals."""
        validation = {"step": self.state["best"]["step"], "texts": self._report.texts,
                      **self._report.systems["model"]}
        self.model.save_pretrained(folder, self._vocabulary, {
            **self.settings, "validation": validation, "seconds": round(self.state["seconds"])})


def probabilities(model: BertClassifier, texts: PackedTexts, tokens_per_batch: int) -> np.ndarray:
    """The model's probabilities of each text's labels: float32 (N, C)."""
    # Not Keras's `predict`, which under a strategy gives the answers of every replica.
    predict = tf.function(model.predict_step, reduce_retracing=True, autograph=False)
    found = np.zeros((len(texts), len(model.label_names)), np.float32)
    for rows in plan_texts(texts, tokens_per_batch, 8, None):
        found[rows] = predict(assemble_texts(texts, rows)).numpy()
    return found
