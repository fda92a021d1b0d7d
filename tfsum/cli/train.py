"""Train a model from a recipe; an interrupted run resumes when repeated."""

import argparse
import contextlib
import sys

import tfsum
from tfsum.cli.local_workers import WORKER_TIMEOUT, run_workers
from tfsum.quiet_tensorflow import load_tensorflow
from tfsum.training.recipe_file import read_given

EXAMPLES = """examples:
  tfsum train training/bert_sum_ext_news.toml
  tfsum train training/bert_sum_ext_news.toml --set train.learning_rate=1e-4
  tfsum train training/bert_sum_ext_news.toml --local-workers 2
  tfsum train training/bert_sum_ext_news.toml --profile 20:30

prints the folder of the best model. exit status 75 where it was stopped (Ctrl-C or SIGTERM), its state saved.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", metavar="RECIPE", help="a TOML file, such as those in training/")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a key of the recipe, or without VALUE take it out; may be given several times",
    )
    parser.add_argument(
        "--profile",
        metavar="FIRST:LAST",
        help="record these steps by TensorFlow's profiler, counted "
        "from 1 in this process, such as 20:30; the files are in the run's folder, in profile/",
    )
    parser.add_argument(
        "--local-workers",
        type=int,
        metavar="N",
        help="start N workers on this machine, to try a training of several machines",
    )


def run(arguments: argparse.Namespace) -> int:
    if arguments.profile:
        arguments.overrides.append(f"train.profile={arguments.profile}")
    if arguments.local_workers is not None:
        sets = [word for override in arguments.overrides for word in ("--set", override)]
        return run_workers(
            arguments.local_workers, ["train", arguments.recipe, *sets], _worker_timeout(arguments)
        )
    load_tensorflow()
    # Keras prints as it goes; only the folder at the end is a result.
    with contextlib.redirect_stdout(sys.stderr):
        best = tfsum.train(arguments.recipe, arguments.overrides)
    print(best)
    return 0


def _worker_timeout(arguments: argparse.Namespace) -> float:
    """[train] worker_timeout; the default also where it is wrong, which the workers report."""
    given, _ = read_given(arguments.recipe, arguments.overrides)
    train = given.get("train")
    found = train.get("worker_timeout") if isinstance(train, dict) else None
    return found if type(found) is int else WORKER_TIMEOUT
