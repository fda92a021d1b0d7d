"""KerasHub's BERT on JAX as a BertSumExt; run by `python -m benchmarks training`.

Answers each {"what": "predict" or "train", "rows", "length", "steps"} with the seconds of a step.
"""

import json
import os
import sys
import time

os.environ["KERAS_BACKEND"] = "jax"

import jax
import keras
import keras_hub
import numpy as np

from benchmarks.other_interpreter import answer

SENTENCE = 32  # tokens of a sentence


def bert_sum_ext(config: dict, head: dict) -> keras.Model:
    """The mean over each sentence's tokens, layers over the sentences, and a score."""
    width = config["hidden_size"]
    bert = keras_hub.models.BertBackbone(
        vocabulary_size=config["vocab_size"],
        num_layers=config["num_hidden_layers"],
        num_heads=config["num_attention_heads"],
        hidden_dim=width,
        intermediate_dim=config["intermediate_size"],
        dropout=0.1,
    )
    for layer in bert.transformer_layers:
        # Dropout in attention cannot be chosen apart.
        layer._self_attention_layer._dropout = 0.0

    sequence = bert.output["sequence_output"]
    vectors = keras.ops.mean(keras.layers.Reshape((-1, SENTENCE, width))(sequence), axis=2)
    for _ in range(head["head_layers"]):
        vectors = keras_hub.layers.TransformerEncoder(
            head["head_feed_forward_width"], 8, 0.1, "gelu", normalize_first=True
        )(vectors)
    vectors = keras.layers.LayerNormalization()(vectors)
    score = keras.layers.Dense(1, dtype="float32")(vectors)
    return keras.Model(bert.input, keras.ops.squeeze(score, -1))


def batches(asked: dict, vocabulary: int) -> tuple[dict, np.ndarray]:
    """Full windows of random ids, and labels."""
    random = np.random.default_rng(1)
    shape = asked["rows"] * asked["steps"], asked["length"]
    inputs = {
        "token_ids": random.integers(1000, vocabulary, shape, dtype=np.int32),
        "segment_ids": np.zeros(shape, np.int32),
        "padding_mask": np.ones(shape, np.int32),
    }
    labels = random.random((shape[0], shape[1] // SENTENCE)).astype(np.float32)
    return inputs, labels


def main() -> None:
    task = json.loads(sys.argv[1])
    policy = "mixed_bfloat16" if task["dtype"] == "bfloat16" else "float32"
    keras.config.set_dtype_policy(policy)
    # cuDNN's attention refuses the shape of KerasHub's mask, which Keras logs for each layer before
    # it computes attention without.
    keras.config.disable_flash_attention()
    model = bert_sum_ext(task["config"], task["head"])
    model.compile(
        optimizer=keras.optimizers.AdamW(1e-5),
        loss=keras.losses.BinaryCrossentropy(from_logits=True),
    )

    def timed(asked: dict) -> dict:
        inputs, labels = batches(asked, task["config"]["vocab_size"])
        begin = time.perf_counter()
        if asked["what"] == "train":
            model.fit(inputs, labels, batch_size=asked["rows"], verbose=0)
        else:
            model.predict(inputs, batch_size=asked["rows"], verbose=0)
        return {"seconds": (time.perf_counter() - begin) / asked["steps"]}

    modules = (keras_hub, keras, jax)
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in modules)
    answer({"device": jax.devices()[0].device_kind, "versions": versions}, timed)


if __name__ == "__main__":
    main()
