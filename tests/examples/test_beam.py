"""examples/beam and docs/beam.md: commands parse, files agree with each other, what the page shows
runs."""

import pathlib
import re
import shlex
import subprocess
import sys

import pytest

from tfsum.cli.main import parse

ROOT = pathlib.Path(__file__).parents[2]
HERE = ROOT / "examples" / "beam"
PAGES = [HERE / "README.md", ROOT / "docs" / "beam.md"]
TEXT = "The bridge was closed on Monday. Engineers found cracks. It rained."


def blocks(page: pathlib.Path, language: str) -> list[str]:
    return re.findall(
        rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.parent.name)
def test_every_command_is_one_that_tfsum_understands(page):
    lines = "".join(blocks(page, "bash")).replace("\\\n", " ").splitlines()
    commands = [words[1:] for words in map(shlex.split, lines) if words[:1] == ["tfsum"]]
    assert len(commands) >= 3
    for words in commands:
        assert callable(parse(words).run)


def test_every_option_of_beam_is_there():
    options = pytest.importorskip(
        "apache_beam.options.pipeline_options", reason="needs apache-beam"
    )
    source = pathlib.Path(options.__file__).read_text(encoding="utf-8")
    for page in PAGES:
        for line in "".join(blocks(page, "bash")).replace("\\\n", " ").splitlines():
            passed_on = shlex.split(line.partition(" -- ")[2]) if line.startswith("tfsum") else []
            for word in passed_on:
                assert f"'{word.partition('=')[0]}'" in source, word


def test_images_and_mounts_agree():
    yaml = pytest.importorskip("yaml", reason="needs pyyaml")
    services = yaml.safe_load((HERE / "docker-compose.yml").read_text(encoding="utf-8"))["services"]
    dockerfile = (HERE / "Dockerfile").read_text(encoding="utf-8")
    beam = re.search(r"FROM apache/beam_python3\.11_sdk:([\d.]+)", dockerfile)[1]
    assert f"apache-beam=={beam}" in dockerfile
    assert services["jobserver"]["image"] == f"apache/beam_flink1.19_job_server:{beam}"
    assert services["jobmanager"]["image"] == services["taskmanager"]["image"] == "flink:1.19"
    assert services["workers"]["network_mode"] == "service:taskmanager"
    assert services["workers"]["volumes"] == services["taskmanager"]["volumes"]
    assert all(
        "staging:/tmp/beam-artifact-staging" in service["volumes"] for service in services.values()
    )
    readme = (HERE / "README.md").read_text(encoding="utf-8")
    assert f"docker build -t {services['workers']['image']} -f examples/beam/Dockerfile" in readme
    assert f"({beam})" in readme


def run(code: str) -> str:
    """What code prints in a process of its own."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return result.stdout


@pytest.mark.slow  # a process that loads Beam and TensorFlow
def test_the_pipeline_of_the_page():
    pytest.importorskip("apache_beam", reason="needs apache-beam")
    assert run(blocks(PAGES[1], "python")[0]).splitlines() == [
        "a The bridge was closed on Monday.",
        "b the document is empty; expected a text with a sentence",
    ]


def test_ray_data():
    pytest.importorskip("ray.data", reason="needs Ray Data: pip install 'ray[data]'")
    code = blocks(PAGES[1], "python")[1]
    assert "The bridge was closed on Monday." in run(
        f"{code}\nprint(summarize_on_ray([{{'text': {TEXT!r}}}]).take())"
    )


def test_spark():
    pytest.importorskip("pyspark.sql", reason="needs Spark: pip install 'pyspark[sql]', and Java")
    start = (
        "from pyspark.sql import SparkSession\nspark ="
        " SparkSession.builder.master('local[1]').getOrCreate()"
    )
    code = blocks(PAGES[1], "python")[2]
    assert "The bridge was closed on Monday." in run(
        f"{code}\n{start}\nprint(summarize_on_spark(spark.createDataFrame([({TEXT!r},)],"
        " ['text'])).collect())"
    )


@pytest.mark.slow
def test_the_callables_of_ray_and_spark_without_their_engines():
    """The parts that need no engine, so that the page is right also where none is installed."""
    import numpy as np

    ray, spark = blocks(PAGES[1], "python")[1:]
    names: dict = {}
    exec(ray + spark, names)
    batch = names["Summarizer"]()({"text": np.array([TEXT, "It rained."], object)})
    assert batch["summary"] == ["The bridge was closed on Monday.", "It rained."]

    class Series(list):
        tolist = list.copy

    assert list(names["summaries"]([Series([TEXT])])) == [["The bridge was closed on Monday."]]
