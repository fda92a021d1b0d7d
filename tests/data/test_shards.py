"""The manifest of a folder of shards: what it checks, and what it is not."""

import pathlib

import pytest

from tfsum.data.shards import Manifest
from tfsum.errors import DataError, Error


def written(folder: pathlib.Path, contents: dict[str, bytes]) -> Manifest:
    """A manifest of finished shards."""
    manifest = Manifest.open(folder, {"shards": len(contents)})
    for name, content in contents.items():
        (folder / name).write_bytes(content)
        manifest.add(name, {"documents": 1, "read": 1})
    manifest.finish({})
    return manifest


@pytest.mark.parametrize("content", [b"", b"half", b"another", None], ids=str)
def test_a_shard_that_is_not_as_it_was_written_is_not_finished(tmp_path, content):
    """By its size and its checksum, not by its name alone."""
    written(tmp_path, {"a.tfrecord": b"records", "b.tfrecord": b"records"})
    assert Manifest.open(tmp_path, {"shards": 2}).is_finished()

    if content is None:
        (tmp_path / "b.tfrecord").unlink()
    else:
        (tmp_path / "b.tfrecord").write_bytes(content)
    manifest = Manifest.open(tmp_path, {"shards": 2})
    assert not manifest.is_finished()
    manifest.forget_missing(["a.tfrecord", "b.tfrecord"])
    assert list(manifest.shards) == ["a.tfrecord"]


@pytest.mark.parametrize(
    "content", ['{"settings": {}, "shards": {}, "files": []}', "[]", "[" * 100_000]
)
def test_what_is_no_manifest_is_named(tmp_path, content):
    (tmp_path / "manifest.json").write_text(content)
    with pytest.raises(DataError, match="manifest.json: not a manifest of tfsum prepare"):
        Manifest.open(tmp_path, {})


def test_a_manifest_that_cannot_be_written_is_named(tmp_path, monkeypatch):
    manifest = Manifest.open(tmp_path, {"shards": 1})
    (tmp_path / "a.tfrecord").write_bytes(b"records")

    def full(self, content):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pathlib.Path, "write_bytes", full)
    with pytest.raises(Error, match=r"manifest.json: cannot be written \(No space left"):
        manifest.add("a.tfrecord", {"documents": 1})
