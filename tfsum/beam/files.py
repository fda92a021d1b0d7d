"""Files of documents to files of summaries: the pipeline of `tfsum pipeline summarize`."""

import glob
import json
import pathlib
from collections.abc import Sequence
from typing import Any

import apache_beam as beam
from apache_beam.io.filesystems import FileSystems
from apache_beam.runners.runner import PipelineResult

from tfsum.beam.counting import Count, counted
from tfsum.beam.documents import ReadDocuments
from tfsum.beam.outputs import ANSWERS, FAILED, WriteAnswers, WriteFailed
from tfsum.beam.running import file_errors, running
from tfsum.beam.saved_model_handler import MAX_CHARACTERS
from tfsum.beam.transforms import Generate, Summarize
from tfsum.errors import DataError, Error, ExportError

COUNTS = "counts.json"


def summarize_files(
    pattern: str,
    output: str,
    *,
    field: str = "text",
    id_field: str | None = None,
    output_format: str = "parquet",
    shards: int = 8,
    model: str | pathlib.Path | None = None,
    max_characters: int = MAX_CHARACTERS,
    runner: str = "DirectRunner",
    pipeline_options: Sequence[str] = (),
    **options: Any,
) -> dict[str, int]:
    """Summarizes the documents of files by a pipeline; each has an answer or a line in the dead-letter file.

    The output is complete when `counts.json` is in it. A second call computes everything again and replaces the
    files, so that nothing is lost or there twice, however the first one ended. Two calls at a time need two folders.

    Args:
        pattern: files of JSON lines, such as "docs/*.jsonl.gz".
        output: the folder of `answers-*`, `dead_letters.jsonl` and `counts.json`.
        field: the field that holds the text.
        id_field: the field that becomes the key of an answer; None for FILE:LINE.
        output_format: "parquet" or "jsonl".
        shards: number of files of answers.
        model: folder of an exported extractive or abstractive model; the shipped extractive one by default.
        max_characters: a longer document is not read and fails.
        runner: name of Beam's runner, see `tfsum.beam.running`.
        pipeline_options: options of the pipeline and its runner.
        **options: of an extractive model's call: `sentences`, `block_trigrams`, `newline`.

    Returns:
        The counts: documents, answers and dead_letters.

    Raises:
        DataError: no file matches.
        ExportError: the model does not exist, is corrupt, or writes no summaries.
        Error: the output holds files of other settings, or the pipeline fails.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "a.jsonl").write_text(
        ...     '{"text": "It rained. The bridge was closed."}\\n{}\\n'
        ... )
        >>> summarize_files(
        ...     str(folder / "*.jsonl"), str(folder / "out"), output_format="jsonl", sentences=1
        ... )
        {'documents': 2, 'answers': 1, 'dead_letters': 1}
    """
    transform = _transform(model, max_characters, options)
    with file_errors(pattern):
        _check_input(pattern)
    with file_errors(output):
        write = WriteAnswers(output, transform.row, output_format, shards)
        _clear(output, output_format, shards)
    results: list[PipelineResult] = []
    with running(runner, pipeline_options, results) as pipeline:
        read = pipeline | ReadDocuments(pattern, field, id_field, max_characters)
        # A file is read by one worker; its documents are shared among all.
        answered = read.documents | "Spread documents" >> beam.Reshuffle() | transform
        _ = answered.answers | Count("answers") | write
        _ = (
            (read.failed, answered.failed)
            | beam.Flatten()
            | Count("dead_letters")
            | WriteFailed(output)
        )
    answers, dead_letters = (counted(results[0], name) for name in ("answers", "dead_letters"))
    counts = {"documents": answers + dead_letters, "answers": answers, "dead_letters": dead_letters}
    with file_errors(output), FileSystems.create(FileSystems.join(output, COUNTS)) as file:
        file.write((json.dumps(counts) + "\n").encode())
    return counts


def _transform(
    model: str | pathlib.Path | None, max_characters: int, options: dict[str, Any]
) -> Summarize | Generate:
    """The transform for a model of this machine, by its kind."""
    kind = "extractive"
    if model is not None:
        from tfsum.inference.saved_model import newest, read_description

        kind = read_description(newest(model))["kind"]
    if kind == "extractive":
        return Summarize(model, **options, max_characters=max_characters)
    if kind != "abstractive" or model is None:
        raise ExportError(
            f"{model}: is of kind {kind!r}, which writes no summary; give an extractive or abstractive "
            "model"
        )
    if options:
        raise Error(
            f"{', '.join(options)}: {model} is not extractive: it generates its answer; leave them out"
        )
    return Generate(model, max_characters=max_characters)


def _check_input(pattern: str) -> None:
    (found,) = FileSystems.match([pattern], limits=[1])
    if not found.metadata_list:
        raise DataError(f"{pattern}: no file matches; expected files of JSON lines")


def _clear(output: str, output_format: str, shards: int) -> None:
    """Makes the folder ready: no sign that it is complete, nothing of a stopped run, no answers of other settings."""
    expected = {f"{ANSWERS}-{shard:05d}-of-{shards:05d}.{output_format}" for shard in range(shards)}
    for path in _matching(output, f"{ANSWERS}-*"):
        if FileSystems.split(path)[1] not in expected:
            raise Error(
                f"{path}: is of another run, with another number of shards or another format; choose another "
                f"output, or remove {output}"
            )
    _delete([FileSystems.join(output, COUNTS)])
    # Beam writes into folders of these names, and leaves them where it is killed.
    parts = [
        path for name in (ANSWERS, FAILED) for path in _matching(output, f"beam-temp-{name}-*/*")
    ]
    _delete(parts)
    folders = {FileSystems.split(path)[0] for path in parts}
    for name in (
        ANSWERS,
        FAILED,
    ):  # those without a file, which Beam's match does not find, are on disks alone
        folders |= set(glob.glob(f"{glob.escape(output)}/beam-temp-{name}-*"))
    _delete(sorted(folders))


def _delete(paths: list[str]) -> None:
    if there := [path for path in paths if FileSystems.exists(path)]:
        FileSystems.delete(there)


def _matching(output: str, pattern: str) -> list[str]:
    (found,) = FileSystems.match([FileSystems.join(output, pattern)])
    return [file.path for file in found.metadata_list]
