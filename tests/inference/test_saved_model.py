"""Finding the models that come with tfsum."""

import pytest

import tfsum
from tfsum import verify
from tfsum.errors import ExportError
from tfsum.inference.saved_model import shipped_folder, shipped_model, shipped_models


@pytest.fixture
def installed(tmp_path, monkeypatch):
    """A package as `pip install` lays it out: versions 2, 9 and 10 of one model, and half-made
    ones."""
    package = tmp_path / "tfsum"
    for name in ("news/2", "news/9", "news/10", "news/11", "half/1", "card_only"):
        (package / "saved_models" / name).mkdir(parents=True)
    for name in ("news/2", "news/9", "news/10"):
        (package / "saved_models" / name / "saved_model.pb").touch()
    (package / "saved_models" / "README.md").touch()
    monkeypatch.setattr(tfsum, "__file__", str(package / "__init__.py"))
    return package


def test_the_newest_whole_version_counted_as_a_number(installed):
    assert shipped_model("news") == installed.resolve() / "saved_models" / "news" / "10"
    assert list(shipped_models()) == ["news"]


def test_an_absent_model_names_those_there_are(installed):
    with pytest.raises(ExportError, match="no shipped model 'new'.*found news; give the folder"):
        shipped_model("new")


def test_nothing_shipped_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr(tfsum, "__file__", str(tmp_path / "tfsum" / "__init__.py"))
    assert shipped_folder() == tmp_path / "saved_models" and shipped_models() == {}
    with pytest.raises(ExportError, match="found no model at all"):
        shipped_model()


@pytest.mark.slow
@pytest.mark.skipif(
    "transformer_tatoeba_en_fr" not in shipped_models(),
    reason="saved_models/ has no Transformer yet",
)
def test_the_shipped_transformer():
    folder = shipped_model("transformer_tatoeba_en_fr")
    assert verify(folder)["golden_answers"] == 8
    assert sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()) < 8_000_000
    answer = tfsum.load(folder)(["I love you.", ""])
    assert [str(found) for found in answer] == ["Je t'aime.", ""] and all(
        found.ended for found in answer
    )
