"""The largest differences from what the original programs of BertSum and PreSumm computed, for every small checkpoint.

    python benchmarks/parity.py ../shared/parity

A row is a checkpoint: of scores (or log-probabilities), token vectors, losses, gradients and the weights after the
optimizer's steps, the largest absolute difference; the tolerance of each column is in the last row. Weights whose
gradient is zero but for rounding (the biases of keys) are left out, as the fixtures' README says: Adam moves them at
random. "steps" is the share of weights within 2e-5. Ids are those of greedy and beam search with `legacy`.
"""

import argparse
import json
import os
import pathlib
import sys
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np
import tensorflow as tf

from tfsum.conversion.bertsum import read_bertsum
from tfsum.conversion.bertsum_names import bertsum_names, bertsum_tensors, named_variables
from tfsum.decoding import BeamSearch
from tfsum.training.optimizer import Adam, WarmUp

CHECKPOINTS = ("bertsum_ext_classifier", "bertsum_ext_transformer", "bertsum_ext_rnn", "presumm_ext_transformer",
               "presumm_ext_baseline", "presumm_abs")
NO_GRADIENT = "key.bias", "linear_keys.bias"
NOT_TRAINED = ("pos_emb.pe", "transformer_inter.0.layer_norm.weight", "transformer_inter.0.layer_norm.bias", ".mask")
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
            return {"source_ids": ids, "segment_ids": segments, "target_ids": target[:, :-1],
                    "target_labels": target[:, 1:]}
        starts = np.where(stored[f"b{i}_mask_cls"], stored[f"b{i}_clss"], -1).astype(np.int32)
        labels = stored[f"b{i}_labels" if self.name.startswith("bertsum") else f"b{i}_src_sent_labels"]
        return {"token_ids": ids, "segment_ids": segments, "sentence_starts": starts,
                "labels": labels.astype(np.float32)}

    def model(self) -> Any:
        """The model, read anew."""
        bert = {"num_attention_heads": 4, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        if "baseline" not in self.name:
            bert = json.loads((self.folder / "bert_config_tiny48.json").read_text())
        options = {} if self.abstractive else {"loss_reduction": "sum", "legacy": self.name.endswith("rnn")}
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
        losses = max(_largest(model.summed_loss(batch, None, True), expected[f"b{i}_kl_smooth"])
                     / float(expected[f"b{i}_kl_smooth"]) for i, batch in enumerate(batches))
    else:
        scores = max(_largest(model.predict_step(batch), expected[f"b{i}_scores"]) for i, batch in enumerate(batches))
        vectors = _largest(model.bert(batches[0])["sequence_output"], expected["b0_top_vec"])
        losses = max(_largest(model.summed_loss(batch, None, False), expected[f"b{i}_loss"])
                     / float(expected[f"b{i}_loss"]) for i, batch in enumerate(batches))
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
        worst = max(worst, _largest(found.ravel()[::every], expected) / (1e-4 * np.abs(expected).max() + 1e-5))
    return worst


def steps(checkpoint: Checkpoint) -> tuple[float, float]:
    """The share of weights within 2e-5 of the original's after three steps, and the largest difference."""
    model = checkpoint.model()
    if checkpoint.abstractive:
        optimizer = Adam(WarmUp(0.05 / 2**0.5, 2), groups={"bert": WarmUp(0.02 / 3**0.5, 3)}, epsilon=1e-9)
    else:
        optimizer = Adam(WarmUp(0.02 / 2**0.5, 2), epsilon=1e-9)
    model.compile(optimizer=optimizer)
    for batch in checkpoint.batches:
        model.train_on_batch(batch)
    (right, every), found = checkpoint.stored("step3"), bertsum_tensors(model, prefix(checkpoint.name))
    names = [name for name in right.files if not name.endswith((*NO_GRADIENT, *NOT_TRAINED))]
    wrong = np.concatenate([np.abs(found[name].ravel()[::every] - right[name].ravel()) for name in names])
    return float(np.mean(wrong <= 2e-5)), float(wrong.max())


def prefix(name: str) -> str:
    return "encoder." if name.startswith("bertsum") else "ext_layer."


def _largest(found: Any, expected: Any) -> float:
    return float(np.abs(np.asarray(found, np.float64) - np.asarray(expected, np.float64)).max())


def decodes(folder: pathlib.Path) -> tuple[int, int]:
    """(equal, compared) of the summaries that are not flagged ambiguous."""
    checkpoint, stored = Checkpoint(folder, "presumm_abs"), json.loads((folder / "presumm_abs_decode.json").read_text())
    vocabulary = tuple((folder / "vocab_tiny48.txt").read_text().splitlines())
    model, equal, compared = checkpoint.model(), 0, 0
    for result in (result for result in stored["results"] if not result["ambiguous"]):
        search = BeamSearch(result["beam_size"], length_penalty=result["alpha"], min_length=result["min_length"] + 1,
                            no_repeat_ngram=3 if result["block_trigram"] else 0, legacy=True, vocabulary=vocabulary)
        source = stored["sources"][result["source"]]
        ids, _, lengths = model.generate({"source_ids": [source["src"]], "segment_ids": [source["segs"]]}, search,
                                         result["max_length"])
        equal += ids[0, 0, : lengths[0, 0]].tolist() == result["ids"]
        compared += 1
    return equal, compared


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", type=pathlib.Path, help="of the fixtures")
    folder = parser.parse_args().folder
    print(f"{'':24}" + "".join(f"{name:>20}" for name in COLUMNS))
    good = True
    for name in CHECKPOINTS:
        scores, vectors, losses, gradient, share, largest = row(Checkpoint(folder, name))
        good &= scores <= (5e-5 if name == "presumm_abs" else 1e-5) and vectors <= 1e-5 and losses <= 1e-5
        good &= gradient <= 1 and share >= 0.998 and largest <= 1e-3
        print(f"{name:24}{scores:20.1e}{vectors:20.1e}{losses:20.1e}{gradient:20.0%}{share:20.3%}{largest:20.1e}",
              flush=True)
    print(f"{'tolerance':24}" + "".join(f"{text:>20}" for text in TOLERANCES))
    equal, compared = decodes(folder)
    print(f"ids of greedy and beam search: {equal} of {compared} equal")
    return 0 if good and equal == compared else 1


if __name__ == "__main__":
    sys.exit(main())
