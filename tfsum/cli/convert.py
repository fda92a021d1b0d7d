"""Turn a BERT of Google, Hugging Face or tfsum into a folder of another of these formats.

A checkpoint of BertSum or PreSumm becomes a model folder of tfsum, and such a folder a checkpoint.
"""

import sys

import tfsum
from tfsum.cli.options import GIVEN_ONLY, Arguments, Options, given_options

EXAMPLES = """examples:
  tfsum convert uncased_L-12_H-768_A-12 bert_base --to tfsum
  tfsum convert runs/korean/best korean_bert --to hugging-face
  tfsum convert bert_base for_google --to google
  tfsum convert model_step_50000.pt bertsum --to tfsum --vocabulary bert_base/vocab.txt
  tfsum convert runs/news/best model.pt --to bertsum

SOURCE is a folder, the prefix of a TensorFlow 1 checkpoint, a name on Hugging Face's hub, or a
checkpoint of BertSum or PreSumm. DESTINATION must be new.
"""

FORMATS = ("google", "hugging-face", "tfsum", "bertsum", "presumm")

PARSER = GIVEN_ONLY
OPTIONS: Options = {
    "": {
        "at most one of: case": {
            "--cased": {
                "dest": "lowercase",
                "action": "store_false",
                "help": "the model keeps case (default: as in its files or its vocabulary)",
            },
            "--uncased": {
                "dest": "lowercase",
                "action": "store_true",
                "help": "the model lower-cases and drops accents",
            },
        },
        "source": {
            "metavar": "SOURCE",
            "help": "the BERT to read",
        },
        "destination": {
            "metavar": "DESTINATION",
            "help": "the folder to write",
        },
        "--to": {
            "choices": FORMATS,
            "required": True,
            "help": "the format to write; bertsum and presumm: a .pt file",
        },
    },
    "what a checkpoint does not contain": {
        "--vocabulary": {
            "metavar": "FILE",
            "help": "the vocab.txt of its BERT, or a folder that holds one; always needed",
        },
        "--heads": {
            "type": int,
            "metavar": "N",
            "help": (
                "attention heads of its BERT (default: 64 columns each, as of all published sizes)"
            ),
        },
        "--head-heads": {
            "type": int,
            "metavar": "N",
            "help": "attention heads of its sentence layers or its decoder, where it has no `opt`",
        },
        "--legacy": {
            "action": "store_true",
            "help": "an LSTM head computes what the original does, by which batches matter",
        },
    },
}


def run(arguments: Arguments) -> int:
    options = given_options(arguments)
    source, destination, form = (options.pop(name) for name in ("source", "destination", "to"))
    if "heads" in options:
        options["bert"] = {"num_attention_heads": options.pop("heads")}

    for note in tfsum.convert(source, destination, form, **options):
        print(f"tfsum: {source}: {note}", file=sys.stderr)
    print(destination)
    return 0
