"""examples/multi_worker: the files are what shells, SLURM and Kubernetes read, and their commands
exist."""

import json
import pathlib
import re
import shlex
import shutil
import subprocess

import pytest

from tfsum.cli.main import parse
from tfsum.training.recipe_file import read_recipe

HERE = pathlib.Path(__file__).parents[2] / "examples" / "multi_worker"
ROOT = HERE.parents[1]
yaml = pytest.importorskip("yaml", reason="needs pyyaml")
needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
# In place of tfsum: writes what it was started with.
TFSUM = (
    '#!/usr/bin/env bash\nprintf \'%s\\n\' "$@" > "$SEEN"\nprintf \'%s\\n\' "${TF_CONFIG-}" >'
    ' "$SEEN.config"\n'
)


def job():
    """The Service and the Job."""
    return list(yaml.safe_load_all((HERE / "kubernetes.yaml").read_text(encoding="utf-8")))


@pytest.fixture
def run(tmp_path):
    """A function: the words and the TF_CONFIG that a program gives to tfsum."""
    for name, text in {"tfsum": TFSUM, "srun": '#!/usr/bin/env bash\n"$@"\n'}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    def words(*command, **environment):
        subprocess.run(
            command,
            check=True,
            cwd=ROOT,
            env={
                "PATH": f"{tmp_path}:/usr/bin:/bin",
                "SEEN": str(tmp_path / "seen"),
                **environment,
            },
        )
        return (tmp_path / "seen").read_text().splitlines(), (
            tmp_path / "seen.config"
        ).read_text().strip()

    return words


def check_command(words):
    """tfsum's command line takes the words, and the recipe and its keys are there."""
    assert words[0] == "train"
    arguments = parse(words)
    sections, mistakes = read_recipe(arguments.recipe, arguments.overrides)
    assert not mistakes and sections["train"]["folder"] and sections["data"]["train"]


@needs_bash
@pytest.mark.parametrize("name", ["tf_config.sh", "slurm.sh"])
def test_the_scripts_are_shell(name):
    subprocess.run(["bash", "-n", str(HERE / name)], check=True)


@needs_bash
@pytest.mark.parametrize("index", ["0", "1"])
def test_by_hand_each_machine_is_another_worker(run, index):
    words, config = run("bash", str(HERE / "tf_config.sh"), index)
    check_command(words)
    config = json.loads(config)
    assert (
        config["task"] == {"type": "worker", "index": int(index)}
        and len(config["cluster"]["worker"]) == 2
    )


@needs_bash
def test_slurm_starts_a_task_on_each_machine(run):
    words, config = run("bash", str(HERE / "slurm.sh"), SCRATCH="/scratch")
    check_command(words)
    assert not config  # the workers are SLURM's
    text = (HERE / "slurm.sh").read_text(encoding="utf-8")
    options = dict(re.findall(r"^#SBATCH --([\w-]+)=(.*)$", text, re.MULTILINE))
    assert options["ntasks-per-node"] == "1" and options["signal"] == "TERM@120"


@needs_bash
@pytest.mark.parametrize("index", ["0", "1"])
def test_each_pod_is_another_worker(run, index):
    service, found = job()
    spec, pod = found["spec"], found["spec"]["template"]["spec"]
    assert spec["completionMode"] == "Indexed" and spec["completions"] == spec["parallelism"] == 2
    assert (
        pod["subdomain"] == service["metadata"]["name"] and service["spec"]["clusterIP"] == "None"
    )
    (container,) = pod["containers"]
    words, config = run(*container["command"], *container["args"], JOB_COMPLETION_INDEX=index)
    config = json.loads(config)
    assert config["task"]["index"] == int(index)
    name = found["metadata"]["name"]  # a pod of an indexed Job is called NAME-INDEX
    assert config["cluster"]["worker"] == [f"{name}-{i}.{pod['subdomain']}:2222" for i in range(2)]
    arguments = parse(words)
    mounts = {mount["mountPath"] for mount in container["volumeMounts"]}
    assert any(arguments.recipe.startswith(f"{mount}/") for mount in mounts)
    assert pod["terminationGracePeriodSeconds"] >= 60  # to save the state in


def test_the_comments_name_commands_of_kubectl():
    text = (HERE / "kubernetes.yaml").read_text(encoding="utf-8")
    commands = [shlex.split(found) for found in re.findall(r"`(kubectl [^`]*)`", text)]
    assert [command[1] for command in commands] == ["apply", "logs", "delete"]
    name = job()[1]["metadata"]["name"]
    assert all(
        {"kubernetes.yaml", f"job/{name}", f"job-name={name}"} & {*command} for command in commands
    )
