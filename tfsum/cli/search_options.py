"""The options of `tfsum export` and `tfsum evaluate` for the decoding of a Transformer or a BertSumAbs."""

import argparse

# What is not given here is left to the library's own default.
UNSET = argparse.SUPPRESS

NAMES = (
    "min_length",
    "no_repeat_ngram",
    "width",
    "length_penalty",
    "normalization",
    "temperature",
    "top_k",
    "top_p",
    "n_samples",
    "legacy",
)
LENGTHS = ("max_length", "max_source_length", "max_windows", "source_names", "restore_case")


def add_search_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds a group of options to a verb.

    Args:
        parser: of the verb.

    Example:
        >>> parser = argparse.ArgumentParser()
        >>> add_search_arguments(parser)
        >>> parser.parse_args(["--search", "greedy"]).search
        'greedy'
    """
    add = parser.add_argument_group(
        "how a Transformer or a BertSumAbs answers (a BertSumAbs without options of the "
        "search: --width 5 --length-penalty 0.95 --no-repeat-ngram 3)"
    ).add_argument
    add("--search", choices=("greedy", "beam", "sampling"), help="default beam")
    add(
        "--max-length",
        type=int,
        default=UNSET,
        metavar="N",
        help="tokens of an answer at most (default: the model's)",
    )
    add(
        "--max-source-length",
        type=int,
        default=UNSET,
        metavar="N",
        help="a Transformer's: tokens read of a source (default: as its data were prepared)",
    )
    add(
        "--max-windows",
        type=int,
        default=UNSET,
        metavar="N",
        help="a BertSumAbs's: windows read of a text (default: as it was trained, else 1)",
    )
    add(
        "--source-names",
        action="store_true",
        default=UNSET,
        help="a BertSumAbs's: numbers and names are written only as the text has them",
    )
    add(
        "--restore-case",
        action="store_true",
        default=UNSET,
        help="a lower-casing BertSumAbs's: words get the case that they have in the text",
    )
    add(
        "--width",
        type=int,
        default=UNSET,
        metavar="K",
        help="beam: prefixes followed together (default 4)",
    )
    add(
        "--length-penalty",
        type=float,
        default=UNSET,
        metavar="A",
        help="beam: the higher, the longer (default 0.6)",
    )
    add(
        "--normalization",
        choices=("gnmt", "length"),
        default=UNSET,
        help="beam: for length (default gnmt)",
    )
    add(
        "--no-repeat-ngram",
        type=int,
        default=UNSET,
        metavar="N",
        help="no N tokens in a row come twice (default off)",
    )
    add(
        "--min-length",
        type=int,
        default=UNSET,
        metavar="N",
        help="tokens of an answer at least (default 0)",
    )
    add(
        "--legacy",
        action="store_true",
        default=UNSET,
        help="beam: search as PreSumm's program does, slips included, to compare with its summaries",
    )
    add(
        "--temperature",
        type=float,
        default=UNSET,
        metavar="T",
        help="sampling: lower is nearer to greedy (default 1)",
    )
    add(
        "--top-k",
        type=int,
        default=UNSET,
        metavar="K",
        help="sampling: only from the K most probable tokens",
    )
    add(
        "--top-p",
        type=float,
        default=UNSET,
        metavar="P",
        help="sampling: only from the most probable tokens with this total probability",
    )
    add(
        "--n-samples",
        type=int,
        default=UNSET,
        metavar="N",
        help="sampling: the best of N samples (default 1)",
    )
    add(
        "--search-seed",
        type=int,
        default=UNSET,
        metavar="N",
        help="sampling: of its numbers (default 0)",
    )


def take_search(given: dict) -> dict:
    """Takes the options of the group out of parsed arguments: those of `tfsum.export.export_abstractive`.

    Args:
        given: parsed options by name; those of the group are removed.

    Returns:
        `strategy` and the lengths, if given.

    Example:
        >>> take_search({"search": "greedy", "max_length": 20})
        {'max_length': 20, 'strategy': Greedy(min_length=0, no_repeat_ngram=0)}
    """
    from tfsum.decoding.named_strategy import named_strategy

    chosen = {name: given.pop(name) for name in LENGTHS if name in given}
    search, options = (
        given.pop("search"),
        {name: given.pop(name) for name in NAMES if name in given},
    )
    if "search_seed" in given:
        options["seed"] = given.pop("search_seed")
    if search or options:
        chosen["strategy"] = named_strategy(search or "beam", **options)
    return chosen
