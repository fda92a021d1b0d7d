"""Requests to `:classify` and `:regress`, whose JSON has features by name, and their answers.

tfsum exports no model that takes them; the server takes them for models of others.

Source: tensorflow/serving, util/json_tensor.cc and servables/tensorflow/classifier.cc and regressor.cc.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from tfsum.serving.json_answer import write_rows
from tfsum.serving.json_tensor import element_bytes, invalid, shown, wrong
from tfsum.serving.signature import CLASSIFY, PREDICT, REGRESS, Signature

METHODS = {"classify": ("classification", CLASSIFY), "regress": ("regression", REGRESS)}
OUTPUTS = {CLASSIFY: ("classes", "scores"), REGRESS: ("outputs",)}
INT64 = np.iinfo(np.int64)


def check_method(signature: Signature, method: str) -> None:
    """Checks that a signature is one of classification, or of regression.

    Args:
        signature: that is asked.
        method: "classify" or "regress".

    Raises:
        RequestError: it is another.

    Example:
        >>> check_method(Signature("serving_default", {}, {}), "classify")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.serving.request_error.RequestError: Expected classification signature method_name to be ...
    """
    kind, expected = METHODS[method]
    if signature.method != expected:
        asked = "; ask it by :predict" if signature.method == PREDICT else ""
        raise invalid(
            f"Expected {kind} signature method_name to be {expected}. Was: {signature.method}{asked}"
        )


def read_examples(document: dict) -> np.ndarray:
    """The examples of a request, each a serialized `tf.train.Example`.

    Args:
        document: {"examples": [{feature: value or list of values}], "context": {features of all of them}}.

    Returns:
        (B,) bytes.

    Raises:
        RequestError: it has no examples, or a feature has values of no type or of several.

    Example:
        >>> tf.train.Example.FromString(
        ...     read_examples({"examples": [{"x": 80.0}]})[0]
        ... ).features.feature["x"]
        float_list {
          value: 80
        }
        <BLANKLINE>
    """
    if "examples" not in document:
        raise wrong(
            document,
            "When method is classify or regress, key 'examples' is expected and was not found",
        )
    examples, context = document["examples"], document.get("context", {})
    if not isinstance(examples, list):
        raise wrong(document, "Expecting 'examples' value to be an list/array")
    if not examples:
        raise wrong(document, "'examples' value is an empty array")
    if not isinstance(context, dict):
        raise wrong(context, "Expecting 'context' to be an object of features")
    found = np.empty(len(examples), object)
    for place, example in enumerate(examples):
        if not isinstance(example, dict):
            raise wrong(
                example,
                f"Example {place} must be an object of features, formatted as {{'feature': value}}",
            )
        features = {name: _feature(name, value) for name, value in {**context, **example}.items()}
        found[place] = tf.train.Example(
            features=tf.train.Features(feature=features)
        ).SerializeToString()
    return found


def write_results(outputs: dict[str, np.ndarray], signature: Signature) -> bytes:
    """The body of an answer: a number for each example, or its classes with their scores.

    Args:
        outputs: name -> array: `outputs` (B,) or (B, 1) of a regression; `classes` and `scores` (B, N), one of which
            may be missing, of a classification.
        signature: that was asked.

    Raises:
        RequestError: the model's outputs are not of such shapes.

    Example:
        >>> half = Signature("half", {}, {}, REGRESS)
        >>> print(write_results({"outputs": np.array([42.0], np.float32)}, half).decode())
        {"results": [42.0]}
    """
    given = {name: outputs[name] for name in OUTPUTS[signature.method] if name in outputs}
    sizes = {array.size if signature.method == REGRESS else array.shape for array in given.values()}
    if len(sizes) != 1:
        raise invalid(
            f"the signature {signature.name} gave {shown({k: list(v.shape) for k, v in outputs.items()})}; "
            f"expected {' and '.join(OUTPUTS[signature.method])} of one shape"
        )
    if signature.method == REGRESS:
        return write_rows("results", given["outputs"].ravel())
    shape = next(iter(given.values())).shape
    classes = given.get("classes", np.full(shape, b"", object))
    scores = given.get("scores", np.zeros(shape, np.float32))
    rows = [[[label, score] for label, score in zip(*pair)] for pair in zip(classes, scores)]
    return write_rows("results", rows)


def _feature(name: str, value: Any) -> tf.train.Feature:
    values = value if isinstance(value, list) else [value]
    numbers = [
        item for item in values if isinstance(item, int | float) and not isinstance(item, bool)
    ]
    if len(numbers) == len(values):
        if all(isinstance(item, int) and INT64.min <= item <= INT64.max for item in values):
            return tf.train.Feature(int64_list=tf.train.Int64List(value=values))
        return tf.train.Feature(float_list=tf.train.FloatList(value=map(float, values)))
    if numbers or any(not isinstance(item, str | dict) for item in values):
        raise wrong(
            value, f"feature {name}: expected numbers, or strings, or a list of one of both"
        )
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=map(element_bytes, values)))
