"""Turn a BERT of Google, Hugging Face or tfsum into a folder of another of these formats; a checkpoint of BertSum or
PreSumm into a model folder of tfsum, and back."""

import argparse
import sys

import tfsum
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum convert uncased_L-12_H-768_A-12 bert_base --to tfsum
  tfsum convert runs/korean/best korean_bert --to hugging-face
  tfsum convert bert_base for_google --to google
  tfsum convert model_step_50000.pt bertsum --to tfsum --vocabulary bert_base/vocab.txt
  tfsum convert runs/news/best model.pt --to bertsum

SOURCE is a folder, the prefix of a TensorFlow 1 checkpoint, a name on Hugging Face's hub, or a checkpoint of BertSum or
PreSumm. DESTINATION must be new.
"""

FORMATS = ("google", "hugging-face", "tfsum", "bertsum", "presumm")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help="the BERT to read")
    add("destination", metavar="DESTINATION", help="the folder to write")
    add(
        "--to",
        choices=FORMATS,
        required=True,
        help="the format to write; bertsum and presumm: a .pt file",
    )
    case = parser.add_mutually_exclusive_group()
    case.add_argument(
        "--cased",
        dest="lowercase",
        action="store_false",
        default=None,
        help="the model keeps case (default: as in its files or its vocabulary)",
    )
    case.add_argument(
        "--uncased",
        dest="lowercase",
        action="store_true",
        default=None,
        help="the model lower-cases and drops accents",
    )
    add = parser.add_argument_group("what a checkpoint does not contain").add_argument
    add(
        "--vocabulary",
        metavar="FILE",
        help="the vocab.txt of its BERT, or a folder that holds one; always needed",
    )
    add(
        "--heads",
        type=int,
        metavar="N",
        help="attention heads of its BERT (default: 64 columns each, as of all published sizes)",
    )
    add(
        "--head-heads",
        type=int,
        metavar="N",
        help="attention heads of its sentence layers or its decoder, where it has no `opt`",
    )
    add(
        "--legacy",
        action="store_true",
        default=None,
        help="of an LSTM head: compute what the original computes, "
        "whose scores depend on the batch (default: repaired)",
    )


def run(arguments: argparse.Namespace) -> int:
    load_tensorflow()
    bert = None if arguments.heads is None else {"num_attention_heads": arguments.heads}
    changes = {
        name: getattr(arguments, name)
        for name in ("head_heads", "legacy")
        if getattr(arguments, name) is not None
    }
    for note in tfsum.convert(
        arguments.source,
        arguments.destination,
        arguments.to,
        arguments.lowercase,
        arguments.vocabulary,
        bert,
        **changes,
    ):
        print(f"tfsum: {arguments.source}: {note}", file=sys.stderr)
    print(arguments.destination)
    return 0
