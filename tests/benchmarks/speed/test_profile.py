"""The profile finds where an operation stands, and its kind; the floor counts each product."""

import pytest

pytest.importorskip("tensorflow")

from tensorflow.core.framework import node_def_pb2, step_stats_pb2

from benchmarks.speed import profile, summarizing

INTERMEDIATE = 16


def calling(**functions):
    """The attributes of a node that calls functions."""
    node = node_def_pb2.NodeDef()
    for name, function in functions.items():
        node.attr[name].func.name = function
    return node.attr


BODIES = {
    "": {"serve": calling(f="__inference_serve_7")},
    "__inference_serve_7": {
        "e": calling(f="__inference_encode_5"),
        "if": calling(then_branch="cond_true_3", else_branch="cond_false_4"),
    },
    "__inference_encode_5": {"w": calling(body="encoder_body_2", cond="encoder_cond_1")},
    "encoder_body_2": {},
    "encoder_cond_1": {},
    "cond_true_3": {},
    "cond_false_4": {},
}


def recorded_node(name, operation, width):
    node = step_stats_pb2.NodeExecStats(node_name=name, timeline_label=f"{name} = {operation}(x)")
    shape = node.output.add().tensor_description.shape
    for size in (3, width):
        shape.dim.add(size=size)
    return node


@pytest.mark.parametrize(
    "name, functions",
    [
        ("serve/x", ["__inference_serve_7"]),
        (
            "Optimizer/serve/e/w/body/_9/x",
            ["__inference_serve_7", "__inference_encode_5", "encoder_body_2"],
        ),
        ("serve/if/else/_9/x", ["__inference_serve_7", "cond_false_4"]),
    ],
)
def test_the_functions_around_a_node(name, functions):
    assert [*profile.functions_around(BODIES, name)] == functions


@pytest.mark.parametrize(
    "name, operation, width, kind",
    [
        ("serve/e/x", "_MklMatMul", INTERMEDIATE, "products"),
        ("serve/e/x", "Erf", INTERMEDIATE, "GELU"),
        ("serve/e/x", "Mul", 4, "normalization"),
        ("serve/e/w/body/_9/x", "_MklMatMul", 4, "attention"),
        ("serve/if/then/_9/x", "Mul", 4, "choice"),
        ("_SOURCE", "NoOp", 1, "executor"),
    ],
)
def test_the_kind_of_a_node(name, operation, width, kind):
    node = recorded_node(name, operation, width)
    assert profile.kind_of(node, BODIES, INTERMEDIATE) == kind
    assert kind in profile.KINDS


def test_the_floor_counts_each_product():
    config = {"num_hidden_layers": 2, "hidden_size": 8, "intermediate_size": INTERMEDIATE}
    length = 3
    of_weights = 4 * 8 * 8 + 2 * 8 * INTERMEDIATE  # multiplications for a token
    of_attention = 2 * length * 8  # scores, and weighted values
    operations = 2 * 2 * length * (of_weights + of_attention)
    assert summarizing.floor(config, [length], 10.0) == pytest.approx(operations / 10)


@pytest.mark.parametrize("column", profile.COLUMNS)
def test_a_column_is_a_call_of_a_signature(column):
    signature, given = profile.call_of(column)
    if column.endswith("kB"):
        (text,) = given["text"]
        assert signature == "serving_default" and len(text) == 1000 * int(column.split()[0])
    else:
        shape = tuple(map(int, column.split(" x ")))
        assert signature == "score_ids" and given["token_ids"].shape == shape
