"""Turn a corpus into sharded training records; an interrupted run resumes when repeated.

For extractive training (the default task) documents get oracle labels, for pretraining a BERT they become pairs of
segments, whose words are masked when it is trained. For a Transformer pairs of texts become pairs of ids.
"""

import argparse
import glob
import inspect
import json
import pathlib
from collections.abc import Callable
from typing import Any

import tfsum
from tfsum.errors import Stopped
from tfsum.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum prepare training/bert_sum_ext_news.toml     # the records of a recipe, as tfsum train prepares them
  tfsum prepare train.jsonl.gz --vocabulary minilm/vocab.txt --output records/train
  tfsum prepare train.csv --text article --summary highlights --labels soft --processes 4 \\
      --vocabulary minilm --output records/train
  tfsum prepare 'cnndm.train.*.pt' --labels corpus --newline line --vocabulary bert --output records/cnndm
  tfsum prepare books.txt.gz --task pretraining --max-length 128 --vocabulary minilm --output records/books
  tfsum prepare train.en.gz --task pairs --target-corpus train.de.gz --vocabulary vocab.txt --output records/train
  tfsum prepare train.tsv.gz --task pairs --source 1 --target 2 --vocabulary vocab.txt --output records/train

exit status 75 where it was stopped with Ctrl-C; the finished shards are kept.
"""

# What is not given here is left to the library's own default.
UNSET = argparse.SUPPRESS

# --task -> the name in the table of tasks.
TASKS = {"extractive": "extractive", "pretraining": "pretraining", "pairs": "abstractive"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_corpus_arguments(parser, "; or a recipe (.toml), which says all the rest")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="of a recipe: override a key",
    )
    parser.add_argument(
        "--processes", type=int, default=UNSET, metavar="N", help="how many work at once"
    )


def add_corpus_arguments(parser: argparse.ArgumentParser, recipe: str = "") -> None:
    """Adds what `tfsum pipeline prepare` has too.

    Args:
        parser: of the command.
        recipe: what its help says of a recipe in the place of a corpus.

    Example:
        >>> parser = argparse.ArgumentParser()
        >>> add_corpus_arguments(parser)
        >>> parser.parse_args(["train.jsonl", "--shards", "2"]).shards
        2
    """
    add = parser.add_argument
    add(
        "corpus",
        metavar="CORPUS",
        help=".jsonl, .csv or .tsv with texts (and summaries), each also with .gz; stories "
        "of CNN and the Daily Mail, BertSum's .json and .pt: a file, a folder, a pattern in quotes, or a list of the "
        "stories' addresses; for pretraining also plain text, documents parted by empty lines"
        + recipe,
    )
    add(
        "--task",
        choices=tuple(TASKS),
        default="extractive",
        help="what is to be trained (default extractive)",
    )
    add("--output", default=UNSET, metavar="FOLDER", help="where the records go")
    add(
        "--vocabulary",
        default=UNSET,
        metavar="FILE",
        help="vocab.txt, or the model folder that holds it, also "
        "package:NAME/FOLDER inside an installed package",
    )
    for field in ("id", "text", "summary"):
        add(f"--{field}", metavar="COLUMN", help=f"the corpus's name for it (default {field})")
    case = parser.add_mutually_exclusive_group()
    case.add_argument(
        "--cased",
        dest="lowercase",
        action="store_false",
        default=UNSET,
        help="keep upper and lower case (default for pairs)",
    )
    case.add_argument(
        "--lowercase",
        action="store_true",
        default=UNSET,
        help="lower all letters (default otherwise: as the model folder says, or where it is silent and "
        "where there is none as the pieces look)",
    )
    add(
        "--keep-accents",
        dest="strip_accents",
        action="store_false",
        default=UNSET,
        help="keep accents, and Korean syllables whole, in lower-cased pieces",
    )
    add(
        "--newline",
        choices=("auto", "sentence", "line", "paragraph", "space"),
        default=UNSET,
        help="what a new line ends (auto: a sentence, but not in hard-wrapped texts; line: a sentence, which nothing "
        "else ends)",
    )
    add("--shards", type=int, default=UNSET, metavar="N", help="files to write")
    add("--format", choices=("text", "json"), default="text", help="of the counts (default text)")
    _add_extractive(parser.add_argument_group("for extractive training").add_argument)
    _add_pretraining(parser.add_argument_group("for pretraining").add_argument)
    _add_pairs(parser.add_argument_group("for pairs").add_argument)


def _add_extractive(add: Callable[..., Any]) -> None:
    add(
        "--labels",
        choices=("greedy", "combination", "soft", "corpus"),
        default=UNSET,
        help="oracle labels: 0 or 1 (default), those of the best of all extracts (slow), or shares; corpus: those of "
        "the field `labels`, whose text is a list of sentences, or of a .pt shard",
    )
    add("--temperature", type=float, default=UNSET, help="of soft labels")
    add(
        "--summary-sentences",
        type=int,
        default=UNSET,
        metavar="N",
        help="sentences of an oracle at most",
    )
    add(
        "--max-sentences", type=int, default=UNSET, metavar="N", help="sentences kept of a document"
    )
    add(
        "--legacy",
        choices=("bertsum", "presumm"),
        default=UNSET,
        help="repeat the preprocessing and the oracle of nlpyang/BertSum or nlpyang/PreSumm (with --newline line)",
    )
    add("--window-length", type=int, default=UNSET, metavar="N", help="positions of the encoder")


def _add_pretraining(add: Callable[..., Any]) -> None:
    add("--max-length", type=int, default=UNSET, metavar="N", help="positions of a pair (128)")
    add(
        "--next-sentence",
        choices=("even", "original", "none"),
        default=UNSET,
        help="half of the pairs true (default), as google-research/bert, or one segment without a next sentence",
    )
    add(
        "--same-document-share",
        type=float,
        default=UNSET,
        metavar="SHARE",
        help="of the false next sentences, those from the same document (0)",
    )
    add(
        "--short-share",
        type=float,
        default=UNSET,
        metavar="SHARE",
        help="of the documents with shorter pairs (0.1)",
    )
    add(
        "--duplicates",
        type=int,
        default=UNSET,
        metavar="N",
        help="passes over a document, with other pairs each (1)",
    )
    add(
        "--part",
        choices=("all", "training", "held_out"),
        default=UNSET,
        help="which documents to take (all)",
    )
    add(
        "--held-out-share",
        type=float,
        default=UNSET,
        metavar="SHARE",
        help="of the documents, chosen by their text",
    )
    add("--seed", type=int, default=UNSET, metavar="N", help="of the pairs (0)")


def _add_pairs(add: Callable[..., Any]) -> None:
    add(
        "--target-corpus",
        default=UNSET,
        metavar="FILE",
        help="target texts, one a line, where CORPUS holds sources",
    )
    add(
        "--source",
        default=UNSET,
        metavar="COLUMN",
        help="the source's name, or its number from 1 without a header",
    )
    add("--target", default=UNSET, metavar="COLUMN", help="the target's, likewise")
    add(
        "--target-vocabulary",
        default=UNSET,
        metavar="FILE",
        help="where the target has one of its own",
    )
    add(
        "--max-source-length",
        type=int,
        default=UNSET,
        metavar="N",
        help="positions of a source (512)",
    )
    add(
        "--max-target-length",
        type=int,
        default=UNSET,
        metavar="N",
        help="positions of a target (512)",
    )
    add(
        "--cut-sources",
        action="store_true",
        default=UNSET,
        help="cut longer sources; else their pairs are left out",
    )
    add("--target-lines", type=int, default=UNSET, metavar="N", help="lines kept of a target (all)")
    add(
        "--window-sentences",
        type=int,
        default=UNSET,
        metavar="N",
        help="N sentences in a row are a source, and its first ones its target",
    )
    add(
        "--window-targets",
        choices=("sentences", "lines", "both"),
        default=UNSET,
        help="of a run: its own first sentence (default), or each line of the target that this is most like",
    )


def run(arguments: argparse.Namespace, prepare: Callable[..., dict[str, int]] | None = None) -> int:
    given = vars(arguments).copy()
    overrides = given.pop("overrides", [])
    if arguments.corpus.endswith(".toml"):
        if wrong := [
            f"--{name.replace('_', '-')}"
            for name, value in given.items()
            if name not in ("corpus", "run", "parser")
            and value != arguments.parser.get_default(name)
        ]:
            arguments.parser.error(
                f"{', '.join(wrong)}: not with a recipe, which says it; use --set, such as "
                "--set data.records=FOLDER"
            )
        return _prepare_recipe(arguments.corpus, overrides)
    if overrides or (
        missing := [f"--{name}" for name in ("output", "vocabulary") if name not in given]
    ):
        arguments.parser.error(
            "--set: is for a recipe (.toml)"
            if overrides
            else f"the following arguments are required: {', '.join(missing)}"
        )
    corpus, output, vocabulary, name = (
        given.pop(key) for key in ("corpus", "output", "vocabulary", "task")
    )
    columns = {field: column for field in ("id", "text", "summary") if (column := given.pop(field))}
    how = given.pop("format")
    del given["run"], given["parser"]
    for file in (corpus, given.get("target_corpus", corpus)):
        if not (pathlib.Path(file).exists() or glob.glob(file)):
            arguments.parser.error(f"no such file: {file}")
    load_tensorflow()
    from tfsum.formats.hugging_face import PACKAGE, local_folder
    from tfsum.formats.text_settings import read_text_settings
    from tfsum.tasks import task

    if vocabulary.startswith(PACKAGE):
        vocabulary = str(local_folder(vocabulary))
    known = inspect.signature(task(TASKS[name]).part("prepare").prepare).parameters
    # The library's own default keeps case where a pair of texts is to be written, and lowers it for an encoder.
    if (
        known["lowercase"].default
        and "lowercase" not in given
        and pathlib.Path(vocabulary).exists()
    ):
        given = {**read_text_settings(vocabulary), **given}
    given |= {"columns": columns or None} if "columns" in known else columns
    if unknown := [option for option in given if option not in known]:
        names = ", ".join("--" + option.replace("_", "-") for option in unknown)
        arguments.parser.error(f"{names}: no option of --task {name}")
    try:
        counts = (prepare or tfsum.prepare)(corpus, output, vocabulary, TASKS[name], **given)
    except KeyboardInterrupt:
        raise Stopped(
            "stopped; the finished shards are kept, run the same command to resume"
        ) from None
    print(json.dumps(counts) if how == "json" else as_text(counts))
    return 0


def _prepare_recipe(recipe: str, overrides: list[str]) -> int:
    load_tensorflow()
    from tfsum.tasks.recipes import prepare_recipe

    try:
        records = prepare_recipe(recipe, overrides)
    except KeyboardInterrupt:
        raise Stopped(
            "stopped; the finished shards are kept, run the same command to resume"
        ) from None
    print(records or "nothing to prepare: tfsum train reads these texts itself")
    return 0


def as_text(counts: dict[str, int]) -> str:
    """A count a line.

    Args:
        counts: name -> number.

    Example:
        >>> print(as_text({"documents": 1000}))
        documents       1,000
    """
    width = max(map(len, counts))
    return "\n".join(f"{name:<{width}}  {count:>10,}" for name, count in counts.items())
