"""Files that are complete or not at all, through links; devices and pipes are written into and
never replaced."""

import os
import pathlib
import stat
import threading

import pytest

from tfsum import atomic_files
from tfsum.atomic_files import atomic_path, remove_unfinished, write_atomically


def test_a_file_is_replaced_and_keeps_its_permissions(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("before")
    path.chmod(0o640)
    write_atomically(path, "after")
    assert path.read_text() == "after" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("there", [True, False], ids=["a file", "no file yet"])
def test_a_link_stays_and_its_file_is_written(tmp_path, there):
    (tmp_path / "deep").mkdir()
    target, link = tmp_path / "deep" / "page.html", tmp_path / "link.html"
    if there:
        target.write_text("before")
    link.symlink_to(pathlib.Path("deep", "page.html"))
    write_atomically(link, "after")
    assert link.is_symlink() and target.read_text() == "after"
    assert list((tmp_path / "deep").iterdir()) == [target]


def test_a_planted_link_is_not_followed(tmp_path, monkeypatch):
    """Whoever may write into the folder, and knows the temporary name, gains nothing."""
    monkeypatch.setattr(atomic_files.secrets, "token_hex", lambda _: "known")
    (tmp_path / "victim").write_text("kept")
    (tmp_path / ".page.html.known.part").symlink_to(tmp_path / "victim")
    with pytest.raises(FileExistsError):
        write_atomically(tmp_path / "page.html", "after")
    assert (tmp_path / "victim").read_text() == "kept"


def test_file_and_name_are_on_the_disk(tmp_path, monkeypatch):
    """The content before the name is given to it, and then the name."""
    synced, fsync, replace = [], os.fsync, os.replace

    def sync(number):
        synced.append(pathlib.Path(os.readlink(f"/proc/self/fd/{number}")).name)
        fsync(number)

    def rename(*paths):
        synced.append("renamed")
        replace(*paths)

    monkeypatch.setattr(atomic_files.secrets, "token_hex", lambda _: "random")
    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(os, "replace", rename)
    write_atomically(tmp_path / "page.html", "after")
    assert synced == [".page.html.random.part", "renamed", tmp_path.name]


def test_a_pipe_is_written_into(tmp_path):
    path, found = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_text()))
    reader.start()
    write_atomically(path, "through")
    reader.join()
    assert found == ["through"] and stat.S_ISFIFO(path.stat().st_mode)


def test_a_device_is_written_into():
    before = os.stat("/dev/null")
    write_atomically("/dev/null", "gone")
    assert os.stat("/dev/null").st_rdev == before.st_rdev
    with pytest.raises(OSError, match="No space left"):
        write_atomically("/dev/full", "x" * 10_000)
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)


def test_a_folder_is_no_file(tmp_path):
    with pytest.raises(OSError):
        write_atomically(tmp_path, "x")
    assert list(tmp_path.iterdir()) == []


def test_a_process_that_ends_at_once_removes_what_is_unfinished(tmp_path):
    with pytest.raises(FileNotFoundError), atomic_path(tmp_path / "page.html") as part:
        part.write_text("half")
        remove_unfinished()
        assert list(tmp_path.iterdir()) == []
