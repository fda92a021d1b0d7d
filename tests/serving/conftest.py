"""Small SavedModels, a folder of them, and an application that serves it, without a socket."""

import asyncio
import pathlib
import types

import httpx2
import numpy as np
import pytest
import tensorflow as tf
from opened_models import unverified
from patient_client import TIMEOUT

from tfsum.serving.server import Server
from tfsum.serving.settings import ServerSettings
from tfsum.shipped_files import SAVED_MODELS


class Text(tf.Module):
    """Signatures of texts, as tfsum's exports have them: texts come back with a number each."""

    def __init__(self, number):
        self.number = tf.Variable(float(number))

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
    def default(self, text):
        length = tf.strings.length(text)
        return {
            "summary": text,
            "score": tf.cast(length, tf.float32) + self.number,
            "count": length,
        }

    @tf.function(
        input_signature=[
            tf.TensorSpec((None,), tf.string, "text"),
            tf.TensorSpec((None,), tf.int32, "max_sentences"),
            tf.TensorSpec((None,), tf.bool, "block_trigrams"),
        ]
    )
    def summarize(self, text, max_sentences, block_trigrams):
        text = tf.strings.substr(text, tf.zeros_like(max_sentences), max_sentences)
        return {"summary": tf.where(block_trigrams, tf.strings.upper(text), text)}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
    def words(self, text):
        words = tf.strings.split(text)
        return {"word": words.to_tensor(), "count": tf.cast(words.row_lengths(), tf.int32)}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
    def raw(self, text):
        return {"text_bytes": text}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.string, "text")])
    def picky(self, text):
        with tf.control_dependencies(
            [tf.debugging.Assert(tf.reduce_all(text != "bad"), ["found a bad text"])]
        ):
            return {"summary": tf.identity(text)}


class Numbers(tf.Module):
    """Signatures of numbers."""

    @tf.function(input_signature=[tf.TensorSpec(None, tf.float32, "x")])
    def half(self, x):
        return {"y": x / 2.0 + 2.0}

    @tf.function(input_signature=[tf.TensorSpec((None,), tf.float32, "x")])
    def uneven(self, x):
        return {"one": x, "two": tf.concat([x, x], 0)}

    @tf.function(
        input_signature=[
            tf.TensorSpec((None,), tf.int32, "x"),
            tf.TensorSpec((None,), tf.int64, "z"),
        ]
    )
    def whole(self, x, z):
        return {"sum": tf.cast(x, tf.int64) + z}


def write_text_model(folder, number=0):
    model = Text(number)
    tf.saved_model.save(
        model,
        str(folder),
        signatures={
            "serving_default": model.default,
            "summarize": model.summarize,
            "words": model.words,
            "raw": model.raw,
            "picky": model.picky,
        },
    )


@pytest.fixture(scope="session")
def models(made_once) -> pathlib.Path:
    """A folder: `text` 1 and 2, `numbers` 123."""
    return made_once("serving", write_models)


def write_models(folder):
    for version in (1, 2):
        write_text_model(folder / "text" / str(version), version)
    model = Numbers()
    tf.saved_model.save(
        model,
        str(folder / "numbers" / "123"),
        signatures={"serving_default": model.half, "uneven": model.uneven, "whole": model.whole},
    )


class Asked:
    """A server without a socket: requests go to its application."""

    def __init__(self, folder, **settings):
        self.server = Server(folder, ServerSettings(port=0, **{"timeout": TIMEOUT, **settings}))
        self.scan()

    def scan(self):
        for _ in range(2):  # the second time files are known not to change
            self.server.versions.scan()

    def __call__(self, method, path, body=b"", headers=None):
        """The answer to a request."""
        return self.together([(method, path, body, headers)])[0]

    def together(self, requests):
        """The answers to requests that are sent at the same time."""
        return asyncio.run(self.answers(requests))

    async def answers(self, requests):
        """The same in an event loop."""
        transport = httpx2.ASGITransport(self.server.application)
        async with httpx2.AsyncClient(transport=transport, base_url="http://localhost") as client:
            return await asyncio.gather(
                *(
                    client.request(method, path, content=body, headers=headers or {})
                    for method, path, body, headers in requests
                )
            )


@pytest.fixture(scope="session")
def ask(models):
    return Asked(models, version_policy="all", labels={"text/stable": 1, "text/gone": 9})


@pytest.fixture(scope="session")
def ask_shipped():
    """Asks for the shipped models."""
    with unverified():
        return Asked(SAVED_MODELS, version_policy="latest")


@pytest.fixture(scope="session")
def serving():
    """What tests build servers of their own from."""
    return types.SimpleNamespace(
        Asked=Asked,
        write_text_model=write_text_model,
        text=lambda *texts: {"text": np.array([text.encode() for text in texts], object)},
    )
