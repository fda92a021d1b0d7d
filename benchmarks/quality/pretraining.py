"""Pretrains a small BERT on a GPU under JAX, where TensorFlow has none: Keras's own `fit` on the
records that `tfsum train` prepared, and a model folder from the weights.

    python -m benchmarks pretraining rows records/pretrain_orangesum_fr rows.npz
    KERAS_BACKEND=jax python -m benchmarks pretraining train rows.npz weights.npz --minutes 4
    python -m benchmarks pretraining save weights.npz records/pretrain_orangesum_fr \\
        runs/bert_pretrain_orangesum_fr/best

`rows` and `save` need TensorFlow, `train` does not. 15 % of the pieces of a row are masked, others
in each epoch (Devlin et al. 2019, section 3.1); the learning rate rises for a twentieth of the
time and falls to zero. Prints the accuracy on the masked pieces of validation rows.
"""

import argparse
import json
import pathlib
import time

import numpy as np

from benchmarks import results

SIZE = {  # "mini" in a recipe
    "hidden_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "intermediate_size": 1024,
    "max_position_embeddings": 128,
    "attention_probs_dropout_prob": 0.0,
}
MASKED, KEPT, PREDICTIONS = 0.8, 0.1, 20
FIRST = 5  # the first piece that is no [PAD], [UNK], [CLS], [SEP] or [MASK]


def read_words(records: str) -> list[str]:
    """The word pieces of a corpus."""
    vocabulary = pathlib.Path(records, "vocabulary", "vocab.txt").read_text(encoding="utf-8")
    return vocabulary.removesuffix("\n").split("\n")


def write_rows(records: str, output: str) -> None:
    """Writes the rows of records, (N, T) ids from [CLS] to [SEP], and the vocabulary's size."""
    from tfsum.data.records import load_columns

    words = read_words(records)
    first, last = words.index("[CLS]"), words.index("[SEP]")
    found = {}
    for part in ("train", "validation"):
        ((pieces, counts),) = load_columns(pathlib.Path(records) / part, "pieces")
        ids = np.zeros((len(counts), int(counts.max()) + 2), np.uint16)
        for row, own in zip(ids, np.split(pieces, np.cumsum(counts)[:-1])):
            row[: len(own) + 2] = [first, *own, last]
        found[part] = ids
    np.savez_compressed(output, **found, vocabulary=len(words), mask=words.index("[MASK]"))


def masked(ids: np.ndarray, mask: int, vocabulary: int, random: np.random.Generator) -> dict:
    """Hides pieces of rows."""
    draws = random.random(ids.shape, np.float32)
    draws[ids < FIRST] = 2
    positions = np.argsort(draws, axis=1)[:, :PREDICTIONS].astype(np.int32)
    number = np.clip(np.rint(0.15 * (ids > 0).sum(1)), 1, PREDICTIONS)
    weights = (np.arange(PREDICTIONS) < number[:, None]) & (
        np.take_along_axis(ids, positions, 1) >= FIRST
    )
    true = np.take_along_axis(ids, positions, 1).astype(np.int32)
    change = random.random(positions.shape)
    drawn = random.integers(FIRST, vocabulary, positions.shape)
    shown = np.where(change < MASKED, mask, np.where(change < MASKED + KEPT, true, drawn))
    token_ids = ids.astype(np.int32)
    np.put_along_axis(token_ids, positions, np.where(weights, shown, true), 1)
    return {
        "token_ids": token_ids,
        "segment_ids": np.zeros_like(token_ids),
        "masked_lm_positions": positions,
        "masked_lm_ids": true,
        "masked_lm_weights": weights.astype(np.float32),
    }


def train(options: argparse.Namespace) -> None:
    """Trains for so many minutes, and writes the weights."""
    import keras

    from tfsum.models import BertForPretraining

    (data, output), batch, rate = options.paths, options.batch, options.rate
    loaded, random = np.load(data), np.random.default_rng(0)
    vocabulary, mask = int(loaded["vocabulary"]), int(loaded["mask"])
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy("mixed_bfloat16")
    sizes = {"vocab_size": vocabulary, "hidden_dropout_prob": options.dropout, **SIZE}
    model = BertForPretraining(sizes)
    optimizer = keras.optimizers.AdamW(rate, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer)
    tested = masked(loaded["validation"], mask, vocabulary, np.random.default_rng(1))

    def fit(rows: np.ndarray) -> dict[str, list[float]]:
        hidden = masked(rows, mask, vocabulary, random)
        return model.fit(hidden, batch_size=batch, verbose=0).history

    def write() -> None:
        np.savez(output, *[np.asarray(weight, np.float16) for weight in model.get_weights()])

    def validate() -> dict[str, float]:
        scores = model.evaluate(tested, batch_size=batch, verbose=0, return_dict=True)
        return {name: round(float(value), 4) for name, value in scores.items()}

    fit(loaded["train"][: 4 * batch])  # compiles
    begin, epoch = time.monotonic(), 0
    while (share := (time.monotonic() - begin) / (60 * options.minutes)) < 1:
        optimizer.learning_rate = rate * min(20 * share + 0.02, 1 - share)
        order = random.permutation(len(loaded["train"]))
        history = fit(loaded["train"][order[: len(order) // batch * batch]])
        epoch += 1
        line = {name: round(values[-1], 4) for name, values in history.items()}
        if epoch % 10 == 0 or share > 0.95:
            line["validation"] = validate()["masked_lm_accuracy"]
            write()
        results.show_json(epoch=epoch, seconds=round(time.monotonic() - begin), **line)
    write()
    results.show_json(**validate())


def save(weights: str, records: str, folder: str) -> None:
    """Writes the model folder that a recipe names as `encoder`."""
    from tfsum.models import BertForPretraining

    words = read_words(records)
    made = json.loads(pathlib.Path(records, "vocabulary", "manifest.json").read_text())
    text = {name: made["settings"][name] for name in ("lowercase", "strip_accents")}
    model = BertForPretraining({"vocab_size": len(words), **SIZE})
    model({"token_ids": np.ones((1, 2), np.int32)})  # makes its weights
    loaded = np.load(weights)
    model.set_weights([loaded[name].astype(np.float32) for name in loaded.files])
    model.save_pretrained(folder, words, {"text": text})


OPTIONS = {
    "what": {"choices": ("rows", "train", "save")},
    "paths": {"nargs": "+"},
    "--minutes": {"type": float, "default": 4},
    "--batch": {"type": int, "default": 512},
    "--rate": {"type": float, "default": 1e-3},
    "--dropout": {"type": float, "default": 0.1},
}


def run(options: argparse.Namespace) -> None:
    if options.what == "train":
        train(options)
    else:
        {"rows": write_rows, "save": save}[options.what](*options.paths)
