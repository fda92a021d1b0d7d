"""Finding the models that come with tfsum."""

import pytest

import tfsum
from tfsum import verify
from tfsum.errors import ExportError
from tfsum.inference.saved_model import shipped_model, shipped_models


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder of models: versions 2, 9 and 10 of one model, and half-made ones."""
    for name in ("news/2", "news/9", "news/10", "news/11", "half/1", "card_only"):
        (tmp_path / name).mkdir(parents=True)
    for name in ("news/2", "news/9", "news/10"):
        (tmp_path / name / "saved_model.pb").touch()
    (tmp_path / "README.md").touch()
    monkeypatch.setattr("tfsum.inference.saved_model.SAVED_MODELS", tmp_path)
    return tmp_path


def test_the_newest_whole_version_counted_as_a_number(folder):
    assert shipped_model("news") == folder / "news" / "10"
    assert list(shipped_models()) == ["news"]


def test_an_absent_model_names_those_there_are(folder):
    with pytest.raises(ExportError, match="no shipped model 'new'.*found news; give the folder"):
        shipped_model("new")


@pytest.mark.parametrize(
    "asked, hint",
    [
        ("new", r" \(did you mean news\?\)"),
        ("nwes", r" \(did you mean news\?\)"),
        ("english", ""),
        ("card_only/best", r" \(a training writes its folder `best` at the first validation\)"),
    ],
)
def test_a_wrong_name_says_what_was_meant(folder, monkeypatch, asked, hint):
    (folder / "card_only" / "recipe.toml").touch()
    monkeypatch.chdir(folder)
    with pytest.raises(ExportError, match=f"{asked}: no such folder{hint}; .* models: news$"):
        tfsum.load(asked)


def test_nothing_shipped_at_all(tmp_path, monkeypatch):
    monkeypatch.setattr("tfsum.inference.saved_model.SAVED_MODELS", tmp_path / "saved_models")
    assert shipped_models() == {}
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


@pytest.mark.slow
@pytest.mark.parametrize(
    "text, codes",
    [
        ("마을 방앗간에서 빵을 굽기 시작했다. 이 빵은 밀가루 없이 쌀가루만 쓴다.", []),
        ("Silta suljettiin maanantaina. Kaupunki odottaa uutta venettä.", []),  # Finnish
        ("ხიდი ორშაბათს დაიკეტა. ქალაქი ელოდება ახალ ნავს.", ["language"]),  # Georgian, not trained
    ],
)
def test_the_languages_of_the_shipped_model_are_known(text, codes):
    answer = tfsum.load("bert_sum_ext_multilingual")(text)
    assert [warning["code"] for warning in answer.warnings] == codes
