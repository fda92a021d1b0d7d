"""Folders NAME/VERSION of exported models: which there are, whether one is whole, and which a policy serves."""

import pathlib
import re

from tfsum.errors import Error

SHARD = re.compile(r"variables/variables\.data-\d{5}-of-(\d{5})", re.ASCII)

Print = tuple[tuple[str, int, int], ...]  # (path, bytes, time of change) of each file of a folder


def find_models(folder: pathlib.Path) -> dict[str, pathlib.Path]:
    """The models of a folder by name: a folder with folders NAME/VERSION, or one NAME with folders VERSION.

    Raises:
        Error: it is no folder.

    Example:
        >>> from tfsum.inference.shipped import shipped_folder
        >>> "bert_sum_ext_news_en" in find_models(shipped_folder())
        True
        >>> list(find_models(shipped_folder() / "bert_sum_ext_news_en"))
        ['bert_sum_ext_news_en']
    """
    if not folder.is_dir():
        raise Error(
            f"{folder}: no such folder; expected one with folders NAME/VERSION of exported models"
        )
    if versions_in(folder):
        return {folder.resolve().name: folder}
    return {
        path.name: path for path in sorted(folder.iterdir()) if path.is_dir() and versions_in(path)
    }


def versions_in(base: pathlib.Path) -> dict[int, pathlib.Path]:
    """The version folders of a model, by number.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> list(versions_in(shipped_model().parent))
        [1]
    """
    try:
        found = sorted(
            (path for path in base.iterdir() if path.name.isascii() and path.name.isdigit()),
            key=lambda path: path.name,
        )
        return {int(path.name): path for path in found if path.is_dir()}
    except OSError:
        return {}


def files_print(path: pathlib.Path) -> Print:
    """What the files of a folder look like from outside; () where it is not that of a whole SavedModel.

    Example:
        >>> from tfsum.inference.shipped import shipped_model
        >>> [name for name, _, _ in files_print(shipped_model())][-1]
        'variables/variables.index'
    """
    try:
        found = sorted(file for file in path.rglob("*") if file.is_file())
        prints = tuple(
            (file.relative_to(path).as_posix(), file.stat().st_size, file.stat().st_mtime_ns)
            for file in found
        )
    except OSError:
        return ()
    names = {name for name, _, _ in prints}
    whole = "saved_model.pb" in names
    if (path / "variables").is_dir():
        whole &= "variables/variables.index" in names and _all_shards(names)
    if "assets.extra/golden.json" in names:  # tfsum wrote it
        whole &= "assets.extra/tfsum.json" in names
    return prints if whole else ()


def _all_shards(names: set[str]) -> bool:
    """Whether all files of the weights are there: their names end in -00000-of-00002, -00001-of-00002."""
    shards = [found[1] for found in map(SHARD.fullmatch, names) if found]
    return bool(shards) and len(shards) == int(shards[0])


def chosen(versions: dict[int, pathlib.Path], policy: str) -> set[int]:
    """The versions that a policy serves.

    Args:
        versions: those there are.
        policy: "latest:N", "all" or "specific:N,M".

    Raises:
        Error: there is no such policy.

    Example:
        >>> sorted(chosen(dict.fromkeys([17, 30, 33, 42]), "latest:3"))
        [30, 33, 42]
        >>> sorted(chosen(dict.fromkeys([17, 30]), "specific:17,99"))
        [17]
    """
    kind, _, text = policy.partition(":")
    try:
        if kind == "all" and not text:
            return set(versions)
        if kind == "latest" and int(text or "1") > 0:
            return set(sorted(versions)[-int(text or "1") :])
        if kind == "specific":
            return {int(number) for number in text.split(",") if number} & set(versions)
    except ValueError:
        pass
    raise Error(f"version policy {policy!r}; expected latest:N, all, or specific:N,M")
