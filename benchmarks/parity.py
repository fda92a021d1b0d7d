"""The largest differences from what the original programs of BertSum and PreSumm computed, for
every small checkpoint.

    python benchmarks/parity.py ../shared/parity

A row is a checkpoint: of scores (or log-probabilities), token vectors, losses, gradients and the
weights after the optimizer's steps, the largest absolute difference; the tolerance of each column
is in the last row. Weights whose gradient is zero but for rounding (the biases of keys) are left
out, as the fixtures' README says: Adam moves them at random. "steps" is the share of weights within
2e-5. Ids are those of greedy and beam search with `legacy`. The lines below the table compare what
only some of the fixtures have, each with its own tolerance; the last ones write each checkpoint
back, and compare every tensor with the original's bit by bit.
"""

import argparse
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from tfsum.conversion.convert import convert
from tfsum.formats.torch_file import read_torch_file
from tfsum.papers import PreSummBeamSearch
from tfsum.papers.checkpoint_names import bertsum_names, bertsum_tensors, named_variables
from tfsum.papers.checkpoint_reader import read_bertsum
from tfsum.training.optimizer import Adam, WarmUp

CHECKPOINTS = (
    "bertsum_ext_classifier",
    "bertsum_ext_transformer",
    "bertsum_ext_rnn",
    "presumm_ext_transformer",
    "presumm_ext_baseline",
    "presumm_abs",
)
ROUND_TRIPS = (*(f"{name}_step0" for name in CHECKPOINTS), "bertsum_ext_classifier_step3_legacy")
NO_GRADIENT = "key.bias", "linear_keys.bias"
NOT_TRAINED = (
    "pos_emb.pe",
    "transformer_inter.0.layer_norm.weight",
    "transformer_inter.0.layer_norm.bias",
    ".mask",
)
COLUMNS = ("scores", "vectors", "losses", "gradients", "steps", "largest step")
TOLERANCES = ("1e-05", "1e-05", "1e-05", "1e-4 of max + 1e-5", "99.8 %", "1e-03")


class Checkpoint:
    """A model of the fixtures, and what the original computed with it."""

    def __init__(self, folder: pathlib.Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.abstractive = name == "presumm_abs"
        self.expected = np.load(folder / f"{name}_ref.npz")
        stored = np.load(folder / f"{name.split('_')[0]}_batches.npz")
        self.batches = [self._batch(stored, i) for i in range(3)]

    def _batch(self, stored: Any, i: int) -> dict[str, np.ndarray]:
        ids, segments = stored[f"b{i}_src"], stored[f"b{i}_segs"]
        if self.abstractive:
            target = stored[f"b{i}_tgt"]
            return {
                "source_ids": ids,
                "segment_ids": segments,
                "target_ids": target[:, :-1],
                "target_labels": target[:, 1:],
            }
        starts = np.where(stored[f"b{i}_mask_cls"], stored[f"b{i}_clss"], -1).astype(np.int32)
        labels = stored[
            f"b{i}_labels" if self.name.startswith("bertsum") else f"b{i}_src_sent_labels"
        ]
        return {
            "token_ids": ids,
            "segment_ids": segments,
            "sentence_starts": starts,
            "labels": labels.astype(np.float32),
        }

    def model(self) -> Any:
        """The model, read again."""
        bert = {
            "num_attention_heads": 4,
            "hidden_dropout_prob": 0.0,
            "attention_probs_dropout_prob": 0.0,
        }
        if "baseline" not in self.name:
            bert = json.loads((self.folder / "bert_config_tiny48.json").read_text())
        options = (
            {}
            if self.abstractive
            else {"loss_reduction": "sum", "legacy": self.name.endswith("rnn")}
        )
        return read_bertsum(self.folder / f"{self.name}_step0.pt", bert, **options)

    def stored(self, what: str) -> tuple[Any, int]:
        """A file of arrays, and how many elements apart those are that it has."""
        (path,) = self.folder.glob(f"{self.name}_{what}*.npz")
        return np.load(path), 4 if "every4" in path.name else 1


def row(checkpoint: Checkpoint) -> list[float]:
    """The differences of a checkpoint."""
    model, batches, expected = checkpoint.model(), checkpoint.batches, checkpoint.expected
    if checkpoint.abstractive:
        scores = _largest(tf.nn.log_softmax(model(batches[0])), expected["b0_log_probs"])
        vectors = _largest(model.read(batches[0])[0], expected["b0_top_vec"])
        losses = max(
            _largest(model.summed_loss(batch, None, True), expected[f"b{i}_kl_smooth"])
            / float(expected[f"b{i}_kl_smooth"])
            for i, batch in enumerate(batches)
        )
    else:
        scores = max(
            _largest(model.predict_step(batch), expected[f"b{i}_scores"])
            for i, batch in enumerate(batches)
        )
        vectors = _largest(model.bert(batches[0])["sequence_output"], expected["b0_top_vec"])
        losses = max(
            _largest(model.summed_loss(batch, None, False), expected[f"b{i}_loss"])
            / float(expected[f"b{i}_loss"])
            for i, batch in enumerate(batches)
        )
    return [scores, vectors, losses, gradients(checkpoint, model), *steps(checkpoint)]


def gradients(checkpoint: Checkpoint, model: Any) -> float:
    """The largest difference of a gradient, in parts of what is allowed."""
    (right, every), batch = checkpoint.stored("grads"), checkpoint.batches[0]
    with tf.GradientTape() as tape:
        loss = model.summed_loss(batch, None, training=True)
        if checkpoint.abstractive:
            loss /= model.loss_weight(batch, None)
    names = bertsum_names(model, prefix(checkpoint.name))
    variables = named_variables(model)
    values = tape.gradient(loss, [variables[path].value for _, path, _ in names])
    worst = 0.0
    for (name, _, transposed), value in zip(names, values, strict=True):
        if value is None:
            continue
        found = tf.convert_to_tensor(value).numpy()
        found = found.T if transposed else found
        expected = right[name].ravel()
        worst = max(
            worst,
            _largest(found.ravel()[::every], expected) / (1e-4 * np.abs(expected).max() + 1e-5),
        )
    return worst


def steps(checkpoint: Checkpoint) -> tuple[float, float]:
    """The share of weights within 2e-5 of the original's after three steps, and the largest
    difference."""
    model = checkpoint.model()
    model.compile(optimizer=optimizer_of(checkpoint))
    for batch in checkpoint.batches:
        model.train_on_batch(batch)
    (right, every), found = (
        checkpoint.stored("step3"),
        bertsum_tensors(model, prefix(checkpoint.name)),
    )
    names = [name for name in right.files if not name.endswith((*NO_GRADIENT, *NOT_TRAINED))]
    wrong = np.concatenate(
        [np.abs(found[name].ravel()[::every] - right[name].ravel()) for name in names]
    )
    return float(np.mean(wrong <= 2e-5)), float(wrong.max())


def optimizer_of(checkpoint: Checkpoint) -> Adam:
    """The optimizer of the fixtures' steps."""
    if checkpoint.abstractive:
        return Adam(
            WarmUp(0.05 / 2**0.5, 2), groups={"bert": WarmUp(0.02 / 3**0.5, 3)}, epsilon=1e-9
        )
    return Adam(WarmUp(0.02 / 2**0.5, 2), epsilon=1e-9)


def prefix(name: str) -> str:
    return "encoder." if name.startswith("bertsum") else "ext_layer."


def _largest(found: Any, expected: Any) -> float:
    return float(np.abs(np.asarray(found, np.float64) - np.asarray(expected, np.float64)).max())


def decodes(folder: pathlib.Path) -> tuple[int, int]:
    """(equal, compared) of the summaries that are not flagged ambiguous."""
    checkpoint, stored = (
        Checkpoint(folder, "presumm_abs"),
        json.loads((folder / "presumm_abs_decode.json").read_text()),
    )
    vocabulary = tuple((folder / "vocab_tiny48.txt").read_text().splitlines())
    model, equal, compared = checkpoint.model(), 0, 0
    for result in (result for result in stored["results"] if not result["ambiguous"]):
        search = PreSummBeamSearch(
            result["beam_size"],
            length_penalty=result["alpha"],
            min_length=result["min_length"] + 1,
            no_repeat_ngram=3 if result["block_trigram"] else 0,
            vocabulary=vocabulary,
        )
        source = stored["sources"][result["source"]]
        ids, _, lengths = model.generate(
            {"source_ids": [source["src"]], "segment_ids": [source["segs"]]},
            search,
            result["max_length"],
        )
        equal += ids[0, 0, : lengths[0, 0]].tolist() == result["ids"]
        compared += 1
    return equal, compared


def others(folder: pathlib.Path) -> Iterator[tuple[str, float, float]]:
    """(what is compared, difference, tolerance) of what only some fixtures have."""
    for name in ("bertsum_ext_classifier", "bertsum_ext_transformer"):
        checkpoint = Checkpoint(folder, name)
        alone = np.nan_to_num(checkpoint.expected["b0_scores_each_alone"])
        yield (
            f"{name}: scores of documents alone",
            _largest(checkpoint.model().predict_step(checkpoint.batches[0]), alone),
            1e-5,
        )
    lstm = Checkpoint(folder, "bertsum_ext_rnn")
    repaired = read_bertsum(
        folder / "bertsum_ext_rnn_step0.pt",
        json.loads((folder / "bert_config_tiny48.json").read_text()),
    )
    yield (
        "bertsum_ext_rnn: repaired, documents alone",
        _largest(
            repaired.predict_step(lstm.batches[0]),
            np.nan_to_num(lstm.expected["b0_scores_alias_fixed_each_alone"]),
        ),
        1e-5,
    )
    yield from _accumulated(folder)
    yield from _abstractive(folder)
    for name in CHECKPOINTS:
        checkpoint = Checkpoint(folder, name)
        rates, losses, expected = three_steps(checkpoint)
        yield (
            f"{name}: learning rates of three steps, relative",
            _relative(rates, np.asarray(checkpoint.expected["step_lrs"]).ravel()),
            1e-6,
        )
        yield (
            f"{name}: losses of the first two steps, relative",
            _relative(losses[:2], expected[:2]),
            1e-5,
        )
        third = _relative(losses[2:], expected[2:])
        yield f"{name}: loss of the third step, relative", third, 1e-5
        # Adam divides by gradients that may be rounding alone: how much of it that explains
        if third > 1e-5:
            rounded = [
                _relative(three_steps(checkpoint, seed)[1][2:], losses[2:]) for seed in range(5)
            ]
            yield (
                f"{name}: the same, ours with rounded gradients and without (median)",
                float(np.median(rounded)),
                1e-5,
            )
    stored = read_torch_file(folder / "bertsum_ext_classifier_step3_legacy.pt")["model"]
    right = np.load(folder / "bertsum_ext_classifier_step3_every4.npz")
    yield (
        "bertsum_ext_classifier_step3_legacy.pt: its weights are those of its step3 file",
        max(_largest(stored[name].ravel()[::4], right[name].ravel()) for name in right.files),
        0.0,
    )


def _accumulated(folder: pathlib.Path) -> Iterator[tuple[str, float, float]]:
    """Two steps of two batches each, clipped: for us one batch of all their documents in two
    micro-batches."""
    checkpoint = Checkpoint(folder, "bertsum_ext_transformer")
    model, (one, two, three) = checkpoint.model(), checkpoint.batches
    model.micro_batches = 2
    model.compile(optimizer=Adam(WarmUp(0.02 / 2**0.5, 2), epsilon=1e-9, global_clipnorm=1.0))
    losses = []
    for batch in (joined(one, two), joined(three, one)):
        losses.append(model.train_on_batch(batch, return_dict=True)["loss"])
        model.reset_metrics()
    right, found = (
        np.load(folder / f"{checkpoint.name}_accum2clip1_step2_every4.npz"),
        bertsum_tensors(model),
    )
    names = [name for name in right.files if not name.endswith((*NO_GRADIENT, *NOT_TRAINED))]
    wrong = np.concatenate(
        [np.abs(found[name].ravel()[::4] - right[name].ravel()) for name in names]
    )
    name = "bertsum_ext_transformer: accum_count 2, max_grad_norm 1"
    yield f"{name}: share of weights not within 2e-5", float(np.mean(wrong > 2e-5)), 0.002
    yield f"{name}: largest difference of a weight", float(wrong.max()), 1e-3
    expected = checkpoint.expected["accum_losses"]
    yield f"{name}: mean loss, relative", abs(np.mean(losses) / expected.mean() - 1), 1e-5


def joined(first: dict, second: dict) -> dict[str, np.ndarray]:
    """Two batches as one, padded to the longer."""
    whole = {}
    for name in first:
        columns = max(first[name].shape[1], second[name].shape[1])
        whole[name] = np.concatenate(
            [
                np.pad(
                    batch[name],
                    ((0, 0), (0, columns - batch[name].shape[1])),
                    constant_values=-1 if name == "sentence_starts" else 0,
                )
                for batch in (first, second)
            ]
        )
    return whole


def _abstractive(folder: pathlib.Path) -> Iterator[tuple[str, float, float]]:
    """The losses without smoothing, the numbers of words, and of those that are right."""
    checkpoint = Checkpoint(folder, "presumm_abs")
    model = read_bertsum(
        folder / "presumm_abs_step0.pt",
        json.loads((folder / "bert_config_tiny48.json").read_text()),
        label_smoothing=0.0,
    )
    losses, words = 0.0, 0.0
    for i, batch in enumerate(checkpoint.batches):
        expected, labels = float(checkpoint.expected[f"b{i}_nll"]), batch["target_labels"]
        losses = max(losses, _largest(model.summed_loss(batch, None, False), expected) / expected)
        right = (np.argmax(model(batch), -1) == labels)[labels != 0].sum()
        words = max(
            words,
            _largest(model.loss_weight(batch, None), checkpoint.expected[f"b{i}_nll_nwords"]),
            _largest(right, checkpoint.expected[f"b{i}_nll_ncorrect"]),
        )
    yield "presumm_abs: loss without smoothing, relative", losses, 1e-5
    yield "presumm_abs: words, and words predicted right", words, 0.0


def three_steps(
    checkpoint: Checkpoint, rounding: int | None = None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The learning rates and the losses of three steps, and the losses of the original.

    Args:
        checkpoint: of the fixtures.
        rounding: a seed: each gradient is moved at random by up to 3e-7 of its largest element,
            which is what float32 rounds where the order of a sum is another.
    """
    model, optimizer = checkpoint.model(), optimizer_of(checkpoint)
    if rounding is not None:
        random, apply = np.random.default_rng(rounding), optimizer.apply

        def moved(gradient: Any) -> Any:
            gradient = tf.convert_to_tensor(gradient)
            by = (
                3e-7
                * tf.reduce_max(tf.abs(gradient))
                * random.uniform(-1, 1, gradient.shape).astype(np.float32)
            )
            return tf.where(gradient == 0, gradient, gradient + by)

        optimizer.apply = lambda gradients, variables=None: apply(
            [moved(each) for each in gradients], variables
        )
    model.compile(optimizer=optimizer, run_eagerly=True)
    rates, losses = [], []
    for step, batch in enumerate(checkpoint.batches):
        schedules = (
            [WarmUp(0.02 / 3**0.5, 3), WarmUp(0.05 / 2**0.5, 2)]
            if checkpoint.abstractive
            else [WarmUp(0.02 / 2**0.5, 2)]
        )
        rates += [float(schedule(step)) for schedule in schedules]
        losses.append(float(model.train_on_batch(batch, return_dict=True)["loss"]))
        model.reset_metrics()
    expected = checkpoint.expected["step_losses"]
    if checkpoint.abstractive:
        expected = expected[:, 0] / expected[:, 1]
    return np.array(rates), np.array(losses), np.asarray(expected)


def _relative(found: np.ndarray, expected: np.ndarray) -> float:
    return _largest(found / expected, 1.0)


def there_and_back(folder: pathlib.Path, name: str) -> tuple[int, int, list[str]]:
    """(equal, compared) tensors of a checkpoint that was converted and written back, and the names
    of those ignored."""
    to, original = name.partition("_")[0], read_torch_file(folder / f"{name}.pt")["model"]
    with tempfile.TemporaryDirectory() as place:
        convert(
            folder / f"{name}.pt",
            f"{place}/model",
            "tfsum",
            vocabulary=folder / "vocab_tiny48.txt",
            bert={"num_attention_heads": 4},
        )
        convert(f"{place}/model", f"{place}/back.pt", to)
        back = read_torch_file(f"{place}/back.pt")["model"]
        compared = [key for key in original if not key.endswith(NOT_TRAINED)]
        equal = sum(
            original[key].dtype == back[key].dtype
            and original[key].tobytes() == back[key].tobytes()
            for key in compared
        )
        if sorted(original) != sorted(back):
            equal = 0
    return equal, len(compared), [key for key in original if key not in compared]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="of the fixtures")
    folder = parser.parse_args().folder
    print(f"{'':24}" + "".join(f"{name:>20}" for name in COLUMNS))
    good = True
    for name in CHECKPOINTS:
        scores, vectors, losses, gradient, share, largest = row(Checkpoint(folder, name))
        good &= (
            scores <= (5e-5 if name == "presumm_abs" else 1e-5)
            and vectors <= 1e-5
            and losses <= 1e-5
        )
        good &= gradient <= 1 and share >= 0.998 and largest <= 1e-3
        print(
            f"{name:24}{scores:20.1e}{vectors:20.1e}{losses:20.1e}{gradient:20.0%}{share:20.3%}{largest:20.1e}",
            flush=True,
        )
    print(f"{'tolerance':24}" + "".join(f"{text:>20}" for text in TOLERANCES))
    for what, found, tolerance in others(folder):
        good &= found <= tolerance
        print(f"{what:84}{found:12.1e}{tolerance:12.0e}", flush=True)
    for name in ROUND_TRIPS:
        same, compared, ignored = there_and_back(folder, name)
        good &= same == compared
        print(
            f"{name}, there and back: {same} of {compared} tensors are equal, {len(ignored)} are"
            " ignored" + "".join(f"\n    {key}" for key in ignored),
            flush=True,
        )
    equal, compared = decodes(folder)
    print(f"ids of greedy and beam search: {equal} of {compared} equal")
    return 0 if good and equal == compared else 1


if __name__ == "__main__":
    sys.exit(main())
