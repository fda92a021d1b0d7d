"""One request, one answer: the same sentences and the same errors by every entrance.

TensorFlow Serving's own protocol (`:predict`, gRPC, V2) takes tensors: there the inputs are those
that a request stands for, and what is wrong with them is the server's to say.
"""

import asyncio
import contextlib
import functools
import json
import urllib.error
import urllib.request

import numpy as np
import pytest
from patient_client import TIMEOUT, Client

pytest.importorskip("tensorflow")

import tfsum
from tfsum.cli.main import main
from tfsum.inference.saved_model import DEFAULT_MODEL, shipped_model
from tfsum.inference.texts import filled
from tfsum.request import SummaryRequest
from tfsum.tasks.bert_sum_ext.answering import Question, defaults_of
from tfsum.tasks.model_choice import AUTO

TEXT = (
    "SKERRIN (AP) -- The last ferry between Harlow Bay and the island of Skerrin will stop running"
    " in March. It has carried people, sheep and post for 142 years. “We are sad,” said Anna Holt,"
    " mayor of Skerrin.\n\nThe council promised on Wednesday to pay for a boat until the end of the"
    " summer. A new ferry would cost forty million pounds, the council said. Rain fell all night."
    " Nobody knows who would buy it, caf\u00e9 owner Jan Bor \U0001f600 said. The island has 310"
    " people and one school."
)
OTHER = "The ferry to Skerrin ends in March. A boat will run until the end of the summer."
REQUESTS = {
    "nothing": {},
    "sentences": {"sentences": 2},
    "automatic": {"sentences": "auto"},
    "words": {"words": 40},
    "characters": {"characters": 180},
    "share": {"share": 0.3},
    "score": {"min_score": 0.2},
    "query": {"query": "What would a ferry cost?"},
    "weight": {"query": "What would a ferry cost?", "query_weight": 1.0, "sentences": 1},
    "keywords": {"keywords": 5},
    "all": {"all": True},
    "newline": {"newline": "space", "sentences": 3},
    "trigrams": {"block_trigrams": True, "sentences": 5},
    "together": {"together": True, "words": 60},
    "per document": {"together": True, "max_per_document": 1},
    "filled": {"words": 60, "fill": True},
    "one sentence": {},
    "another language": {},
}
TEXTS = {
    "together": [TEXT, OTHER],
    "per document": [TEXT, OTHER],
    "one sentence": ["The bridge was closed on Monday."],
    "another language": ["정부는 목요일 새 법안을 발표했다. 야당은 비판했다."],
}
# What is asked -> how its error begins, everywhere.
WRONG = {
    "words": ({"words": 0}, "words=0: expected a whole number from 1"),
    "share": ({"share": 20}, "share=20: expected a number above 0 and at most 1"),
    "score": ({"min_score": -1}, "min_score=-1: expected a number from 0 to 1"),
    "keywords": ({"keywords": 101}, "keywords=101: expected a whole number from 1 to 100"),
    "number": ({"sentences": "x"}, 'sentences="x": expected a whole number from 1 or "auto"'),
    "blank": ({"query": " "}, 'query=" ": expected a question or a title'),
    "newline": ({"newline": "tab"}, 'newline="tab": expected "auto", "sentence"'),
    "weight": ({"query_weight": 0.5}, "query_weight: goes with query; give query too"),
    "one text": ({"max_per_document": 1}, "max_per_document: goes with together; give together"),
    "all": ({"all": True, "words": 9}, "all: gives every sentence; leave it out, or words"),
    "both": ({"together": True, "keywords": 2}, "keywords: are those of one text; leave out"),
    "name": ({"wrods": 9}, "wrods: unknown; did you mean words?"),
}


pytestmark = pytest.mark.usefixtures("opened_once")


def texts_of(name):
    return TEXTS.get(name, [TEXT])


def by_python(server, texts, fields, model=AUTO):
    if fields.get("together"):
        return tfsum.load(model).together(texts, **fields)
    return tfsum.load(model)(texts[0], **fields)


@functools.cache
def expected_of(request_name, model=AUTO):
    return by_python(None, texts_of(request_name), REQUESTS[request_name], model)


CLIENTS = contextlib.ExitStack()


@functools.cache
def client_of(url):
    return CLIENTS.enter_context(Client(url))


@pytest.fixture(scope="module", autouse=True)
def closed_clients(shipped_server):
    with CLIENTS:
        yield
    client_of.cache_clear()


def by_client(server, texts, fields, url=None):
    client = client_of(url or f"http://127.0.0.1:{server.port}")
    if fields.get("together"):
        return client.together(texts, **fields)
    return client.summarize(texts[0], **fields)


def by_grpc(server, texts, fields):
    return by_client(server, texts, fields, f"grpc://127.0.0.1:{server.grpc_port}")


def post(server, path, body):
    request = urllib.request.Request(
        f"http://127.0.0.1:{server.port}{path}", json.dumps(body).encode(), method="POST"
    )
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        with error:
            raise tfsum.Error(json.load(error)["error"]) from None


def by_rest(server, texts, fields):
    text = texts if fields.get("together") else texts[0]
    answer = post(server, "/summarize", {"text": text, **fields})
    assert answer.pop("version") == int(shipped_model(answer["model"]).name)
    return answer


def by_tensors(texts, fields, ask):
    """An answer by signatures and their inputs."""
    model = tfsum.load(DEFAULT_MODEL)
    defaults, inputs = defaults_of(model.description), model._model.signatures["extract"]
    question = Question(texts, SummaryRequest(**fields), defaults, inputs)
    count = len(question.encoded)
    outputs = {}
    for signature, inputs in question.calls.items():
        arrays = {name: filled(count, value) for name, value in inputs.items()}
        found = ask(signature, {"text": np.array(question.encoded, object), **arrays})
        outputs[signature] = [
            {name: array[i] for name, array in found.items()} for i in range(count)
        ]
    return question.answers(outputs, DEFAULT_MODEL)[0]


def array_of(values):
    """Values of JSON as an array; texts as bytes."""
    array = np.array(values)
    return np.char.encode(array, "utf-8").astype(object) if array.dtype.kind == "U" else array


def by_predict(server, texts, fields):
    def ask(signature, inputs):
        columns = {
            name: [one.decode() if isinstance(one, bytes) else one for one in array.tolist()]
            for name, array in inputs.items()
        }
        body = {"signature_name": signature, "inputs": columns}
        outputs = post(server, f"/v1/models/{DEFAULT_MODEL}:predict", body)["outputs"]
        return {name: array_of(values) for name, values in outputs.items()}

    return by_tensors(texts, fields, ask)


def by_v2(server, texts, fields):
    kinds = {"i": "INT32", "f": "FP32", "b": "BOOL", "O": "BYTES"}

    def ask(signature, inputs):
        tensors = [
            {
                "name": name,
                "datatype": kinds[array.dtype.kind],
                "shape": [len(array)],
                "data": [one.decode() if isinstance(one, bytes) else one for one in array.tolist()],
            }
            for name, array in inputs.items()
        ]
        body = {"inputs": tensors, "parameters": {"signature": signature}}
        answer = post(server, f"/v2/models/{DEFAULT_MODEL}/infer", body)
        return {
            each["name"]: array_of(each["data"]).reshape(each["shape"])
            for each in answer["outputs"]
        }

    return by_tensors(texts, fields, ask)


def by_mcp(server, texts, fields):
    pytest.importorskip("mcp", reason="needs the extra mcp")
    from mcp import Client as McpClient

    from tfsum.serving.documents import Documents
    from tfsum.serving.mcp_tools import McpTools

    async def call():
        tools = McpTools(Documents(tfsum.load, 1 << 20), None)
        async with McpClient(tools.server()) as client:
            text = texts if fields.get("together") else texts[0]
            return await client.call_tool("summarize", {"text": text, **fields})

    answer = asyncio.run(call())
    if answer.is_error:
        raise tfsum.Error(answer.content[0].text)
    return answer.structured_content


ENTRANCES = {
    "client": by_client,
    "grpc": by_grpc,
    "rest": by_rest,
    "predict": by_predict,
    "v2": by_v2,
    "mcp": by_mcp,
}


def plain(answer):
    """What is compared of an answer, and its scores."""
    record = answer if isinstance(answer, dict) else answer.record()
    sentences = [dict(one) for one in record["sentences"]]
    keywords = [dict(one) for one in record.get("keywords", [])]
    scores = [one.pop("score") for one in (*sentences, *keywords)]
    return {**record, "sentences": sentences, "keywords": keywords}, scores


def check(found, expected):
    (ours, our_scores), (theirs, their_scores) = plain(found), plain(expected)
    assert ours == theirs
    np.testing.assert_allclose(our_scores, their_scores, atol=1e-5)


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_the_answer_is_that_of_python(shipped_server, entrance, request_name):
    texts, fields = texts_of(request_name), REQUESTS[request_name]
    # tensors are for a model, the others for what is right by the text
    model = DEFAULT_MODEL if entrance in ("predict", "v2") else AUTO
    check(ENTRANCES[entrance](shipped_server, texts, fields), expected_of(request_name, model))


def options_of(fields):
    """The fields as options of the command line."""
    for name, value in fields.items():
        flag = f"--{name.replace('_', '-')}"
        yield from [flag] if value is True else [flag, str(value)]


@pytest.mark.parametrize("request_name", REQUESTS)
@pytest.mark.parametrize("asks_server", [False, True], ids=["here", "server"])
def test_the_command_line_answers_as_python(
    shipped_server, tmp_path, capsys, request_name, asks_server
):
    texts, fields = texts_of(request_name), REQUESTS[request_name]
    paths = [tmp_path / f"{i}.txt" for i in range(len(texts))]
    for path, text in zip(paths, texts):
        path.write_text(text, encoding="utf-8")
    where = ["--server", f"http://127.0.0.1:{shipped_server.port}"] if asks_server else []
    words = ["summarize", *map(str, paths), "--format", "json", *options_of(fields), *where]
    assert main(words) == 0
    found = json.loads(capsys.readouterr().out)

    expected = expected_of(request_name)
    assert [found["summary"], found["sentences"]] == [expected.summary, expected.sentences]
    assert [*map(tuple, found["offsets"])] == expected.offsets
    assert (found["newline"], found["warnings"]) == (expected.newline, expected.warnings)
    assert [word["text"] for word in found.get("keywords", [])] == [
        str(word) for word in expected.keywords or []
    ]
    np.testing.assert_allclose(found["scores"], expected.scores, atol=1e-5)


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.parametrize("entrance", ["python", "client", "rest", "mcp"])
def test_the_error_is_the_same(shipped_server, entrance, name):
    fields, message = WRONG[name]
    ask = {"python": by_python, **ENTRANCES}[entrance]
    with pytest.raises(tfsum.Error) as caught:
        ask(shipped_server, [TEXT, OTHER], fields)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", [name for name in WRONG if name != "name"])
def test_the_command_line_errs_as_python(tmp_path, capsys, name):
    """But for a name that it does not know, which argparse refuses as for every verb."""
    fields, message = WRONG[name]
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    assert main(["summarize", str(tmp_path / "a.txt"), *options_of(fields)]) == 2
    assert message in capsys.readouterr().err
