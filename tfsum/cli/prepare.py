"""Turn a corpus into sharded training records; an interrupted run resumes when repeated.

For extractive training (the default task) documents get oracle labels, for pretraining a BERT they
become pairs of segments, whose words are masked when it is trained. For a Transformer pairs of
texts become pairs of ids.
"""

from collections.abc import Callable

import tfsum
from tfsum.cli.options import (
    GIVEN_ONLY,
    Arguments,
    Classes,
    Options,
    flag_of,
    given_options,
    print_as,
    read_settings,
)
from tfsum.data.preparation import Preparation
from tfsum.errors import Stopped
from tfsum.loading import load_tensorflow
from tfsum.tasks import task
from tfsum.tasks.recipes import prepare_recipe, section_class
from tfsum.training.recipe_file import is_recipe

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
PARSER = GIVEN_ONLY | {
    "usage": "%(prog)s CORPUS --output FOLDER --vocabulary FILE [options]\n"
    "       %(prog)s RECIPE [--set SECTION.KEY=VALUE]",
}

TASKS = ("bert_sum_ext", "bert_sum_abs", "transformer", "bert_for_pretraining")
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
                "help": "convert to lower case (default of others: as the vocabulary says)",
            },
        },
        "corpus": {
            "metavar": "CORPUS",
            "help": "a corpus, see docs/train.md, or for `tfsum prepare` a recipe",
        },
        "--task": {"choices": TASKS, "help": "what is to be trained (default: bert_sum_ext)"},
        "--output": {"metavar": "FOLDER", "help": "folder of the records"},
        "--vocabulary": {
            "metavar": "FILE",
            "help": "vocab.txt, or the folder that holds it, also package:NAME/FOLDER",
        },
        "--keep-accents": {
            "dest": "strip_accents",
            "action": "store_false",
            "help": "keep accents, and Korean syllables whole, in lower-cased pieces",
        },
        "--format": {"choices": ("text", "json"), "help": "format of the counts (default: text)"},
    },
    "Transformer": {
        "--target-corpus": {
            "metavar": "FILE",
            "help": "target texts, one a line, where CORPUS holds sources",
        },
        "--target-vocabulary": {
            "metavar": "FILE",
            "help": "vocab.txt of the targets, where they have their own",
        },
    },
}
# `tfsum pipeline prepare` has not the last.
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


def preparation_of(kind: str) -> type[Preparation]:
    """The class whose fields are the options of a task."""
    found = task(kind)
    return found.need(found.prepare, "prepare")


DOCUMENTS, EVERY = "BertSumExt and BertSumAbs", "BertSumExt, BertSumAbs and pretraining a BERT"
CLASSES: Classes = [
    (Preparation, ["shards"], ""),
    (section_class("bert_sum_ext", "data"), ["text"], EVERY),
    (preparation_of("bert_sum_ext"), ["newline"], EVERY),
    (section_class("bert_sum_ext", "data"), ["id", "summary"], DOCUMENTS),
    (
        preparation_of("bert_sum_ext"),
        "labels temperature unlabelled summary_sentences max_sentences window_length"
        " legacy".split(),
        DOCUMENTS,
    ),
    (
        preparation_of("bert_for_pretraining"),
        "max_length next_sentence same_document_share short_share duplicates seed part"
        " held_out_share".split(),
        "pretraining a BERT",
    ),
    (
        preparation_of("transformer"),
        "source target max_source_length max_target_length cut_sources target_lines"
        " window_sentences window_targets".split(),
        "Transformer",
    ),
]


def run(arguments: Arguments, prepare: Callable[..., dict[str, int]] | None = None) -> int:
    try:
        return _run(arguments, prepare or tfsum.prepare)
    except KeyboardInterrupt:
        raise Stopped(
            "stopped; the finished shards are kept, run the same command to resume"
        ) from None


def _run(arguments: Arguments, prepare: Callable[..., dict[str, int]]) -> int:
    options, require = given_options(arguments), arguments.parser.require
    corpus, overrides = options.pop("corpus"), options.pop("overrides", [])
    if is_recipe(corpus):
        require(
            not options,
            f"{', '.join(map(flag_of, options))}: not with a recipe, which says it; use --set,"
            " such as --set data.records=FOLDER",
        )
        load_tensorflow()
        records = prepare_recipe(corpus, overrides)
        print(records or "nothing to prepare: tfsum train reads these texts itself")
        return 0

    require(not overrides, "--set: is for a recipe")
    missing = [flag_of(name) for name in ("output", "vocabulary") if name not in options]
    require(not missing, f"the following arguments are required: {', '.join(missing)}")
    output, vocabulary = options.pop("output"), options.pop("vocabulary")
    name, form = options.pop("task", TASKS[0]), options.pop("format", "text")
    arguments.parser.require_paths(corpus, options.get("target_corpus", corpus))
    preparation = preparation_of(name)
    if "columns" in preparation.model_fields:
        columns = options.keys() & {"id", "text", "summary"}
        options["columns"] = {field: options.pop(field) for field in columns} or None
    unknown = [flag_of(option) for option in options if option not in preparation.model_fields]
    require(not unknown, f"{', '.join(unknown)}: no option of --task {name}")
    read_settings(preparation, arguments)

    load_tensorflow()
    from tfsum.formats.model_folder import PACKAGE, local_folder

    if vocabulary.startswith(PACKAGE):
        vocabulary = str(local_folder(vocabulary))
    counts = prepare(corpus, output, vocabulary, name, **options)
    print_as(form, counts, as_text(counts))
    return 0


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
