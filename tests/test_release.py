"""The files of a release agree: version, date, licence, Pythons, locked versions, workflows."""

import configparser
import pathlib
import re

import pytest
from packaging.markers import default_environment
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name

import tfsum

yaml = pytest.importorskip("yaml", reason="needs pyyaml")
ROOT = pathlib.Path(__file__).resolve().parents[1]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PINNED = re.compile(r"uses: ([\w./-]+)@([0-9a-f]{40}) # (v\d+\.\d+\.\d+)")


def read(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def metadata() -> configparser.ConfigParser:
    config = configparser.ConfigParser()
    config.read_string(read("setup.cfg"))
    return config


def pythons() -> list[str]:
    return re.findall(r"Python :: (3\.\d+)", metadata()["metadata"]["classifiers"])


def test_the_citation_and_the_changelog_name_the_version_and_its_date():
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == tfsum.__version__
    assert citation["license"] == metadata()["metadata"]["license"]
    versions = re.findall(r"(?m)^## (.*)$", read("CHANGELOG.md"))
    newest = next(version for version in versions if version != "Unreleased")
    assert newest == f"{tfsum.__version__} ({citation['date-released']})"


def test_the_checks_run_on_every_python_that_is_supported():
    allowed = SpecifierSet(metadata()["options"]["python_requires"])
    assert pythons() == [f"3.{minor}" for minor in range(30) if f"3.{minor}.1" in allowed]
    (job,) = yaml.safe_load(read(".github/workflows/ci.yml"))["jobs"].values()
    assert job["strategy"]["matrix"]["python"] == pythons()
    assert any(step.get("run") == ".ci/run" for step in job["steps"])
    assert f"for version in {' '.join(pythons())}; do" in read(".ci/full")


def test_the_weekly_workflow_runs_every_stage_but_the_gpus():
    (job,) = yaml.safe_load(read(".github/workflows/full.yml"))["jobs"].values()
    stages = re.search(r"stages=\(([a-z ]+)\)", read(".ci/full")).group(1).split()
    assert job["strategy"]["matrix"]["stage"] == [stage for stage in stages if stage != "gpu"]


def test_actions_are_pinned_to_one_commit_each():
    pins = {}
    for workflow in WORKFLOWS:
        text = workflow.read_text(encoding="utf-8")
        assert yaml.safe_load(text)["permissions"] == {"contents": "read"}
        found = PINNED.findall(text)
        assert len(found) == len(re.findall("uses: (?!./)", text)), workflow.name
        for action, *pin in found:
            assert pins.setdefault(action, pin) == pin


def test_what_setup_cfg_requires_is_locked_in_a_version_that_it_allows():
    locked = [
        Requirement(line.removesuffix("\\"))
        for line in read(".ci/test.lock").splitlines()
        if "==" in line and not line.startswith((" ", "#"))
    ]
    options = metadata()
    listed = options["options"]["install_requires"] + options["options.extras_require"]["test"]
    for python in pythons():
        linux = default_environment() | {
            "python_version": python,
            "python_full_version": f"{python}.1",
            "sys_platform": "linux",
            "platform_system": "Linux",
        }
        pins = {
            canonicalize_name(pin.name): next(iter(pin.specifier)).version
            for pin in locked
            if pin.marker is None or pin.marker.evaluate(linux)
        }
        for line in filter(None, listed.splitlines()):
            wanted = Requirement(line)
            assert pins[canonicalize_name(wanted.name)] in wanted.specifier, (python, line)


@pytest.mark.parametrize("name", ["test", "release"])
def test_lock_files_have_hashes_and_no_address(name):
    text = read(f".ci/{name}.lock")
    pins = re.findall(r"(?m)^[a-z0-9][\w.-]*==", text)
    assert len(pins) == len(re.findall(r"(?m)^\S.*\\\n    --hash=sha256:[0-9a-f]{64}", text)) > 50
    assert "://" not in text
