"""What must be known before a layer is built."""

import pytest

from tfsum.errors import RecipeError
from tfsum.training.environment import refuse_workers


def test_several_workers_are_refused_and_one_is_not(monkeypatch):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    refuse_workers()
    monkeypatch.setenv("TF_CONFIG", '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 0}}')
    refuse_workers()
    for cluster in ('{"worker": ["a:1", "b:1"]}', '{"chief": ["a:1"], "worker": ["b:1"]}'):
        monkeypatch.setenv("TF_CONFIG", f'{{"cluster": {cluster}}}')
        with pytest.raises(RecipeError, match="TF_CONFIG announces 2 workers; .* not supported yet; unset TF_CONFIG"):
            refuse_workers()
    monkeypatch.setenv("TF_CONFIG", "worker 1")
    with pytest.raises(RecipeError, match="TF_CONFIG is 'worker 1'; expected JSON"):
        refuse_workers()
