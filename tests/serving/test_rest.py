"""TensorFlow Serving's REST API, case by case; the numbers are those of tensorflow/serving's tests
and code as listed
in `tf_serving_rest.md` of the project's references. Texts are parts of the error, objects are the
whole answer.
"""

import asyncio
import base64
import gzip
import importlib.util
import json

import moved_time
import pytest
from starlette.requests import ClientDisconnect, Request

from tfsum.serving.json_body import unless_gone

TEXT, NUMBERS = "/v1/models/text:predict", "/v1/models/numbers:predict"
STATUS = {"error_code": "OK", "error_message": ""}
DEEP = 500_000


def rows(*texts, number=2):
    """The answer of version 2 to texts in row form."""
    return {
        "predictions": [
            {"count": len(t.encode()), "score": float(len(t.encode()) + number), "summary": t}
            for t in texts
        ]
    }


def columns(*texts, number=2):
    found = rows(*texts, number=number)["predictions"]
    return {
        "outputs": {name: [row[name] for row in found] for name in ("count", "score", "summary")}
    }


CASES = [
    # 1 routing
    (1, "GET /v1/foo", None, 400, "Malformed request: GET /v1/foo"),
    (2, "POST /v1/foo", "", 400, "Malformed request: POST /v1/foo"),
    (4, "GET /v1/models/debug/model_name", None, 400, "Malformed request"),
    (6, "GET /v1/models/foo:predict", None, 400, "Malformed request"),
    (7, "GET /v1/models/foo/version/50:predict", None, 400, "Malformed request"),
    (8, "POST /v1/models/foo/version/50:regress", "", 400, "Malformed request"),
    (
        10,
        "POST /v1/models/foo/versions/18446744073709551615:regress",
        "",
        400,
        "Failed to convert version: 18446744073709551615 to numeric.",
    ),
    (11, "POST /v1/models/foo/metadata", "", 400, "Malformed request"),
    (12, "POST /v1/models/foo/label/x:regress", "", 400, "Malformed request"),
    (
        14,
        "GET /v1/models/modelname%21%23%24%25%26%27%28%29%2A%2B%2C%2F%3A%3B%3D%3F%40%5B%5D",
        None,
        404,
        "modelname!#$%&'()*+,/:;=?@[]",
    ),
    (
        15,
        "POST /v1/models/text/labels/latest%21%23:predict",
        '{"instances": ["a"]}',
        400,
        "Unrecognized servable version label: latest!#",
    ),
    (16, "GET /statuspage", None, 404, "there is no /statuspage"),  # deliberate: JSON
    (18, "POST /v1/models/text:predict?x=1", '{"instances": ["a"]}', 200, rows("a")),  # deliberate
    (19, "PUT /v1/models/text", "", 400, "Malformed request: PUT /v1/models/text"),
    (19, "DELETE /v1/models/text", "", 400, "Malformed request: DELETE"),
    (19, "PATCH /v1/models/text", "", 400, "Malformed request: PATCH"),
    # 2 which model, which version
    (
        21,
        "POST /v1/models/foo:predict",
        '{"instances":[1]}',
        404,
        "Servable not found for request: Latest(foo)",
    ),
    (22, "POST /v1/models/foo/versions/50:predict", '{"instances":[1]}', 404, "Specific(foo, 50)"),
    (
        23,
        "POST /v1/models/text/versions/99:predict",
        '{"instances":[1]}',
        404,
        "Specific(text, 99)",
    ),
    (
        24,
        "POST /v1/models/text/labels/nope:predict",
        '{"instances":["a"]}',
        400,
        "Unrecognized servable version label: nope",
    ),
    (
        24,
        "POST /v1/models/text/labels/stable:predict",
        '{"instances":["a"]}',
        200,
        rows("a", number=1),
    ),
    (26, f"POST {TEXT}", '{"instances":["a"]}', 200, rows("a")),
    (28, f"POST {TEXT}", '{"signature_name":"serving_default","instances":["a"]}', 200, rows("a")),
    (28, f"POST {TEXT}", '{"signature_name":"serving_default","inputs":["a"]}', 200, columns("a")),
    (
        29,
        f"POST {TEXT}",
        '{"signature_name":"nope","inputs":["a"]}',
        400,
        'Serving signature name: "nope" not found in signature def',
    ),
    # 3 bodies
    (31, f"POST {TEXT}", "", 400, "JSON Parse error: The document is empty"),
    (
        32,
        f"POST {TEXT}",
        "instances = [1, 2]",
        400,
        "JSON Parse error: Invalid value. at offset: 0",
    ),
    (34, f"POST {TEXT}", '{"inputs":["x"]}rubbish', 200, columns("x")),
    (
        35,
        f"POST {TEXT}",
        f'{{"instances":["a"],"nested":{"[" * DEEP}1{"]" * DEEP}}}',
        400,
        "lists and objects are nested too deep",
    ),
    (36, f"POST {TEXT}", '{"signature_name":[["nope"]]}', 400, "key must be a string value"),
    (
        38,
        f"POST {TEXT}",
        '{"instances":["a"],"inputs":["a"]}',
        400,
        "Not formatted correctly expecting only one of 'inputs' or 'instances' keys to exist",
    ),
    (39, f"POST {TEXT}", "{}", 400, "Missing 'inputs' or 'instances' key"),
    (40, f"POST {TEXT}", '{"instances":"x"}', 400, "Expecting 'instances' to be an list/array"),
    (41, f"POST {TEXT}", '{"instances":[]}', 400, "No values in 'instances' array"),
    (42, f"POST {TEXT}", '{"inputs":[]}', 200, columns()),
    (43, f"POST {TEXT}", '{"instances":["a","b"]}', 200, rows("a", "b")),
    (44, f"POST {TEXT}", '{"instances":[{"text":"a"}]}', 200, rows("a")),
    (46, f"POST {TEXT}", '{"inputs":{"text":["a"]}}', 200, columns("a")),
    (47, f"POST {NUMBERS}", '{"instances":[1.0, 2.0, 5.0]}', 200, {"predictions": [2.5, 3.0, 4.5]}),
    (47, f"POST {NUMBERS}", '{"inputs":[[1.0, 2.0]]}', 200, {"outputs": [[2.5, 3.0]]}),
    (
        48,
        f"POST {NUMBERS}",
        '{"instances":["x","y"]}',
        400,
        'JSON Value: "x" Type: String is not of expected type: float',
    ),
    (
        50,
        f"POST {NUMBERS}",
        '{"instances":[[1,2],[3,4],[5,6,7]]}',
        400,
        (
            "Failed to process element: 2 of 'instances' list. Error: INVALID_ARGUMENT: Expecting"
            " tensor size: 2 but got: 3"
        ),
    ),
    (
        51,
        f"POST {NUMBERS}",
        '{"instances":[[1,2],[3,4],[[5,6]]]}',
        400,
        "Expecting shape [2] but got: [1,2]",
    ),
    (51, f"POST {NUMBERS}", '{"instances":[1,[1]]}', 400, "Expecting shape"),
    (52, f"POST {NUMBERS}", '{"instances":[[1,2],["a","b"]]}', 400, "not of expected type"),
    (
        54,
        f"POST {TEXT}",
        '{"instances":[{"text":"a"},["b"]]}',
        400,
        "Expecting object but got list at item 1 of input list",
    ),
    (
        55,
        f"POST {TEXT}",
        '{"instances":["a",{"text":"b"}]}',
        400,
        "Expecting value/list but got object at item 1 of input list",
    ),
    (
        56,
        f"POST {TEXT}",
        '{"instances":[{"textt":"a"}]}',
        400,
        (
            "Failed to process element: 0 key: textt of 'instances' list. Error: INVALID_ARGUMENT:"
            " JSON object: does not have named input: textt"
        ),
    ),
    (
        57,
        f"POST {TEXT}",
        '{"signature_name":"summarize","instances":[{"text":"a","max_sentences":1}]}',
        400,
        "keys must be equal to: block_trigrams,max_sentences,text",
    ),
    (
        58,
        f"POST {TEXT}",
        '{"signature_name":"summarize","instances":["a"]}',
        400,
        (
            "instances is a plain list, but expecting list of objects as multiple input tensors"
            " required as per tensorinfo_map"
        ),
    ),
    (
        59,
        f"POST {TEXT}",
        '{"signature_name":"summarize","inputs":["a"]}',
        400,
        (
            "inputs is a plain value/list, but expecting an object as multiple input tensors"
            " required as per tensorinfo_map"
        ),
    ),
    (60, f"POST {TEXT}", '{"inputs":{}}', 400, "Missing named input: text in 'inputs' object."),
    (
        62,
        f"POST {TEXT}",
        '{"instances":[{"b64":"aGVsbG8="},{"b64":"d29ybGQ="}]}',
        200,
        rows("hello", "world"),
    ),
    (62, f"POST {TEXT}", '{"instances":[{"text":{"b64":"aGVsbG8"}}]}', 200, rows("hello")),
    (
        63,
        f"POST {TEXT}",
        '{"instances":[[{"b64":"aGVsbG8="}]]}',
        400,
        "input text has the shape [1,1], expected [-1]",
    ),
    (
        64,
        f"POST {TEXT}",
        '{"inputs":{"text":{"b64":"aGVsbG8="}}}',
        400,
        "input text has the shape [], expected [-1]",
    ),
    (
        66,
        f"POST {TEXT}",
        '{"inputs":{"text":[{"b64":1}]}}',
        400,
        "not formatted correctly for base64 data",
    ),
    (
        66,
        f"POST {TEXT}",
        '{"inputs":{"text":[{"b64":"aGVsbG8=","x":1}]}}',
        400,
        "not formatted correctly for base64 data",
    ),
    (67, f"POST {TEXT}", '{"instances":[{"b64":1}]}', 400, "does not have named input: b64"),
    (69, f"POST {TEXT}", '{"instances":[{"b64":"a"}]}', 400, "Unable to base64 decode"),
    (70, f"POST {NUMBERS}", '{"instances":[1, 2.5, 3]}', 200, {"predictions": [2.5, 3.25, 3.5]}),
    (
        71,
        f"POST {TEXT}",
        json.dumps({"instances": ["a\0b", "😀", "日本語"]}),
        200,
        rows("a\0b", "😀", "日本語"),
    ),
    (71, f"POST {TEXT}", json.dumps({"instances": ["😀"]}, ensure_ascii=False), 200, rows("😀")),
    (72, f"POST {TEXT}", '{"instances":["\\ud800"]}', 400, "surrogate pair"),
    (
        73,
        f"POST {TEXT}",
        '{"instances":[{"b64":"/w=="}]}',
        200,
        {"predictions": [{"count": 1, "score": 3.0, "summary": "\ufffd"}]},
    ),  # no UTF-8: still valid JSON
    (
        75,
        f"POST {TEXT}",
        '{"signature_name":"raw","instances":[{"b64":"/w=="}]}',
        200,
        {"predictions": [{"b64": "/w=="}]},
    ),
    (
        76,
        f"POST {NUMBERS}",
        '{"signature_name":"uneven","instances":[1.0]}',
        400,
        "has inconsistent batch size: ",
    ),
    (
        76,
        f"POST {NUMBERS}",
        '{"signature_name":"uneven","inputs":[1.0]}',
        200,
        {"outputs": {"one": [1.0], "two": [1.0, 1.0]}},
    ),
    (
        0,
        f"POST {NUMBERS}",
        '{"signature_name":"whole","instances":[{"x":1,"z":2147483648}]}',
        200,
        {"predictions": [2147483649]},
    ),
    (
        0,
        f"POST {NUMBERS}",
        '{"signature_name":"whole","instances":[{"x":2147483648,"z":1}]}',
        400,
        "not of expected type: int32",
    ),
    (
        0,
        f"POST {NUMBERS}",
        '{"signature_name":"whole","instances":[{"x":1.5,"z":1}]}',
        400,
        "not of expected type: int32",
    ),
    (
        0,
        f"POST {NUMBERS}",
        '{"signature_name":"whole","instances":[{"x":2.0,"z":-1e3}]}',
        200,
        {"predictions": [-998]},
    ),
    (
        0,
        f"POST {NUMBERS}",
        '{"signature_name":"whole","instances":[{"x":true,"z":1}]}',
        400,
        "Type: True",
    ),
    (
        0,
        f"POST {NUMBERS}",
        '{"signature_name":"whole","inputs":{"x":[1,2],"z":[1]}}',
        400,
        "inputs differ in their number of rows: x has 2, z has 1",
    ),
    (0, f"POST {NUMBERS}", '{"instances":[1e400]}', 400, "Number too big to be stored in double"),
    # quotes come whole
    (80, f"POST {TEXT}", '{"instances":"x"}', 400, 'JSON Value: {"instances": "x"} Expecting'),
    (0, f"POST {TEXT}", '["a"]', 400, "Is not object"),
    (0, f"POST {TEXT}", '{"instances":[null]}', 400, "Type: Null is not of expected type: string"),
    (
        0,
        f"POST {TEXT}",
        '{"signature_name":"picky","instances":["good","bad"]}',
        400,
        "found a bad text",
    ),
    (
        0,
        f"POST {TEXT}",
        '{"signature_name":"picky","inputs":["bad"]}',
        400,
        "assertion failed: [found a bad text]",
    ),
    (0, f"POST {TEXT}", "\ufeff" + '{"instances":["a"]}', 200, rows("a")),
    (
        30,
        "POST /v1/models/text:classify",
        '{"examples":[{"x":1}]}',
        400,
        (
            "Expected classification signature method_name to be tensorflow/serving/classify. Was: "
            "tensorflow/serving/predict"
        ),
    ),
    (
        30,
        "POST /v1/models/text:regress",
        '{"examples":[{"x":1}]}',
        400,
        "Expected regression signature",
    ),
    # deliberate: no model of tfsum has such a signature
    (
        78,
        "POST /v1/models/text:regress",
        '{"examples":[{"x":80.0}]}',
        400,
        "ask the model by :predict, the one method that tfsum serve answers",
    ),
    (79, "POST /v1/models/text:classify", "{}", 400, "the one method that tfsum serve answers"),
    (30, "POST /v1/models/nope:classify", "{}", 404, "Latest(nope)"),
    # 4 status and metadata
    (
        81,
        "GET /v1/models/numbers",
        None,
        200,
        {"model_version_status": [{"version": "123", "state": "AVAILABLE", "status": STATUS}]},
    ),
    (
        82,
        "GET /v1/models/text/versions/1",
        None,
        200,
        {"model_version_status": [{"version": "1", "state": "AVAILABLE", "status": STATUS}]},
    ),
    (
        83,
        "GET /v1/models/text/labels/stable",
        None,
        200,  # deliberate: the version of the label
        {"model_version_status": [{"version": "1", "state": "AVAILABLE", "status": STATUS}]},
    ),
    # deliberate
    (83, "GET /v1/models/text/labels/nope", None, 400, "Unrecognized servable version label: nope"),
    (84, "GET /v1/models/nope", None, 404, "Could not find any versions of model nope"),
    (85, "GET /v1/models/text/versions/9", None, 404, "Could not find version 9 of model text"),
    (
        86,
        "GET /v1/models/text",
        None,
        200,
        {
            "model_version_status": [
                {"version": number, "state": "AVAILABLE", "status": STATUS} for number in ("2", "1")
            ]
        },
    ),
    (91, "GET /v1/models/nope/metadata", None, 404, "Servable not found for request: Latest(nope)"),
    (
        103,
        "POST /v1/models/text/labels/gone:predict",
        '{"instances":["a"]}',
        400,
        "not currently available for inference",
    ),
]


@pytest.mark.parametrize(
    "number, request_line, body, status, expected",
    CASES,
    ids=[f"{case[0]}-{place}" for place, case in enumerate(CASES)],
)
def test_case(ask, number, request_line, body, status, expected):
    answer = ask(*request_line.split(" ", 1), body=(body or "").encode())
    assert answer.status_code == status, answer.text[:500]
    assert answer.headers["content-type"] == "application/json"
    if isinstance(expected, str):
        assert list(answer.json()) == ["error"] and expected in answer.json()["error"]
    else:
        assert answer.json() == expected


@pytest.mark.parametrize(
    "body, signature",
    [
        ('{"signature_name":"summarize"}', "summarize"),
        ('{"signature_name":"raw","instances":[1]}', "raw"),
        ('{"signature_name":"picky","instances":["bad"]}', "picky"),  # the graph's own error
        *(
            (body, None)
            for body in (
                "",
                "hello",
                '["a"]',
                "{",
                "{}",
                '{"signature_name":5,"instances":["a"]}',
                '{"signature_name":"nope","instances":["a"]}',
                '{"instances":[1]}',
            )
        ),
    ],
)
def test_an_error_shows_a_body_that_is_correct(ask, body, signature):
    answer = ask("POST", TEXT, body.encode())
    said, _, sample = answer.json()["error"].partition("; a correct body is ")
    assert answer.status_code == 400 and said and "correct body" not in said
    assert json.loads(sample).get("signature_name") == signature
    assert ask("POST", TEXT, sample.encode()).status_code == 200


def test_what_is_not_there_while_models_are_loaded(ask, monkeypatch):
    monkeypatch.setattr(ask.server.versions, "starting", True)
    for path in (
        "/v1/models/nope:predict",
        "/v1/models/text/labels/gone:predict",
        "/v1/models/text/versions/9:predict",
    ):
        answer = ask("POST", path, b'{"instances":["a"]}')
        assert answer.status_code == 503 and answer.headers["retry-after"] == "2"
    assert ask("GET", "/v1/models/nope").status_code == 503
    assert ask("POST", TEXT, b'{"instances":["a"]}').status_code == 200


@pytest.mark.parametrize("text", ["NaN", "Infinity", "-Infinity"])  # 68
def test_numbers_that_json_has_not(ask, text):
    answer = ask("POST", NUMBERS, f'{{"instances":[{text}]}}'.encode())
    assert answer.status_code == 200 and text in answer.text


def test_numbers_are_written_as_tensorflow_serving_does(ask):  # 74
    answer = ask(
        "POST", NUMBERS, json.dumps({"inputs": [17999996, 1999994, -3, -3.99994, 1 / 3]}).encode()
    )
    assert answer.text == '{"outputs": [9e+06, 999999.0, 0.5, 3.0040741e-05, 2.16666675]}'


def test_a_head_request_is_malformed(ask):  # 19
    assert ask("HEAD", "/v1/models/text").status_code == 400


def test_a_page_that_is_asked_otherwise(ask):
    answer = ask("POST", "/healthz")
    assert answer.status_code == 405 and set(answer.headers["allow"].split(", ")) == {"GET", "HEAD"}


def test_options(ask, models, serving):  # 20
    assert ask("OPTIONS", TEXT).status_code == 400
    answer = ask("OPTIONS", TEXT, headers={"Origin": "http://a"})
    assert answer.status_code == 200 and "access-control-allow-origin" not in answer.headers
    shared = serving.Asked(models, cors="http://a")
    answer = shared("OPTIONS", TEXT, headers={"Origin": "http://a"})
    assert answer.headers["access-control-allow-origin"] == "http://a"


def test_metadata(ask):  # 90
    found = ask("GET", "/v1/models/text/metadata").json()
    assert found["model_spec"] == {"name": "text", "signature_name": "", "version": "2"}
    signature = found["metadata"]["signature_def"]["signature_def"]["serving_default"]
    assert signature["method_name"] == "tensorflow/serving/predict" and signature["defaults"] == {}
    text = signature["inputs"]["text"]
    assert text["dtype"] == "DT_STRING" and text["tensor_shape"] == {
        "dim": [{"size": "-1", "name": ""}],
        "unknown_rank": False,
    }
    assert ask("GET", "/v1/models/text/versions/1/metadata").json()["model_spec"]["version"] == "1"
    assert (
        ask("GET", "/v1/models/text/labels/stable/metadata").json()["model_spec"]["version"] == "1"
    )


def test_metrics(ask):  # 92
    ask("POST", TEXT, b'{"instances":["a"]}')
    answer = ask("GET", "/monitoring/prometheus/metrics")
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/plain")
    assert "# TYPE tfsum_requests_total counter" in answer.text
    assert 'tfsum_requests_total{code="200",method="predict",model="text"}' in answer.text
    assert 'tfsum_model_version{model="text",state="AVAILABLE",version="2"} 1.0' in answer.text


def test_gzip(ask, models, serving):  # 106, 107
    body = gzip.compress(b'{"instances":["a"]}')
    zipped = {"Content-Encoding": "gzip"}
    assert ask("POST", TEXT, body, zipped).json() == rows("a")
    for broken in (body[:-9], b"no gzip", b""):
        answer = ask("POST", TEXT, broken, zipped)
        assert answer.status_code == 400 and "gzip" in answer.json()["error"]
    small = serving.Asked(models, max_body=1000)
    bomb = gzip.compress(b'{"instances":["' + b"a" * 10_000_000 + b'"]}')
    for answer in (small("POST", TEXT, bomb, zipped), small("POST", TEXT, b"a" * 2000)):
        assert answer.status_code == 413 and "--max-body" in answer.json()["error"]


def test_bodies_of_all_requests_have_a_limit_together(models, serving):
    small = serving.Asked(models, max_bodies=2000)
    body = json.dumps({"instances": ["a" * 600]}).encode()
    unpacked = gzip.compress(json.dumps({"instances": ["a" * 3000]}).encode())
    answers = small.together(
        [("POST", TEXT, body, None), ("POST", TEXT, unpacked, {"Content-Encoding": "gzip"})]
    )
    assert answers[0].status_code == 200
    assert answers[1].status_code == 429 and answers[1].headers["retry-after"] == "1"
    assert "--max-bodies" in answers[1].json()["error"]
    assert small.server.predictor.bodies == 0
    assert small("POST", TEXT, body).status_code == 200


def test_answers_count_beside_bodies_until_they_are_sent(models, serving):
    small, body = serving.Asked(models, max_bodies=1000), json.dumps({"instances": ["a" * 500]})
    answer = small("POST", TEXT, body.encode())  # the answer has as many bytes again
    assert answer.status_code == 429 and "--max-bodies" in answer.json()["error"]
    assert small.server.predictor.bodies == 0

    held, bodies = [], [body.encode()]
    small = serving.Asked(models, max_bodies=2000)

    async def receive():
        while not bodies:
            await asyncio.sleep(600)
        return {"type": "http.request", "body": bodies.pop()}

    async def send(message):
        held.append(small.server.predictor.bodies)

    scope = {"type": "http", "method": "POST", "raw_path": TEXT.encode(), "headers": []}
    asyncio.run(small.server.application(scope, receive, send))
    assert min(held) > 1000 and small.server.predictor.bodies == 0


def test_two_framings_of_a_body_end_the_connection(ask):
    headers = {"Transfer-Encoding": "chunked", "Content-Length": "20"}
    answer = ask("POST", TEXT, b'{"instances":["a"]}', headers)
    assert answer.status_code == 200 and answer.headers["connection"] == "close"
    assert "connection" not in ask("POST", TEXT, b'{"instances":["a"]}').headers


def test_paths_of_all_kinds_make_no_more_metrics(ask):
    def lines():
        return len(ask("GET", "/metrics").text.splitlines())

    ask("GET", "/v1/models/none0:predict")
    before = lines()
    for number in range(50):
        ask("GET", f"/v1/models/none{number}:predict")
        ask("POST", f"/V1/MODELS/{number}/x{number}")
        ask(f"VERB{number}", f"/{number}")
    assert lines() <= before + 40  # the statuses of three kinds of request


def test_limits_of_documents(models, serving):
    small = serving.Asked(models, max_documents=2, max_document_bytes=10)
    assert small("POST", TEXT, b'{"instances":["a","b"]}').status_code == 200
    answer = small("POST", TEXT, b'{"instances":["a","b","c"]}')
    assert answer.status_code == 413 and "3 rows" in answer.json()["error"]
    answer = small("POST", TEXT, json.dumps({"instances": ["a\x1eb\x1ec"]}).encode())
    assert answer.status_code == 413 and "3 rows, or documents" in answer.json()["error"]
    answer = small("POST", TEXT, json.dumps({"instances": ["a" * 11]}).encode())
    assert answer.status_code == 413 and "11 bytes" in answer.json()["error"]


def test_an_answer_as_wide_as_its_longest_row_has_a_limit(ask, monkeypatch):
    monkeypatch.setattr("tfsum.serving.predictor.MAX_PLACES", 200)
    body = {"signature_name": "words", "instances": ["a." * 30, *[""] * 9]}
    answer = ask("POST", TEXT, json.dumps(body).encode())
    assert answer.status_code == 413 and "each of the 10 texts" in answer.json()["error"]
    for allowed in ({**body, "instances": ["a." * 30]}, {**body, "signature_name": "raw"}):
        assert ask("POST", TEXT, json.dumps(allowed).encode()).status_code == 200


def test_rows_are_counted_before_arrays_are_made_of_them(ask, monkeypatch):
    monkeypatch.setattr("tfsum.serving.rest.read_inputs", None)
    many = {"instances": [""] * 100_000}, {"inputs": {"text": [""] * 100_000}}
    for document in many:
        answer = ask("POST", TEXT, json.dumps(document).encode())
        assert answer.status_code == 413 and "100000 rows" in answer.json()["error"]


def test_reading_a_request_is_part_of_its_time(models, serving, monkeypatch):
    monkeypatch.setattr(
        "tfsum.serving.rest.read_object", lambda _: asyncio.get_running_loop().work(1.0) or {}
    )
    body = b'{"instances": ["' + b"a" * 100_000 + b'"]}'
    hurried = serving.Asked(models, timeout=0.1)
    (answer,) = moved_time.run(lambda _: hurried.answers([("POST", TEXT, body, None)]))
    assert answer.status_code == 504 and "was not read in 0.1 s" in answer.json()["error"]


@pytest.mark.parametrize("value", ['""', "[]", "7", '{"b64": ""}'])
def test_values_are_counted_before_the_body_is_read(ask, monkeypatch, value):
    monkeypatch.setattr("tfsum.serving.json_body.MAX_VALUES", 1000)
    monkeypatch.setattr("tfsum.serving.json_body._number", None)  # nothing is read
    for path in (TEXT, "/v2/models/text/infer", "/summarize"):
        answer = ask("POST", path, f'{{"inputs": [{", ".join([value] * 1001)}]}}'.encode())
        assert answer.status_code == 413 and "more than 1000 texts" in answer.json()["error"]


def test_marks_in_texts_are_no_values(ask, monkeypatch):
    monkeypatch.setattr("tfsum.serving.json_body.MAX_VALUES", 10)
    text = ',[{\\" ,,' * 100
    answer = ask("POST", TEXT, json.dumps({"instances": [text]}).encode())
    assert answer.json()["predictions"][0]["summary"] == text


@pytest.mark.parametrize("depth", [65, 300, 900])
def test_arrays_of_too_many_dimensions_are_refused(ask, depth):
    body = b'{"instances": ' + b"[" * depth + b'"a"' + b"]" * depth + b"}"
    assert ask("POST", TEXT, body).status_code == 400


def test_a_version_of_many_digits(ask):
    assert ask("GET", "/v1/models/text/versions/" + "0" * 5000 + "2").status_code == 200
    answer = ask("GET", "/v1/models/text/versions/" + "9" * 5001)
    assert answer.status_code == 400 and len(answer.json()["error"]) < 2100


def test_errors_quote_little_of_a_request(ask):
    for path in ("/v1/" + "x" * 5000, "/" + "x" * 5000):
        assert len(ask("GET", path).json()["error"]) < 2100
    long = "x" * 100_000
    signature = {"signature_name": long, "instances": ["a"]}
    for path, body in (
        (TEXT, signature),
        (TEXT, {"instances": [{long: "a"}]}),
        ("/summarize", {"model": long, "text": "a"}),
        ("/summarize", {"model": "text", long: "a"}),
        ("/v2/models/text/infer", {"inputs": [{"name": long}]}),
        ("/v2/models/text/infer", {"inputs": [], "outputs": [{"name": long}]}),
    ):
        answer = ask("POST", path, json.dumps(body).encode())
        assert answer.status_code >= 400 and len(answer.content) < 4000
    said = ask("POST", TEXT, json.dumps(signature).encode()).json()["error"]
    assert said.endswith('; a correct body is {"instances": ["a text"]}')


def test_what_nobody_waits_for_is_given_up():
    cancelled = []

    async def answer():
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.append(True)
            raise

    async def ask():
        async def gone():
            return {"type": "http.disconnect"}

        with pytest.raises(ClientDisconnect):
            await unless_gone(Request({"type": "http"}, gone), answer())
        await asyncio.sleep(0)

    asyncio.run(ask())
    assert cancelled == [True]


def ask_for_texts(serving, models, monkeypatch, count, **settings):
    """The statuses of uploads that come together, and what was read, six seconds each."""
    read = []

    async def text_apart(data, name, seconds, limit):
        read.append((data, limit))
        await asyncio.sleep(6)
        return data.decode()

    monkeypatch.setattr("tfsum.serving.page_api.text_apart", text_apart)
    asked = serving.Asked(models, **settings)
    requests = [("POST", "/page/text", str(i).encode(), None) for i in range(count)]
    answers = moved_time.run(lambda _: asked.answers(requests))
    return [answer.status_code for answer in answers], read


def test_the_time_of_an_upload_includes_its_wait(models, serving, monkeypatch):
    statuses, read = ask_for_texts(serving, models, monkeypatch, 3, timeout=10, max_body=99)
    assert statuses == [200, 504, 504] and read == [(b"0", 99), (b"1", 99)]


@pytest.mark.parametrize("has_extra", [True, False])
def test_the_page_offers_the_files_that_are_read_here(models, serving, monkeypatch, has_extra):
    found = importlib.util.find_spec
    has = {"trafilatura": has_extra}
    monkeypatch.setattr(
        "importlib.util.find_spec", lambda name: has.get(name, True) and found(name)
    )
    page = serving.Asked(models)("GET", "/").text
    offered = page.partition('accept="')[2].partition('"')[0].split(",")
    assert {".txt", ".docx", ".eml"} <= set(offered)
    assert (".html" in offered, "text/*" in offered) == (has_extra, has_extra)


def test_few_uploads_wait(models, serving, monkeypatch):
    statuses, _ = ask_for_texts(serving, models, monkeypatch, 20)
    assert statuses == [200] * 16 + [429] * 4


def test_uploads_that_nobody_waits_for_are_not_read(models, serving, monkeypatch):
    read = []

    async def text_apart(data, *_):
        read.append(data)
        await asyncio.sleep(6)

    monkeypatch.setattr("tfsum.serving.page_api.text_apart", text_apart)
    application = serving.Asked(models).server.application
    scope = {"type": "http", "method": "POST", "raw_path": b"/page/text", "headers": []}
    scope = {**scope, "path": "/page/text", "query_string": b""}

    async def upload(data):
        messages = [{"type": "http.disconnect"}, {"type": "http.request", "body": data}]

        async def receive():
            return messages.pop()

        async def send(message):
            pass

        await application(scope, receive, send)

    async def upload_all(_):
        await asyncio.gather(*(upload(str(i).encode()) for i in range(6)))

    moved_time.run(upload_all)
    assert len(read) < 2


def test_a_token_is_needed_for_all_but_health(models, serving):
    closed = serving.Asked(models, token="secret")
    for path in ("/v1/models/text", "/monitoring/prometheus/metrics", "/v1/models/nope"):
        answer = closed("GET", path)
        assert answer.status_code == 401 and answer.headers["www-authenticate"] == "Bearer"
        assert closed("GET", path, headers={"Authorization": "Bearer wrong"}).status_code == 401
        assert closed("GET", path, headers={"Authorization": "Bearer secret"}).status_code in (
            200,
            404,
        )
    assert closed("GET", "/healthz").status_code == closed("GET", "/readyz").status_code == 200


def test_pages_of_other_sites_do_not_reach_a_server_of_this_machine(models, serving):
    body, ask = b'{"instances":["a"]}', serving.Asked(models)
    for headers in (
        {"Host": "example.org:8501"},  # a name that was bound to 127.0.0.1 a moment ago
        {"Origin": "https://example.org", "Content-Type": "text/plain"},
        {"Origin": "null"},
        {"Host": "[::1"},
    ):
        answer = ask("POST", TEXT, body, headers)
        assert answer.status_code == 403 and "--allowed-host" in answer.json()["error"]
    for headers in (
        {"Host": "127.0.0.1:8501", "Origin": "http://localhost:3000"},
        {"Host": "[::1]:8501"},
    ):
        assert ask("POST", TEXT, body, headers).status_code == 200

    proxied = serving.Asked(models, allowed_host="news.example.org", cors="https://example.org")
    headers = {"Host": "news.example.org", "Origin": "https://example.org"}
    assert proxied("POST", TEXT, body, headers).status_code == 200
    public = serving.Asked(models, host="0.0.0.0")
    assert public("POST", TEXT, body, headers).status_code == 403
    for own in ({"Host": "10.0.0.7:8501"}, {"Origin": "https://news.example.org"}):
        assert public("POST", TEXT, body, {**headers, "Origin": "", **own}).status_code == 200


def test_bytes_that_are_no_utf_8_are_refused(ask):
    answer = ask("POST", TEXT, b'{"instances":["\xff"]}')
    assert answer.status_code == 400 and "Invalid encoding" in answer.json()["error"]
    encoded = json.dumps({"instances": [{"b64": base64.b64encode(b"\xff").decode()}]})
    assert ask("POST", TEXT, encoded.encode()).status_code == 200


def test_spans_of_opentelemetry(ask):
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="needs opentelemetry-sdk")
    from opentelemetry import trace as api
    from opentelemetry.sdk.trace.export import SimpleSpanProcessor
    from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

    exporter, provider = InMemorySpanExporter(), trace.TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    api.set_tracer_provider(provider)
    caller = f"00-{'1' * 32}-{'2' * 16}-01"
    ask("POST", TEXT, b'{"instances":["secret", "words"]}', {"traceparent": caller})
    predict, request = exporter.get_finished_spans()
    assert f"{request.context.trace_id:x}" == "1" * 32 and f"{request.parent.span_id:x}" == "2" * 16
    assert predict.parent.span_id == request.context.span_id
    assert request.attributes == {"url.path": TEXT, "http.response.status_code": 200}
    assert predict.attributes == {
        "model.name": "text",
        "model.version": 2,
        "model.signature": "serving_default",
        "rows": 2,
    }
    assert "secret" not in request.to_json() + predict.to_json()
