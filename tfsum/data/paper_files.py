"""Documents of the summarization papers' files.

Stories of CNN and the Daily Mail; JSON of tokens and shards of torch.save of BertSum and PreSumm.
"""

import json
import pathlib
import re
from collections.abc import Callable, Iterable
from typing import Any, Literal, TypeVar

import pydantic

from tfsum.data.corpus_files import CORE_NLP, SHARD, TOKENS, open_text
from tfsum.data.rows import Rows
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


def read_paper_file(path: pathlib.Path, kind: str) -> Rows:
    """Reads the documents of a file.

    Args:
        path: The file.
        kind: What it holds, one of the kinds of `tfsum.data.corpus_files`.

    Yields:
        The document's place, for messages, and its fields or what is wrong with it.

    Raises:
        DataError: File cannot be read.
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


def read_token_examples(place: str, text: str) -> Rows:
    """Reads the documents of BertSum's and PreSumm's JSON.

    Args:
        place: The file, for messages.
        text: Its content, a list of {"src": [[token, ...], ...], "tgt": [[token, ...], ...]}, a
            list of tokens a sentence.

    Yields:
        The document's place, for messages, and {"text", "summary"}, lists of sentences, whose
        tokens are parted by blanks; or what was found in a wrong document, and what is expected.

    Raises:
        DataError: The text is not JSON.

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

    def fields(example: _TokenExample) -> dict[str, Any]:
        source, target = ([" ".join(tokens) for tokens in side] for _, side in example)
        return {"text": source, "summary": target}

    return _each(f"{place}: document", documents, _TokenExample, expected, fields)


def read_shard(path: pathlib.Path) -> Rows:
    """Reads the documents of a `.pt` shard of BertSum or PreSumm.

    Nothing in the file is run, see `torch_pickle`.

    Args:
        path: The file.

    Yields:
        The document's place, for messages, and {"text", "summary", "labels"}: the sentences, those
        of the summary, and the label of each sentence; 0 beyond those that the preprocessing
        labelled (BertSum labels what fits into 512 word pieces); or what is wrong with an example.

    Raises:
        DataError: File cannot be read, or asks for an object.
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

    def fields(example: _ShardExample) -> dict[str, Any]:
        text, labels = example.src_txt, example.labels
        return {
            "text": text,
            "summary": [line.strip() for line in example.tgt_txt.split(BREAK) if line.strip()],
            "labels": [*map(int, labels[: len(text)]), *[0] * (len(text) - len(labels))],
        }

    return _each(f"{path}: example", examples, _ShardExample, expected, fields)


def _each(
    name: str,
    documents: Iterable[object],
    kind: type[Example],
    expected: str,
    fields: Callable[[Example], dict[str, Any]],
) -> Rows:
    """The place and the fields of each document, or what is wrong with it."""
    for number, document in enumerate(documents, start=1):
        place = f"{name} {number}"
        try:
            yield place, fields(kind.model_validate(document))
        except pydantic.ValidationError as error:
            wrong = error.errors()[0]
            problem = f"{name_of(wrong['loc'])}: {wrong['msg']}, found {wrong['input']!r:.60}"
            yield place, DataError(f"{place}: {problem}; expected {expected}")
