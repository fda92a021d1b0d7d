"""The documents of BertSum and PreSumm as rows of a corpus: their JSON of tokens, and shards of torch.save."""

import json
import pathlib
from collections.abc import Iterator, Mapping
from typing import Any

from tfsum.errors import CheckpointError, DataError
from tfsum.formats.torch_file import read_torch_examples

BREAK = "<q>"  # between the sentences of a summary


def read_token_examples(place: str, text: str) -> Iterator[dict[str, Any]]:
    """Reads the documents of BertSum's and PreSumm's JSON.

    Args:
        place: the file, for messages.
        text: its content, a list of {"src": [[token, ...], ...], "tgt": [[token, ...], ...]}, a list of tokens a
            sentence.

    Yields:
        {"text", "summary"}, lists of sentences, whose tokens are parted by blanks.

    Raises:
        DataError: naming the document and what is expected.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `format_to_lines`.

    Example:
        >>> list(
        ...     read_token_examples(
        ...         "a.json", '[{"src": [["It", "rained", "."]], "tgt": [["Rain"]]}]'
        ...     )
        ... )
        [{'text': ['It rained .'], 'summary': ['Rain']}]
    """
    try:
        documents = json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(
            f"{place}:{error.lineno}: not JSON ({error.msg} at column {error.colno}); expected a whole "
            "list of documents; fetch or write the file again"
        ) from error
    for number, document in enumerate(documents, start=1):
        here = f"{place}: document {number}"
        if not isinstance(document, Mapping):
            raise DataError(
                f"{here} is a {type(document).__name__}, expected an object with src and tgt"
            )
        yield {
            "text": _sentences(here, document, "src"),
            "summary": _sentences(here, document, "tgt"),
        }


def _sentences(place: str, document: Mapping[str, Any], name: str) -> list[str]:
    value = document.get(name)
    whole = isinstance(value, list) and all(
        isinstance(tokens, list) and all(isinstance(token, str) for token in tokens)
        for tokens in value
    )
    if not isinstance(value, list) or not whole:
        found = f"{value!r:.40}" if name in document else f"fields {', '.join(map(str, document))}"
        raise DataError(
            f"{place}: field {name!r}: found {found}, expected a list of sentences, each a list of tokens, "
            "as the preprocessing of BertSum writes it; of other documents write JSON lines, an object "
            "with text and summary in each"
        )
    return [" ".join(tokens) for tokens in value]


def read_shard(path: pathlib.Path) -> Iterator[dict[str, Any]]:
    """Reads the documents of a `.pt` shard of BertSum or PreSumm; nothing in it is run, see `restricted_pickle`.

    Args:
        path: the file.

    Yields:
        {"text", "summary", "labels"}: the sentences, those of the summary, and the label of each sentence; 0 beyond
        those that the preprocessing labelled (BertSum labels what fits into 512 word pieces).

    Raises:
        DataError: the file cannot be read, asks for an object, or its examples have other fields.

    Example:
        >>> next(read_shard(pathlib.Path("cnndm.train.0.bert.pt")))["labels"][:3]  # doctest: +SKIP
        [0, 1, 0]
    """
    try:
        examples = read_torch_examples(path)
    except CheckpointError as error:
        raise DataError(str(error)) from error
    for number, example in enumerate(examples, start=1):
        place = f"{path}: example {number}"
        name = "src_sent_labels" if "src_sent_labels" in example else "labels"
        sentences, labels = _strings(place, example, "src_txt"), _labels(place, example, name)
        if not isinstance(example.get("tgt_txt"), str):
            raise _wrong(place, example, "tgt_txt", f"the summary, its sentences parted by {BREAK}")
        summary = [line.strip() for line in example["tgt_txt"].split(BREAK)]
        labels = labels[: len(sentences)] + [0] * (len(sentences) - len(labels))
        yield {"text": sentences, "summary": [line for line in summary if line], "labels": labels}


def _strings(place: str, example: dict, name: str) -> list[str]:
    value = example.get(name)
    if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
        raise _wrong(place, example, name, "a list of sentences")
    return value


def _labels(place: str, example: dict, name: str) -> list[int]:
    value = example.get(name)
    if not isinstance(value, list) or not all(item in (0, 1) for item in value):
        raise _wrong(place, example, name, "a list of 0 and 1")
    return [int(item) for item in value]


def _wrong(place: str, example: dict, name: str, wanted: str) -> DataError:
    found = (
        f"{example[name]!r:.40}" if name in example else f"fields {', '.join(map(str, example))}"
    )
    return DataError(
        f"{place}: field {name!r}: found {found}, expected {wanted}; preprocess the documents again with "
        "BertSum or PreSumm, or give their JSON files"
    )
