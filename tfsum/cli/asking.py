"""What `tfsum summarize` asks: a model of this machine or of a server, for what the options say."""

import argparse
import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from typing import Any

import tfsum
from tfsum.cli.parser import selection_options
from tfsum.errors import Error
from tfsum.inference.shipped import DEFAULT_MODEL

SERVER_SECONDS = 600.0  # for an answer of a server; it has a limit of its own


@contextlib.contextmanager
def load(arguments: argparse.Namespace) -> Iterator[Callable]:
    """Loads the model; a model folder is exported for the duration of the block.

    Args:
        arguments: Parsed arguments of `tfsum summarize`.

    Yields:
        The function from texts to what `answering` says.

    Raises:
        Error: The model writes no summary.

    Example:
        >>> options = {"model": None, "compute": "float32", "keywords": 1, "all": False}
        >>> with load(argparse.Namespace(**options, together=False)) as answer:
        ...     print(answer(["Rain."])[0][0])
        Rain
    """
    from tfsum.tasks.load import open_model, task_of

    with contextlib.ExitStack() as stack:
        if arguments.model and os.path.isfile(os.path.join(arguments.model, "config.json")):
            if arguments.compute != "float32":
                arguments.parser.error(
                    f"--compute {arguments.compute}: is for an exported model, and"
                    f" {arguments.model} is a model folder; export it first: `tfsum export`"
                )
            model = stack.enter_context(open_model(arguments.model))
        elif arguments.compute == "float32":
            model = tfsum.load(arguments.model)
        else:
            model = tfsum.load(arguments.model, compute=arguments.compute)

        verb = task_of(model.path, model.description).verb
        if verb != "summarize":
            raise Error(
                f"{arguments.model}: is a {model.description['kind']}, which writes no summary; use"
                f" `tfsum {verb}`"
            )
        yield answering(arguments, model, model)


@contextlib.contextmanager
def connect(arguments: argparse.Namespace) -> Iterator[Callable]:
    """Asks the server's model; its connections end with the block.

    Args:
        arguments: Parsed arguments of `tfsum summarize`.

    Yields:
        The function from texts to what `answering` says.

    Raises:
        Error: The model writes no summary.

    Example:
        >>> with connect(argparse.Namespace(server="http://localhost:8501")) as answer:
        ...     answer(["It rained."])  # doctest: +SKIP
    """
    from tfsum.cli.serve import read_token
    from tfsum.serving import Client

    if arguments.newline is not None:
        arguments.parser.error(
            f"--newline {arguments.newline}: a server's model reads new lines as it was exported; "
            "leave it out, or name a model of this machine with --model"
        )
    if arguments.sentences == "auto":
        arguments.parser.error(
            "-n auto: a server is asked for a number; give one, or name a model of this machine"
            " with --model"
        )
    name = arguments.model or DEFAULT_MODEL
    token = read_token(arguments.token_file)
    with Client(arguments.server, name, token=token, timeout=SERVER_SECONDS) as client:
        signatures = client.signatures()
        if "summarize" in signatures:
            yield answering(arguments, client, client.summarize)
        elif "summary" in signatures.get("serving_default", ([], []))[1]:
            yield answering(arguments, None, client.generate)
        else:
            raise Error(
                f"{arguments.server}: the model {name} writes no summary; its signatures are "
                f"{', '.join(sorted(signatures))}"
            )


def answering(arguments: argparse.Namespace, model: Any, summarize: Callable) -> Callable:
    """The function from texts to their answers: summaries, all sentences, keywords, or, with
    --together, one summary of all.

    Args:
        arguments: Parsed arguments of `tfsum summarize`.
        model: An object with the methods `keywords`, `score` and `together`; None for a model that
            writes.
        summarize: Function from texts to summaries.

    Example:
        >>> modes = dict.fromkeys(("keywords", "all", "together"), False)
        >>> answering(argparse.Namespace(**modes, sentences=None, newline=None), None, len)
        functools.partial(<built-in function len>)
    """
    mode = next(
        (mode for mode in ("keywords", "all", "together") if getattr(arguments, mode)), None
    )
    if mode is None:
        return functools.partial(summarize, **selection_options(arguments, summarize))

    method: Any = getattr(model, {"all": "score"}.get(mode, mode), None)
    if method is None:
        arguments.parser.error(
            f"--{mode}: {arguments.model or DEFAULT_MODEL} is not extractive: it generates its"
            " answer; leave it out"
        )
    if mode == "keywords":
        return functools.partial(method, number=arguments.keywords)
    if mode == "all":
        return method
    return functools.partial(method, **selection_options(arguments, summarize))
