"""The manifest of a folder of shards: their settings, and what each finished one counted."""

import collections
import dataclasses
import hashlib
import json
import pathlib
from typing import Any

import pydantic

from tfsum.atomic_files import remove_parts, write_atomically
from tfsum.errors import DataError, Error

FILE_NAME = "manifest.json"


class _Content(pydantic.BaseModel):
    """What is read of the file."""

    settings: dict[str, Any]
    shards: dict[str, dict[str, int]]
    counts: dict[str, int] = {}
    files: dict[str, list] = {}


@dataclasses.dataclass
class Manifest:
    """What `manifest.json` says.

    Attributes:
        folder: The folder.
        settings: Everything that decides what the records hold, file digests included.
        shards: Counts of each finished shard, by file name.
        files: Size in bytes and SHA-256 of each finished shard, by file name; those of folders that
            are older than these checks are missing.
        counts: The total, once all shards are finished.

    Example:
        >>> import tempfile
        >>> manifest = Manifest.open(tempfile.mkdtemp(), {"shards": 1})
        >>> _ = (manifest.folder / "a.tfrecord").write_bytes(b"records")
        >>> manifest.add("a.tfrecord", {"documents": 5, "read": 6})
        >>> manifest.finish({"empty": 2})
        {'empty': 2, 'documents': 5, 'dropped': 2}
        >>> Manifest.open(manifest.folder, {"shards": 2})  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.Error: ...: was prepared with other settings: shards 1 (now 2); choose ...
    """

    folder: pathlib.Path
    settings: dict[str, Any]
    shards: dict[str, dict[str, int]]
    counts: dict[str, int] = dataclasses.field(default_factory=dict)
    files: dict[str, list] = dataclasses.field(default_factory=dict)

    @classmethod
    def open(cls, folder: str | pathlib.Path, settings: dict[str, Any]) -> "Manifest":
        """Reads the manifest of `folder`, or makes a new one.

        Raises:
            DataError: If the file is no manifest.
            Error: If it was made with other settings, or the folder cannot be made.
        """
        folder = pathlib.Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Error(
                f"{folder}: cannot be made a folder of records ({error.strerror}); choose another"
            ) from None

        file = folder / FILE_NAME
        if not file.exists():
            return cls(folder, settings, {})
        try:
            content = _Content.model_validate_json(file.read_bytes())
        except pydantic.ValidationError as error:
            raise DataError(
                f"{file}: not a manifest of tfsum prepare ({error.errors()[0]['msg']}); remove it"
                " to start over"
            ) from error

        stored = content.settings
        if names := sorted(n for n in settings | stored if settings.get(n) != stored.get(n)):
            changes = ", ".join(
                f"{name} {stored.get(name)!r} (now {settings.get(name)!r})" for name in names
            )
            raise Error(
                f"{folder}: was prepared with other settings: {changes}; choose another folder "
                "(of a recipe: --set data.records=FOLDER) or remove it"
            )

        return cls(folder, settings, content.shards, content.counts, content.files)

    @property
    def settings_hash(self) -> str:
        """SHA-256 of the settings."""
        return hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest()

    def is_finished(self) -> bool:
        """Whether all shards were finished and are still as they were written."""
        return bool(self.counts) and all(map(self._is_whole, self.shards))

    def forget_missing(self, names: list[str]) -> None:
        """Drops shards whose file is gone or changed, and half-written files of a killed run."""
        self.shards = {
            name: counts
            for name, counts in self.shards.items()
            if name in names and self._is_whole(name)
        }
        for name in names:
            remove_parts(self.folder / name)

    def add(self, name: str, counts: dict[str, int], editable: bool = False) -> None:
        """Notes a finished shard, or a file that users may edit, which then is not checked."""
        self.shards[name] = counts
        if not editable:
            self.files[name] = self._size_and_digest(name)
        self._write({})

    def finish(self, left_out: dict[str, int]) -> dict[str, int]:
        """Adds up the shards and what the corpus left out.

        Args:
            left_out: Documents left out of all shards, by reason.

        Returns:
            The total counts, as written in the file under `counts`.
        """
        total = collections.Counter(left_out)
        for counts in self.shards.values():
            total.update(counts)

        total.pop("read", None)
        total["dropped"] = sum(total[reason] for reason in left_out)
        self._write(dict(total))

        return self.counts

    def _is_whole(self, name: str) -> bool:
        return (self.folder / name).is_file() and (
            name not in self.files or self.files[name] == self._size_and_digest(name)
        )

    def _size_and_digest(self, name: str) -> list:
        path = self.folder / name
        return [path.stat().st_size, digest(path)]

    def _write(self, counts: dict[str, int]) -> None:
        """Writes the file whole; `counts` is empty until all shards are done."""
        self.counts = counts
        content = {
            "format": 1,
            "settings": self.settings,
            "settings_hash": self.settings_hash,
            "counts": counts,
            "shards": dict(sorted(self.shards.items())),
            "files": {name: self.files[name] for name in sorted(self.shards) if name in self.files},
        }
        file = self.folder / FILE_NAME
        try:
            write_atomically(file, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
        except OSError as error:
            raise Error(
                f"{file}: cannot be written ({error.strerror}); make room, or choose another"
                " folder, and call again: the finished shards are kept"
            ) from None


def digest(path: str | pathlib.Path) -> str:
    """SHA-256 of a file, so that a corpus or vocabulary is known by what it holds.

    Raises:
        DataError: If the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a file") from error
