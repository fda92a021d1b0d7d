"""Turn a corpus into sharded training records; an interrupted run resumes when repeated.

For extractive training (the default task) documents get oracle labels, for pretraining a BERT they
become pairs of segments, whose words are masked when it is trained. For a Transformer pairs of
texts become pairs of ids.
"""

import argparse
import contextlib
import inspect
import json
from collections.abc import Callable, Iterable, Iterator

import tfsum
from tfsum.cli.parser import Options, given_options
from tfsum.errors import Stopped
from tfsum.quiet_tensorflow import load_tensorflow
from tfsum.training.shipped_recipes import is_recipe

EXAMPLES = """examples:
  tfsum prepare news.toml                        # the records of a recipe, as in tfsum train
  tfsum prepare train.jsonl.gz --vocabulary minilm/vocab.txt --output records/train
  tfsum prepare train.csv --text article --summary highlights --labels soft --processes 4 \\
      --vocabulary minilm --output records/train
  tfsum prepare 'cnndm.train.*.pt' --labels corpus --newline line --vocabulary bert \\
      --output records/cnndm
  tfsum prepare books.txt.gz --task bert_for_pretraining --max-length 128 --vocabulary minilm \\
      --output records/books
  tfsum prepare train.en.gz --task transformer --target-corpus train.de.gz --vocabulary vocab.txt \\
      --output records/train
  tfsum prepare train.tsv.gz --task transformer --source 1 --target 2 --vocabulary vocab.txt \\
      --output records/train

exit status 75 where it was stopped with Ctrl-C; the finished shards are kept.
"""
PARSER = {
    "usage": "%(prog)s CORPUS --output FOLDER --vocabulary FILE [options]\n"
    "       %(prog)s RECIPE [--set SECTION.KEY=VALUE]",
    # What is not given is left to the library's own default.
    "argument_default": argparse.SUPPRESS,
}

TASKS = ("bert_sum_ext", "bert_sum_abs", "transformer", "bert_for_pretraining")

# The first group concerns all models.
CORPUS_OPTIONS: Options = {
    "": {
        "at most one of: case": {
            "--cased": {
                "dest": "lowercase",
                "action": "store_false",
                "help": "keep upper and lower case (default for a Transformer)",
            },
            "--lowercase": {
                "action": "store_true",
                "help": (
                    "convert texts to lower case (default of other models: as the model folder"
                    " says; if it does not, unless the vocabulary has capital letters)"
                ),
            },
        },
        "corpus": {
            "metavar": "CORPUS",
            "help": (
                ".jsonl, .csv or .tsv with texts (and summaries), each also with .gz; stories of"
                " CNN and the Daily Mail, BertSum's .json and .pt: a file, a folder, a pattern in"
                " quotes, or a list of the stories' addresses; for pretraining also plain text,"
                " documents parted by empty lines; for `tfsum prepare` also a recipe (.toml,"
                " or the name of a shipped one), which says all the rest"
            ),
        },
        "--task": {
            "choices": TASKS,
            "help": "what is to be trained (default bert_sum_ext)",
        },
        "--output": {
            "metavar": "FOLDER",
            "help": "folder of the records",
        },
        "--vocabulary": {
            "metavar": "FILE",
            "help": (
                "vocab.txt, or the model folder that holds it, also "
                "package:NAME/FOLDER inside an installed package"
            ),
        },
        "--keep-accents": {
            "dest": "strip_accents",
            "action": "store_false",
            "help": "keep accents, and Korean syllables whole, in lower-cased pieces",
        },
        "--shards": {
            "type": int,
            "metavar": "N",
            "help": "files to write",
        },
        "--format": {
            "choices": ("text", "json"),
            "help": "format of the counts (default text)",
        },
    },
    "BertSumExt, BertSumAbs and pretraining a BERT": {
        "--text": {
            "metavar": "COLUMN",
            "help": "column of the texts (default text)",
        },
        "--newline": {
            "choices": ("auto", "sentence", "line", "paragraph", "space"),
            "help": (
                "what a new line ends (auto: a sentence, but not in hard-wrapped texts; line: a"
                " sentence, which nothing else ends)"
            ),
        },
    },
    "BertSumExt and BertSumAbs": {
        "--id": {
            "metavar": "COLUMN",
            "help": "column of the documents' names (default id)",
        },
        "--summary": {
            "metavar": "COLUMN",
            "help": "column of the summaries (default summary)",
        },
        "--labels": {
            "choices": ("greedy", "combination", "soft", "corpus"),
            "help": (
                "greedy (default): 0 or 1, sentences added one at a time; combination: 0 or 1, the"
                " best of all extracts (slow); soft: from 0 to 1; corpus: read from the field"
                " `labels`, whose text is a list of sentences, or from a .pt shard"
            ),
        },
        "--temperature": {
            "type": float,
            "metavar": "T",
            "help": "temperature of soft labels",
        },
        "--summary-sentences": {
            "type": int,
            "metavar": "N",
            "help": "most sentences of an oracle (3)",
        },
        "--max-sentences": {
            "type": int,
            "metavar": "N",
            "help": "sentences kept of a document",
        },
        "--legacy": {
            "choices": ("bertsum", "presumm"),
            "help": (
                "repeat the preprocessing and the oracle of nlpyang/BertSum or nlpyang/PreSumm"
                " (with --newline line)"
            ),
        },
        "--window-length": {
            "type": int,
            "metavar": "N",
            "help": "positions of the encoder",
        },
    },
    "pretraining a BERT": {
        "--max-length": {
            "type": int,
            "metavar": "N",
            "help": "positions of a pair (128)",
        },
        "--next-sentence": {
            "choices": ("even", "original", "none"),
            "help": (
                "half of the pairs true (default), as google-research/bert, or one segment"
                " without a next sentence"
            ),
        },
        "--same-document-share": {
            "type": float,
            "metavar": "SHARE",
            "help": "share of the false next sentences that are of the same document (0)",
        },
        "--short-share": {
            "type": float,
            "metavar": "SHARE",
            "help": "share of the documents with shorter pairs (0.1)",
        },
        "--duplicates": {
            "type": int,
            "metavar": "N",
            "help": "passes over a document, with other pairs each (1)",
        },
        "--part": {
            "choices": ("all", "training", "held_out"),
            "help": "which documents to take (all)",
        },
        "--held-out-share": {
            "type": float,
            "metavar": "SHARE",
            "help": "share of the documents that are held out, chosen by their text (0)",
        },
        "--seed": {
            "type": int,
            "metavar": "N",
            "help": "seed of the pairs (0)",
        },
    },
    "Transformer": {
        "--target-corpus": {
            "metavar": "FILE",
            "help": "target texts, one a line, where CORPUS holds sources",
        },
        "--source": {
            "metavar": "COLUMN",
            "help": "column of the sources, or its number from 1 without a header (default source)",
        },
        "--target": {
            "metavar": "COLUMN",
            "help": "column of the targets, or its number (default target)",
        },
        "--target-vocabulary": {
            "metavar": "FILE",
            "help": "vocab.txt of the targets, where they have their own",
        },
        "--max-source-length": {
            "type": int,
            "metavar": "N",
            "help": "positions of a source (512)",
        },
        "--max-target-length": {
            "type": int,
            "metavar": "N",
            "help": "positions of a target (512)",
        },
        "--cut-sources": {
            "action": "store_true",
            "help": "cut longer sources; else their pairs are left out",
        },
        "--target-lines": {
            "type": int,
            "metavar": "N",
            "help": "lines kept of a target (all)",
        },
        "--window-sentences": {
            "type": int,
            "metavar": "N",
            "help": "N sentences in a row are a source, and its first ones its target",
        },
        "--window-targets": {
            "choices": ("sentences", "lines", "both"),
            "help": (
                "target of such a run: its first sentence (default), or each line of the target"
                " that the run is most like"
            ),
        },
    },
}


# `tfsum pipeline prepare` has the options above alone.
OPTIONS = {
    **CORPUS_OPTIONS,
    "of this machine": {
        "--set": {
            "dest": "overrides",
            "action": "append",
            "metavar": "SECTION.KEY=VALUE",
            "help": "override a key of a recipe",
        },
        "--processes": {"type": int, "metavar": "N", "help": "processes that work at once"},
    },
}


def run(arguments: argparse.Namespace, prepare: Callable[..., dict[str, int]] | None = None) -> int:
    options = given_options(arguments)
    corpus, overrides = options.pop("corpus"), options.pop("overrides", None)
    if is_recipe(corpus):
        if options:
            arguments.parser.error(
                f"{_flags(options)}: not with a recipe, which says it; use --set, such as "
                "--set data.records=FOLDER"
            )
        return _prepare_recipe(corpus, overrides or [])

    if overrides:
        arguments.parser.error("--set: is for a recipe")
    if missing := [name for name in ("output", "vocabulary") if name not in options]:
        arguments.parser.error(f"the following arguments are required: {_flags(missing)}")
    output, vocabulary = options.pop("output"), options.pop("vocabulary")
    name, form = options.pop("task", "bert_sum_ext"), options.pop("format", "text")
    arguments.parser.require_paths(corpus, options.get("target_corpus", corpus))

    load_tensorflow()
    from tfsum.formats.hugging_face import PACKAGE, local_folder
    from tfsum.tasks import task

    if vocabulary.startswith(PACKAGE):
        vocabulary = str(local_folder(vocabulary))
    parameters = inspect.signature(task(name).part("prepare").prepare).parameters
    if "columns" in parameters:
        columns = [field for field in ("id", "text", "summary") if field in options]
        options["columns"] = {field: options.pop(field) for field in columns} or None

    if unknown := [option for option in options if option not in parameters]:
        arguments.parser.error(f"{_flags(unknown)}: no option of --task {name}")

    with _stopped_by_interrupt():
        counts = (prepare or tfsum.prepare)(corpus, output, vocabulary, name, **options)
    print(json.dumps(counts) if form == "json" else as_text(counts))
    return 0


def _flags(names: Iterable[str]) -> str:
    return ", ".join(f"--{name.replace('_', '-')}" for name in names)


def _prepare_recipe(recipe: str, overrides: list[str]) -> int:
    load_tensorflow()
    from tfsum.tasks.recipes import prepare_recipe

    with _stopped_by_interrupt():
        records = prepare_recipe(recipe, overrides)
    print(records or "nothing to prepare: tfsum train reads these texts itself")
    return 0


@contextlib.contextmanager
def _stopped_by_interrupt() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt:
        raise Stopped(
            "stopped; the finished shards are kept, run the same command to resume"
        ) from None


def as_text(counts: dict[str, int]) -> str:
    """Writes counts as lines.

    Args:
        counts: Numbers by name.

    Example:
        >>> print(as_text({"documents": 1000}))
        documents       1,000
    """
    width = max(map(len, counts))
    return "\n".join(f"{name:<{width}}  {count:>10,}" for name, count in counts.items())
