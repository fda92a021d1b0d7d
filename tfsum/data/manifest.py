"""The manifest of a folder of shards: their settings, and what each finished one counted."""

import collections
import dataclasses
import hashlib
import json
import pathlib

from tfsum.atomic_files import remove_parts, write_atomically
from tfsum.errors import DataError, Error

FILE_NAME = "manifest.json"


@dataclasses.dataclass
class Manifest:
    """What `manifest.json` says.

    Attributes:
        folder: where it lies.
        settings: everything that decides what the records hold, file digests included.
        shards: counts of each finished shard, by file name.
    """

    folder: pathlib.Path
    settings: dict
    shards: dict[str, dict[str, int]]

    @classmethod
    def open(cls, folder: str | pathlib.Path, settings: dict) -> "Manifest":
        """Takes up the manifest of `folder`, or begins one.

        Raises:
            DataError: if the file is no manifest.
            Error: if it was made with other settings, or the folder cannot be made.
        """
        folder = pathlib.Path(folder)
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Error(f"{folder}: cannot be made a folder of records ({error.strerror}); choose another") from None
        file = folder / FILE_NAME
        if not file.exists():
            return cls(folder, settings, {})
        try:
            content = json.loads(file.read_text(encoding="utf-8"))
            found, shards = content["settings"], content["shards"]
        except (ValueError, KeyError, TypeError) as error:
            raise DataError(
                f"{file}: not a manifest of tfsum prepare ({error}); remove it to begin anew"
            ) from error
        names = sorted(name for name in settings | found if settings.get(name) != found.get(name))
        if names:
            changes = ", ".join(f"{name} {found.get(name)!r} (now {settings.get(name)!r})" for name in names)
            raise Error(
                f"{folder}: was prepared with other settings: {changes}; choose another folder "
                "(of a recipe: --set data.records=FOLDER) or remove it"
            )
        return cls(folder, settings, shards)

    def forget_missing(self, names: list[str]) -> None:
        """Drops finished shards whose file is gone, and half-written files that a killed run left behind."""
        self.shards = {
            name: counts
            for name, counts in self.shards.items()
            if name in names and (self.folder / name).is_file()
        }
        for name in names:
            remove_parts(self.folder / name)

    def add(self, name: str, counts: dict[str, int]) -> None:
        """Notes a finished shard."""
        self.shards[name] = counts
        self._write({})

    def finish(self, left_out: dict[str, int]) -> dict[str, int]:
        """Adds up the shards and what the corpus left out.

        Args:
            left_out: documents left out of all shards, by reason.

        Returns:
            The total counts, as written in the file under `counts`.
        """
        total = collections.Counter(left_out)
        for counts in self.shards.values():
            total.update(counts)
        total.pop("read", None)
        total["dropped"] = sum(total[reason] for reason in left_out)
        self._write(dict(total))
        return dict(total)

    def _write(self, counts: dict[str, int]) -> None:
        """Writes the file whole; `counts` is empty until all shards are done."""
        content = {
            "format": 1,
            "settings": self.settings,
            "settings_hash": hashlib.sha256(json.dumps(self.settings, sort_keys=True).encode()).hexdigest(),
            "counts": counts,
            "shards": dict(sorted(self.shards.items())),
        }
        write_atomically(self.folder / FILE_NAME, json.dumps(content, indent=1, ensure_ascii=False) + "\n")


def digest(path: str | pathlib.Path) -> str:
    """SHA-256 of a file, so that a corpus or vocabulary is known by what it holds.

    Raises:
        DataError: if the file cannot be read.
    """
    try:
        with open(path, "rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}); expected a file") from error
