"""A model in whatever form: a model folder is exported for as long as it is needed."""

import pytest

from tfsum.errors import Error
from tfsum.tasks import load


def test_a_model_folder_is_exported_for_the_occasion(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(
        load, "export_model", lambda *a, **options: asked.append((a, options)) or a[1]
    )
    monkeypatch.setattr(load, "load", lambda path: path)
    with load.open_model(str(tmp_path)) as model:
        assert model == str(tmp_path) and not asked
    with (
        pytest.raises(Error, match="exported with its own decoding strategy; leave out max_length"),
        load.open_model(str(tmp_path), {"max_length": 3}),
    ):
        pass
    (tmp_path / "config.json").touch()
    with load.open_model(str(tmp_path), {"max_length": 3}) as model:
        assert asked[0][0][0] == tmp_path and str(model).endswith("model/1")
    assert asked[0][1] == {"ops": "text", "max_length": 3}
