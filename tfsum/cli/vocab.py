"""Learn a WordPiece vocabulary from texts of any language; needs the extra `vocab`.

A corpus is a .jsonl, .csv or .tsv file, or a text file of any other name with a text a line; each
may end in .gz.
"""

import os
import pathlib

from tfsum.cli.options import GIVEN_ONLY, Arguments, Options, given_options
from tfsum.loading import load_tensorflow

EXAMPLES = """examples:
  tfsum vocab train.en.gz train.de.gz --size 8000 --output vocab.txt
  tfsum vocab train.tsv.gz --columns 1,2 --output vocab.txt          # a table without a header line
  tfsum vocab news.jsonl.gz --columns text,summary --lowercase --keep-accents --output vocab.txt
"""

PARSER = GIVEN_ONLY
OPTIONS: Options = {
    "": {
        "at most one of: case": {
            "--cased": {
                "dest": "lowercase",
                "action": "store_false",
                "help": "keep upper and lower case (default)",
            },
            "--lowercase": {"action": "store_true", "help": "lower all letters"},
        },
        "at most one of: accents": {
            "--strip-accents": {
                "action": "store_true",
                "help": "drop accents (default: with --lowercase)",
            },
            "--keep-accents": {
                "dest": "strip_accents",
                "action": "store_false",
                "help": "keep accents (default: with --cased)",
            },
        },
        "corpus": {
            "nargs": "+",
            "metavar": "CORPUS",
            "help": "files with texts, one vocabulary for all",
        },
        "--columns": {
            "default": "text",
            "metavar": "A,B",
            "help": "fields of a .jsonl, .csv or .tsv (default: text), or numbers from 1",
        },
        "-o --output": {
            "required": True,
            "metavar": "FILE",
            "help": (
                "the vocab.txt to write; its settings go to tokenizer_config.json in its folder"
            ),
        },
        "--size": {
            "type": int,
            "default": 8000,
            "metavar": "N",
            "help": "pieces of the vocabulary (default: 8000)",
        },
        "--plain": {
            "dest": "reversible",
            "action": "store_false",
            "help": (
                "a BERT vocabulary as other tools read it; spaces cannot be restored from its ids"
            ),
        },
    },
}


def run(arguments: Arguments) -> int:
    options = given_options(arguments)
    corpora, columns, output = (options.pop(name) for name in ("corpus", "columns", "output"))
    arguments.parser.require_paths(*corpora)
    require = arguments.parser.require
    for corpus in corpora:
        require(not os.path.isdir(corpus), f"{corpus}: is a folder, expected a file")
    # a model may have been trained on it
    require(
        not os.path.exists(output), f"{output}: already exists; name another file, or remove it"
    )

    load_tensorflow()
    from tfsum.formats.text_settings import tokenizer_config

    case = {
        "lowercase": options.get("lowercase", False),
        "strip_accents": options.get("strip_accents"),
    }
    settings = pathlib.Path(output).with_name("tokenizer_config.json")
    require(
        not settings.is_file() or settings.read_text(encoding="utf-8") == tokenizer_config(case),
        f"{settings}: holds the settings of another vocabulary; choose another folder for {output}",
    )

    from tfsum.data.readers import RereadTexts, read_texts
    from tfsum.text.vocabulary import learn_vocabulary, write_vocabulary

    size = options.pop("size")
    pieces = learn_vocabulary(
        RereadTexts(lambda: read_texts(corpora, columns.split(","))), size, **options
    )
    write_vocabulary(pieces, output, case)

    message = f"{output}: {len(pieces)} pieces"
    if len(pieces) < size:
        message += f"; the texts hold no {size}"
    print(message)
    return 0
