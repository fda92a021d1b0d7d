"""Which strategy a recipe gets where there are workers, and where there are none."""

import os

import pytest
import tensorflow as tf
from tensorflow.python.distribute import collective_all_reduce_strategy

from tfsum.errors import RecipeError
from tfsum.training.workers import cluster_resolver, strategy_of

TWO = '{"cluster": {"worker": ["a:1", "b:1"]}, "task": {"type": "worker", "index": 0}}'


def announced_workers() -> int:
    """Their number; 1 where there is no cluster."""
    resolver = cluster_resolver()
    return 1 if resolver is None else sum(map(len, resolver.cluster_spec().as_dict().values()))


@pytest.fixture
def announce(monkeypatch):
    """A function: sets TF_CONFIG."""
    monkeypatch.delenv("TF_CONFIG", raising=False)
    return lambda config: monkeypatch.setenv("TF_CONFIG", config)


def test_workers_are_counted(announce):
    assert announced_workers() == 1
    announce(" ")  # as good as none, which TensorFlow's strategies would not read
    assert announced_workers() == 1 and "TF_CONFIG" not in os.environ
    announce('{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}')
    assert announced_workers() == 1 and strategy_of("auto") is tf.distribute.get_strategy()
    announce(
        '{"cluster": {"chief": ["a:1"], "worker": ["b:1"]}, "task": {"type": "worker", "index": 0}}'
    )
    assert announced_workers() == 2


def slurm(monkeypatch, nodes, tasks, tasks_per_node, rank):
    """Sets what srun sets."""
    for name, value in {
        "TF_CONFIG": "",
        "SLURM_STEP_NODELIST": nodes,
        "SLURM_STEP_NUM_TASKS": str(tasks),
        "SLURM_STEP_TASKS_PER_NODE": tasks_per_node,
        "SLURM_PROCID": str(rank),
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("own", [False, True])
@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_the_tasks_of_a_node_share_its_gpus(monkeypatch, rank, own):
    """Four to a node of eight; unless SLURM gives each task its own, two of them."""
    seen, found = [f"GPU:{i}" for i in range(2 if own else 4)], []
    slurm(monkeypatch, "n[1-2]", 4, "2(x2)", rank)
    if own:
        monkeypatch.setenv("SLURM_GPUS_PER_TASK", "2")
    monkeypatch.setattr(tf.config, "list_physical_devices", lambda kind: seen)
    monkeypatch.setattr(
        tf.config, "set_visible_devices", lambda devices, kind: found.append(devices)
    )
    for _ in range(2):  # it is asked more than once
        resolver = cluster_resolver()
        assert resolver.cluster_spec().as_dict() == {
            "worker": ["n1:8888", "n1:8889", "n2:8888", "n2:8889"]
        }
        assert resolver.task_id == rank and resolver.num_accelerators() == {"GPU": 2}
    assert found == ([] if own else [seen[rank % 2 * 2 :][:2]] * 2)


@pytest.mark.parametrize("rank", [0, 1])
def test_the_tasks_of_a_slurm_step_without_gpus(monkeypatch, rank):
    """TensorFlow's own resolver asks nvidia-smi, and fails where there is none."""
    slurm(monkeypatch, "n[1-2]", 2, "1(x2)", rank)
    resolver = cluster_resolver()
    assert resolver.cluster_spec().as_dict() == {"worker": ["n1:8888", "n2:8888"]}
    assert (resolver.task_type, resolver.task_id) == (
        "worker",
        rank,
    ) and not resolver.num_accelerators()
    assert announced_workers() == 2


@pytest.mark.parametrize("name", ["one", "mirrored"])
def test_workers_that_would_train_a_model_each_are_refused(announce, name):
    announce(TWO)
    with pytest.raises(
        RecipeError, match=f"'{name}', and 2 workers are announced .*'multi_worker', or unset"
    ):
        strategy_of(name)


def test_what_the_timeout_of_workers_sets_is_there():
    extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
    assert extended._check_health_interval == 30 and extended._check_health_timeout == 10
    assert extended._check_health_retry_limit == 3 and extended._enable_check_health


def test_a_blank_number_of_tasks_is_as_good_as_none(announce, monkeypatch):
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "")
    assert announced_workers() == 1
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "two")
    with pytest.raises(RecipeError, match="SLURM_STEP_NUM_TASKS is 'two'; expected the number"):
        cluster_resolver()


def test_several_workers_need_a_cluster(announce):
    with pytest.raises(
        RecipeError, match="'multi_worker', and no other worker is announced; .*--local-workers 2"
    ):
        strategy_of("multi_worker")
    announce(
        '{"cluster": {"worker": ["a:1"], "ps": ["b:1"]}, "task": {"type": "worker", "index": 0}}'
    )
    with pytest.raises(
        RecipeError, match="TF_CONFIG has the job 'ps'; .* parameter servers.* not supported"
    ):
        strategy_of("auto")
    announce("[" * 100_000)
    with pytest.raises(RecipeError, match=r"TF_CONFIG is '\[{80}'; expected JSON"):
        strategy_of("auto")
    announce("worker 1")
    with pytest.raises(RecipeError, match="TF_CONFIG is 'worker 1'; expected JSON"):
        strategy_of("auto")
