"""Folders NAME/VERSION of exported models: which exist, which are complete, and which a policy
serves."""

import pathlib
import re
from collections.abc import Iterable

from tfsum.errors import Error
from tfsum.inference.saved_model import numbered

SHARD = re.compile(r"variables/variables\.data-\d{5}-of-(\d{5})", re.ASCII)

# (path, bytes, nanoseconds of the last change) of each file of a folder
Fingerprint = tuple[tuple[str, int, int], ...]


def find_models(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """Finds the models of a folder.

    Args:
        folder: Directory with folders NAME/VERSION, or one NAME with folders VERSION.

    Returns:
        Name -> folder of the model.

    Raises:
        Error: There is no such folder.

    Example:
        >>> from tfsum.inference.saved_model import shipped_folder
        >>> "bert_sum_ext_news_en" in find_models(shipped_folder())
        True
        >>> list(find_models(shipped_folder() / "bert_sum_ext_news_en"))
        ['bert_sum_ext_news_en']
    """
    if not folder.is_dir():
        raise Error(
            f"{folder}: no such folder; expected one with folders NAME/VERSION of exported models"
        )
    if numbered(folder):
        return {folder.resolve().name: folder}

    return {
        path.name: path for path in sorted(folder.iterdir()) if path.is_dir() and numbered(path)
    }


def fingerprint(folder: pathlib.Path) -> Fingerprint:
    """Lists the files of a version; a different result means that a file has changed.

    Args:
        folder: Folder NAME/VERSION.

    Returns:
        Path, size in bytes and time in nanoseconds of each file; empty if the folder is not a
        complete SavedModel.

    Example:
        >>> from tfsum.inference.saved_model import shipped_model
        >>> [path for path, _, _ in fingerprint(shipped_model())][-1]
        'variables/variables.index'
    """
    try:
        stats = {
            file.relative_to(folder).as_posix(): file.stat()
            for file in sorted(folder.rglob("*"))
            if file.is_file()
        }
    except OSError:
        return ()

    complete = "saved_model.pb" in stats
    if (folder / "variables").is_dir():
        complete &= "variables/variables.index" in stats and _has_all_shards(stats)
    if "assets.extra/golden.json" in stats:  # tfsum wrote it
        complete &= "assets.extra/tfsum.json" in stats
    if not complete:
        return ()
    return tuple((name, stat.st_size, stat.st_mtime_ns) for name, stat in stats.items())


def select_versions(versions: Iterable[int], policy: str) -> set[int]:
    """The versions that a policy serves.

    Args:
        versions: Numbers of the versions that exist.
        policy: "latest:N", "all" or "specific:N,M".

    Raises:
        Error: There is no such policy.

    Example:
        >>> sorted(select_versions([17, 30, 33, 42], "latest:3"))
        [30, 33, 42]
        >>> sorted(select_versions([17, 30], "specific:17,99"))
        [17]
    """
    kind, _, text = policy.partition(":")
    try:
        match kind:
            case "all" if not text:
                return set(versions)
            case "latest" if int(text or "1") > 0:
                return set(sorted(versions)[-int(text or "1") :])
            case "specific":
                return {int(number) for number in text.split(",") if number} & set(versions)
    except ValueError:
        pass
    raise Error(f"version policy {policy!r}; expected latest:N, all, or specific:N,M")


def _has_all_shards(names: Iterable[str]) -> bool:
    """Whether all files of the weights exist: they end in -00000-of-00002, -00001-of-00002."""
    counts = [match[1] for match in map(SHARD.fullmatch, names) if match]
    return bool(counts) and len(counts) == int(counts[0])
