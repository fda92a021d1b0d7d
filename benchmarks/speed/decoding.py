"""Decoding speed in tokens a second: a Transformer of the paper's base size and other libraries, in
turns.

    python -m benchmarks decoding --torch-python OTHER/bin/python
    python -m benchmarks decoding --torch-python OTHER/bin/python --only tfsum ctranslate2 \\
        --batches 1 --rounds 9
    python -m benchmarks decoding --size tiny --tokens 5 --rounds 1    # a quick try

The models have random weights and decode exactly the requested number of tokens, with greedy and
beam search: no end token is generated. The time includes the whole call with the encoder.
"uncached" is tfsum's own model, which recomputes the whole prefix for each token. The floor is a
lower bound: the time to read the weights of a step once for each token.

Other libraries are measured if they are installed: KerasHub's BART in the same environment (`pip
install keras-hub`), transformers' Marian on torch and the same Marian in CTranslate2 in a separate
environment (`OTHER/bin/pip install torch transformers ctranslate2`).
"""

import argparse
import functools
import importlib.util
import os
import statistics
from collections.abc import Callable, Iterable
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from keras import ops

from benchmarks import results
from benchmarks.other_interpreter import OtherInterpreter
from tfsum.decoding import BeamSearch, Greedy
from tfsum.generation.module import InPlace
from tfsum.models import Transformer

OURS, HUB = ("tfsum", "tfsum-xla", "uncached"), ("keras-hub", "keras-hub-xla")
IN_TORCH = ("marian", "ctranslate2", "ctranslate2-int8")
EVERYONE = (*OURS, *IN_TORCH, *HUB)
BEAMS = 4
MOST_UNCACHED_ROWS = 8  # more rows take minutes
OUT_OF_REACH = -1e9  # bias of the end token

Decode = Callable[[int, int], float]  # (batch size, number of beams; 1 is greedy) -> seconds


class Size(NamedTuple):
    """The sizes that all models share."""

    layers: int  # of the encoder, and of the decoder
    width: int
    heads: int
    feed_forward: int
    vocabulary: int
    source: int  # tokens of a source


SIZES = {"base": Size(6, 512, 8, 2048, 8000, 64), "tiny": Size(2, 16, 2, 32, 50, 6)}


class Uncached:
    """A model for decoding strategies that recomputes the source and all tokens for each new
    token."""

    def __init__(self, model: Transformer):
        self._model, self.start_id, self.end_id = model, model.start_id, model.end_id

    def start(self, source_ids, max_length, num_beams):
        source_ids = ops.repeat(source_ids, num_beams, axis=0)
        written = ops.zeros((ops.shape(source_ids)[0], max_length), "int32")
        return {"source_ids": source_ids, "hypotheses": {"target_ids": written}}

    def step(self, token_ids, position, state):
        written = state["hypotheses"]["target_ids"]
        written = ops.where(ops.arange(written.shape[1]) == position, token_ids[:, None], written)
        inputs = {"source_ids": state["source_ids"], "target_ids": written[:, : position + 1]}
        return self._model(inputs)[:, -1], {**state, "hypotheses": {"target_ids": written}}


def use_threads(number: int) -> None:
    """Sets the number of TensorFlow's threads; must be called before any operation."""
    tf.config.threading.set_intra_op_parallelism_threads(number)
    tf.config.threading.set_inter_op_parallelism_threads(number)


def our_model(size: Size, tokens: int) -> Transformer:
    """A Transformer with random weights that never generates the end token."""
    model = Transformer(
        size.vocabulary,
        num_encoder_layers=size.layers,
        num_decoder_layers=size.layers,
        d_model=size.width,
        num_heads=size.heads,
        feed_forward_width=size.feed_forward,
        max_length=tokens,
    )
    model.build()
    bias = np.zeros(size.vocabulary, np.float32)
    bias[model.end_id] = OUT_OF_REACH
    model.output_bias.assign(bias)
    return model


def sources(size: Size, batch: int) -> np.ndarray:
    """Random ids int32 (batch, source), none of them a special token of any of the models."""
    random = np.random.default_rng(batch)
    return random.integers(4, size.vocabulary - 1, (batch, size.source)).astype(np.int32)


def ours(model: Transformer | InPlace | Uncached, size: Size, tokens: int, xla: bool) -> Decode:
    """tfsum's strategies on a model, as one graph for any batch size and length, as in an
    export."""

    def graph(strategy: Greedy | BeamSearch) -> tf.types.experimental.PolymorphicFunction:
        return tf.function(
            lambda source_ids: strategy(model, source_ids, tokens),
            jit_compile=xla,
            autograph=False,
            input_signature=[tf.TensorSpec([None, None], tf.int32)],
        )

    graphs = {1: graph(Greedy()), BEAMS: graph(BeamSearch(BEAMS))}

    def decode(batch: int, beams: int) -> float:
        source_ids = tf.constant(sources(size, batch))
        lengths = []
        seconds = results.seconds(lambda: lengths.append(graphs[beams](source_ids)[2].numpy()))
        assert (lengths[0] == tokens).all(), lengths
        return seconds

    return decode


def keras_hub_bart(size: Size, tokens: int, xla: bool) -> Decode:
    """KerasHub's BART: post-norm with tied embeddings as in tfsum, but learned positions and
    GELU."""
    import keras_hub

    backbone = keras_hub.models.BartBackbone(
        vocabulary_size=size.vocabulary,
        num_layers=size.layers,
        num_heads=size.heads,
        hidden_dim=size.width,
        intermediate_dim=size.feed_forward,
        max_sequence_length=max(size.source, tokens + 1),
    )
    models = {}
    for beams, sampler in {1: "greedy", BEAMS: keras_hub.samplers.BeamSampler(BEAMS)}.items():
        models[beams] = keras_hub.models.BartSeq2SeqLM(backbone)
        models[beams].compile(sampler=sampler, jit_compile=xla)

    def decode(batch: int, beams: int) -> float:
        source_ids, target = sources(size, batch), np.zeros((batch, tokens + 1), np.int32)
        target[:, 0] = 2
        inputs = {
            "encoder_token_ids": source_ids,
            "encoder_padding_mask": np.ones_like(source_ids),
            "decoder_token_ids": target,
            "decoder_padding_mask": (target != 0).astype(np.int32),
        }
        return results.seconds(lambda: models[beams].generate(inputs, stop_token_ids=None))

    return decode


def programs(
    wanted: Iterable[str], size: Size, tokens: int, other: OtherInterpreter | None
) -> dict[str, Decode]:
    """Name -> function to measure; prints which are left out."""
    model, made = our_model(size, tokens), {}
    stepping = {"tfsum": InPlace(model), "uncached": Uncached(model)}

    def ask(name: str) -> Decode:
        return lambda batch, beams: other.ask(who=name, batch=batch, beams=beams)["seconds"]

    for name in wanted:
        xla = name.endswith("-xla")
        if name in OURS:
            made[name] = ours(stepping.get(name, model), size, tokens, xla)
        elif name in HUB and importlib.util.find_spec("keras_hub"):
            made[name] = keras_hub_bart(size, tokens, xla)
        elif other and name in other.facts["who"]:
            made[name] = ask(name)
        else:
            results.show_json(skipped=name, reason="not installed; --help says how")
    return made


def measure(made: dict[str, Decode], batch: int, beams: int, rounds: int) -> dict[str, float]:
    """Median seconds of each program, after one call for warm-up."""
    calls = {
        name: functools.partial(decode, batch, beams)
        for name, decode in made.items()
        if name != "uncached" or batch * beams <= MOST_UNCACHED_ROWS
    }
    for call in calls.values():
        call()
    taken = results.in_turns(calls, rounds, pause=0.0)
    return {name: statistics.median(seconds) for name, seconds in taken.items()}


def weights_of_a_step(model: Transformer) -> int:
    """Bytes of the weights that a step reads, without the source projection and the embedding
    lookup."""
    once = {
        id(weight)
        for layer in model.decoder.decoder_layers
        for dense in (layer.cross_attention.key, layer.cross_attention.value)
        for weight in dense.weights
    }
    read = [weight for weight in model.decoder.weights if id(weight) not in once]
    read += [model.output_kernel, model.output_bias]
    return sum(4 * int(np.prod(weight.shape)) for weight in read)


def seconds_to_read(size: int, rounds: int = 20) -> float:
    """The minimum time in seconds in which TensorFlow reads so many bytes, repeated as in decoding
    steps."""
    numbers = tf.Variable(tf.ones([size // 4]))
    total = tf.function(lambda: tf.reduce_sum(numbers))
    return min(results.seconds(lambda: total().numpy()) for _ in range(rounds))


def cells(tokens: int, seconds: dict[str, float]) -> results.Row:
    """Tokens per second of each program, with its time divided by tfsum's."""
    ours = seconds.get("tfsum")
    return {
        name: f"{tokens / each:.0f}" + (f" ({each / ours:.2f})" if ours else "")
        for name, each in seconds.items()
    }


OPTIONS = {
    "--torch-python": {"metavar": "PYTHON", "help": "with torch, transformers and ctranslate2"},
    "--size": {"choices": SIZES, "default": "base"},
    "--tokens": {"type": int, "default": 64, "help": "of each sequence"},
    "--batches": {"type": int, "nargs": "+", "default": [1, 8, 32]},
    "--beams": {
        "type": int,
        "nargs": "+",
        "default": [1, BEAMS],
        "choices": [1, BEAMS],
        "help": "1 is greedy",
    },
    "--rounds": {"type": int, "default": 5},
    "--threads": {"type": int, "default": os.cpu_count()},
    "--only": {"nargs": "+", "choices": EVERYONE, "default": EVERYONE},
}


def run(options: argparse.Namespace) -> None:
    print(results.machine(), flush=True)
    use_threads(options.threads)
    size, tokens, other = SIZES[options.size], options.tokens, None
    if options.torch_python and set(options.only) & set(IN_TORCH):
        task = {"tokens": tokens, "threads": options.threads, **size._asdict()}
        task["sources"] = {batch: sources(size, batch).tolist() for batch in options.batches}
        other = OtherInterpreter(options.torch_python, "speed.decoding_torch", task)
        results.show_json(**other.facts)

    made = programs(options.only, size, tokens, other)
    read = weights_of_a_step(our_model(size, tokens))
    step = seconds_to_read(read)
    results.show_json(weights_of_a_step_in_bytes=read, floor_in_seconds_a_step=round(step, 6))

    rows: dict[str, results.Row] = {name: {} for name in ("floor", *made)}
    for beams in options.beams:
        for batch in options.batches:
            found = measure(made, batch, beams, options.rounds) | {"floor": step * tokens}
            for name, cell in cells(batch * tokens, found).items():
                rows[name][f"{batch} rows, {beams} beams"] = cell
    if other:
        other.close()
    print("\ntokens a second (time divided by tfsum's: above 1, tfsum is faster)")
    results.show(rows)
