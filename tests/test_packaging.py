"""What pip takes along: every folder of the package is listed, and all its files."""

import configparser
import pathlib

ROOT = pathlib.Path(__file__).resolve().parents[1]


def setup_cfg() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    return config


def test_every_folder_with_code_is_a_listed_package():
    listed = set(setup_cfg()["options"]["packages"].split())
    there = {
        ".".join(path.parent.relative_to(ROOT).parts) for path in (ROOT / "tfsum").rglob("*.py")
    }
    assert listed == there | {"tfsum.recipes", "tfsum.saved_models"}


def test_every_other_file_of_the_package_is_package_data():
    data = setup_cfg()["options.package_data"]
    for path in (ROOT / "tfsum").rglob("*"):
        if (
            path.is_file()
            and path.suffix not in {".py", ".pyc"}
            and "__pycache__" not in path.parts
        ):
            package = next(folder for folder in path.parents if (folder / "__init__.py").is_file())
            patterns = data.get(".".join(package.relative_to(ROOT).parts), "").split()
            name = path.relative_to(package)
            assert any(name.match(pattern) for pattern in patterns), (
                f"{path} would be left behind by pip"
            )


def test_the_pages_for_both_readers_are_there():
    for name in ("README.md", "README.ko.md", "CHANGELOG.md", "LICENSE", "examples/article.txt"):
        assert (ROOT / name).is_file(), name
