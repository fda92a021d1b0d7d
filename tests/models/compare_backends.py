"""The models on the backends of Keras: the same weights, inputs and answers on TensorFlow and on
JAX.

Runs forward, fit, evaluate, predict and decoding of small models in one process per backend and
prints a table of the largest differences. Integers (ids, lengths) must be equal and floats within
1e-5; the exit status is 1 if one is not, or if the models import TensorFlow under JAX.

    pip install jax
    python tests/models/compare_backends.py
"""

import argparse
import concurrent.futures
import os
import pathlib
import subprocess
import sys
import tempfile
import zlib

import numpy as np

BACKENDS = ("tensorflow", "jax")
TOLERANCE = 1e-5
ROOT = pathlib.Path(__file__).resolve().parents[2]
ENCODER = {
    "vocab_size": 30,
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
    "max_position_embeddings": 12,
    "hidden_dropout_prob": 0.0,
    "attention_probs_dropout_prob": 0.0,
}
TRANSFORMER = {
    "num_encoder_layers": 1,
    "num_decoder_layers": 1,
    "d_model": 16,
    "num_heads": 2,
    "feed_forward_width": 24,
    "dropout": 0.0,
    "max_length": 8,
}


def with_weights(model):
    """The model, built, with weights that depend only on their names."""
    from tfsum.formats.weight_names import variables_by_path

    model.build()
    for path, variable in variables_by_path(model).items():
        random = np.random.default_rng(zlib.crc32(path.encode()))
        center = 1.0 if path.endswith("gamma") else 0.0
        variable.assign((center + 0.3 * random.normal(size=variable.shape)).astype("float32"))
    return model


def learn(model, data) -> dict[str, np.ndarray]:
    """Losses and metrics of a few steps of `fit`, one an epoch, of `evaluate` after them, and what
    `fit` refuses."""
    import keras

    from tfsum.errors import Error

    model.compile(keras.optimizers.SGD(0.05))
    history = model.fit(data, epochs=4, batch_size=4, shuffle=False, verbose=0).history
    after = model.evaluate(data, batch_size=4, verbose=0, return_dict=True)
    try:
        model.fit(data, sample_weight=np.ones(4, "float32"), batch_size=4, verbose=0)
        raise AssertionError(f"{model.name}: fit took sample_weight, which it cannot honour")
    except Error as error:
        assert "sample_weight was given; expected none" in str(error)
    return {
        **{f"fit {name}": np.asarray(values) for name, values in history.items()},
        **{f"evaluate {name}": np.asarray(value) for name, value in after.items()},
    }


def encoders() -> dict[str, np.ndarray]:
    """Answers of the models made of a `Bert`."""
    from tfsum.models import Bert, BertClassifier, BertForPretraining, BertSumExt

    random = np.random.default_rng(0)
    token_ids = random.integers(1, 30, (4, 20)).astype("int32")
    token_ids[1, 15:] = 0
    starts = np.array([[0, 4, 9], [0, 5, -1], [0, 13, 16], [2, 7, 9]], "int32")
    windows = {"token_ids": token_ids, "segment_ids": token_ids % 2, "sentence_starts": starts}
    inputs = {"token_ids": token_ids[:, :12], "segment_ids": token_ids[:, :12] % 2}
    found = {f"Bert {name}": value for name, value in with_weights(Bert(**ENCODER))(inputs).items()}

    def add(name, model, x, y):
        found[f"{name} forward"] = model(x)
        found[f"{name} predict"] = model.predict(x, batch_size=2, verbose=0)
        found.update({f"{name} {what}": value for what, value in learn(model, {**x, **y}).items()})

    grams = random.integers(-1, 6, (4, 20, 2)).astype("int32")
    counts = random.integers(0, 3, (4, 6)).astype("float32")
    for head, pooling in (("classifier", "cls"), ("transformer", "mean")):
        labels = {"labels": (starts % 2).astype("float32")}
        if word_head := pooling == "mean":
            labels |= {"grams": grams, "gram_counts": counts}
        model = with_weights(
            BertSumExt(
                dict(ENCODER),
                head,
                pooling,
                word_head=word_head,
                length_input=True,
                head_num_heads=2,
                head_feed_forward_width=24,
                head_dropout=0.0,
            )
        )
        add(f"BertSumExt {head} {pooling}", model, windows, labels)
    add(
        "BertClassifier",
        with_weights(BertClassifier(dict(ENCODER), ["a", "b", "c"])),
        inputs,
        {"labels": np.array([0, 1, 2, 1])},
    )
    masked = {**inputs, "masked_lm_positions": np.maximum(starts, 0) % 12}
    add(
        "BertForPretraining",
        with_weights(BertForPretraining(dict(ENCODER))),
        masked,
        {
            "masked_lm_ids": token_ids[:, :3],
            "masked_lm_weights": np.array([[1, 1, 0]] * 4, "float32"),
            "next_sentence_labels": np.array([0, 1, -1, 1]),
        },
    )
    return found


def transformers() -> dict[str, np.ndarray]:
    """Answers of the `Transformer`s."""
    from tfsum.decoding import BeamSearch, Greedy, Sampling
    from tfsum.models import Transformer

    random = np.random.default_rng(1)
    source, target = (random.integers(4, 20, (4, length)).astype("int32") for length in (5, 6))
    source[1, 3:] = target[2, 4:] = 0
    target[:, 0] = 2
    strategies = {
        "greedy": Greedy(no_repeat_ngram=2),
        "beam": BeamSearch(4, n_best=2, min_length=3),
        "sampling": Sampling(0.9, top_k=9, top_p=0.95, n_samples=3),
    }
    found = {}
    for norm, more in (("post", {}), ("pre", {"shared_embeddings": False, "tied_output": False})):
        name = f"Transformer {norm}"
        model = with_weights(Transformer(20, norm=norm, **TRANSFORMER, **more))
        found[f"{name} forward"] = model({"source_ids": source, "target_ids": target})
        found[f"{name} predict"] = model.predict(source, batch_size=2, verbose=0)
        for kind, strategy in strategies.items():
            parts = model.generate(source, strategy)
            found |= {
                f"{name} {kind} {part}": x
                for part, x in zip(("ids", "log-probability", "length"), parts)
            }
        if norm == "post":
            labels = np.pad(target[:, 1:], ((0, 0), (0, 1)), constant_values=3)
            data = {"source_ids": source, "target_ids": target, "target_labels": labels}
            found |= {f"{name} {what}": value for what, value in learn(model, data).items()}
    return found


def answer(path: str) -> None:
    """Writes the answers of this process's backend to a npz file."""
    import keras

    found = encoders() | transformers()
    flat = {}
    for name, value in found.items():
        parts = value if isinstance(value, dict) else {"": value}
        flat |= {
            f"{name} {part}".strip(): keras.ops.convert_to_numpy(x) for part, x in parts.items()
        }
    if keras.backend.backend() != "tensorflow":
        assert "tensorflow" not in sys.modules, "the models have loaded TensorFlow"
    np.savez(path, **flat)


def answers_of(backend: str, folder: str) -> dict[str, np.ndarray]:
    """Computes the answers in a process with this backend; its output is shown where it fails."""
    path = os.path.join(folder, f"{backend}.npz")
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    # Nearly all the time is compiling, and most optimizations are not worth theirs here.
    environment = {
        **os.environ,
        "KERAS_BACKEND": backend,
        "PYTHONPATH": paths,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "JAX_DISABLE_MOST_OPTIMIZATIONS": "1",
    }
    done = subprocess.run(
        [sys.executable, __file__, "--answer", path],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(
            f"{backend}: failed with status {done.returncode}\n{done.stdout}{done.stderr}"
        )
    with np.load(path) as stored:
        return dict(stored)


def difference(one: np.ndarray, other: np.ndarray) -> tuple[float, bool]:
    """The largest difference of two arrays, and whether they count as equal."""
    if one.shape != other.shape or one.dtype.kind != other.dtype.kind:
        return float("inf"), False
    largest = float(np.max(np.abs(one.astype("float64") - other.astype("float64")), initial=0.0))
    if one.dtype.kind != "f":
        return largest, largest == 0
    return largest, bool(np.allclose(one, other, rtol=TOLERANCE, atol=TOLERANCE))


def main(arguments=None) -> int:
    """Compares the backends; returns the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "--answer", metavar="FILE", help="write the answers of this process's backend and stop"
    )
    options = parser.parse_args(arguments)
    if options.answer:
        answer(options.answer)
        return 0
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor() as pool:
        first, second = pool.map(answers_of, BACKENDS, [folder] * len(BACKENDS))
    names = [*first, *(second.keys() - first.keys())]
    wrong = 0
    print(
        f"{'what':{max(map(len, names))}}  {'type':8} {'shape':12} difference  {BACKENDS[0]} ="
        f" {BACKENDS[1]}"
    )
    for name in names:
        if name not in first or name not in second:
            print(f"{name}: only on {BACKENDS[name in second]}")
            wrong += 1
            continue
        largest, equal = difference(first[name], second[name])
        wrong += not equal
        shape = "x".join(map(str, first[name].shape)) or "scalar"
        print(
            f"{name:{max(map(len, names))}}  {first[name].dtype!s:8} {shape:12} {largest:10.1e}  "
            f"{'yes' if equal else 'NO'}"
        )
    print(f"{len(names)} answers, {wrong} differ (floats: tolerance {TOLERANCE})")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
