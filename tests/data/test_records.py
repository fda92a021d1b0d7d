"""Shards of records on a disk that is full."""

import pytest
import tensorflow as tf

from tfsum.data.records import write_shard
from tfsum.errors import DataError, Error


def test_a_full_disk_is_one_error_of_one_line():
    with pytest.raises(
        Error, match="^/dev/full: cannot be written .*No space left on device.*; make room"
    ) as caught:
        write_shard("/dev/full", [b"x" * 1_000_000] * 3)
    assert "\n" not in str(caught.value)


def test_nothing_half_written_is_left(tmp_path, monkeypatch):
    class Full(tf.io.TFRecordWriter):
        def write(self, record):
            raise tf.errors.ResourceExhaustedError(None, None, "No space left on device\nmore")

    monkeypatch.setattr(tf.io, "TFRecordWriter", Full)
    with pytest.raises(
        Error, match=r"a.tfrecord: cannot be written \(No space left on device\); make room"
    ):
        write_shard(tmp_path / "a.tfrecord", [b"one"])
    assert not list(tmp_path.iterdir())


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(Error, match=r"none/a.tfrecord: cannot be written \(No such file"):
        write_shard(tmp_path / "none" / "a.tfrecord", [b"one"])


def test_an_error_of_the_corpus_stays_what_it_is(tmp_path):
    def records():
        yield b"one"
        raise DataError("corpus.jsonl:2: not JSON")

    with pytest.raises(DataError, match=r"^corpus.jsonl:2: not JSON$"):
        write_shard(tmp_path / "a.tfrecord", records())
    assert not list(tmp_path.iterdir())
