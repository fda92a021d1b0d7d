"""Learn a WordPiece vocabulary from texts of any language; needs the extra `vocab`.

A corpus is a .jsonl, .csv or .tsv file, or a text file of any other name with a text a line; each may end in .gz.
"""

import argparse
import pathlib

from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum vocab train.en.gz train.de.gz --size 8000 --output vocab.txt
  tfsum vocab train.tsv.gz --columns 1,2 --output vocab.txt          # a table without a header line
  tfsum vocab news.jsonl.gz --columns text,summary --lowercase --keep-accents --output vocab.txt
"""

# What is not given here is left to the library's own default.
UNSET = argparse.SUPPRESS


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("corpus", nargs="+", metavar="CORPUS", help="files with texts, one vocabulary for all")
    add(
        "--columns",
        default="text",
        metavar="A,B",
        help="fields of a .jsonl, .csv or .tsv (default text); "
        "numbers from 1 where there is no header line",
    )
    add("-o", "--output", required=True, metavar="FILE", help="the vocab.txt to write")
    add(
        "--size",
        type=int,
        default=8000,
        metavar="N",
        help="pieces of the vocabulary (default 8000)",
    )
    case = parser.add_mutually_exclusive_group()
    case.add_argument(
        "--cased",
        dest="lowercase",
        action="store_false",
        default=UNSET,
        help="keep upper and lower case (default)",
    )
    case.add_argument("--lowercase", action="store_true", default=UNSET, help="lower all letters")
    accents = parser.add_mutually_exclusive_group()
    accents.add_argument(
        "--strip-accents",
        action="store_true",
        default=UNSET,
        help="drop accents (default with --lowercase)",
    )
    accents.add_argument(
        "--keep-accents",
        dest="strip_accents",
        action="store_false",
        default=UNSET,
        help="keep accents (default with --cased)",
    )
    add(
        "--plain",
        dest="reversible",
        action="store_false",
        default=UNSET,
        help="a BERT vocabulary as other tools read it; spaces cannot be restored from its ids",
    )
    add(
        "--character-coverage",
        type=float,
        default=UNSET,
        metavar="SHARE",
        help="share of all characters in the alphabet (default 0.9995)",
    )
    add(
        "--min-frequency",
        type=int,
        default=UNSET,
        metavar="N",
        help="occurrences of a new piece at least (2)",
    )


def run(arguments: argparse.Namespace) -> int:
    given = vars(arguments).copy()
    corpora, columns, output = (given.pop(name) for name in ("corpus", "columns", "output"))
    del given["run"], given["parser"]
    for corpus in corpora:
        if not pathlib.Path(corpus).is_file():
            what = "a folder, expected a file" if pathlib.Path(corpus).is_dir() else "no such file"
            arguments.parser.error(f"{what}: {corpus}")
    if (
        pathlib.Path(output).is_file() or pathlib.Path(output).is_dir()
    ):  # a model may have been trained on it
        arguments.parser.error(f"{output}: already exists; name another file, or remove it")
    load_tensorflow()
    from tfsum.data.readers import CorpusTexts
    from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary

    size = given.pop("size")
    pieces = learn_vocabulary(CorpusTexts(corpora, columns.split(",")), size, **given)
    write_vocabulary(pieces, output)
    print(
        f"{output}: {len(pieces)} pieces"
        + (f"; the texts hold no {size}" if len(pieces) < size else "")
    )
    return 0
