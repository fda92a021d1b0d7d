"""Records golden answers at export, and verifies the answers, signatures, operations and weights of
a SavedModel.

The `golden.py` of a task is a `Golden`. A task whose exports take only `text` can import all of its
functions but `ask` from here.
"""

import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from tfsum.errors import ExportError, as_error, require
from tfsum.inference.allowed_operations import check_operations, read_definitions
from tfsum.inference.exported_model import UNREADABLE, OpenedModel, open_model
from tfsum.inference.saved_model import read_json
from tfsum.loading import load_tensorflow
from tfsum.tensorflow_messages import data_type_name

# Other processors sum in another order; a wrong weight or kernel differs far more.
SCORE_TOLERANCE = 1e-3
TEXTS = (
    (
        "The old bridge over the river was closed on Monday after engineers found cracks in two of"
        " its pillars. Mayor Anna Holt said repairs would take at least six months and cost about"
        ' $4.2 million. Buses will use the northern crossing until then. "We cannot take any risk,"'
        " she told reporters. Shops near the bridge fear for their trade. The bridge was built in"
        " 1931 and carries 18,000 cars a day."
    ),
    (
        "Seoul (AP) -- Scientists have found a new species of frog in the hills east of the"
        " city.\nThe animal is no longer than a fingernail, Dr. J. R. Kim of the U.S. Geological"
        " Survey said.\nIt was heard before it was seen. Its call resembles that of a cricket. The"
        " finding appeared in a journal on Thursday."
    ),
    "",
    "   \n\t ",
    "One sentence without an end",
    "안녕하세요. 오늘은 날씨가 좋습니다. 内容を読む。今日は晴れ。",
    "Caf\u00e9 na\u00efve \U0001f600! Rain fell. " * 3 + "The\u00a0end\u2026",
    " ".join(
        f"Item {i} of the long report says that the number {i * 7} was counted twice in town"
        f" {i % 13}."
        for i in range(60)
    ),
)


Ask = Callable[[Any, list[dict]], list[dict]]
"""Asks a model some requests, and returns its answers in types of JSON."""


class Golden(Protocol):
    """The requests of a task that verify and warm up its exports.

    If a search finds parts of an answer, `SEARCHED` has their names, the text first. Where a server
    calls other signatures than `ask`, `ask_served` asks by those, and may leave parts out.
    """

    def signatures(self, description: dict) -> dict[str, dict[str, str]]:
        """Lists the types of the inputs, by signature and input."""

    def requests(self, description: dict) -> list[dict]:
        """Makes the golden requests."""

    def ask(self, model: Any, requests: list[dict]) -> list[dict]:
        """Asks a model; floats of its answers are compared within a tolerance."""

    def warmup(self, description: dict, texts: list[str]) -> list[tuple[str, dict]]:
        """Makes the warm-up requests of some texts: pairs (signature, inputs)."""


def signatures(description: dict) -> dict[str, dict[str, str]]:
    """Lists the signatures of an export that takes only `text`.

    Args:
        description: Content of assets.extra/tfsum.json.

    Returns:
        TensorFlow's names of the types of the inputs, by signature and input.

    Example:
        >>> signatures({})
        {'serving_default': {'text': 'string'}}
    """
    return {"serving_default": {"text": "string"}}


def requests(description: dict) -> list[dict]:
    """Makes the golden requests to an export that takes only `text`.

    Args:
        description: Content of assets.extra/tfsum.json.

    Returns:
        One dictionary of inputs per request.

    Example:
        >>> requests({})[4]
        {'text': 'One sentence without an end'}
    """
    return [{"text": text} for text in TEXTS]


def column(requests: list[dict], name: str) -> list:
    """The values of one input of some requests, texts as bytes.

    Args:
        requests: Requests, in types of JSON.
        name: Name of the input.

    Example:
        >>> column([{"text": "It rained."}, {"text": ""}], "text")
        [b'It rained.', b'']
    """
    values = [request[name] for request in requests]
    return [value.encode() if isinstance(value, str) else value for value in values]


def warmup(description: dict, texts: list[str]) -> list[tuple[str, dict]]:
    """Makes the warm-up requests to an export that takes only `text`.

    Args:
        description: Content of assets.extra/tfsum.json.
        texts: Texts of one request.

    Returns:
        Pairs (signature, inputs).

    Example:
        >>> warmup({}, ["It rained."])
        [('serving_default', {'text': ['It rained.']})]
    """
    return [("serving_default", {"text": texts})]


def record(model: Any, requests: list[dict], ask: Ask, searched: Sequence[str] = ()) -> dict:
    """Records the answers of a loaded model.

    A search can end differently if two hypotheses differ only by rounding. If the answer to a
    request in a batch differs from the answer to it alone, a warning says so, and the parts that
    the search found are not recorded.

    Args:
        model: Opened model, which has a method `call`.
        requests: Requests, in types of JSON.
        ask: Function of the task from a model and requests to answers in types of JSON.
        searched: Names of the parts of an answer that a search found, the text first.

    Returns:
        Content of golden.json.

    Example:
        >>> def ask(model, requests):
        ...     return [{"score": 0.5}]
        >>> record(None, [{"text": "It rained."}], ask)["answers"]
        [{'score': 0.5}]
    """
    answers = ask(model, requests)

    for i, request in enumerate(requests if searched else ()):
        (alone,) = ask(model, [request])
        if alone[searched[0]] != answers[i][searched[0]]:
            warnings.warn(
                f"golden answer {i}: the search ends otherwise in a batch than alone, so that its"
                f" {', '.join(searched)} will not be verified; a trained model should decide"
                " clearly: look at its answers",
                stacklevel=2,
            )
            answers[i] = {name: value for name, value in answers[i].items() if name not in searched}
    return {"score_tolerance": SCORE_TOLERANCE, "requests": requests, "answers": answers}


def check_answers(
    folder: pathlib.Path, description: dict, part: Golden, model: OpenedModel, ask: Ask
) -> float:
    """Checks the signatures of an export, and repeats its golden requests.

    Args:
        folder: Folder `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.
        part: Part of its task.
        model: The opened model.
        ask: Function of the part that asks it.

    Returns:
        The largest difference of a score.

    Raises:
        ExportError: The export differs from its description or its golden answers.

    Example:
        >>> from tfsum.inference.exported_model import open_model
        >>> from tfsum.inference.saved_model import read_description
        >>> from tfsum.inference.saved_model import shipped_model
        >>> from tfsum.tasks.bert_sum_ext import golden
        >>> folder, description = shipped_model(), read_description(shipped_model())
        >>> model = open_model(folder, description)
        >>> check_answers(folder, description, golden, model, golden.ask) < 1e-3
        True
    """
    definitions = read_definitions(folder)
    for name, inputs in part.signatures(description).items():
        require(
            name in definitions,
            f"{folder}: no signature {name!r}; found {', '.join(definitions)}",
            ExportError,
        )
        found = {key: data_type_name(info.dtype) for key, info in definitions[name].inputs.items()}
        require(
            found.items() <= inputs.items(),  # an older export lacks what came later
            f"{folder}: signature {name!r} takes {found}; expected {inputs}",
            ExportError,
        )
    recorded = read_json(folder / "assets.extra" / "golden.json")
    return replay(model, recorded, ask, folder, whole=ask == part.ask)


def replay(
    model: Any, recorded: dict, ask: Ask, source: str | pathlib.Path, whole: bool = True
) -> float:
    """Repeats the recorded requests and compares the answers.

    Args:
        model: Opened model, which has a method `call`.
        recorded: Content of golden.json.
        ask: Function of the task, as for `record`.
        source: Name of the model in error messages.
        whole: Whether each answer has all parts that were recorded.

    Returns:
        The largest difference of a score; relative to scores above 1.

    Raises:
        ExportError: A text or an offset differs, or a score (any float) by more than the tolerance.

    Example:
        >>> def ask(model, requests):
        ...     return [{"score": model}]
        >>> replay(0.75, record(0.75, [{"text": "It rained."}], ask), ask, "a model")
        0.0
    """
    worst = 0.0
    pairs = zip(recorded["requests"], recorded["answers"], strict=True)

    for i, (request, expected) in enumerate(pairs):
        (answer,) = ask(model, [request])
        for name in [name for name in expected if whole or name in answer]:
            difference = _difference(answer[name], expected[name])
            if not difference <= recorded["score_tolerance"]:  # or not a number
                begin = str(next(iter(request.values())))[:40]
                raise ExportError(
                    f"{source}: request {i} ({begin!r}): {name} is {answer[name]!r}, and was"
                    f" {expected[name]!r} on the day of export; the model was changed or runs"
                    " wrongly here"
                )
            worst = max(worst, difference)
    return worst


def _difference(value: Any, expected: Any) -> float:
    """The largest difference of scores (a float or a list of them); infinite for other answers."""
    if value == expected:
        return 0.0
    first = expected[0] if isinstance(expected, list) and expected else expected
    if not isinstance(first, float) or np.shape(value) != np.shape(expected):
        return float("inf")
    # relative to large scores, whose last digits are rounded
    return float(np.max(np.abs(np.subtract(value, expected)) / np.maximum(1.0, np.abs(expected))))


class VerificationReport(dict):
    """The report of `tfsum.verify` on a model that passed: a dict; its text has one line per entry.

    Example:
        >>> print(VerificationReport(kind="extractive", weights=89))
        kind: extractive
        weights: 89
        passed: the model answers as on the day of its export
    """

    def __str__(self) -> str:
        entries = (f"{name}: {value}" for name, value in self.items())
        return "\n".join([*entries, "passed: the model answers as on the day of its export"])


def verify_export(
    folder: str | pathlib.Path,
    description: dict,
    part: Golden,
    model: OpenedModel | None = None,
) -> VerificationReport:
    """Checks the signatures, operations and weights of an export, and repeats its golden requests.

    Args:
        folder: Folder `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.
        part: Requests of its task.
        model: The opened model; None opens it.

    Returns:
        The report.

    Raises:
        ExportError: The export differs from its description or its golden answers.

    Example:
        >>> description = {"kind": "extractive", "ops": "core", "weights": {}}
        >>> verify_export("no_such_folder/1", description, None)  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.ExportError: no_such_folder/1/variables: cannot be read ...
    """
    folder = pathlib.Path(folder)
    return VerificationReport(
        model=str(folder),
        kind=description["kind"],
        ops=description["ops"],
        weights=check_weights(folder, description["weights"]),
        operations=len(check_operations(folder, description["ops"])),
        signatures=sorted(part.signatures(description)),
        golden_answers=len(read_json(folder / "assets.extra" / "golden.json")["answers"]),
        largest_score_difference=check_answers(
            folder, description, part, model or open_model(folder, description), part.ask
        ),
    )


def check_weights(folder: pathlib.Path, expected: dict) -> int:
    """Checks that each weight is stored once and nothing else is.

    Args:
        folder: SavedModel, `.../NAME/VERSION`.
        expected: Pairs [dtype, shape] of the weights by name.

    Returns:
        Number of weights.

    Raises:
        ExportError: The file cannot be read, or does not hold the expected weights.

    Example:
        >>> from tfsum.inference.saved_model import read_description, shipped_model
        >>> weights = read_description(shipped_model())["weights"]
        >>> check_weights(shipped_model(), weights) == len(weights)
        True
    """
    load_tensorflow()  # which a server does without
    import tensorflow as tf

    with as_error(
        f"{folder}/variables: cannot be read",
        tf.errors.OpError,
        *UNREADABLE,
        kind=ExportError,
        cure="; fetch or export the model again",
    ):
        reader = tf.train.load_checkpoint(str(folder / "variables" / "variables"))

    shapes, dtypes = reader.get_variable_to_shape_map(), reader.get_variable_to_dtype_map()
    stored = sorted((dtypes[k].name, tuple(v)) for k, v in shapes.items() if dtypes[k] != tf.string)
    require(
        stored == sorted((dtype, tuple(shape)) for dtype, shape in expected.values()),
        f"{folder}/variables: {len(stored)} arrays, and assets.extra/tfsum.json lists"
        f" {len(expected)} weights of other types or shapes; fetch or export the model again",
        ExportError,
    )
    return len(stored)
