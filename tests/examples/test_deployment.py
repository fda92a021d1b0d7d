"""examples/tensorflow_serving, examples/kubernetes and examples/systemd: the files are what their
readers expect."""

import configparser
import json
import pathlib
import shlex

import pytest

from tfsum.cli.main import parse
from tfsum.cli.options import read_settings
from tfsum.inference.saved_model import shipped_models
from tfsum.serving import ServerSettings

HERE = pathlib.Path(__file__).parents[2] / "examples"
yaml = pytest.importorskip("yaml", reason="needs pyyaml")


def test_tensorflow_serving_reads_its_models():
    config = pytest.importorskip(
        "tensorflow_serving.config.model_server_config_pb2", reason="needs tensorflow-serving-api"
    )
    from google.protobuf import text_format

    message = config.ModelServerConfig()
    text_format.Parse(
        (HERE / "tensorflow_serving" / "models.config").read_text(encoding="utf-8"), message
    )
    folders = {
        pathlib.PurePosixPath(found.base_path).name for found in message.model_config_list.config
    }
    assert folders <= set(shipped_models())


def test_docker_compose_mounts_what_it_names():
    service = yaml.safe_load(
        (HERE / "tensorflow_serving" / "docker-compose.yml").read_text(encoding="utf-8")
    )
    (found,) = service["services"].values()
    for word in found["command"]:
        option, _, value = word.partition("=")
        if value.startswith("/config/"):
            assert (HERE / "tensorflow_serving" / pathlib.PurePosixPath(value).name).is_file(), (
                option
            )


def mounted(pod: dict, container: dict, path: str) -> dict:
    """What the volume is that holds a file of a container."""
    file = pathlib.PurePosixPath(path)
    (name,) = (
        mount["name"]
        for mount in container["volumeMounts"]
        if file.is_relative_to(mount["mountPath"])
    )
    (volume,) = (volume for volume in pod["volumes"] if volume["name"] == name)
    return {key: value for key, value in volume.items() if key != "name"}


def test_pods_have_no_privileges_and_write_nothing():
    deployment, *_ = yaml.safe_load_all(
        (HERE / "kubernetes" / "tfsum-serve.yaml").read_text(encoding="utf-8")
    )
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    user = pod["securityContext"]["runAsUser"]
    assert pod["securityContext"]["runAsNonRoot"] and user == pod["securityContext"]["fsGroup"] > 0
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert pod["automountServiceAccountToken"] is False
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    writable = {mount["name"] for mount in container["volumeMounts"] if not mount.get("readOnly")}
    assert writable == {"tmp"} and "emptyDir" in mounted(pod, container, "/tmp/file")

    image = (HERE.parent / "Dockerfile").read_text(encoding="utf-8").splitlines()
    assert f"USER {user}" in image and any(f"useradd --uid {user} " in line for line in image)


def test_the_image_is_small_and_says_whether_it_is_healthy():
    root = HERE.parent
    lines = (root / "Dockerfile").read_text(encoding="utf-8").splitlines()
    # a build stage that needs no copy of the checkout, and a probe of a path without a token
    assert not any(line.startswith(("COPY", "ADD")) for line in lines)
    (probe,) = [line for line in lines if line.startswith("HEALTHCHECK")]
    command = json.loads(probe[probe.index("[") :])
    compile(command[2], "HEALTHCHECK", "exec")
    assert "/healthz" in command[2] and "8501" in command[2]
    ignored = (root / ".dockerignore").read_text(encoding="utf-8").split("\n")
    assert {"tests", "docs", ".*"} <= set(ignored)
    for needed in ("tfsum", "saved_models", "setup.cfg", "pyproject.toml", "README.md", "training"):
        assert needed not in ignored


def test_the_unit_of_systemd_has_no_privileges_and_uses_what_the_server_has():
    unit = configparser.ConfigParser(interpolation=None)
    unit.optionxform = str
    unit.read(HERE / "systemd" / "tfsum.service", encoding="utf-8")
    service = unit["Service"]
    given = parse(shlex.split(service["ExecStart"])[1:])
    settings = read_settings(ServerSettings, given)
    assert settings.host == "127.0.0.1" and int(service["TimeoutStopSec"]) > settings.grace
    credential, _, file = service["LoadCredential"].partition(":")
    assert given.token_file == f"${{CREDENTIALS_DIRECTORY}}/{credential}"
    readme = (HERE / "systemd" / "README.md").read_text(encoding="utf-8")
    assert f"> {file})" in readme and given.folder in readme

    assert service["ProtectSystem"] == "strict" and "ReadWritePaths" not in service
    assert service["CapabilityBoundingSet"] == service["AmbientCapabilities"] == ""
    for name in ("DynamicUser", "NoNewPrivileges", "ProtectHome", "PrivateTmp", "PrivateDevices"):
        assert service[name] == "yes", name


def test_the_deployment_uses_what_the_server_has():
    documents = list(
        yaml.safe_load_all((HERE / "kubernetes" / "tfsum-serve.yaml").read_text(encoding="utf-8"))
    )
    deployment, service, scaler = documents
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    entry = next(
        line
        for line in (HERE.parent / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("ENTRYPOINT")
    )
    words = [*yaml.safe_load(entry.partition(" ")[2]), *container["args"]]
    given = parse(words[1:])
    settings = read_settings(ServerSettings, given)
    assert (
        shlex.join(words).startswith("tfsum serve")
        and given.folder == "/models"
        and settings.host == "0.0.0.0"
    )
    assert pod["terminationGracePeriodSeconds"] > settings.grace
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": settings.port, "grpc": settings.grpc_port}
    assert {port["targetPort"] for port in service["spec"]["ports"]} == set(ports)
    assert given.token_file and mounted(pod, container, given.token_file) == {
        "secret": {"secretName": "tfsum-token", "defaultMode": 0o440}
    }
    paths = {
        container[f"{name}Probe"]["httpGet"]["path"]
        for name in ("startup", "readiness", "liveness")
    }
    assert paths == {"/readyz", "/healthz"}
    metric = scaler["spec"]["metrics"][0]["pods"]["metric"]["name"]
    from tfsum.serving import Server

    server = Server(settings=ServerSettings(port=0))
    server._socket.close()
    assert metric.encode() in server.predictor.metrics.text()
