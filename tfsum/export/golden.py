"""The golden answers: requests, and the model's answers on the day of export.

The `golden.py` of a task gives `signatures`, `requests`, `warmup` and `ask`, see `tfsum.tasks`. A task whose exports
take `text` and no more may have the first three from here.
"""

import pathlib
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from tfsum.errors import ExportError

SCORE_TOLERANCE = (
    1e-3  # other processors sum in another order; a wrong weight or kernel differs far more
)
TEXTS = (
    "The old bridge over the river was closed on Monday after engineers found cracks in two of its pillars. "
    "Mayor Anna Holt said repairs would take at least six months and cost about $4.2 million. Buses will use the "
    'northern crossing until then. "We cannot take any risk," she told reporters. Shops near the bridge fear for '
    "their trade. The bridge was built in 1931 and carries 18,000 cars a day.",
    "Seoul (AP) -- Scientists have found a new species of frog in the hills east of the city.\nThe animal is no "
    "longer than a fingernail, Dr. J. R. Kim of the U.S. Geological Survey said.\nIt was heard before it was seen. "
    "Its call resembles that of a cricket. The finding appeared in a journal on Thursday.",
    "",
    "   \n\t ",
    "One sentence without an end",
    "안녕하세요. 오늘은 날씨가 좋습니다. 内容を読む。今日は晴れ。",
    "Caf\u00e9 na\u00efve \U0001f600! Rain fell. " * 3 + "The\u00a0end\u2026",
    " ".join(
        f"Item {i} of the long report says that the number {i * 7} was counted twice in town {i % 13}."
        for i in range(60)
    ),
)

Ask = Callable[[object, list[dict]], list[dict]]


def signatures(description: dict) -> dict[str, dict[str, tf.DType]]:
    """The signatures of an export that takes `text` and no more, by name, with the types of their inputs.

    Example:
        >>> signatures({})
        {'serving_default': {'text': tf.string}}
    """
    return {"serving_default": {"text": tf.string}}


def requests(description: dict) -> list[dict]:
    """The golden requests to an export that takes `text` and no more.

    Example:
        >>> requests({})[4]
        {'text': 'One sentence without an end'}
    """
    return [{"text": text} for text in TEXTS]


def warmup(description: dict, texts: list[str]) -> list[tuple[str, dict]]:
    """The warm-up requests of some texts to such an export: (signature, inputs) each.

    Example:
        >>> warmup({}, ["It rained."])
        [('serving_default', {'text': ['It rained.']})]
    """
    return [("serving_default", {"text": texts})]


def record(model: Any, requests: list[dict], ask: Ask, searched: Sequence[str] = ()) -> dict:
    """Records the answers of a loaded model.

    A search over many steps decides between hypotheses that may be equal but for rounding, and goes on differently
    then. Where an answer in a batch and the answer alone differ, a warning says so, and the parts that a search found
    are not recorded.

    Args:
        model: a loaded SavedModel.
        requests: the requests, in JSON's types.
        ask: the task's function from a model and requests to answers in JSON's types.
        searched: the names of the parts of an answer that a search found, the text first.

    Returns:
        The content of golden.json.

    Example:
        >>> record(None, [{"text": "It rained."}], lambda model, requests: [{"score": 0.5}])[
        ...     "answers"
        ... ]
        [{'score': 0.5}]
    """
    answers = ask(model, requests)
    for i in range(len(requests) if searched else 0):
        (alone,) = ask(model, [requests[i]])
        if alone[searched[0]] != answers[i][searched[0]]:
            warnings.warn(
                f"golden answer {i}: the search ends otherwise in a batch than alone, so that its "
                f"{', '.join(searched)} will not be verified; a trained model should decide clearly: look at "
                "its answers",
                stacklevel=2,
            )
            answers[i] = {name: value for name, value in answers[i].items() if name not in searched}
    return {"score_tolerance": SCORE_TOLERANCE, "requests": requests, "answers": answers}


def replay(model: Any, recorded: dict, ask: Ask, source: str | pathlib.Path) -> float:
    """Repeats the requests and compares the answers.

    Args:
        model: a loaded SavedModel.
        recorded: the content of golden.json.
        ask: see `record`.
        source: name of the model in messages.

    Returns:
        The largest difference of a score, relative where the score is above 1.

    Raises:
        ExportError: an answer differs: another text, other offsets, or a score (any float) beyond the tolerance.

    Example:
        >>> def ask(model, requests):
        ...     return [{"score": model}]
        >>> replay(0.75, record(0.75, [{"text": "It rained."}], ask), ask, "a model")
        0.0
    """
    worst = 0.0
    for i, (request, expected) in enumerate(
        zip(recorded["requests"], recorded["answers"], strict=True)
    ):
        (found,) = ask(model, [request])
        for name, value in expected.items():
            if _is_score(value):
                scores, were = _list(found[name]), _list(value)
                # Of a sum of many logarithms the last digits are those of its own size.
                gaps = [abs(a - b) / max(1.0, abs(b)) for a, b in zip(scores, were)]
                far = len(scores) != len(were) or not all(
                    gap <= recorded["score_tolerance"] for gap in gaps
                )
                worst = max([worst, *gaps])
            else:
                far = found[name] != value
            if far:
                asked = str(next(iter(request.values())))[:40]
                raise ExportError(
                    f"{source}: request {i} ({asked!r}): {name} is {found[name]!r}, and "
                    f"was {value!r} on the day of export; the model was changed or runs wrongly here"
                )
    return worst


def _is_score(value: Any) -> bool:
    """Whether an answer was measured, a float or a list of them, rather than chosen."""
    return isinstance(value, float) or (
        isinstance(value, list) and bool(value) and isinstance(value[0], float)
    )


def _list(value: Any) -> list[float]:
    return value if isinstance(value, list) else [value]
