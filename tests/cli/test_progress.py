"""The bars that a terminal shows; nothing where there is none."""

import contextlib
import io
import threading

import pytest

from tfsum.cli import progress


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_large_text_has_a_bar_that_moves_by_itself(monkeypatch):
    terminal = Terminal()
    monkeypatch.setattr(progress, "SECONDS", 0.01)
    asked, moved = [], threading.Event()
    write = terminal.write
    terminal.write = lambda text: (moved.set() if "1 of about" in text else None, write(text))[1]

    def answer(text):
        asked.append(len(text))
        if len(text) == progress.TRIAL:
            threading.Event().wait(0.2)  # so that the whole is estimated to take seconds

    with (
        contextlib.redirect_stderr(terminal),
        progress.large_text_bar("war.txt", ["a", "b" * 2_000_000], answer),
    ):
        assert moved.wait(60)  # while the one call of the graph would run
    assert asked == [progress.TRIAL // 10, progress.TRIAL]
    assert "war.txt, 2.0 MB (estimated):" in terminal.getvalue()


def test_small_texts_and_other_streams_have_none():
    terminal = Terminal()
    with (
        contextlib.redirect_stderr(terminal),
        progress.large_text_bar("a.txt", ["b" * 1000], pytest.fail),
    ):
        pass
    assert terminal.getvalue() == ""
    pipe = io.StringIO()
    large = ["b" * 2_000_000]
    with (
        contextlib.redirect_stderr(pipe),
        progress.large_text_bar("war.txt", large, pytest.fail),
        progress.documents_bar(3) as bar,
    ):
        bar.update()
    assert pipe.getvalue() == ""


def test_several_documents_are_counted():
    terminal = Terminal()
    with contextlib.redirect_stderr(terminal), progress.documents_bar(2) as bar:
        bar.update(2)
    assert "2/2" in terminal.getvalue()
    with progress.documents_bar(1) as bar:
        assert bar.disable
