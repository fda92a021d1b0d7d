"""What a walk counts."""

import threading

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


def test_returns_to_a_room():
    files = ["cli/main.py", "cli/parser.py", "text/a.py", "cli/b.py", "errors.py", "text/c.py"]
    assert walks.returns(files) == 2
    assert walks.row({file: {("", 1), ("", 2)} for file in files}) == {
        "files": "6",
        "lines": "12",
        "returns": "2",
    }
