"""Documents of the summarization papers' files.

Stories of CNN and the Daily Mail; JSON of tokens and shards of torch.save of BertSum and PreSumm.
"""

import json
import pathlib
import re
from collections.abc import Iterable, Iterator
from typing import Any, Literal, TypeVar

import pydantic

from tfsum.data.corpus_files import CORE_NLP, SHARD, TOKENS, open_text
from tfsum.errors import CheckpointError, DataError
from tfsum.formats.torch_file import read_torch_examples
from tfsum.json_text import parse_json
from tfsum.settings import name_of

Example = TypeVar("Example", bound=pydantic.BaseModel)
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
BREAK = "<q>"  # between the sentences of a summary in a shard


class _TokenExample(pydantic.BaseModel, strict=True):
    """A document of BertSum's and PreSumm's JSON."""

    src: list[list[str]]
    tgt: list[list[str]]


class _ShardExample(pydantic.BaseModel, strict=True):
    """A document of a shard of BertSum or PreSumm."""

    src_txt: list[str]
    tgt_txt: str
    labels: list[Literal[0, 1]] = pydantic.Field(
        validation_alias=pydantic.AliasChoices("src_sent_labels", "labels")
    )


def read_paper_file(path: pathlib.Path, kind: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Reads the documents of a file.

    Args:
        path: The file.
        kind: What it holds, one of the kinds of `tfsum.data.corpus_files`.

    Yields:
        The document's place, for messages, and its fields.

    Raises:
        DataError: File cannot be read, or holds something else.
    """
    if kind == SHARD:
        yield from read_shard(path)
        return

    with open_text(path, kind) as file:
        text = file.read()
    if kind == TOKENS:
        yield from read_token_examples(str(path), text)
    else:  # a story has the name of its file
        story = read_core_nlp(str(path), text) if kind == CORE_NLP else read_story(text)
        yield str(path), {"id": path.name.split(".", 1)[0], **story}


def read_story(text: str) -> dict[str, Any]:
    """Takes a `.story` file apart.

    Args:
        text: Its content: the lines of the article, then each highlight after a line `@highlight`.

    Returns:
        {"text": lines of the article, "summary": one line a highlight}; blank lines are left out.

    Source: the files of Hermann et al. 2015, https://cs.nyu.edu/~kcho/DMQA/.

    Example:
        >>> read_story(
        ...     "It rained.\\n\\nThe bridge closed.\\n\\n@highlight\\n\\nRain closes bridge\\n"
        ... )
        {'text': ['It rained.', 'The bridge closed.'], 'summary': ['Rain closes bridge']}
    """
    return _parts(line for line in (" ".join(line.split()) for line in text.split("\n")) if line)


def read_core_nlp(place: str, text: str) -> dict[str, Any]:
    """Reads a story that Stanford CoreNLP has split and tokenized, as PreSumm does.

    Args:
        place: The file, for messages.
        text: Its content, CoreNLP's JSON of one story.

    Returns:
        As `read_story`, one sentence a line, its tokens parted by blanks; -LRB- and the like are
        brackets again.

    Raises:
        DataError: Text is not JSON of this form.

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
            for sentence in parse_json(text)["sentences"]
        ]
    except (ValueError, KeyError, TypeError) as error:
        raise DataError(
            f"{place}: not CoreNLP's JSON of a story ({type(error).__name__}: {error}); expected"
            ' {"sentences": [{"tokens": [{"word": "It"}, ...]}, ...]}; annotate the story'
            " again with -outputFormat json"
        ) from None
    return _parts(
        _ESCAPED.sub(lambda match: _BRACKETS[match[0].lower()], sentence) for sentence in sentences
    )


def _parts(lines: Iterable[str]) -> dict[str, Any]:
    """Article and highlights; all lines up to the next marker are one highlight."""
    parts: list[list[str]] = [[]]
    for line in lines:
        if line.split(" ", 1)[0] == HIGHLIGHT:
            parts.append([])
        else:
            parts[-1].append(line)

    article, *highlights = parts
    return {"text": article, "summary": [" ".join(lines) for lines in highlights if lines]}


def read_token_examples(place: str, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Reads the documents of BertSum's and PreSumm's JSON.

    Args:
        place: The file, for messages.
        text: Its content, a list of {"src": [[token, ...], ...], "tgt": [[token, ...], ...]}, a
            list of tokens a sentence.

    Yields:
        The document's place, for messages, and {"text", "summary"}, lists of sentences, whose
        tokens are parted by blanks.

    Raises:
        DataError: Naming the document and what is expected.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `format_to_lines`.

    Example:
        >>> list(
        ...     read_token_examples(
        ...         "a.json", '[{"src": [["It", "rained", "."]], "tgt": [["Rain"]]}]'
        ...     )
        ... )
        [('a.json: document 1', {'text': ['It rained .'], 'summary': ['Rain']})]
    """
    try:
        documents = parse_json(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}:{error.lineno}: not JSON ({error.msg} at column {error.colno}); expected a"
            " whole list of documents; fetch or write the file again"
        ) from error

    expected = (
        "an object with src and tgt, lists of sentences, each a list of tokens, as the"
        " preprocessing of BertSum writes it; of other documents write JSON lines, an object with"
        " text and summary in each"
    )
    for number, document in enumerate(documents, start=1):
        here = f"{place}: document {number}"
        example = _checked(here, document, _TokenExample, expected)
        source, target = ([" ".join(tokens) for tokens in side] for _, side in example)
        yield here, {"text": source, "summary": target}


def read_shard(path: pathlib.Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Reads the documents of a `.pt` shard of BertSum or PreSumm.

    Nothing in the file is run, see `torch_pickle`.

    Args:
        path: The file.

    Yields:
        The document's place, for messages, and {"text", "summary", "labels"}: the sentences, those
        of the summary, and the label of each sentence; 0 beyond those that the preprocessing
        labelled (BertSum labels what fits into 512 word pieces).

    Raises:
        DataError: File cannot be read, asks for an object, or its examples have other fields.
    """
    try:
        examples = read_torch_examples(path)
    except CheckpointError as error:
        raise DataError(str(error)) from error

    expected = (
        f"src_txt, a list of sentences, tgt_txt, the summary with {BREAK} between its sentences,"
        " and labels, a list of 0 and 1; preprocess the documents again with BertSum or PreSumm, or"
        " give their JSON files"
    )
    for number, document in enumerate(examples, start=1):
        place = f"{path}: example {number}"
        example = _checked(place, document, _ShardExample, expected)
        text, labels = example.src_txt, example.labels
        yield (
            place,
            {
                "text": text,
                "summary": [line.strip() for line in example.tgt_txt.split(BREAK) if line.strip()],
                "labels": [*map(int, labels[: len(text)]), *[0] * (len(text) - len(labels))],
            },
        )


def _checked(place: str, document: object, kind: type[Example], expected: str) -> Example:
    """A document as an object of its class."""
    try:
        return kind.model_validate(document)
    except pydantic.ValidationError as error:
        wrong = error.errors()[0]
        raise DataError(
            f"{place}: {name_of(wrong['loc'])}: {wrong['msg']}, found {wrong['input']!r:.60};"
            f" expected {expected}"
        ) from None
