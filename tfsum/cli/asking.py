"""What `tfsum summarize` asks: a model of this machine or of a server."""

import argparse
import contextlib
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import tfsum
from tfsum.cli.answers import Answer
from tfsum.errors import Error
from tfsum.inference.shipped import DEFAULT_MODEL
from tfsum.request import Keyword, SummaryAnswer, SummaryRequest

SERVER_SECONDS = 600.0  # for an answer of a server; it has a limit of its own

Answering = Callable[[list[str]], Sequence[Answer]]


class Extractive(Protocol):
    """An extractive model: a `Summarizer`, or the `Client` of one."""

    def answer(self, texts: Sequence[str], request: SummaryRequest) -> list[SummaryAnswer]: ...

    def keywords(self, texts: Sequence[str], number: int) -> list[list[Keyword]]: ...


@contextlib.contextmanager
def load(arguments: argparse.Namespace, request: SummaryRequest) -> Iterator[Answering]:
    """Loads the model; a model folder is exported for the duration of the block.

    Args:
        arguments: Parsed arguments of `tfsum summarize`.
        request: What is asked of each text.

    Yields:
        The function from texts to their answers.

    Raises:
        Error: The model writes no summary.

    Example:
        >>> arguments = argparse.Namespace(model=None, compute="float32", format="text")
        >>> with load(arguments, SummaryRequest(keywords=1)) as answer:
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
        if hasattr(model, "answer"):
            yield _extracting(model, request, arguments)
        else:
            refuse_request(request, arguments)
            yield model


@contextlib.contextmanager
def connect(arguments: argparse.Namespace, request: SummaryRequest) -> Iterator[Answering]:
    """Asks the server's model; its connections end with the block.

    Args:
        arguments: Parsed arguments of `tfsum summarize`.
        request: What is asked of each text.

    Yields:
        The function from texts to their answers.

    Raises:
        Error: The model writes no summary.

    Example:
        >>> arguments = argparse.Namespace(server="http://localhost:8501")
        >>> with connect(arguments, SummaryRequest()) as answer:  # doctest: +SKIP
        ...     answer(["It rained."])
    """
    from tfsum.cli.serve import read_token
    from tfsum.serving import Client

    name = arguments.model or DEFAULT_MODEL
    token = read_token(arguments.token_file)
    with Client(arguments.server, name, token=token, timeout=SERVER_SECONDS) as client:
        signatures = client.signatures()
        if "extract" in signatures:
            yield _extracting(client, request, arguments)
        elif "summary" in signatures.get("serving_default", ([], []))[1]:
            refuse_request(request, arguments)
            yield client.generate
        else:
            raise Error(
                f"{arguments.server}: the model {name} writes no summary; its signatures are "
                f"{', '.join(sorted(signatures))}"
            )


def flag_of(name: str) -> str:
    """The option of a field of a request.

    Args:
        name: Name of the field.

    Example:
        >>> flag_of("min_score")
        '--min-score'
    """
    return f"--{name.replace('_', '-')}"


def _extracting(
    model: Extractive, request: SummaryRequest, arguments: argparse.Namespace
) -> Answering:
    """The function from texts to summaries, or to keywords where they are printed alone."""
    if request.keywords is not None and arguments.format != "json":
        return functools.partial(model.keywords, number=request.keywords)
    return functools.partial(model.answer, request=request)


def refuse_request(request: SummaryRequest, arguments: argparse.Namespace) -> None:
    """Refuses what only an extractive model can be asked.

    Args:
        request: What is asked.
        arguments: Parsed arguments of a verb that has `--model`.
    """
    given = request.model_dump(exclude_defaults=True)
    if given:
        options = ", ".join(f"{flag_of(name)} {value}" for name, value in given.items())
        arguments.parser.error(
            f"{options}: {arguments.model or DEFAULT_MODEL} is not extractive: it generates its"
            " answer; leave it out"
        )
