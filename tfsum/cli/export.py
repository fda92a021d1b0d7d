"""Turn a model folder into a SavedModel that takes raw strings and returns summaries."""

from typing import Any

import tfsum
from tfsum.cli.options import (
    GIVEN_ONLY,
    Arguments,
    Options,
    given_options,
    number,
    read_settings,
)
from tfsum.decoding_settings import BeamSearchSettings, SamplingSettings, StrategySettings
from tfsum.loading import load_tensorflow
from tfsum.request import SummaryRequest

EXAMPLES = """examples:
  tfsum export runs/news/best saved_models/my_model/1
  tfsum export runs/news/best saved_models/my_model --storage small  # its next version, small
  tfsum export runs/news/best served/my_model --ops text
  tfsum export runs/english_french/best served/translator --width 4 --storage float16
"""


PARSER = GIVEN_ONLY | {
    "usage": "%(prog)s FOLDER DESTINATION [options]",
}
# The first group concerns all models.
MODEL_OPTIONS: Options = {
    "": {
        "model": {
            "metavar": "FOLDER",
            "help": "a model folder, such as the best of a training run",
        },
        "destination": {
            "metavar": "DESTINATION",
            "help": "NAME/VERSION, or NAME for its next version",
        },
        "--ops": {
            "choices": ("core", "text"),
            "help": "core (default): any host loads it; text: faster, for hosts with TF Text",
        },
        "--storage": {
            "choices": ("float32", "float16", "small"),
            "help": "of the weights: float32 (default), float16, or small (with int8 embeddings)",
        },
    },
    "BertSumExt": {
        "-n --sentences": {
            "type": number,
            "metavar": "N",
            "help": "sentences of serving_default (default: 3), or auto with expected_rouge",
        },
        "--max-sentences": {
            "type": int,
            "metavar": "N",
            "help": "width of the outputs (default: 10)",
        },
        "--selection": {
            "choices": ("score", "expected_rouge"),
            "help": "how sentences are chosen (default: as the recipe was evaluated, or score)",
        },
        "--newline": {
            "choices": ("auto", "sentence", "line", "paragraph", "space"),
            "help": "what a new line means (default: as the model was trained)",
        },
        "--keep-repeats": {
            "dest": "block_trigrams",
            "action": "store_false",
            "help": "let serving_default choose sentences that share three words in a row",
        },
    },
}
# Of the decoding, which `tfsum evaluate` has too.
DECODING, BEAM, SAMPLING = "decoding of a Transformer or a BertSumAbs", "beam search", "sampling"
EXPORT_OPTIONS: dict[str, dict[str, Any]] = {
    "--max-length": {
        "type": int,
        "metavar": "N",
        "help": "tokens of an answer at most (default: the model's)",
    },
    "--max-source-length": {
        "type": int,
        "metavar": "N",
        "help": "a Transformer's: tokens read of a source (default: as its data were prepared)",
    },
    "--max-windows": {
        "type": int,
        "metavar": "N",
        "help": "a BertSumAbs's: windows read of a text (default: as it was trained, else 1)",
    },
    "--restore-case": {
        "action": "store_true",
        "help": "a lower-casing BertSumAbs's: words get the case that they have in the text",
    },
}
SEARCH_OPTIONS: Options = {
    DECODING: {
        "--search": {
            "choices": ("greedy", "beam", "sampling"),
            "help": "default: beam, for a BertSumAbs of width 5, length penalty 0.95, N-gram 3",
        },
        **EXPORT_OPTIONS,
    },
    BEAM: {
        "--legacy": {
            "action": "store_true",
            "help": "search as PreSumm's program does, slips included, to compare with it",
        },
    },
    SAMPLING: {
        "--search-seed": {"type": int, "metavar": "N", "help": "seed of the numbers (default: 0)"},
    },
}
STRATEGIES = {
    DECODING: StrategySettings.checked(),
    BEAM: BeamSearchSettings.checked(),
    SAMPLING: SamplingSettings.checked(),
}
_SHARED = STRATEGIES[DECODING].model_fields.keys()
SEARCH_CLASSES = [
    (checked, checked.model_fields.keys() - _SHARED or _SHARED, title)
    for title, checked in STRATEGIES.items()
]
CLASSES = SEARCH_CLASSES
OPTIONS = {**MODEL_OPTIONS, **SEARCH_OPTIONS}


def run(arguments: Arguments) -> int:
    options = given_options(arguments)
    model, destination = options.pop("model"), options.pop("destination")
    arguments.parser.require_model(model)

    read_settings(SummaryRequest, arguments, ["sentences"])
    search = take_search(options)  # out of the options
    print(tfsum.export_model(model, destination, **options, **search))
    return 0


def take_search(options: dict[str, Any]) -> dict[str, Any]:
    """Takes the options of the search out of those of a verb.

    Args:
        options: Parsed options by name; those of the search are removed.

    Returns:
        Arguments of `tfsum.export_model`: `strategy` and the lengths, where they were given.

    Example:
        >>> take_search({"search": "greedy", "max_length": 20})
        {'max_length': 20, 'strategy': Greedy(min_length=0, no_repeat_ngram=0)}
    """
    load_tensorflow()
    from tfsum.decoding import named_strategy

    search, seed = options.pop("search", None), options.pop("search_seed", None)
    names = [flag.removeprefix("--").replace("-", "_") for flag in EXPORT_OPTIONS]
    arguments = {name: options.pop(name) for name in names if name in options}
    fields = {name for each in STRATEGIES.values() for name in each.model_fields if name != "seed"}
    # `seed` is another option of evaluate
    settings = {name: options.pop(name) for name in fields & options.keys()}
    if seed is not None:
        settings["seed"] = seed
    if options.pop("legacy", False):
        import tfsum.papers  # noqa: F401  (its search joins the named ones)

        search = f"presumm_{search or 'beam'}"

    if search or settings:
        arguments["strategy"] = named_strategy(search or "beam", **settings)
    return arguments
