"""A text with all that a page must take, a model that answers by rule, and attention of known weights."""

import pathlib

import numpy as np
import pytest


@pytest.fixture
def hostile() -> str:
    return (
        "<script>alert(1)</script> came first & \"second\".  It's </div></body> <img src=x onerror='a(2)'> here.\n\n"
        "안녕하세요 漢字. \u202eright to left\u0000 and \x1b[31m. &amp; &lt;b&gt; stays. {title} {0}. \ud800 alone."
    )


class Lead:
    """Stands in for a `Summarizer`: sentences end at ". ", scores fall from 0.8 on, the longest are chosen."""

    path = pathlib.Path("models/lead<b>/1")

    def __init__(self, **description):
        self.description = {"selection": "score", "block_trigrams": False, **description}

    def score(self, text):
        from tfsum.tasks.extractive.summarizer import Summary

        offsets, start = [], 0
        for part in text.split(". "):
            begin = start + len(part) - len(part.lstrip())
            end = start + len(part) + (start + len(part) < len(text))
            offsets += [(begin, end)] if part.strip() else []
            start += len(part) + 2
        sentences = [text[a:b] for a, b in offsets]
        scores = [0.8 / (i + 1) for i in range(len(sentences))]
        return Summary(" ".join(sentences), sentences, scores, offsets, 0.975, ["a <b>warning</b>"])

    def __call__(self, text, sentences):
        from tfsum.tasks.extractive.summarizer import Summary

        every = self.score(text)
        longest = sorted(range(len(every.sentences)), key=lambda i: -len(every.sentences[i]))[:sentences]
        pick = [[values[i] for i in sorted(longest)] for values in (every.sentences, every.scores, every.offsets)]
        return Summary(" ".join(pick[0]), *pick, every.coverage, every.warnings)


@pytest.fixture
def lead():
    """The class of the stand-in."""
    return Lead


@pytest.fixture
def attention():
    """Weights of 2 layers of 5 heads, from 3 tokens to 4."""
    from tfsum.visualization import Attention

    weights = np.random.default_rng(0).dirichlet(np.ones(4), size=(2, 5, 3)).astype(np.float32)
    return Attention("cross-attention", weights, ["a", "$b$", "c"], ["w", "x", "y", "z"])
