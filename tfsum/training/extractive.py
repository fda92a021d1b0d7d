"""Training a BertSumExt on prepared records, from an encoder to the best model folder."""

import functools
import pathlib
from typing import Any, Literal

import tensorflow as tf

from tfsum.data.batches import batches_report, extractive_batches
from tfsum.data.prepare import prepare
from tfsum.data.windows import load_windows
from tfsum.errors import RecipeError
from tfsum.models import Bert, BertSumExt
from tfsum.models.int8_rows import rounded_rows
from tfsum.text.word_piece import WordPiece
from tfsum.training.encoder import CASE, check_segments, encoder_folder, freeze, text_settings
from tfsum.training.environment import set_precision_and_seed, strategy_of
from tfsum.training.optimizer import Adam, WarmUp, encoder_factor
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders, write_recipe
from tfsum.training.run import Run, points, say
from tfsum.training.validation import ExtractiveValidation

MEASURED = ("sentences", "selection", "block_trigrams", "documents")


def schema() -> dict[str, dict[str, Key]]:
    """What a recipe may say: section -> key -> `Key`; the keys are arguments of the functions they go to."""
    prepared = keys_of(prepare, "corpus", "out_dir", "vocabulary", "window_length", "columns", "progress", *CASE)
    run = {**keys_of(Run, "model", "optimizer"),
           **keys_of(ExtractiveRun, "model", "train_records", "validation_records", "vocabulary", "settings")}
    return {
        "data": {"train": Key((str,)), "validation": Key((str,)), "records": Key((str,)),
                 **{k: v for k, v in prepared.items() if k != "newline"}},
        "text": {**CASE, "newline": prepared["newline"]},
        "model": {**keys_of(build_model, "precision", "seed"), **keys_of(BertSumExt, "bert", "name")},
        "train": {"strategy": Key((str,), "one", ("one", "mirrored")), **keys_of(set_precision_and_seed),
                  **{k: v for k, v in run.items() if k not in MEASURED}},
        "evaluate": {k: run[k] for k in MEASURED},
    }


def train(recipe: dict[str, dict[str, Any]]) -> pathlib.Path:
    """Prepares the data where that is still to do, and trains; see `tfsum.training.recipes.train`."""
    data = recipe["data"]
    options = {k: v for k, v in data.items() if k not in ("train", "validation", "records")}
    model_options = {k: v for k, v in recipe["model"].items() if k != "kind"}
    strategy, precision, seed = (recipe["train"][k] for k in ("strategy", "precision", "seed"))
    # The precision is global in Keras: it must stand before the first layer does.
    with strategy_of(strategy).scope():
        model, folder = build_model(**model_options, precision=precision, seed=seed)
    check_segments(model.bert, "a document, whose sentences take turns,")
    text = text_settings(folder, **recipe["text"])
    records = {}
    for split in ("train", "validation"):
        # Validation needs no soft labels, and its oracle is the report's.
        labels = options["labels"] if split == "train" else "greedy"
        records[split] = pathlib.Path(data["records"]) / split
        counts = prepare(data[split], records[split], folder, window_length=model.window_length,
                         **{**options, "labels": labels}, **text)
        print(f"{split}: " + ", ".join(f"{v} {k}" for k, v in counts.items()), flush=True)
    settings = {"text": {**text, "window_length": model.window_length}, "recipe": without_folders(recipe)}
    arguments = {k: v for k, v in recipe["train"].items() if k not in ("strategy", "precision")}
    run = ExtractiveRun(model, records["train"], records["validation"], folder, settings, **arguments,
                        **recipe["evaluate"])
    write_recipe(recipe, run.folder / "recipe.toml")
    return run.fit()


def build_model(encoder: str, freeze_layers: int = 0, round_words: bool = False, hidden_dropout_prob: float = 0.1,
                attention_probs_dropout_prob: float = 0.1, precision: str = "float32", seed: int = 0,
                **head) -> tuple[BertSumExt, pathlib.Path]:
    """Builds a BertSumExt around a trained encoder.

    Args:
        encoder: see `tfsum.training.encoder.encoder_folder`.
        freeze_layers: the lowest encoder layers that keep their weights; above 0 the embeddings keep theirs too.
        round_words: round the rows of the word embedding to what int8 holds before training, so that an export with
            storage "small" loses nothing of them; they must keep their weights (`freeze_layers`).
        hidden_dropout_prob: dropout of the encoder.
        attention_probs_dropout_prob: dropout on its attention weights.
        precision, seed: see `set_precision_and_seed`.
        **head: the other arguments of `BertSumExt`.

    Returns:
        The built model, and its encoder's folder.
    """
    if round_words and not freeze_layers:
        raise RecipeError("[model] round_words is true and freeze_layers 0: embeddings that are trained do not stay "
                          "rounded; freeze 1 layer or more, or leave round_words out")
    set_precision_and_seed(precision, seed)
    folder = encoder_folder(encoder)
    bert = Bert.from_pretrained(folder, hidden_dropout_prob=hidden_dropout_prob,
                                attention_probs_dropout_prob=attention_probs_dropout_prob)
    model = BertSumExt(bert, **head)
    model.build()
    if round_words:
        bert.word_embeddings.embeddings.assign(rounded_rows(bert.word_embeddings.embeddings.numpy()))
    freeze(bert, freeze_layers)
    bert.pooler.trainable = False  # it takes no part in the scores
    return model, folder


class ExtractiveRun(Run):
    """A `Run` that trains a BertSumExt and validates it by the ROUGE of what it chooses.

    Args:
        model: a built `BertSumExt`.
        train_records: folder of the training records.
        validation_records: folder of the validation records.
        vocabulary: the folder that holds vocab.txt.
        settings: what tfsum.json of the best model says.
        steps: optimizer steps of the whole run.
        tokens_per_batch: padded tokens of a step's batch, of each replica.
        max_windows: windows read of a document.
        first_window_steps: steps at the start that read the first window alone: most of what a model learns
            stands there, and a step sees more documents.
        learning_rate: peak rate of the head.
        encoder_learning_rate: peak rate of the encoder.
        warmup_steps: steps of linear growth of the rates.
        decay: "linear" to 0 at the last step, or "sqrt", the papers' inverse square root.
        weight_decay: of AdamW; 0 is the papers' Adam.
        clip_norm: largest global norm of the gradients; 0 never clips.
        seed: of the order of the documents.
        sentences, selection, block_trigrams, documents: see `ExtractiveValidation`.
        **run: the other arguments of `Run`.
    """

    def __init__(self, model, train_records, validation_records, vocabulary, settings: dict, steps: int,
                 tokens_per_batch: int = 8192, max_windows: int = 1, first_window_steps: int = 0,
                 learning_rate: float = 1e-3, encoder_learning_rate: float = 5e-5, warmup_steps: int = 100,
                 decay: str = "linear", weight_decay: float = 0.0, clip_norm: float = 1.0, seed: int = 0,
                 sentences: int = 3, selection: Literal["score", "expected_rouge"] = "score",
                 block_trigrams: bool = True, documents: int | None = None, **run):
        if decay not in ("linear", "sqrt"):
            raise RecipeError(f"[train] decay is {decay!r}; expected 'linear' or 'sqrt'")
        with model.distribute_strategy.scope():
            schedule = WarmUp(learning_rate, warmup_steps, steps if decay == "linear" else None)
            optimizer = Adam(schedule, {"bert": encoder_factor(encoder_learning_rate, learning_rate)},
                             global_clipnorm=clip_norm or None, weight_decay=weight_decay or None)
        super().__init__(model, optimizer, steps=steps, **run)
        self.settings, self._first_window_steps = settings, first_window_steps
        self._word_piece = WordPiece.from_file(pathlib.Path(vocabulary) / "vocab.txt")
        ids = {"cls_id": self._word_piece.cls_id, "sep_id": self._word_piece.sep_id}
        self._batches = dict(tokens_per_batch=tokens_per_batch, window_length=model.window_length,
                             max_windows=max_windows)
        self._train_records, self._ids, self._seed = train_records, ids, seed
        # Read once for each of the two numbers of windows; those of the first are not needed any more then.
        self._documents = functools.lru_cache(maxsize=1)(
            functools.partial(load_windows, train_records, model.window_length))
        self.validation = ExtractiveValidation(
            validation_records, model.window_length, max_windows, self._word_piece, tokens_per_batch,
            sentences, selection, block_trigrams, documents)

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first tells what a pass over the documents holds, and what their first sentences score."""
        report = batches_report(self._train_records, **self._batches)
        say(f"one pass: {report['documents']} documents, {report['batches']} batches, padding "
            f"{100 * report['padding']:.1f} %, {report['sentences_dropped']} sentences beyond max_windows, "
            f"{report['sentences_cut']} cut")
        self.state["lead"] = self.validation.lead()
        say(f"lead: {points(self.state['lead'])}")
        return super().fit()

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """First windows alone, then up to `max_windows` of each document; see `Run.batches`."""
        first = done < self._first_window_steps
        windows, since = (1, 0) if first else (self._batches["max_windows"], self._first_window_steps)
        documents = self._documents(windows)

        def batches(skip):
            return extractive_batches(documents, training=True, seed=self._seed, skip_batches=skip,
                                      **{**self._batches, "max_windows": windows}, **self._ids)

        until = min(self._first_window_steps, self.steps) if first else self.steps
        return self.replicated(batches, done - since), until

    def measure(self) -> dict[str, float]:
        """ROUGE on the validation documents."""
        return self.validation.rouge(self.validation.probabilities(self.model))

    def goodness(self, scores: dict[str, float]) -> float:
        """The mean of the three ROUGEs."""
        return sum(scores[name] for name in ("rouge1", "rouge2", "rougeLsum")) / 3

    def keep(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores beside lead's."""
        settings = {**self.settings, "validation": self.state["best"], "lead": self.state["lead"],
                    "seconds": round(self.state["seconds"])}
        self.model.save_pretrained(folder, self._word_piece.vocabulary, settings)
