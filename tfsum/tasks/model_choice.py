"""Which model summarizes a text, and how it is opened. Of the shipped ones, that of English news
for these, else the multilingual one. Needs no TensorFlow, as in a client."""

import pathlib
import re
from collections.abc import Collection, Sequence
from typing import Annotated, Literal

from pydantic import Field

from tfsum.errors import Error, require
from tfsum.inference.saved_model import DEFAULT_MODEL
from tfsum.settings import Checked, Option
from tfsum.text.english_words import COMMON, LEAST

Licence = Literal["any", "production"]

AUTO = "auto"
NEWS, MULTILINGUAL = DEFAULT_MODEL, "bert_sum_ext_multilingual"
SUMMARIZERS = (NEWS, MULTILINGUAL)
RESEARCH = frozenset({NEWS})  # trained on texts whose licences allow research alone
REPORTED = frozenset(
    "said says told monday tuesday wednesday thursday friday saturday sunday".split()
)
LEAST_REPORTED = 0.002  # of the words of news in English
CODE = re.compile(r"(?<!`)`[^`\s][^`\n]*`(?!`)")  # in a line, which no news has
BEGINNING = 20_000  # characters that are looked at


class ModelSettings(Checked):
    """How a model is opened, by a command or a server: the arguments of `tfsum.load`.

    Raises:
        Error: A value is not possible.

    Example:
        >>> ModelSettings().compute
        'float32'
    """

    model_licence: Licence = Field(
        "any", description="production: models alone whose training data allow commercial use."
    )
    compute: Literal["float32", "bfloat16", "auto", "openvino"] = Field(
        "float32",
        description="Type that models compute in. bfloat16 is faster and rounds more; auto is"
        " bfloat16 where the processor has instructions for it; in openvino, OpenVINO computes the"
        " encoders of extractive summarizers so (pip install 'tfsum[openvino]').",
    )
    tokenizer: Annotated[str | None, Option(metavar="FILE")] = Field(
        None,
        description="tokenizer.json of the library tokenizers, by which tokens are counted. Without"
        " one a token is four bytes.",
    )


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
    require(licence in default, f"model_licence={licence!r}: expected 'any' or 'production'")
    if name in (None, AUTO):
        return default[licence]
    if licence == "production" and RESEARCH & {*pathlib.PurePath(str(name)).parts}:
        raise Error(
            f"{name}: was trained on texts whose licences allow research alone; leave out the"
            f" model or model_licence='production', or name {MULTILINGUAL}"
        )
    return str(name)


def choose_model(texts: Sequence[str], models: Collection[str]) -> str:
    """The name of the model for texts that belong together.

    Args:
        texts: Texts.
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
    if 2 * sum(map(is_english_news, texts)) > len(texts):
        return NEWS
    return MULTILINGUAL


def is_english_news(text: str) -> bool:
    """Whether a text is news in English: who said what, on which day, without code.

    Args:
        text: Text.

    Example:
        >>> is_english_news("The bridge was closed on Monday, the mayor said.")
        True
        >>> is_english_news("The page says that `bridges` is the function for it.")
        False
    """
    beginning = text[:BEGINNING]
    words = re.findall(r"[^\W\d_]+", beginning.lower())
    common, reported = (sum(word in of for word in words) for of in (COMMON, REPORTED))
    is_reported = common > LEAST * len(words) and reported >= max(1, LEAST_REPORTED * len(words))
    return is_reported and not CODE.search(beginning)


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
