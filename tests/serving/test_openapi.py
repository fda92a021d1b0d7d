"""The OpenAPI document: that it is one, and that requests and answers of each signature are as it
says."""

import json
import re
import types

import pytest
from jsonschema import Draft202012Validator

from tfsum.inference.saved_model import DEFAULT_MODEL
from tfsum.serving.openapi import openapi_document
from tfsum.serving.servable import Signature, TensorInfo


def conforms(value, schema, document):
    """Whether a value is as a schema of the document says."""
    return Draft202012Validator({**schema, "components": document["components"]}).is_valid(value)


@pytest.fixture(scope="module")
def document(ask):
    return ask("GET", "/openapi.json").json()


def test_it_is_a_document_of_openapi(document):
    assert re.fullmatch(r"3\.1\.\d", document["openapi"])
    assert set(document["info"]) == {"title", "version", "description"}
    for path, item in document["paths"].items():
        assert path.startswith("/") and set(item) <= {"get", "post"}
        for operation in item.values():
            assert set(operation) <= {"summary", "description", "requestBody", "responses"}
            assert all(
                re.fullmatch(r"[1-5]\d\d", status) and found["description"] and found["content"]
                for status, found in operation["responses"].items()
            )
    text = json.dumps(document)
    named = {f"#/components/schemas/{name}" for name in document["components"]["schemas"]}
    assert set(re.findall(r'"\$ref": "([^"]+)"', text)) <= named
    assert '"anyOf": []' not in text


def test_each_way_to_ask_is_there(document):
    asked = {
        path.removeprefix("/v1/models/")
        for path, item in document["paths"].items()
        if "post" in item
    }
    others = {
        "/summarize",
        "/v1/chat/completions",
        "/v1/responses",
        "/v2/models/text/infer",
        "/v2/models/numbers/infer",
    }
    assert asked == others | {
        f"{model}{version}:{method}"
        for model, numbers, methods in (
            ("text", (1, 2), ("predict",)),
            ("numbers", (123,), ("predict",)),
        )
        for version in ("", *(f"/versions/{number}" for number in numbers))
        for method in methods
    }


BODIES = [
    ("text:predict", {"instances": ["a text", {"b64": "aGVsbG8="}]}),
    ("text:predict", {"instances": [{"text": "a text"}]}),
    ("text:predict", {"inputs": ["a text"]}),
    ("text:predict", {"inputs": {"text": []}}),
    (
        "text:predict",
        {
            "signature_name": "summarize",
            "instances": [{"text": "a text", "max_sentences": 1, "block_trigrams": True}],
        },
    ),
    ("text:predict", {"signature_name": "words", "instances": ["two words"]}),
    ("text:predict", {"signature_name": "raw", "instances": [{"b64": "/w=="}]}),
    ("text:predict", {"signature_name": "picky", "instances": ["a text"]}),
    ("numbers:predict", {"instances": [0.5, 1]}),
    ("numbers:predict", {"signature_name": "uneven", "inputs": [0.5]}),
    (
        "numbers:predict",
        {"signature_name": "whole", "instances": [{"x": -(1 << 31), "z": (1 << 63) - 1}]},
    ),
]


@pytest.mark.parametrize("path, body", BODIES)
def test_requests_and_answers_are_as_it_says(ask, document, path, body):
    said = document["paths"][f"/v1/models/{path}"]["post"]
    assert conforms(body, said["requestBody"]["content"]["application/json"]["schema"], document)
    answer = ask("POST", f"/v1/models/{path}", json.dumps(body).encode())
    assert answer.status_code == 200, answer.text
    assert conforms(
        answer.json(), said["responses"]["200"]["content"]["application/json"]["schema"], document
    )


V2 = {"name": "text", "datatype": "BYTES", "shape": [1], "data": ["It rained."]}
PLAIN = [
    ("/summarize", {"text": "It rained. The sun shone.", "words": 3, "keywords": 2}, 200),
    ("/summarize", {"text": "It rained.", "all": True}, 200),
    ("/summarize", {"text": "It rained.", "query": "rain", "query_weight": 1}, 200),
    ("/summarize", {"text": "I am cold.", "model": "transformer_tatoeba_en_fr"}, 200),
    (f"/v2/models/{DEFAULT_MODEL}/infer", {"id": "1", "inputs": [V2]}, 200),
    ("/summarize", {}, 400),
    ("/summarize", {"text": "a", "wordz": 3}, 400),
    ("/summarize", {"text": "a", "words": 0}, 400),
    ("/summarize", {"text": "It rained.", "sentences": None}, 200),
    ("/summarize", {"text": "a", "share": 0}, 400),
    ("/summarize", {"text": "a", "query": " "}, 400),
    (f"/v2/models/{DEFAULT_MODEL}/infer", {"inputs": [{"name": "text"}]}, 400),
]


@pytest.mark.parametrize("path, body, status", PLAIN)
def test_plain_json_and_the_open_inference_protocol(ask_shipped, path, body, status):
    document = ask_shipped("GET", "/openapi.json").json()
    said = document["paths"][path]["post"]
    allowed = conforms(body, said["requestBody"]["content"]["application/json"]["schema"], document)
    answer = ask_shipped("POST", path, json.dumps(body).encode())
    assert answer.status_code == status and allowed == (status == 200), answer.text
    schema = said["responses"][str(status)]["content"]["application/json"]["schema"]
    assert conforms(answer.json(), schema, document)


@pytest.mark.parametrize("path", ["/models", f"/v2/models/{DEFAULT_MODEL}"])
def test_what_is_served_is_as_it_says(ask_shipped, path):
    document = ask_shipped("GET", "/openapi.json").json()
    content = document["paths"][path]["get"]["responses"]["200"]["content"]["application/json"]
    assert conforms(ask_shipped("GET", path).json(), content["schema"], document)


@pytest.mark.parametrize(
    "path, body",
    [
        ("text:predict", {}),
        ("text:predict", {"instances": [1]}),
        ("text:predict", {"instances": ["a"], "inputs": ["a"]}),
        ("text:predict", {"signature_name": "nope", "instances": ["a"]}),
        ("text:predict", {"instances": [{"b64": "a"}]}),
        ("numbers:predict", {"signature_name": "whole", "instances": [{"x": 1 << 31, "z": 1}]}),
        ("numbers:predict", {"signature_name": "whole", "instances": [{"x": True, "z": 1}]}),
    ],
)
def test_what_it_does_not_allow_is_refused(ask, document, path, body):
    said = document["paths"][f"/v1/models/{path}"]["post"]
    assert not conforms(
        body, said["requestBody"]["content"]["application/json"]["schema"], document
    )
    answer = ask("POST", f"/v1/models/{path}", json.dumps(body).encode())
    assert answer.status_code == 400
    assert conforms(
        answer.json(), said["responses"]["400"]["content"]["application/json"]["schema"], document
    )


@pytest.mark.parametrize(
    "path, status",
    [
        ("/v1/models/text", 200),
        ("/v1/models/text/metadata", 200),
        ("/healthz", 200),
        ("/readyz", 200),
    ],
)
def test_what_is_looked_at_is_as_it_says(ask, document, path, status):
    answer = ask("GET", path)
    (kind,) = (content := document["paths"][path]["get"]["responses"][str(status)]["content"])
    value = answer.json() if kind == "application/json" else answer.text
    assert answer.status_code == status and conforms(value, content[kind]["schema"], document)


@pytest.mark.parametrize(
    "dtype, least, most",
    [
        ("int8", -128, 127),
        ("uint8", 0, 255),
        ("int16", -32768, 32767),
        ("uint16", 0, 65535),
        ("uint32", 0, (1 << 32) - 1),
        ("uint64", 0, (1 << 64) - 1),
    ],
)
def test_limits_of_integers(dtype, least, most):
    info = TensorInfo(dtype, (None,))
    servable = types.SimpleNamespace(
        name="m", version=1, signatures={"s": Signature("s", {"x": info}, {"y": info})}
    )
    body = openapi_document({"m": [servable]}, token=True)["paths"]["/v1/models/m:predict"]["post"][
        "requestBody"
    ]
    assert f'"minimum": {least}, "maximum": {most}' in json.dumps(body)
