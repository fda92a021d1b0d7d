"""The files of a corpus: one, those of a folder or of a pattern, or the stories of a list of addresses."""

import glob
import hashlib
import pathlib
from collections.abc import Iterable

from tfsum.data.corpus_file import KINDS, name_kind
from tfsum.data.manifest import digest
from tfsum.errors import DataError

IN_FOLDERS = (".story", ".json", ".pt", *KINDS)
_ADDRESS = (b"http://", b"https://")


def corpus_files(corpus: str | pathlib.Path) -> list[pathlib.Path]:
    """The files of a corpus, in the order in which they are read.

    Args:
        corpus: a file; a folder, whose files are all of one kind; a pattern such as `cnndm.train.*.pt`; or a text file
            of the addresses of news stories, one a line. The name of a story is the SHA-1 of its address, as in the
            files of Hermann et al. 2015, and its file is in the folder of the list, or in a folder below.

    Returns:
        The files: of a folder and of a pattern by name, of a list in its order.

    Raises:
        DataError: a folder or a pattern has no file of a corpus, or files of several kinds; or stories are missing.

    Source: nlpyang/PreSumm, prepro/data_builder.py, `hashhex` and `format_to_lines`.

    Example:
        >>> import tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "08bf018473aacbd6e9c698630d0d04a695c82f5c.story").write_text("It rained.")
        >>> _ = (folder / "test_urls.txt").write_text("http://www.cnn.com/a\\n")
        >>> [file.suffix for file in corpus_files(folder / "test_urls.txt")]
        ['.story']
    """
    path = pathlib.Path(corpus)
    if path.is_dir():
        return _in_folder(path)
    if path.is_file():
        return _stories(path) if _is_list(path) else [path]
    if not path.exists() and glob.has_magic(str(corpus)):
        if found := [pathlib.Path(name) for name in sorted(glob.glob(str(corpus)))]:
            return found
        raise DataError(
            f"{corpus}: no file has a name of this pattern; look at the folder, or name one file"
        )
    return [path]


def corpus_digest(corpus: str | pathlib.Path) -> str:
    """SHA-256 of what a corpus consists of: of its file, or of the names and contents of its files.

    Example:
        >>> corpus_digest(__file__)  # doctest: +SKIP
        '0f343b0931126a20f133d67c2b018a3b5f...'
    """
    files = corpus_files(corpus)
    if files == [pathlib.Path(corpus)]:
        return digest(files[0])
    return hashlib.sha256(
        "\n".join(f"{digest(file)} {file.name}" for file in files).encode()
    ).hexdigest()


def _in_folder(folder: pathlib.Path) -> list[pathlib.Path]:
    files = sorted(file for file in folder.iterdir() if name_kind(file) in IN_FOLDERS)
    kinds = sorted({name_kind(file) for file in files})
    if len(kinds) == 1:
        return files
    found = f"files of several kinds ({', '.join(kinds)})" if kinds else "no file of a corpus"
    raise DataError(
        f"{folder}: found {found}, expected files of one of the kinds {', '.join(IN_FOLDERS)}; name a "
        f"file, or those that are meant by a pattern such as {folder / '*.story'}"
    )


def _is_list(path: pathlib.Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(8).lower().startswith(_ADDRESS)
    except OSError:  # whoever reads the file reports it
        return False


def _stories(path: pathlib.Path) -> list[pathlib.Path]:
    try:
        addresses = [line.strip() for line in path.read_text(encoding="utf-8").split("\n")]
    except (OSError, UnicodeDecodeError) as error:
        raise DataError(
            f"{path}: cannot be read ({error}); expected addresses of stories in UTF-8, one a line"
        ) from error
    wanted = {
        hashlib.sha1(address.encode()).hexdigest(): address for address in addresses if address
    }
    found = _by_hash(path.parent.rglob("*.story*"))
    if missing := [name for name in wanted if name not in found]:
        raise DataError(
            f"{path}: {len(missing)} of its {len(wanted)} stories are not in {path.parent} or a folder "
            f"below, such as {missing[0]}.story of {wanted[missing[0]]}; unpack the stories there, or take "
            "the addresses out"
        )
    return [found[name] for name in wanted]


def _by_hash(files: Iterable[pathlib.Path]) -> dict[str, pathlib.Path]:
    """Files by the beginning of their names; `NAME.story.json` of CoreNLP comes before `NAME.story`."""
    return {file.name.split(".", 1)[0]: file for file in sorted(files)}
