"""Private names of other packages: all are listed here, checked where they are used, and their
packages bounded."""

import ast
import asyncio
import configparser
import pathlib

import keras
import numpy as np
import pytest
from packaging.requirements import Requirement

from tfsum.errors import Error
from tfsum.models.model import Model
from tfsum.private_names import check_private_names
from tfsum.trainer.exact_step import ExactTrainer, take_reduced_gradients
from tfsum.training.optimizer import Adam

ROOT = pathlib.Path(__file__).resolve().parents[1]
USED = {
    "keras": {
        "_all_reduce_sum_gradients",
        "_get_variable_index",
        "_use_weight_decay",
    },
    "tensorflow": {"_check_health_interval", "_check_health_timeout"},
    # documented by Python, in spite of their names, but for argparse's `_actions`, which shtab
    # itself reads
    "Python": {"_actions", "_asdict", "_exit"},
}
# The names of these are not private by their form, and undocumented: tfsum.serving.server.
UNDOCUMENTED = ("uvicorn", "h11", "starlette")


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def names_of_others(trees: list[ast.Module]) -> set[str]:
    """Private attributes that are read or set in the package, and are defined nowhere in it."""
    own, used = set(), set()
    for node in (node for tree in trees for node in ast.walk(tree)):
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                own.add(node.name)
            case ast.Attribute(value=ast.Name(id="self"), ctx=ast.Store()):
                own.add(node.attr)
            case ast.Attribute():
                used.add(node.attr)
            case ast.Name(ctx=ast.Store()):
                own.add(node.id)
            case ast.ImportFrom():
                found = {alias.name for alias in node.names}
                (own if str(node.module).startswith("tfsum") else used).update(found)
    return {name for name in used - own if private(name)}


def test_every_private_name_of_another_package_is_listed():
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in (ROOT / "tfsum").rglob("*.py")]
    assert names_of_others(trees) == set().union(*USED.values())


def requirements() -> list[Requirement]:
    """Those of tfsum and of its extras, as setup.cfg has them."""
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    texts = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    lines = [line for text in texts for line in text.splitlines()]
    return [Requirement(line) for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("package", sorted({*USED, *UNDOCUMENTED} - {"Python"}))
def test_their_packages_are_bounded_to_tested_versions(package):
    """.ci/run installs the newest that is allowed, `.ci/full oldest` the one after `>=`."""
    found = {str(r.specifier) for r in requirements() if r.name == package}
    assert len(found) == 1, "the extras differ"
    operators = {bound.operator for bound in Requirement(f"a{found.pop()}").specifier}
    assert operators == {">=", "<"}


def test_a_name_that_is_gone_is_one_error_with_the_version():
    version = keras.__version__
    with pytest.raises(
        Error,
        match=f"^keras {version}: has no SGD._gone, a private name that tfsum uses; install .* pip"
        " install --force-reinstall tfsum$",
    ):
        check_private_names("keras", keras.optimizers.SGD, "_clip_gradients", "_gone")


class Sum(Model):
    """A model of one weight."""

    def __init__(self):
        super().__init__()
        self.weight = self.add_weight((1,), name="weight")
        self.built = True


def compiled() -> Sum:
    model = Sum()
    model.compile(optimizer=keras.optimizers.SGD(), jit_compile=False)
    return model


@pytest.mark.parametrize(
    ("owner", "name", "use"),
    [
        (
            keras.optimizers.Optimizer,
            "_all_reduce_sum_gradients",
            lambda: take_reduced_gradients(keras.optimizers.SGD()),
        ),
        (
            keras.optimizers.Optimizer,
            "_clip_gradients",
            lambda: Adam(1e-3).build([keras.Variable(np.ones(2))]),
        ),
        (keras.Model, "_maybe_symbolic_build", lambda: ExactTrainer().train_function(compiled())),
    ],
    ids=["summing gradients", "clipping them", "building a model"],
)
def test_what_nobody_would_miss_is_checked_before_it_is_used(monkeypatch, owner, name, use):
    use()
    (home,) = (base for base in owner.__mro__ if name in vars(base))
    monkeypatch.delattr(home, name)
    with pytest.raises(Error, match=rf"keras .*: has no \w+\.{name}, a private name"):
        use()


def test_what_the_connection_of_the_server_changes_is_there():
    protocol = pytest.importorskip("uvicorn.protocols.http.h11_impl", reason="needs uvicorn")
    import uvicorn

    config = uvicorn.Config(lambda scope, receive, send: None, lifespan="off", log_config=None)
    loop = asyncio.new_event_loop()
    connection = protocol.H11Protocol(config, uvicorn.server.ServerState(), {}, loop)
    loop.close()
    for name in ("cycle", "loop", "timeout_keep_alive_task", "timeout_keep_alive_handler"):
        assert hasattr(connection, name), name
    cycle = set(protocol.RequestResponseCycle.__init__.__code__.co_names)
    assert {"more_body", "response_complete", "keep_alive"} <= cycle
