"""Decoding speed in tokens per second: a Transformer of the paper's base size and other libraries,
alternately.

The models have random weights and decode exactly the requested number of tokens, with greedy and
beam search: no end token is generated. The time includes the whole call with the encoder.
"uncached" is tfsum's own model, which recomputes the whole prefix for each token. The floor is a
lower bound: the time to read the weights of a step once for each token.

Other libraries are measured if they are installed: KerasHub's BART in the same environment (`pip
install keras-hub`), transformers' Marian on torch and the same Marian in CTranslate2 in a separate
environment (`OTHER/bin/pip install torch transformers ctranslate2`).

    python benchmarks/decoding.py --torch-python OTHER/bin/python
    python benchmarks/decoding.py --torch-python OTHER/bin/python --only tfsum ctranslate2 --batches
    1 --rounds 9 python benchmarks/decoding.py --size tiny --tokens 5 --rounds 1    # a quick try
"""

import argparse
import importlib.util
import json
import os
import statistics
import time
from collections.abc import Callable, Iterable
from typing import NamedTuple

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import keras
import numpy as np
import tensorflow as tf
from keras import ops
from other_interpreter import OtherInterpreter

import tfsum
from tfsum.decoding import BeamSearch, Greedy
from tfsum.generation.module import InPlace
from tfsum.models import Transformer

OURS, HUB = ("tfsum", "tfsum-xla", "uncached"), ("keras-hub", "keras-hub-xla")
IN_TORCH = ("marian", "ctranslate2", "ctranslate2-int8")
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
    return (
        np.random.default_rng(batch)
        .integers(4, size.vocabulary - 1, (batch, size.source))
        .astype(np.int32)
    )


def ours(model, size: Size, tokens: int, jit_compile: bool = False) -> Decode:
    """tfsum's strategies on a model, as one graph for any batch size and length, as in an
    export."""

    def graph(strategy):
        return tf.function(
            lambda source_ids: strategy(model, source_ids, tokens),
            jit_compile=jit_compile,
            autograph=False,
            input_signature=[tf.TensorSpec([None, None], tf.int32)],
        )

    graphs = {1: graph(Greedy()), BEAMS: graph(BeamSearch(BEAMS))}

    def decode(batch: int, beams: int) -> float:
        source_ids = tf.constant(sources(size, batch))
        start = time.perf_counter()
        lengths = graphs[beams](source_ids)[2].numpy()
        seconds = time.perf_counter() - start
        assert (lengths == tokens).all(), lengths
        return seconds

    return decode


def keras_hub_bart(size: Size, tokens: int, jit_compile: bool) -> Decode:
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
        models[beams].compile(sampler=sampler, jit_compile=jit_compile)

    def decode(batch: int, beams: int) -> float:
        source_ids, target = sources(size, batch), np.zeros((batch, tokens + 1), np.int32)
        target[:, 0] = 2
        inputs = {
            "encoder_token_ids": source_ids,
            "encoder_padding_mask": np.ones_like(source_ids),
            "decoder_token_ids": target,
            "decoder_padding_mask": (target != 0).astype(np.int32),
        }
        start = time.perf_counter()
        ids = models[beams].generate(inputs, stop_token_ids=None)["decoder_token_ids"]
        seconds = time.perf_counter() - start
        assert ids.shape == target.shape, ids.shape
        return seconds

    return decode


def contestants(
    wanted: Iterable[str], size: Size, tokens: int, other: OtherInterpreter | None
) -> dict[str, Decode]:
    """Name -> function to measure, in the order of measurement; prints why one is skipped."""
    model, made = our_model(size, tokens), {}
    in_torch = other.facts["who"] if other else []

    def ask(name: str) -> Decode:
        return lambda batch, beams: other.ask({"who": name, "batch": batch, "beams": beams})[
            "seconds"
        ]

    for name in wanted:
        if name in OURS:
            stepping = {"tfsum": InPlace, "uncached": Uncached}.get(name, lambda model: model)
            made[name] = ours(stepping(model), size, tokens, name == "tfsum-xla")
        elif name in HUB and importlib.util.find_spec("keras_hub"):
            made[name] = keras_hub_bart(size, tokens, name == "keras-hub-xla")
        elif name in in_torch:
            made[name] = ask(name)
        else:
            mend = (
                "pip install keras-hub"
                if name in HUB
                else (
                    "pip install torch transformers ctranslate2, and name that interpreter by"
                    " --torch-python"
                )
            )
            print(json.dumps({"skipped": name, "reason": f"not installed; {mend}"}), flush=True)
    return made


def measure(
    made: dict[str, Decode], cells: list[tuple[int, int]], rounds: int
) -> dict[tuple, list[float]]:
    """Seconds of (name, batch, beams), measured alternately in each cell after one warm-up call
    each."""
    seconds = {}
    for batch, beams in cells:
        racing = {
            name: decode
            for name, decode in made.items()
            if name != "uncached" or batch * beams <= MOST_UNCACHED_ROWS
        }
        for decode in racing.values():
            decode(batch, beams)
        for _ in range(rounds):
            for name, decode in racing.items():
                seconds.setdefault((name, batch, beams), []).append(decode(batch, beams))
        print(
            json.dumps(
                {
                    "measured": {"batch": batch, "beams": beams},
                    "seconds": {
                        name: [round(value, 4) for value in seconds[name, batch, beams]]
                        for name in racing
                    },
                }
            ),
            flush=True,
        )
    return seconds


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
    return sum(
        4 * int(np.prod(weight.shape)) for weight in [*read, model.output_kernel, model.output_bias]
    )


def seconds_to_read(size: int, rounds: int = 20) -> float:
    """The minimum time in seconds in which TensorFlow reads so many bytes, repeated as in decoding
    steps."""
    numbers = tf.Variable(tf.ones([size // 4]))
    total = tf.function(lambda: tf.reduce_sum(numbers))
    seconds = []
    for _ in range(rounds):
        start = time.perf_counter()
        total().numpy()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def table(seconds: dict[tuple, list[float]], tokens: int, step: float) -> str:
    """Tokens per second of each, with its time divided by tfsum's, and the lower bound.

    Args:
        seconds: of (name, batch, beams).
        tokens: of each sequence; those of the best beam count.
        step: the floor's seconds for a step.
    """
    median = {key: statistics.median(values) for key, values in seconds.items()}
    cells = list(dict.fromkeys(key[1:] for key in seconds))
    names = list(dict.fromkeys(key[0] for key in seconds))
    heads = [
        f"{'greedy' if beams == 1 else f'beam {beams}'}, batch {batch}" for batch, beams in cells
    ]
    rows = [
        ["", *heads],
        [
            "floor",
            *(
                _cell(batch * tokens, step * tokens, median.get(("tfsum", batch, beams)))
                for batch, beams in cells
            ),
        ],
    ]
    for name in names:
        row = [
            _cell(
                batch * tokens,
                median.get((name, batch, beams)),
                median.get(("tfsum", batch, beams)),
            )
            for batch, beams in cells
        ]
        rows.append([name, *row])
    widths = [max(map(len, column)) for column in zip(*rows)]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths)) for row in rows
    )


def _cell(tokens: int, seconds: float | None, ours: float | None) -> str:
    if seconds is None:
        return "-"
    return f"{tokens / seconds:.0f}" + (f" ({seconds / ours:.2f})" if ours else "")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    everyone = (*OURS, *IN_TORCH, *HUB)
    add(
        "--torch-python",
        metavar="PYTHON",
        help="an interpreter with torch, transformers and ctranslate2",
    )
    add("--size", choices=SIZES, default="base", help="size of all models (default base)")
    add("--tokens", type=int, default=64, metavar="N", help="length of each sequence (default 64)")
    add(
        "--batches",
        type=int,
        nargs="+",
        default=[1, 8, 32],
        metavar="N",
        help="batch sizes (default 1 8 32)",
    )
    add(
        "--beams",
        type=int,
        nargs="+",
        default=[1, BEAMS],
        choices=[1, BEAMS],
        help=f"default 1 (greedy) and {BEAMS}",
    )
    add(
        "--rounds",
        type=int,
        default=5,
        metavar="N",
        help="measured calls per program and cell (default 5)",
    )
    add(
        "--threads",
        type=int,
        default=os.cpu_count(),
        metavar="N",
        help="threads (default: all processors)",
    )
    add(
        "--only",
        nargs="+",
        choices=everyone,
        default=everyone,
        metavar="NAME",
        help=f"any of {', '.join(everyone)}",
    )
    options = parser.parse_args()
    load = round(os.getloadavg()[0], 2)  # above 0 before the start: the processors are shared
    use_threads(options.threads)
    size = SIZES[options.size]
    print(
        json.dumps(
            {
                "processors": os.cpu_count(),
                "threads": options.threads,
                "load": load,
                "tfsum": tfsum.__version__,
                "tensorflow": tf.__version__,
                "keras": keras.__version__,
                **size._asdict(),
                "tokens": options.tokens,
            }
        ),
        flush=True,
    )
    other = None
    if options.torch_python and set(options.only) & set(IN_TORCH):
        other = OtherInterpreter(
            options.torch_python,
            "decoding_torch.py",
            {
                **size._asdict(),
                "tokens": options.tokens,
                "threads": options.threads,
                "sources": {batch: sources(size, batch).tolist() for batch in options.batches},
            },
        )
        print(json.dumps(other.facts), flush=True)
    made = contestants(options.only, size, options.tokens, other)
    read = weights_of_a_step(our_model(size, options.tokens))
    step = seconds_to_read(read)
    print(
        json.dumps(
            {
                "weights_of_a_step_in_bytes": read,
                "gigabytes_a_second": round(read / step / 1e9, 2),
                "floor_in_seconds_a_step": round(step, 6),
            }
        ),
        flush=True,
    )
    cells = [(batch, beams) for beams in options.beams for batch in options.batches]
    seconds = measure(made, cells, options.rounds)
    if other:
        other.close()
    print("\ntokens per second (time divided by tfsum's: above 1, tfsum is faster)\n")
    print(table(seconds, options.tokens, step))


if __name__ == "__main__":
    main()
