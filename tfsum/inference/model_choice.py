"""Which shipped model summarizes a text: the one of English news for these, else the multilingual
one. Needs no TensorFlow, as in a client."""

import pathlib
from collections.abc import Collection, Sequence
from typing import Literal

from tfsum.errors import Error
from tfsum.inference.saved_model import DEFAULT_MODEL
from tfsum.text.english_words import is_english_news

Licence = Literal["any", "production"]

AUTO = "auto"
NEWS, MULTILINGUAL = DEFAULT_MODEL, "bert_sum_ext_multilingual"
SUMMARIZERS = (NEWS, MULTILINGUAL)
RESEARCH = frozenset({NEWS})  # trained on texts whose licences allow research alone


def named_model(name: str | pathlib.Path | None, licence: Licence = "any") -> str:
    """The model that is asked for.

    Args:
        name: Folder or name of a model; None for one of the shipped summarizers.
        licence: "production" for one whose training data allow production.

    Returns:
        The name; `AUTO` where the text chooses.

    Raises:
        Error: A research model is named and may not be used.

    Example:
        >>> named_model(None), named_model(None, "production")
        ('auto', 'bert_sum_ext_multilingual')
    """
    default = {"any": AUTO, "production": MULTILINGUAL}
    if licence not in default:
        raise Error(f"model_licence={licence!r}: expected 'any' or 'production'")
    if name in (None, AUTO):
        return default[licence]
    if licence == "production" and RESEARCH & {*pathlib.PurePath(str(name)).parts}:
        raise Error(
            f"{name}: was trained on texts whose licences allow research alone; leave out the"
            f" model or model_licence='production', or name {MULTILINGUAL}"
        )
    return str(name)


def choose_model(texts: Sequence[object], models: Collection[str]) -> str:
    """The name of the model for texts that belong together.

    Args:
        texts: Texts; what is no str counts as none.
        models: Names of the models that are there.

    Returns:
        One of `SUMMARIZERS`; where one of them alone is there, or one model alone, that one.

    Example:
        >>> choose_model(["비가 왔다."], SUMMARIZERS)
        'bert_sum_ext_multilingual'
        >>> choose_model(["비가 왔다."], ["bert_sum_ext_news_en"])
        'bert_sum_ext_news_en'
    """
    found = [name for name in models if name in SUMMARIZERS or len(models) == 1]
    if len(found) == 1:
        return found[0]
    known = [text for text in texts if isinstance(text, str)]
    if 2 * sum(map(is_english_news, known)) > len(known):
        return NEWS
    return MULTILINGUAL


def divide_texts(
    texts: Sequence[str], models: Collection[str], together: bool
) -> dict[str, list[int]]:
    """Divides texts among the models that they are for.

    Args:
        texts: Texts.
        models: Names of the models that are there.
        together: Whether they have one answer, and so one model.

    Returns:
        Name of a model -> numbers of its texts.

    Example:
        >>> divide_texts(["It rained.", "It rained on Monday, he said."], SUMMARIZERS, False)
        {'bert_sum_ext_multilingual': [0], 'bert_sum_ext_news_en': [1]}
    """
    if together or not texts:
        return {choose_model(texts, models): [*range(len(texts))]}
    parts: dict[str, list[int]] = {}
    for number, text in enumerate(texts):
        parts.setdefault(choose_model([text], models), []).append(number)
    return parts
