"""Each model trained by `compile` and `fit`, without a recipe: batches from a few texts, callbacks,
a saved model.

    python examples/fit_by_hand/fit_by_hand.py FOLDER

prints what each learned and writes the Keras files into FOLDER. Half a minute; the models are tiny
and the texts few, so they learn these by heart. Recipes (`tfsum train`) add what real corpora need:
records, warm-up, averaging, a run that resumes, and a folder that `tfsum export` makes a server's
model of.
"""

import pathlib
import sys

import keras
import numpy as np

import tfsum

TEXTS = [
    ["The old bridge was closed on Monday.", "It rained.", "Repairs take six months."],
    ["It rained.", "A fire destroyed the market.", "Nobody was hurt."],
    ["The school opens in May.", "It rained.", "The town built it in a year."],
]
IN_SUMMARY = [[1, 0, 1], [0, 1, 0], [1, 0, 0]]  # a label for each sentence

WORDS = sorted(
    {word for text in TEXTS for sentence in text for word in sentence.lower().rstrip(".").split()}
)
WORD_PIECE = tfsum.WordPiece(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", ".", *WORDS])
ENCODER = {
    "vocab_size": len(WORD_PIECE.vocabulary),
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 64,
    "max_position_embeddings": 64,
}


def rows(texts: list[str]) -> np.ndarray:
    """[CLS] pieces [SEP] of each text, padded with zeros: int32 (N, T)."""
    pieces = WORD_PIECE.tokenize(texts).to_list()
    length = max(map(len, pieces)) + 2
    return np.array(
        [
            [WORD_PIECE.cls_id, *row, WORD_PIECE.sep_id] + [0] * (length - 2 - len(row))
            for row in pieces
        ],
        np.int32,
    )


def extractive(folder: pathlib.Path) -> None:
    """BertSumExt: which sentences make the summary. `ExtractiveBatches` lays texts out; the loss is
    the model's own."""
    batches = tfsum.ExtractiveBatches(
        TEXTS, IN_SUMMARY, WORD_PIECE, tokens_per_batch=64, window_length=64
    )
    model = tfsum.BertSumExt(ENCODER, head="classifier")
    model.compile(keras.optimizers.Adam(1e-3), metrics=["accuracy"])
    data = batches.dataset(training=True)
    history = model.fit(
        data,
        steps_per_epoch=len(batches.plan()),
        epochs=60,
        verbose=0,
        callbacks=[
            keras.callbacks.EarlyStopping("loss", patience=20),
            keras.callbacks.CSVLogger(folder / "extractive.csv"),
        ],
    )
    print(
        f"BertSumExt: loss {history.history['loss'][0]:.2f} -> {history.history['loss'][-1]:.2f}, "
        f"accuracy {history.history['accuracy'][-1]:.2f}"
    )


def classifier(folder: pathlib.Path) -> None:
    """BertClassifier: one label a text, saved with its optimizer and trained further."""
    texts = [sentence for text in TEXTS for sentence in text]
    labels = np.array([text == "It rained." for text in texts], np.int32)
    ids = rows(texts)
    inputs = {"token_ids": ids, "segment_ids": np.zeros_like(ids)}
    model = tfsum.BertClassifier(ENCODER, ["other", "weather"])
    model.compile(keras.optimizers.Adam(1e-3))
    model.fit(inputs, labels, epochs=30, verbose=0)
    model.save(folder / "classifier.keras")
    # `import tfsum.models` registers the classes
    again = keras.models.load_model(folder / "classifier.keras")
    again.fit(inputs, labels, epochs=10, verbose=0)
    found = again.predict(inputs, verbose=0).argmax(-1)
    print(f"BertClassifier: {(found == labels).sum()} of {len(labels)} right")


def pretraining() -> None:
    """BertForPretraining: a masked word of each text. The labels are in the inputs, as
    run_pretraining.py has them."""
    ids = rows([sentence for text in TEXTS for sentence in text])
    places = np.array(
        [[1 + number % (int((row > 0).sum()) - 2)] for number, row in enumerate(ids)], np.int32
    )
    truth = np.take_along_axis(ids, places, 1)
    masked = ids.copy()
    np.put_along_axis(masked, places, WORD_PIECE.vocabulary.index("[MASK]"), 1)
    inputs = {
        "token_ids": masked,
        "segment_ids": np.zeros_like(ids),
        "masked_lm_positions": places,
        "masked_lm_ids": truth,
        "masked_lm_weights": np.ones(places.shape, np.float32),
    }
    model = tfsum.BertForPretraining(ENCODER)
    model.compile(keras.optimizers.Adam(3e-3))
    history = model.fit(inputs, epochs=60, verbose=0).history
    print(
        f"BertForPretraining: {history['masked_lm_accuracy'][-1]:.2f} of the masked words found in"
        " training"
    )


def transformer() -> None:
    """Transformer: a sequence to a sequence, here the words of a sentence backwards."""
    start, end = WORD_PIECE.cls_id, WORD_PIECE.sep_id
    source = rows([sentence for text in TEXTS for sentence in text])
    backwards = np.zeros_like(source)
    for row, target in zip(source, backwards):
        words = row[row > 0][1:-1]
        target[: len(words) + 2] = [start, *words[::-1], end]
    size = len(WORD_PIECE.vocabulary)
    model = tfsum.Transformer(size, size, 1, 1, 64, 4, 128, dropout=0.0, start_id=start, end_id=end)
    model.compile(keras.optimizers.Adam(3e-3))
    model.fit(
        {"source_ids": source, "target_ids": backwards[:, :-1]},
        backwards[:, 1:],
        epochs=80,
        verbose=0,
    )
    written = model.predict(source, verbose=0)
    right = sum(
        list(filter(None, found))[: len(list(filter(None, truth)))] == list(filter(None, truth))
        for found, truth in zip(written.tolist(), backwards[:, 1:].tolist())
    )
    print(f"Transformer: {right} of {len(source)} sentences written backwards")


def main(folder: pathlib.Path) -> None:
    keras.utils.set_random_seed(1)
    folder.mkdir(parents=True, exist_ok=True)
    extractive(folder)
    classifier(folder)
    pretraining()
    transformer()


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
