"""Options of `tfsum export` and `tfsum evaluate` for the decoding of models that write."""

from typing import Any

from tfsum.cli.options import add_settings
from tfsum.cli.parser import Options, Parser, add_options
from tfsum.decoding_settings import BeamSearchSettings, SamplingSettings, StrategySettings
from tfsum.quiet_tensorflow import load_tensorflow

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
    "--source-names": {
        "action": "store_true",
        "help": "a BertSumAbs's: numbers and names are written only as the text has them",
    },
    "--restore-case": {
        "action": "store_true",
        "help": "a lower-casing BertSumAbs's: words get the case that they have in the text",
    },
}
OPTIONS: Options = {
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
# Title of a group -> the class whose fields are its options.
STRATEGIES = {DECODING: StrategySettings, BEAM: BeamSearchSettings, SAMPLING: SamplingSettings}


def add_search_options(parser: Parser) -> None:
    """Adds the options of the strategies, which their classes describe.

    Args:
        parser: Parser of a verb.

    Example:
        >>> parser = Parser(prog="tfsum")
        >>> add_search_options(parser)
        >>> parser.parse_args(["--width", "5"]).width
        5
    """
    add_options(parser, OPTIONS)
    shared = StrategySettings.checked().model_fields.keys()
    for title, settings in STRATEGIES.items():
        checked = settings.checked()
        add_settings(parser, checked, checked.model_fields.keys() - shared or shared, title)


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
    fields = {name for each in STRATEGIES.values() for name in each.checked().model_fields}
    names = [*(fields & options.keys()) - {"seed"}]  # which is another option of evaluate
    settings = {name: options.pop(name) for name in names}
    if seed is not None:
        settings["seed"] = seed
    if options.pop("legacy", False):
        import tfsum.papers  # noqa: F401  (its search joins the named ones)

        search = f"presumm_{search or 'beam'}"

    if search or settings:
        arguments["strategy"] = named_strategy(search or "beam", **settings)
    return arguments
