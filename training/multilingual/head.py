"""Takes the head of a `BertSumExt` with embeddings out, to train it alone, and puts it back.

    python training/multilingual/head.py MODEL BARE
    python training/multilingual/head.py MODEL TRAINED --output OUTPUT --share 0.6

The first writes BARE, the model folder MODEL without its embeddings, from which `tfsum train`
begins with a frozen encoder. The second moves the head of MODEL by a share of the way to that of
TRAINED (Wortsman et al. 2022, "Robust fine-tuning of zero-shot models"). Since the encoder is the
same, the vectors of sentences stay, but for the directions of their length (`settle.py`), which are
new.
"""

import argparse
import json
import pathlib

import numpy as np
from settle import free_of_length

import tfsum

TRAINED = ("recipe", "validation", "lead", "seconds")  # of tfsum.json, what a training says


def save(model: tfsum.BertSumExt, folder: pathlib.Path, settings: dict, like: pathlib.Path) -> None:
    """Writes a model folder with the vocabulary of another."""
    vocabulary = (like / "vocab.txt").read_text("utf-8").splitlines()
    model.save_pretrained(folder, vocabulary, settings)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("model", type=pathlib.Path, help="model folder with embeddings")
    parser.add_argument("head", type=pathlib.Path, help="folder to write, or that was trained")
    parser.add_argument("--output", type=pathlib.Path, help="model folder to write")
    parser.add_argument("--share", type=float, default=1.0, help="of the way to the trained head")
    options = parser.parse_args()
    settings = json.loads((options.model / "tfsum.json").read_text("utf-8"))
    model = tfsum.BertSumExt.from_pretrained(options.model)

    if options.output is None:
        bare = tfsum.BertSumExt.from_config({**model.get_config(), "embedding_width": 0})
        bare.build()
        given = model.bert.variables + list(map(model.head_variables().get, bare.head_variables()))
        taken = bare.bert.variables + list(bare.head_variables().values())
        for variable, value in zip(taken, given, strict=True):
            variable.assign(value)
        save(bare, options.head, settings, options.model)
        return

    trained = tfsum.BertSumExt.from_pretrained(options.head)
    for own, other in zip(model.bert.weights, trained.bert.weights, strict=True):
        np.testing.assert_array_equal(own, other, err_msg=f"{own.path} was trained too")
    head = model.head_variables()
    for path, variable in trained.head_variables().items():
        head[path].assign((1.0 - options.share) * head[path] + options.share * variable)
    free_of_length(model)
    said = json.loads((options.head / "tfsum.json").read_text("utf-8"))
    settings |= {name: said[name] for name in TRAINED if name in said}
    save(model, options.output, settings, options.model)


if __name__ == "__main__":
    main()
