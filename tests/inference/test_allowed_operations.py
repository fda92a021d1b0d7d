"""Models that would read or write files are refused before they are loaded."""

import pytest

tf = pytest.importorskip("tensorflow")

from tensorflow.core.protobuf import saved_model_pb2

from tfsum.errors import ExportError
from tfsum.inference.allowed_operations import check_operations
from tfsum.inference.exported_model import EagerModel
from tfsum.inference.saved_model import shipped_model


class Model(tf.Module):
    """A signature that does what `act` does with a text; a variable, so that there is a saver."""

    def __init__(self, act):
        super().__init__()
        self.weight = tf.Variable(1.0)
        self.act = act

    @tf.function(input_signature=[tf.TensorSpec([], tf.string)])
    def serve(self, text):
        return {"weight": self.weight * self.act(text)}


def saved(folder, act):
    module = Model(act)
    tf.saved_model.save(module, str(folder), signatures=module.serve)
    return folder


def write(path):
    def act(text):
        with tf.control_dependencies(
            [
                tf.raw_ops.SaveV2(
                    prefix=path, tensor_names=["a"], shape_and_slices=[""], tensors=[text]
                )
            ]
        ):
            return tf.constant(2.0)

    return act


def test_the_saver_of_a_model_may_use_files(tmp_path):
    operations = check_operations(saved(tmp_path / "1", lambda text: 2.0), "core")
    assert {"SaveV2", "RestoreV2"} <= set(operations)


def test_others_may_not(tmp_path):
    folder = saved(tmp_path / "1", write(str(tmp_path / "written")))
    with pytest.raises(ExportError, match="reads or writes files, which only the saver"):
        EagerModel(folder, {"ops": "core"})


def restore_of(graph):
    """The nodes of the function that restores a model, and the node that calls it."""
    (call,) = [
        node for node in graph.graph_def.node if node.name == graph.saver_def.restore_op_name
    ]
    (function,) = [
        function
        for function in graph.graph_def.library.function
        if function.signature.name == call.attr["f"].func.name
    ]
    return function.node_def, call


@pytest.mark.parametrize("kind", ["writes", "reads", "is told", "calls"])
def test_what_restores_a_model_reads_the_given_file_alone(tmp_path, kind):
    folder = saved(tmp_path / "1", lambda text: 2.0)
    path = folder / "saved_model.pb"
    model = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    (graph,) = model.meta_graphs
    nodes, call = restore_of(graph)
    (restore,) = [node for node in nodes if node.op == "RestoreV2"]
    constant = next(node for node in nodes if node.op == "Const")
    if kind == "writes":
        nodes.add(name="write", op="SaveV2", input=[f"{constant.name}:output:0"] * 4)
    elif kind == "reads":
        restore.input[0] = f"{constant.name}:output:0"
    elif kind == "is told":
        graph.graph_def.node.add().CopyFrom(constant)
        call.input[0] = constant.name
    else:  # the function that saves, with a constant
        save = next(
            function.signature.name
            for function in graph.graph_def.library.function
            if any(node.op == "SaveV2" for node in function.node_def)
        )
        nodes.add(name="save", op="PartitionedCall").attr["f"].func.name = save
    path.write_bytes(model.SerializeToString())
    with pytest.raises(ExportError, match="reads or writes files, which only the saver"):
        check_operations(folder, "core")


def test_an_object_may_not_name_the_function_of_the_saver(tmp_path):
    folder = saved(tmp_path / "1", lambda text: 2.0)
    proto = saved_model_pb2.SavedModel.FromString((folder / "saved_model.pb").read_bytes())
    (graph,) = proto.meta_graphs
    (saves,) = (
        f.signature.name for f in graph.graph_def.library.function if "save" in f.signature.name
    )
    graph.object_graph_def.nodes.add().bare_concrete_function.concrete_function_name = saves
    (folder / "saved_model.pb").write_bytes(proto.SerializeToString())
    with pytest.raises(ExportError, match=f"{saves} reads or writes files"):
        EagerModel(folder, {"ops": "core"})


def test_an_initializer_that_reads_a_file_never_runs(tmp_path):
    words = tmp_path / "words.txt"
    words.write_text("rain\n")
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.TextFileInitializer(
            str(words),
            tf.string,
            tf.lookup.TextFileIndex.WHOLE_LINE,
            tf.int64,
            tf.lookup.TextFileIndex.LINE_NUMBER,
        ),
        1,
    )
    module = Model(lambda text: tf.cast(table.lookup(text), tf.float32))
    module.table = table
    tf.saved_model.save(module, str(tmp_path / "1"), signatures=module.serve)
    with pytest.raises(ExportError, match="operations .*InitializeTableFromTextFileV2.* are not"):
        EagerModel(tmp_path / "1", {"ops": "core"})


def test_a_model_of_another_exporter_may_draw_random_numbers_and_reach_no_file(tmp_path):
    random = saved(tmp_path / "1", lambda text: tf.random.uniform([]))
    assert "RandomUniform" in check_operations(random, None)
    with pytest.raises(ExportError, match="operations RandomUniform are not among those"):
        check_operations(random, "core")
    reading = saved(tmp_path / "2", lambda text: tf.strings.to_number(tf.io.read_file(text)))
    with pytest.raises(ExportError, match="operations ReadFile reach files"):
        EagerModel(reading, {})


@pytest.mark.parametrize("graphs", [0, 2])
def test_a_model_has_one_graph(tmp_path, graphs):
    proto = saved_model_pb2.SavedModel.FromString((shipped_model() / "saved_model.pb").read_bytes())
    one = proto.meta_graphs[0]
    (tmp_path / "saved_model.pb").write_bytes(
        saved_model_pb2.SavedModel(meta_graphs=[one] * graphs).SerializeToString()
    )
    with pytest.raises(ExportError, match=f"has {graphs} graphs, expected the one"):
        check_operations(tmp_path, "core")


def test_the_operations_are_those_of_core_or_text():
    with pytest.raises(ExportError, match="its ops are 'all', expected 'core' or 'text'"):
        check_operations(shipped_model(), "all")


@pytest.mark.parametrize("sizes", [[-5], [1 << 62, 1 << 62]])
def test_a_constant_has_a_shape_that_a_tensor_can_have(tmp_path, sizes):
    """TensorFlow ends the process where it has another."""
    proto = saved_model_pb2.SavedModel.FromString((shipped_model() / "saved_model.pb").read_bytes())
    nodes = proto.meta_graphs[0].graph_def.node
    constant = next(node for node in nodes if node.op == "Const")
    shape = constant.attr["value"].tensor.tensor_shape
    shape.Clear()
    for size in sizes:
        shape.dim.add(size=size)
    (tmp_path / "saved_model.pb").write_bytes(proto.SerializeToString())
    with pytest.raises(ExportError, match=f"constant {constant.name} has a shape that no tensor"):
        check_operations(tmp_path, "core")
