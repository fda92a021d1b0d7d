"""The requests that verify and warm up an exported extractive summarizer."""

from collections.abc import Container, Mapping

import numpy as np

from tfsum.export.golden import TEXTS, column
from tfsum.inference.exported_model import OpenedModel
from tfsum.request import INPUTS, Value
from tfsum.tasks.bert_sum_ext.read_once import OF_READING

NAMES = {"float32": "float"}  # of types, where a signature's differs
TYPES = {bool: "bool", int: "int32", float: "float", str: "string"}
COLUMNS = ("text", "max_sentences", "block_trigrams")  # of the requests
EXTRACT = {"text": "string"} | {entry.name: TYPES[type(entry.nothing)] for entry in INPUTS.values()}


def signatures(description: dict) -> dict[str, dict[str, str]]:
    """The signatures of an export, by name, with the types of their inputs."""
    found = {
        "serving_default": {"text": "string"},
        "summarize": {"text": "string", "max_sentences": "int32", "block_trigrams": "bool"},
        "extract": EXTRACT,
        "keywords": {"text": "string", "max_keywords": "int32"},
        "score": {"text": "string"},
        "score_ids": {"token_ids": "int32", "segment_ids": "int32", "sentence_starts": "int32"},
    }
    if description.get("relevance"):
        found["relevance"] = {"text": "string", "query": "string"}
    if description["config"]["bert_sum_ext"].get("embedding_width"):
        found["embed"] = {"text": "string"}
    if description.get("windows"):
        found["windows"] = {"text": "string"}
        found["read_encoded"] = {"text": "string", "sequence": "float"}
    if reading := description.get("reading"):
        asked = {name: kind for name, kind in EXTRACT.items() if name != "text"}
        found |= {
            "read": {"text": "string"},
            "extract" + OF_READING: reading | asked,
            "keywords" + OF_READING: reading | {"max_keywords": "int32"},
            "relevance" + OF_READING: reading | {"query": "string"},
        }
    return found


def requests(description: dict) -> list[dict]:
    """The golden requests to an export of this description (assets.extra/tfsum.json)."""
    most = min(3, description["max_sentences"])
    return [{"text": text, "max_sentences": most, "block_trigrams": True} for text in TEXTS]


def ask(model: OpenedModel, requests: list[dict]) -> list[dict]:
    """Returns the answers of a loaded model as plain Python values."""
    text, number, block = (column(requests, name) for name in COLUMNS)
    # every sentence that may be chosen: sentences that are as good as equal could change places
    known = model.signatures["extract"]
    asked = extract_inputs(len(requests), known, query=b"a bridge", query_weight=0.0)
    answers = _answers(
        model.call("summarize", {"text": text, "max_sentences": number, "block_trigrams": block}),
        model.call("score", {"text": text}),
        model.call("extract", {"text": text, **asked}),
        model.call("keywords", {"text": text, "max_keywords": number}),
    )
    if "embed" in model.signatures:
        embeddings = model.call("embed", {"text": text})["embedding"].tolist()
        for answer, embedding in zip(answers, embeddings, strict=True):
            answer["embedding"] = embedding
    return answers


def ask_served(model: OpenedModel, requests: list[dict]) -> list[dict]:
    """Returns these answers by the signatures that a server calls, for which a text is read once;
    embeddings of texts of one sentence alone, since others are not embedded as a whole."""
    if "read" not in model.signatures:  # an older export
        return ask(model, requests)

    text, number, block = (column(requests, name) for name in COLUMNS)
    reading = model.call("read", {"text": text})
    asked = extract_inputs(len(requests), model.signatures["extract" + OF_READING], query=b"")
    choice = {"max_sentences": number, "block_trigrams": block}
    answers = _answers(
        model.call("extract" + OF_READING, {**reading, **asked, **choice}),
        reading,
        model.call("extract" + OF_READING, {**reading, **asked}),
        model.call("keywords" + OF_READING, {**reading, "max_keywords": number}),
    )
    for i in np.flatnonzero(reading["count"] == 1) if "embedding" in reading else ():
        answers[i]["embedding"] = reading["embedding"][i, 0].tolist()
    return answers


def _answers(
    chosen: Mapping[str, np.ndarray],
    every: Mapping[str, np.ndarray],
    within: Mapping[str, np.ndarray],
    words: Mapping[str, np.ndarray],
) -> list[dict]:
    """The answers from the outputs of `summarize`, `score`, `extract` and `keywords`."""
    return [
        {
            "summary": chosen["summary"][i].decode("utf-8"),
            "start": chosen["start"][i, :count].tolist(),
            "end": chosen["end"][i, :count].tolist(),
            "score": chosen["score"][i, :count].tolist(),
            "count": count,
            "coverage": float(chosen["coverage"][i]),
            "all_scores": every["score"][i, : every["count"][i]].tolist(),
            "within": within["summary"][i].decode("utf-8"),
            "keyword_scores": words["score"][i].tolist(),
        }
        for i, count in enumerate(chosen["count"].tolist())
    ]


def extract_inputs(
    rows: int, known: Container[str] = EXTRACT, **given: Value | bytes
) -> dict[str, list[Value | bytes]]:
    """The inputs of `extract` but the texts, equal for all rows; what is not given asks nothing.
    An older export has fewer: those that are known."""
    nothing = {entry.name: entry.nothing for entry in INPUTS.values()}
    return {name: [value] * rows for name, value in (nothing | given).items() if name in known}


def warmup(description: dict, texts: list[str]) -> list[tuple[str, dict]]:
    """The warm-up requests of some texts: (signature, inputs) each."""
    rows = len(texts)
    inputs: dict[str, dict] = {
        "serving_default": {},
        "summarize": {"max_sentences": [3] * rows, "block_trigrams": [True] * rows},
        "extract": extract_inputs(rows, max_words=60, block_trigrams=True),
        "keywords": {"max_keywords": [8] * rows},
        "score": {},
    }
    return [(signature, {"text": texts, **others}) for signature, others in inputs.items()]
