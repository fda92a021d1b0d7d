"""Documents as files, for programs on other hosts, and the summaries that Python gives them."""

import itertools
import pathlib

import pytest

from tfsum.data.readers import read_corpus
from tfsum.export.golden import TEXTS
from tfsum.inference.exported_model import EagerModel
from tfsum.inference.saved_model import shipped_model

SHARED = pathlib.Path(__file__).resolve().parents[3] / "shared"


@pytest.fixture(scope="session")
def documents(tmp_path_factory) -> list[pathlib.Path]:
    """Files: the texts of the golden answers, and 50 documents of the news corpus if it is beside
    the checkout; all in one list, since each process that reads the model takes seconds."""
    corpus, texts = SHARED / "data/news/validation.jsonl.gz", list(TEXTS)
    if corpus.is_file():
        texts += [row["text"] for row in itertools.islice(read_corpus(corpus), 50)]
    folder = tmp_path_factory.mktemp("documents")
    files = [folder / f"{number}.txt" for number in range(len(texts))]
    for file, text in zip(files, texts):
        file.write_bytes(text.encode())
    return files


@pytest.fixture(scope="session")
def summaries(documents) -> bytes:
    """What a program prints that writes a new line after each summary."""
    model = EagerModel(shipped_model(), {})
    answers = [model.call("serving_default", {"text": [file.read_bytes()]}) for file in documents]
    return b"".join(answer["summary"][0] + b"\n" for answer in answers)
