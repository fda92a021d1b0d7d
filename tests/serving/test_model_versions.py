"""Versions of models in a folder: which are served, half-copied and broken ones, and the change
from one to the next;
numbers as in test_rest.py."""

import logging
import os
import pathlib
import re
import shutil
import threading
import time

import pytest
import tensorflow as tf
from cases import first_by_default

from tfsum.errors import Error, ExportError
from tfsum.inference.saved_model import shipped_model
from tfsum.serving.model_versions import ModelVersions
from tfsum.serving.request_error import RequestError
from tfsum.serving.settings import ServerSettings
from tfsum.serving.version_folders import load_servable, select_versions, warm_up
from tfsum.shipped_files import SAVED_MODELS


class Loaded:
    """Stands for a loaded model."""

    def __init__(self, name, version, path):
        self.name, self.version, self.path = name, version, path
        if (path / "broken").exists():
            raise ExportError(f"{path}: cannot be loaded")


def write(folder, age=60):
    """Writes a version whose files were changed `age` seconds ago."""
    folder.mkdir(parents=True)
    (folder / "saved_model.pb").write_bytes(b"graph")
    (folder / "variables").mkdir()
    for name in ("variables.index", "variables.data-00000-of-00001"):
        (folder / "variables" / name).write_bytes(b"weights")
    for path in folder.rglob("*"):
        os.utime(path, (time.time() - age,) * 2)


@pytest.fixture
def folder(tmp_path):
    write(tmp_path / "m" / "1")
    return tmp_path


def versions_of(folder, load=Loaded, **settings):
    found = ModelVersions(folder, ServerSettings(**settings), load)
    found.scan()
    return found


def states(versions, name="m"):
    return {number: found.state for number, found in versions.states(name).items()}


def answering(versions, **which):
    with versions.use("m", **which) as servable:
        return servable.version


@pytest.mark.parametrize(
    "policy, expected",
    [
        ("all", {17, 30, 33, 42}),
        ("latest:3", {30, 33, 42}),
        ("latest", {42}),
        # 94
        ("specific:17,30", {17, 30}),
        ("specific:", set()),
    ],
)
def test_policies(policy, expected):
    assert select_versions([17, 30, 33, 42], policy) == expected


@pytest.mark.parametrize("policy", ["newest", "latest:0", "latest:x", "specific:a", "all:1", ""])
def test_a_policy_that_there_is_not(policy):
    with pytest.raises(Error, match="expected versions to serve: latest:N, all, or specific:N,M"):
        ServerSettings(version_policy=policy)


def test_names_of_versions(tmp_path):  # 27, 95, 96
    for name in ("0", "00017", "20170111173521", "tmp", "1a", "-3", "٣"):
        write(tmp_path / "m" / name)
    assert states(versions_of(tmp_path, version_policy="all")) == dict.fromkeys(
        [0, 17, 20170111173521], "AVAILABLE"
    )
    for name in ("0001", "001"):
        write(tmp_path / "other" / name)
    assert states(versions_of(tmp_path), "other") == {1: "AVAILABLE"}


def test_the_newest_answers_and_the_one_before_is_unloaded(folder):  # 26, 87, 100
    versions = versions_of(folder)
    assert answering(versions) == 1
    write(folder / "m" / "2", age=0)
    versions.scan()
    assert states(versions) == {1: "AVAILABLE"}  # its files may still be changing
    versions.scan()
    assert states(versions) == {1: "END", 2: "AVAILABLE"} and answering(versions) == 2


def test_a_half_copied_version_is_ignored_until_it_is_whole(folder):
    versions = versions_of(folder)
    source, copy = folder / "source", folder / "m" / "2"
    write(source)
    (copy / "variables").mkdir(parents=True)
    for name in (
        "saved_model.pb",
        "variables/variables.data-00000-of-00001",
        "variables/variables.index",
    ):
        versions.scan()
        versions.scan()
        assert states(versions) == {1: "AVAILABLE"}
        shutil.copy2(source / name, copy / name)
    versions.scan()
    versions.scan()
    assert answering(versions) == 2


def test_each_part_of_the_weights_is_waited_for(folder):
    versions = versions_of(folder)
    copy = folder / "m" / "2"
    write(copy)
    first, second = (
        copy / "variables" / f"variables.data-0000{part}-of-00002" for part in range(2)
    )
    (copy / "variables" / "variables.data-00000-of-00001").rename(first)
    versions.scan()
    versions.scan()
    assert states(versions) == {1: "AVAILABLE"}
    second.write_bytes(b"more")
    versions.scan()
    versions.scan()
    assert answering(versions) == 2


def test_old_times_of_files_that_arrive_later_say_nothing(folder):
    versions = versions_of(folder)
    write(folder / "m" / "2")  # as `cp -p` and `rsync -t` give them
    versions.scan()
    assert states(versions) == {1: "AVAILABLE"}
    (folder / "m" / "2" / "variables" / "variables.data-00000-of-00001").write_bytes(
        b"more weights"
    )
    versions.scan()
    assert states(versions) == {1: "AVAILABLE"}
    versions.scan()
    assert answering(versions) == 2


def test_files_that_change_while_the_server_starts_are_waited_for(tmp_path, monkeypatch):
    write(tmp_path / "m" / "1", age=-600)  # whole, a moment ago, by a clock that is ahead
    write(tmp_path / "n" / "1", age=-600)
    waited = []

    def wait(seconds):
        waited.append(seconds)
        (tmp_path / "n" / "1" / f"more{len(waited)}").touch()  # m is whole, and n is not

    versions = ModelVersions(tmp_path, ServerSettings(), Loaded)
    monkeypatch.setattr(versions._stopped, "wait", wait)
    versions.scan()
    assert waited == [2.0, 2.0]
    assert answering(versions) == 1 and states(versions, "n") == {} and not versions.ready
    versions.scan()
    versions.scan()  # m may have been waited for after a look at n
    assert states(versions, "n") == {1: "AVAILABLE"} and versions.ready


def test_a_version_that_fails_stays_out_until_its_files_change(folder):  # 88, 100, 102
    versions = versions_of(folder)
    write(folder / "m" / "2")
    (folder / "m" / "2" / "broken").touch()
    for _ in range(9):
        versions.scan()
    failed = versions.states("m")[2]
    assert (failed.state, failed.code, failed.tries) == ("END", "FAILED_PRECONDITION", 6)
    assert "cannot be loaded" in failed.message and answering(versions) == 1
    (folder / "m" / "2" / "broken").unlink()
    versions.scan()
    versions.scan()
    assert states(versions) == {1: "END", 2: "AVAILABLE"}


def warnings(caplog):
    return [record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING]


def test_a_loaded_version_answers_on_while_its_files_change(folder, caplog):
    versions = versions_of(folder)
    before = versions.states("m")[1].servable
    (folder / "m" / "1" / "saved_model.pb").unlink()  # it is written once more
    versions.scan()
    assert states(versions) == {1: "AVAILABLE"} and not warnings(caplog)
    (folder / "m" / "1" / "saved_model.pb").write_bytes(b"another graph")
    for _ in range(3):
        versions.scan()
    assert versions.states("m")[1].servable is before and versions.ready
    (said,) = warnings(caplog)
    assert "m version 1: its files changed while it is served; it answers as it was loaded" in said
    shutil.rmtree(folder / "m" / "1")
    versions.scan()
    assert states(versions) == {1: "END"}


def test_a_model_that_is_being_loaded_is_to_be_asked_again(tmp_path):
    asked = []

    def load(name, version, path):
        for which in ({}, {"version": 1}, {"version": 2}):
            with pytest.raises(RequestError) as caught, versions.use(name, **which):
                pass
            asked.append((caught.value.http_status, caught.value.retry_after))
        return Loaded(name, version, path)

    versions = ModelVersions(tmp_path, ServerSettings(), load)
    versions.scan()
    write(tmp_path / "m" / "1")
    versions.scan()
    versions.scan()
    assert asked == [(503, 2), (503, 2), (404, None)] and answering(versions) == 1


def test_the_old_version_is_unloaded_with_its_last_answer(folder):
    versions = versions_of(folder)
    with versions.use("m") as servable:
        write(folder / "m" / "2")
        versions.scan()
        versions.scan()
        assert states(versions) == {1: "UNLOADING", 2: "AVAILABLE"} and servable.version == 1
        assert answering(versions) == 2
        with pytest.raises(RequestError, match=r"Specific\(m, 1\)"):
            answering(versions, version=1)
    assert states(versions) == {1: "END", 2: "AVAILABLE"}


def test_the_folder_of_the_last_version_vanishes(folder):  # 98
    versions = versions_of(folder)
    shutil.rmtree(folder / "m" / "1")
    versions.scan()
    assert states(versions) == {1: "END"}


def test_a_version_that_comes_back_is_loaded_again(folder):
    versions = versions_of(folder)
    shutil.move(folder / "m" / "1", folder / "away")
    versions.scan()
    shutil.move(folder / "away", folder / "m" / "1")
    versions.scan()
    versions.scan()
    assert answering(versions) == 1


def test_labels(folder):  # 24, 103
    write(folder / "m" / "2")
    versions = versions_of(folder, version_policy="all", labels={"m/old": 1, "m/next": 3})
    assert answering(versions, label="old") == 1
    with pytest.raises(RequestError, match="not currently available for inference"):
        answering(versions, label="next")
    with pytest.raises(RequestError, match="Unrecognized servable version label: nope"):
        answering(versions, label="nope")


def test_a_labelled_version_is_kept_beside_the_newest(folder):
    write(folder / "m" / "2")
    versions = versions_of(folder, labels={"m/stable": 1, "other/stable": 2, "m/next": 4})
    assert states(versions) == {2: "AVAILABLE", 1: "AVAILABLE"}
    assert answering(versions) == 2 and answering(versions, label="stable") == 1
    write(folder / "m" / "3")
    (folder / "m" / "3" / "broken").touch()
    versions.scan()
    versions.scan()
    # version 1 is there for its label, and does not take the place of 3
    assert answering(versions) == 2
    (folder / "m" / "3" / "broken").unlink()
    versions.scan()
    versions.scan()
    assert states(versions) == {3: "AVAILABLE", 2: "END", 1: "AVAILABLE"}
    shutil.rmtree(folder / "m" / "1")
    versions.scan()
    with pytest.raises(RequestError, match="not currently available"):
        answering(versions, label="stable")


def test_a_label_does_not_bring_a_version_that_would_answer_all(folder):
    write(folder / "m" / "2")
    versions = versions_of(folder, labels={"m/next": 2}, version_policy="specific:1")
    assert states(versions) == {1: "AVAILABLE"}


def test_what_is_not_there_yet_is_to_be_asked_again(folder):
    versions = ModelVersions(folder, ServerSettings(labels={"m/stable": 1}), Loaded)
    for which in ({}, {"version": 1}, {"label": "stable"}):
        with pytest.raises(RequestError, match="still being loaded") as caught:
            answering(versions, **which)
        assert (caught.value.code, caught.value.http_status) == (
            "UNAVAILABLE",
            503,
        ) and caught.value.retry_after
    versions.scan()
    assert answering(versions, label="stable") == 1
    with pytest.raises(RequestError) as caught:
        answering(versions, version=9)
    assert caught.value.code == "NOT_FOUND"


def test_a_server_is_ready_when_all_models_answer_and_stays_so(folder):
    write(folder / "other" / "1")
    ready = []
    versions = ModelVersions(
        folder, ServerSettings(), lambda *which: ready.append(versions.ready) or Loaded(*which)
    )
    assert not versions.ready
    versions.scan()
    assert versions.ready and ready == [False, False]
    write(folder / "new" / "1")
    versions.scan()
    versions.scan()
    assert ready == [False, False, True]  # while a new model is loaded
    shutil.rmtree(folder / "other")
    versions.scan()
    assert versions.ready and states(versions, "other") == {1: "END"}
    for name in ("m", "new"):
        shutil.rmtree(folder / name)
    versions.scan()
    assert not versions.ready


def test_a_broken_model_is_waited_for_as_often_as_it_is_tried(folder):
    write(folder / "other" / "1")
    (folder / "other" / "1" / "broken").touch()
    versions = versions_of(folder)
    for tries in range(1, 6):
        assert versions.states("other")[1].tries == tries and not versions.ready
        versions.scan()
    assert versions.ready and versions.states("other")[1].code == "FAILED_PRECONDITION"
    shutil.rmtree(folder / "m")
    versions.scan()
    assert not versions.ready


def test_two_models_are_loaded_at_a_time_and_none_after_a_stop(folder):
    for name in ("other", "third"):
        write(folder / name / "1")
    both = threading.Barrier(2, timeout=60)  # an error where one is loaded after the other

    def load(*which):
        both.wait()
        versions.stop()
        return Loaded(*which)

    versions = ModelVersions(folder, ServerSettings(), load)
    versions.scan()
    assert states(versions) == states(versions, "other") == {1: "AVAILABLE"}
    assert states(versions, "third") == {} and not versions.ready


def test_a_version_whose_answers_changed_is_not_loaded(tmp_path):
    copy = tmp_path / "fr" / "2"
    shutil.copytree(SAVED_MODELS / "transformer_tatoeba_en_fr" / "1", copy)
    changed = copy / "assets.extra" / "golden.json"
    changed.write_bytes(changed.read_bytes().replace(b"Tom", b"Tim").replace(b"a", b"e"))
    with pytest.raises(ExportError, match="differ|golden"):
        load_servable("fr", 2, copy)


@pytest.mark.parametrize(
    "weight",
    first_by_default(
        [
            "words.Skernel",
            "embedding.Skernel",
            "head.Sscore.Skernel",
            "bert.Sencoder.Slayer_5.Sattention.Svalue.Skernel",
        ]
    ),
)
def test_a_version_with_other_weights_is_not_loaded(tmp_path, weight):
    copy = tmp_path / "multilingual" / "3"
    shutil.copytree(shipped_model("bert_sum_ext_multilingual"), copy)
    prefix = str(copy / "variables" / "variables")
    reader = tf.train.load_checkpoint(prefix)
    stored = {name: reader.get_tensor(name) for name in reader.get_variable_to_shape_map()}
    stored[f"weights/stored/{weight}/.ATTRIBUTES/VARIABLE_VALUE"] *= -1
    tf.raw_ops.SaveV2(
        prefix=prefix,
        tensor_names=[*stored],
        shape_and_slices=[""] * len(stored),
        tensors=[*stored.values()],
    )
    with pytest.raises(ExportError, match="the model was changed"):
        load_servable("multilingual", 3, copy)


def with_warm_up(folder, ask):
    """Adds the shipped summarizer's ten requests to the versions of a folder.

    Returns:
        Function that loads one, which asks by the function given, of its name and a signature.
    """
    source = shipped_model() / "assets.extra" / "tf_serving_warmup_requests"
    for version in folder.glob("*/*"):
        (version / "assets.extra").mkdir()
        shutil.copy2(source, version / "assets.extra")

    def load(*which):
        servable = Loaded(*which)
        servable.run = lambda signature, inputs: ask(servable.name, signature)
        return servable

    return load


def test_a_server_that_starts_is_ready_before_it_is_warmed_up(folder):
    write(folder / "other" / "1")
    asked = []

    def ask(name, signature):
        asked.append((name, signature, versions.ready))
        if len(asked) == 13:
            versions.stop()  # leaves out the rest

    versions = ModelVersions(folder, ServerSettings(), with_warm_up(folder, ask))
    watching = threading.Thread(target=versions.watch, args=(lambda: asked.append("started"),))
    watching.start()  # its priority stays lower
    watching.join()
    signatures = ["serving_default", "summarize", "extract", "keywords", "score"]
    assert asked == [
        "started",
        *(("m", signature, True) for signature in signatures * 2),
        *(("other", signature, True) for signature in signatures[:2]),
    ]


def test_a_later_version_is_warmed_up_before_it_answers(folder):
    asked = []
    load = with_warm_up(folder, lambda name, signature: asked.append(states(versions)))
    versions = versions_of(folder, load)
    assert asked == []
    shutil.copytree(folder / "m" / "1", folder / "m" / "2")
    versions.scan()
    versions.scan()
    assert asked == [{1: "AVAILABLE", 2: "LOADING"}] * 10
    assert states(versions) == {1: "END", 2: "AVAILABLE"}


def test_a_version_whose_warm_up_fails_answers_and_the_log_says_so(folder, caplog):
    def ask(name, signature):
        raise RequestError("INVALID_ARGUMENT", "no words")

    versions = versions_of(folder, with_warm_up(folder, ask))
    shutil.copytree(folder / "m" / "1", folder / "m" / "2")
    versions.scan()
    versions.scan()
    assert answering(versions) == 2
    (said,) = warnings(caplog)
    assert re.search(r"m version 2 .*: request 0 of .* fails \(no words\); export", said)

    requests = folder / "m" / "1" / "assets.extra" / "tf_serving_warmup_requests"
    requests.write_bytes(requests.read_bytes()[:-4])
    cut = Loaded("m", 1, folder / "m" / "1")
    cut.run = lambda signature, inputs: None
    warm_up(cut, threading.Event())
    assert "request 9 of" in warnings(caplog)[1] and "truncated record" in warnings(caplog)[1]


def test_folders(folder):  # 99
    assert answering(ready := versions_of(folder / "m")) == 1 and ready.ready
    (folder / "empty").mkdir()
    assert not versions_of(folder / "empty").ready
    with pytest.raises(Error, match="no such folder"):
        versions_of(folder / "nowhere")
    assert pathlib.Path(folder / "m").is_dir()
