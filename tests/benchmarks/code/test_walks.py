"""What a walk counts."""

import asyncio
import importlib
import threading

import pytest

from benchmarks.code import walks

MODULE = """
VALUE = 1


class Reader:
    size = 2

    def read(self):
        return self.size


def unused():
    return 3
"""

COROUTINE = """
async def clock():
    await asyncio.sleep(0)
    return "late"
"""


def test_lines_of_functions_are_counted_in_threads_too(tmp_path, monkeypatch):
    monkeypatch.setattr(walks, "PACKAGE", tmp_path)
    names = {"__file__": str(tmp_path / "text" / "words.py")}
    with walks.traced() as walk:
        exec(compile(MODULE, names["__file__"], "exec"), names)
        assert walk == {}
        thread = threading.Thread(target=names["Reader"]().read)
        thread.start()
        thread.join()
    assert {file: {line for _, line in lines} for file, lines in walk.items()} == {
        "text/words.py": {8, 9}
    }


def test_what_an_import_executes_is_not_counted(tmp_path, monkeypatch):
    monkeypatch.setattr(walks, "PACKAGE", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "a_module_of_a_walk.py").write_text("def f():\n    return 1\n\n\nVALUE = f()\n")
    with walks.traced() as walk:
        module = importlib.import_module("a_module_of_a_walk")
        assert walk == {} and module.f() == 1
    assert list(walk) == ["a_module_of_a_walk.py"]


def test_a_coroutine_that_goes_on_is_of_the_walk_in_which_it_began(tmp_path, monkeypatch):
    monkeypatch.setattr(walks, "PACKAGE", tmp_path)
    names = {"__file__": str(tmp_path / "server.py"), "asyncio": asyncio}
    exec(compile(COROUTINE, names["__file__"], "exec"), names)
    with walks.traced() as walk:
        clock = names["clock"]()
        clock.send(None)
        assert {line for _, line in walk["server.py"]} == {2, 3}
        walk.clear()
        with pytest.raises(StopIteration):
            clock.send(None)
    assert walk == {}


def test_returns_to_a_room():
    files = ["cli/main.py", "cli/parser.py", "text/a.py", "cli/b.py", "errors.py", "text/c.py"]
    assert walks.returns(files) == 2
    assert walks.counts({file: {("", 1), ("", 2)} for file in files}) == {
        "files": "6",
        "lines": "12",
        "returns": "2",
    }


@pytest.mark.slow  # traces a step
def test_a_row_goes_from_its_records_to_the_weights():
    files = walks.row()
    assert {"data/records.py", "trainer/exact_step.py", "layers/encoder.py"} <= files.keys()
    rooms = {file.partition("/")[0] for file in files}
    assert not rooms & {"cli", "evaluation", "formats"} and len(files) <= 20


@pytest.mark.slow  # traces a server
def test_a_request_returns_to_no_room():
    files = walks.request()
    assert {"request.py", "inference/texts.py", "tasks/bert_sum_ext/answering.py"} <= files.keys()
    assert walks.returns([*files]) == 0 and len(files) <= 14
