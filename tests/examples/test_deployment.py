"""examples/tensorflow_serving and examples/kubernetes: the files are what their readers expect."""

import pathlib
import shlex

import pytest

from tfsum.cli.main import parse
from tfsum.inference.shipped import shipped_models

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


def test_the_deployment_uses_what_the_server_has():
    documents = list(
        yaml.safe_load_all((HERE / "kubernetes" / "tfsum-serve.yaml").read_text(encoding="utf-8"))
    )
    deployment, service, scaler = documents
    pod = deployment["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    entry = next(
        line
        for line in (HERE / "kubernetes" / "Dockerfile").read_text(encoding="utf-8").splitlines()
        if line.startswith("ENTRYPOINT")
    )
    words = [*yaml.safe_load(entry.partition(" ")[2]), *container["args"]]
    given = parse(words[1:])
    assert (
        shlex.join(words).startswith("tfsum serve")
        and given.folder == "/models"
        and given.host == "0.0.0.0"
    )
    assert pod["terminationGracePeriodSeconds"] > given.grace
    ports = {port["name"]: port["containerPort"] for port in container["ports"]}
    assert ports == {"http": given.port, "grpc": given.grpc_port}
    assert {port["targetPort"] for port in service["spec"]["ports"]} == set(ports)
    paths = {
        container[f"{name}Probe"]["httpGet"]["path"]
        for name in ("startup", "readiness", "liveness")
    }
    assert paths == {"/readyz", "/healthz"}
    metric = scaler["spec"]["metrics"][0]["pods"]["metric"]["name"]
    from tfsum.serving import Server, ServerSettings

    server = Server(settings=ServerSettings(port=0))
    assert metric.encode() in server.predictor.metrics.text(0)
