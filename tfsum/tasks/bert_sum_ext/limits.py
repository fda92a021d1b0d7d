"""What a reader may ask of a summary beside its number of sentences."""

from typing import Any, TypedDict

from tfsum.errors import Error

QUERY_WEIGHT = 0.7
KEYWORDS = 100  # of a text at most
DOCUMENT_SEPARATOR = "\x1e"  # between the documents of a text: ASCII's record separator
MOST_SENTENCES = (1 << 31) - 1  # where a limit is given: int32


class Limits(TypedDict, total=False):
    """Limits of a summary and what it is to be about; none by default.

    Attributes:
        words: The most words, separated by white space; characters of scripts without it (Han,
            Kana, Thai ...) count one by one.
        characters: The most characters, sentences separated by a space.
        share: The largest share of the text's words, above 0 and at most 1.
        min_score: The lowest score of a sentence, from 0 to 1.
        query: A question or a title that the sentences are to be about; one that shares no word
            with the text changes nothing.
        query_weight: How much the query counts beside what matters in general, from 0 to 1; 0.7 by
            default.
    """

    words: int
    characters: int
    share: float
    min_score: float
    query: str
    query_weight: float


def extract_inputs(limits: Limits, sentences: int | None, default: int) -> dict[str, Any]:
    """The inputs of the signature `extract`, but for the texts.

    Args:
        limits: Limits, checked here.
        sentences: The most sentences, -1 for a number that the model chooses, None where no number
            was asked for.
        default: The most sentences where there is no limit but a query.

    Raises:
        Error: A limit is unknown or not possible.

    Example:
        >>> extract_inputs({"words": 60}, None, 3)["max_words"]
        60
        >>> extract_inputs({"share": 20}, None, 3)
        Traceback (most recent call last):
        tfsum.errors.Error: share=20: expected a number above 0 and at most 1
    """
    unknown = sorted(set(limits) - set(Limits.__annotations__))
    if unknown:
        raise Error(
            f"{', '.join(unknown)}: expected options among {', '.join(Limits.__annotations__)}"
        )
    for name in ("words", "characters"):
        value = limits.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 1 << 31:
            raise Error(f"{name}={value!r}: expected a whole number from 1")
    for name, least, said in (
        ("share", 1e-9, "above 0 and at most 1"),
        ("min_score", 0.0, "from 0 to 1"),
        ("query_weight", 0.0, "from 0 to 1"),
    ):
        value = limits.get(name, 1.0)
        if (
            isinstance(value, bool)
            or not isinstance(value, (int, float))
            or not least <= value <= 1
        ):
            raise Error(f"{name}={value!r}: expected a number {said}")
    query = limits.get("query")
    if query is not None and (not isinstance(query, str) or not query.strip()):
        raise Error(f"query={query!r}: expected a question or a title; leave it out for none")
    if query is None and "query_weight" in limits:
        raise Error("query_weight: expected a query too, beside which it weighs what matters")

    no_limit = not {"words", "characters", "share", "min_score"} & set(limits)
    if sentences is None:
        sentences = default if no_limit else 0  # as many as there is room for
    return {
        "max_sentences": sentences,
        "max_words": limits.get("words", 0),
        "max_characters": limits.get("characters", 0),
        "max_share": float(limits.get("share", 0.0)),
        "min_score": float(limits.get("min_score", 0.0)),
        "query": (query or "").encode("utf-8", "replace"),
        "query_weight": float(limits.get("query_weight", QUERY_WEIGHT)),
    }


def check_number_of_keywords(number: int) -> int:
    """Checks a number of keywords and returns it.

    Args:
        number: Keywords of a text at most.

    Raises:
        Error: It is below 1 or above `KEYWORDS`.

    Example:
        >>> check_number_of_keywords(8)
        8
    """
    if isinstance(number, bool) or not isinstance(number, int) or not 1 <= number <= KEYWORDS:
        raise Error(f"number={number!r}: expected a whole number from 1 to {KEYWORDS}")
    return number
