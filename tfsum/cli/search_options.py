"""Options of `tfsum export` and `tfsum evaluate` for the decoding of models that write."""

from typing import Any

from tfsum.cli.parser import Options
from tfsum.quiet_tensorflow import load_tensorflow

# Option -> arguments of `add_argument`. Those of the export, then those of the strategies.
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
STRATEGY_OPTIONS: dict[str, dict[str, Any]] = {
    "--width": {
        "type": int,
        "metavar": "K",
        "help": "beam: prefixes followed together (default 4)",
    },
    "--length-penalty": {
        "type": float,
        "metavar": "A",
        "help": "beam: a higher value gives longer answers (default 0.6)",
    },
    "--normalization": {
        "choices": ("gnmt", "length"),
        "help": "beam: normalization for length (default gnmt)",
    },
    "--no-repeat-ngram": {
        "type": int,
        "metavar": "N",
        "help": "no N tokens in a row come twice (default off)",
    },
    "--min-length": {
        "type": int,
        "metavar": "N",
        "help": "tokens of an answer at least (default 0)",
    },
    "--legacy": {
        "action": "store_true",
        "help": (
            "beam: search as PreSumm's program does, slips included, to compare with its summaries"
        ),
    },
    "--temperature": {
        "type": float,
        "metavar": "T",
        "help": "sampling: lower is nearer to greedy (default 1)",
    },
    "--top-k": {
        "type": int,
        "metavar": "K",
        "help": "sampling: only from the K most probable tokens",
    },
    "--top-p": {
        "type": float,
        "metavar": "P",
        "help": "sampling: only from the most probable tokens with this total probability",
    },
    "--n-samples": {
        "type": int,
        "metavar": "N",
        "help": "sampling: the best of N samples (default 1)",
    },
    "--search-seed": {
        "type": int,
        "metavar": "N",
        "help": "sampling: seed of its numbers (default 0)",
    },
}


SEARCH_OPTIONS: Options = {
    "decoding of a Transformer or a BertSumAbs": {
        "--search": {
            "choices": ("greedy", "beam", "sampling"),
            "help": (
                "default beam; of a BertSumAbs without these options: --width 5 --length-penalty"
                " 0.95 --no-repeat-ngram 3"
            ),
        },
        **EXPORT_OPTIONS,
        **STRATEGY_OPTIONS,
    }
}


def take_search(options: dict) -> dict:
    """Takes the options of the group out of those of a verb.

    Args:
        options: Parsed options by name; those of the group are removed.

    Returns:
        Arguments of `tfsum.export_model`: `strategy` and the lengths, where they were given.

    Example:
        >>> take_search({"search": "greedy", "max_length": 20})
        {'max_length': 20, 'strategy': Greedy(min_length=0, no_repeat_ngram=0)}
    """
    load_tensorflow()
    from tfsum.decoding import named_strategy

    search = options.pop("search", None)
    arguments, settings = _take(options, EXPORT_OPTIONS), _take(options, STRATEGY_OPTIONS)
    if settings.pop("legacy", False):
        import tfsum.papers  # noqa: F401  (its search joins the named ones)

        search = f"presumm_{search or 'beam'}"
    if "search_seed" in settings:
        settings["seed"] = settings.pop("search_seed")  # --seed is another option of evaluate

    if search or settings:
        arguments["strategy"] = named_strategy(search or "beam", **settings)
    return arguments


def _take(options: dict, table: dict) -> dict:
    names = [flag.removeprefix("--").replace("-", "_") for flag in table]
    return {name: options.pop(name) for name in names if name in options}
