"""The stories of CNN and the Daily Mail: an article and its highlights, from `.story` files and CoreNLP's JSON."""

import json
import re
from collections.abc import Iterable
from typing import Any

from tfsum.errors import DataError

HIGHLIGHT = "@highlight"
_BRACKETS = {
    "-lrb-": "(",
    "-rrb-": ")",
    "-lcb-": "{",
    "-rcb-": "}",
    "-lsb-": "[",
    "-rsb-": "]",
    "``": '"',
    "''": '"',
}
_ESCAPED = re.compile("|".join(map(re.escape, _BRACKETS)), re.IGNORECASE)


def read_story(text: str) -> dict[str, Any]:
    """Takes a `.story` file apart.

    Args:
        text: its content: the lines of the article, then each highlight after a line `@highlight`.

    Returns:
        {"text": lines of the article, "summary": one line a highlight}; blank lines are left out.

    Source: the files of Hermann et al. 2015, https://cs.nyu.edu/~kcho/DMQA/.

    Example:
        >>> read_story(
        ...     "It rained.\\n\\nThe bridge closed.\\n\\n@highlight\\n\\nRain closes bridge\\n"
        ... )
        {'text': ['It rained.', 'The bridge closed.'], 'summary': ['Rain closes bridge']}
    """
    lines = (" ".join(line.split()) for line in text.split("\n"))
    return _parts(line for line in lines if line)


def read_core_nlp(place: str, text: str) -> dict[str, Any]:
    """Takes a story apart that Stanford CoreNLP has split and tokenized, as the preprocessing of PreSumm does.

    Args:
        place: the file, for messages.
        text: its content, CoreNLP's JSON of one story.

    Returns:
        As `read_story`, one sentence a line, its tokens parted by blanks; -LRB- and the like are brackets again.

    Raises:
        DataError: the text is not JSON of this form.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `load_json`, and others/utils.py, `clean`.

    Example:
        >>> read_core_nlp(
        ...     "a.json", '{"sentences": [{"tokens": [{"word": "-LRB-"}, {"word": "CNN"}]}]}'
        ... )
        {'text': ['( CNN'], 'summary': []}
    """
    try:
        sentences = [
            " ".join(token["word"] for token in sentence["tokens"])
            for sentence in json.loads(text)["sentences"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{place}: not CoreNLP's JSON of a story ({type(error).__name__}: {error}); expected "
            '{"sentences": [{"tokens": [{"word": "It"}, ...]}, ...]}; annotate the story again with '
            "-outputFormat json"
        ) from None
    return _parts(
        _ESCAPED.sub(lambda found: _BRACKETS[found[0].lower()], sentence) for sentence in sentences
    )


def _parts(lines: Iterable[str]) -> dict[str, Any]:
    """Article and highlights; all lines up to the next marker are one highlight."""
    article: list[str] = []
    highlights: list[list[str]] = []
    for line in lines:
        if line.split(" ", 1)[0] == HIGHLIGHT:
            highlights.append([])
        else:
            (highlights[-1] if highlights else article).append(line)
    return {"text": article, "summary": [" ".join(lines) for lines in highlights if lines]}
