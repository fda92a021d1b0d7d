"""Turn a BERT of Google, Hugging Face or tfsum into a folder of another of these formats."""

import argparse
import sys

import tfsum
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum convert uncased_L-12_H-768_A-12 bert_base --to tfsum
  tfsum convert runs/korean/best korean_bert --to hugging-face
  tfsum convert bert_base for_google --to google

SOURCE is a folder, the prefix of a TensorFlow 1 checkpoint, or a name on Hugging Face's hub. DESTINATION must be new.
"""

FORMATS = ("google", "hugging-face", "tfsum")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("source", metavar="SOURCE", help="the BERT to read")
    add("destination", metavar="DESTINATION", help="the folder to write")
    add("--to", choices=FORMATS, required=True, help="the format of the folder")
    case = parser.add_mutually_exclusive_group()
    case.add_argument("--cased", dest="lowercase", action="store_false", default=None,
                      help="the model keeps case (default: as in its files or its vocabulary)")
    case.add_argument("--uncased", dest="lowercase", action="store_true", default=None,
                      help="the model lower-cases and drops accents")


def run(arguments: argparse.Namespace) -> int:
    load_tensorflow()
    for note in tfsum.convert(arguments.source, arguments.destination, arguments.to, arguments.lowercase):
        print(f"tfsum: {arguments.source}: {note}", file=sys.stderr)
    print(arguments.destination)
    return 0
