"""What an export does where a request leaves it open, said beside the metadata of a model.

It stands in a header of HTTP or in the metadata of gRPC, which TensorFlow Serving does not have.
"""

import dataclasses
import json
from collections.abc import Iterable

from tfsum.serving.servable import Servable
from tfsum.tasks.bert_sum_ext.answering import Defaults, defaults_of

HEADER = "tfsum-defaults"


def headers_of(servable: Servable) -> dict[str, str]:
    """The header of a model's metadata; none for a model that is not extractive.

    Args:
        servable: Loaded model.
    """
    if servable.description.get("kind") != "extractive":
        return {}
    return {HEADER: json.dumps(dataclasses.asdict(defaults_of(servable.description)))}


def read_defaults(headers: Iterable[tuple[str, str]]) -> Defaults | None:
    """The defaults of a model by the headers of its metadata; None where they say nothing.

    Args:
        headers: Names and values.

    Example:
        >>> read_defaults([("tfsum-defaults", '{"sentences": 2}')]).sentences
        2
    """
    for name, value in headers:
        if name.lower() == HEADER:
            return Defaults(**json.loads(value))
    return None
