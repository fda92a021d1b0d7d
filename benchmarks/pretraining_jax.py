"""Pretrains a small BERT on a GPU under JAX, where TensorFlow has none: Keras's own `fit` on the
records that `tfsum train` prepared, and a model folder from the weights.

    python benchmarks/pretraining_jax.py rows records/pretrain_orangesum_fr rows.npz
    KERAS_BACKEND=jax python benchmarks/pretraining_jax.py train rows.npz weights.npz --minutes 4
    python benchmarks/pretraining_jax.py save weights.npz records/pretrain_orangesum_fr \\
        runs/bert_pretrain_orangesum_fr/best

`rows` and `save` need TensorFlow, `train` does not. 15 % of the pieces of a row are masked, others
in each epoch (Devlin et al. 2019, section 3.1); the learning rate rises for a twentieth of the
time and falls to zero. Prints the accuracy on the masked pieces of validation rows.
"""

import argparse
import json
import pathlib
import sys
import time

import numpy as np

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


def rows(records: str, output: str) -> None:
    """Writes the rows of records, (N, T) ids from [CLS] to [SEP], and the vocabulary's size."""
    from tfsum.data.records import load_columns

    words = (pathlib.Path(records) / "vocabulary" / "vocab.txt").read_text("utf-8").split("\n")
    found = {}
    for part in ("train", "validation"):
        ((pieces, counts),) = load_columns(pathlib.Path(records) / part, "pieces")
        ids = np.zeros((len(counts), int(counts.max()) + 2), np.uint16)
        place = 0
        for row, count in enumerate(counts):
            ids[row, : count + 2] = [
                words.index("[CLS]"),
                *pieces[place : place + count],
                words.index("[SEP]"),
            ]
            place += count
        found[part] = ids
    np.savez_compressed(
        output, **found, vocabulary=len([w for w in words if w]), mask=words.index("[MASK]")
    )


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


def train(data: str, output: str, minutes: float, batch: int, rate: float, dropout: float) -> None:
    """Trains for so many minutes, and writes the weights in their order."""
    import keras

    from tfsum.models import BertForPretraining

    loaded, random = np.load(data), np.random.default_rng(0)
    vocabulary, mask = int(loaded["vocabulary"]), int(loaded["mask"])
    keras.utils.set_random_seed(0)
    keras.config.set_dtype_policy("mixed_bfloat16")
    model = BertForPretraining({"vocab_size": vocabulary, "hidden_dropout_prob": dropout, **SIZE})
    optimizer = keras.optimizers.AdamW(rate, weight_decay=0.01, global_clipnorm=1.0)
    model.compile(optimizer)
    tested = masked(loaded["validation"], mask, vocabulary, np.random.default_rng(1))
    model.fit(
        masked(loaded["train"][: 4 * batch], mask, vocabulary, random), batch_size=batch, verbose=0
    )

    begin, epoch = time.monotonic(), 0
    while (share := (time.monotonic() - begin) / (60 * minutes)) < 1:
        optimizer.learning_rate = rate * min(20 * share + 0.02, 1 - share)
        order = random.permutation(len(loaded["train"]))
        order = order[: len(order) // batch * batch]
        history = model.fit(
            masked(loaded["train"][order], mask, vocabulary, random), batch_size=batch, verbose=0
        )
        epoch += 1
        line = {"epoch": epoch, "seconds": round(time.monotonic() - begin)}
        line |= {name: round(values[-1], 4) for name, values in history.history.items()}
        if epoch % 10 == 0 or share > 0.95:
            scores = model.evaluate(tested, batch_size=batch, verbose=0, return_dict=True)
            line["validation"] = round(float(scores["masked_lm_accuracy"]), 4)
            np.savez(output, *[np.asarray(w, np.float16) for w in model.get_weights()])
        print(json.dumps(line), flush=True)
    np.savez(output, *[np.asarray(w, np.float16) for w in model.get_weights()])
    scores = model.evaluate(tested, batch_size=batch, verbose=0, return_dict=True)
    print(json.dumps({name: round(float(value), 4) for name, value in scores.items()}))


def save(weights: str, records: str, folder: str) -> None:
    """Writes the model folder that a recipe names as `encoder`."""
    from tfsum.models import BertForPretraining

    words = (pathlib.Path(records) / "vocabulary" / "vocab.txt").read_text("utf-8").split("\n")
    words = [word for word in words if word]
    made = json.loads((pathlib.Path(records) / "vocabulary" / "manifest.json").read_text())
    text = {name: made["settings"][name] for name in ("lowercase", "strip_accents")}
    model = BertForPretraining({"vocab_size": len(words), **SIZE})
    model({"token_ids": np.ones((1, 2), np.int32)})  # makes its weights
    loaded = np.load(weights)
    model.set_weights([loaded[name].astype(np.float32) for name in loaded.files])
    model.save_pretrained(folder, words, {"text": text})


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("rows", "train", "save"))
    parser.add_argument("paths", nargs="+")
    parser.add_argument("--minutes", type=float, default=4)
    parser.add_argument("--batch", type=int, default=512)
    parser.add_argument("--rate", type=float, default=1e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    options = parser.parse_args()
    if options.what == "train":
        train(*options.paths, options.minutes, options.batch, options.rate, options.dropout)
    else:
        {"rows": rows, "save": save}[options.what](*options.paths)
    return 0


if __name__ == "__main__":
    sys.exit(main())
