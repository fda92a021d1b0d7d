"""What a server loads: without TensorFlow's Python, and from a small TFRecord file."""

import subprocess
import sys

import pytest
import tensorflow as tf
from cases import first_by_default
from google.protobuf.json_format import MessageToDict
from hypothesis import given
from hypothesis import strategies as st
from tensorflow.core.protobuf import saved_model_pb2

from tfsum.inference.allowed_operations import read_definitions
from tfsum.inference.saved_model import DEFAULT_MODEL, shipped_model
from tfsum.serving.version_folders import read_records


@pytest.mark.parametrize("name", first_by_default(["transformer_tatoeba_en_fr", DEFAULT_MODEL]))
def test_a_server_loads_an_export_without_tensorflow_s_python(name):
    code = (
        "import sys; from tfsum.inference.saved_model import shipped_model;"
        "from tfsum.serving.version_folders import load_servable;"
        f"load_servable('news', 2, shipped_model('{name}'));"
        "print({'tensorflow', 'keras', 'tensorflow_text'} & sys.modules.keys())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, check=True, text=True, timeout=600
    )
    assert run.stdout == "set()\n"


def test_definitions_are_those_that_tensorflow_reads():
    ours = read_definitions(shipped_model())
    content = (shipped_model() / "saved_model.pb").read_bytes()
    (graph,) = saved_model_pb2.SavedModel.FromString(content).meta_graphs
    assert ours.keys() == graph.signature_def.keys()
    for name, definition in ours.items():
        assert MessageToDict(definition) == MessageToDict(graph.signature_def[name])


@given(st.lists(st.binary(max_size=300), max_size=5))
def test_records_are_those_that_tensorflow_writes(tmp_path_factory, records):
    file = tmp_path_factory.mktemp("records") / "file"
    with tf.io.TFRecordWriter(str(file)) as writer:
        for record in records:
            writer.write(record)
    assert [*read_records(file)] == records

    content = file.read_bytes()
    for cut in {1, 11, len(content) - 1} if records else ():
        file.write_bytes(content[:cut])
        with pytest.raises(ValueError, match="truncated record"):
            list(read_records(file))
