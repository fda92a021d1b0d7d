"""The repositories of `sources.toml`, and their files at the commits that are named there."""

import dataclasses
import functools
import pathlib
import re
import subprocess
import tomllib
from collections.abc import Iterator

from readers import READERS, Document, mixed

TABLE = tomllib.loads(pathlib.Path(__file__).with_name("sources.toml").read_text("utf-8"))
KEPT_OUT: dict[str, str] = TABLE["kept_out"]  # repository -> commit
LARGEST = 4_000_000  # bytes of a file; what is larger holds tables and figures


@dataclasses.dataclass(frozen=True)
class Source:
    """Files of a repository that hold texts in a language.

    Attributes:
        repository: OWNER/NAME on GitHub.
        commit: Its commit.
        files: Expression of whole paths.
        reader: Name in `READERS`.
        licence: Licence of the texts.
        domain: What they are about.
        limit: Characters that are taken.
        drop: Expression of lines that are left out.
        translation: MT where a machine translated them.
    """

    repository: str
    commit: str
    files: str
    reader: str
    licence: str
    domain: str
    limit: int = 3_000_000
    drop: str = ""
    translation: str = ""

    def documents(self, clones: pathlib.Path) -> Iterator[Document]:
        """The documents of the files."""
        for path, data in files(clones, self.repository, self.commit, self.files):
            yield from READERS[self.reader](path, data)


def sources(language: str) -> list[Source]:
    """The sources of a language, best first."""
    found = []
    for entry in TABLE["source"]:
        fields = dict(entry)
        names = dict(each.partition("=")[::2] for each in fields.pop("languages").split())
        if language not in names:
            continue
        name = names[language] or language
        fields["repository"] = fields["repository"].replace("%", name)
        fields["files"] = fields["files"].replace("%", re.escape(name))
        if "commits" in fields:
            fields["commit"] = fields.pop("commits")[language]
        found.append(Source(**fields))
    return found


def git(clone: pathlib.Path, *arguments: str) -> bytes:
    """What a command of git prints."""
    command = ["git", "-C", clone, *arguments]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE).stdout


def fetched(clones: pathlib.Path, repository: str, commit: str) -> pathlib.Path:
    """The clone of a repository; a commit that it lacks is fetched, without those before it."""
    clone = clones / repository
    command = ["git", "-C", clone, "cat-file", "-e", commit]
    if subprocess.run(command, stderr=subprocess.DEVNULL).returncode:
        clone.mkdir(parents=True, exist_ok=True)
        git(clone, "init", "--quiet")
        git(clone, "fetch", "--depth=1", f"https://github.com/{repository}", commit)
    return clone


@functools.cache
def blobs(clone: pathlib.Path, commit: str) -> dict[str, str]:
    """Path -> blob of the files of a commit."""
    found = {}
    listing = git(clone, "ls-tree", "-r", "-l", "-z", commit).decode("utf-8", "replace")
    for line in listing.split("\0")[:-1]:
        fields, path = line.split("\t", 1)
        _, _, blob, size = fields.split()
        if size.isdigit() and int(size) <= LARGEST:  # a submodule has none
            found[path] = blob
    return found


def files(
    clones: pathlib.Path, repository: str, commit: str, expression: str
) -> Iterator[tuple[str, bytes]]:
    """Paths and contents of the files of a commit, in a fixed mixed order."""
    clone = fetched(clones, repository, commit)
    found = blobs(clone, commit)
    paths = mixed(path for path in found if re.fullmatch(expression, path))
    command = ["git", "-C", clone, "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as reading:
        for path in paths:
            reading.stdin.write(found[path].encode() + b"\n")
            reading.stdin.flush()
            size = int(reading.stdout.readline().split()[2])
            yield path, reading.stdout.read(size + 1)[:-1]
