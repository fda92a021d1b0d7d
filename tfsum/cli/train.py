"""Train a model from a recipe; an interrupted run resumes when repeated."""

import contextlib
import sys

import tfsum
from tfsum.cli.local_workers import run_workers
from tfsum.cli.options import Arguments, Options
from tfsum.loading import load_tensorflow
from tfsum.tasks.recipes import describe_keys, load_recipe
from tfsum.training.recipe_file import list_recipes

EXAMPLES = """examples:
  tfsum train --list
  tfsum train bert_sum_ext_news --set data.train=train.jsonl --set data.validation=held_out.jsonl
  tfsum train news.toml --set train.learning_rate=1e-4
  tfsum train news.toml --local-workers 2
  tfsum train --keys transformer

prints the folder of the best model. exit status 75 where it was stopped (Ctrl-C or SIGTERM), its
state saved.
"""


OPTIONS: Options = {
    "": {
        "recipe": {
            "metavar": "RECIPE",
            "nargs": "?",
            "help": "a TOML file, or the name of a shipped recipe",
        },
        "--list": {"action": "store_true", "help": "print the shipped recipes and what they train"},
        "--keys": {
            "action": "store_true",
            "help": "print the keys of a recipe, or of a kind such as transformer",
        },
        "--set": {
            "dest": "overrides",
            "action": "append",
            "default": [],
            "metavar": "SECTION.KEY=VALUE",
            "help": "override a key of the recipe, or without VALUE take it out; can be repeated",
        },
        "--local-workers": {
            "type": int,
            "metavar": "N",
            "help": "start N workers on this machine, to try a training of several machines",
        },
    }
}


def run(arguments: Arguments) -> int:
    if arguments.list:
        print(list_recipes())
        return 0
    if arguments.recipe is None:
        arguments.parser.error("the following arguments are required: RECIPE")
    if arguments.keys:
        print(describe_keys(arguments.recipe))
        return 0

    recipe = load_recipe(arguments.recipe, arguments.overrides)
    if arguments.local_workers is not None:
        sets = [word for override in arguments.overrides for word in ("--set", override)]
        return run_workers(
            arguments.local_workers,
            ["train", arguments.recipe, *sets],
            recipe.train.worker_timeout,
        )

    load_tensorflow()
    # Keras prints as it goes; only the folder at the end is a result.
    with contextlib.redirect_stdout(sys.stderr):
        best = tfsum.train(recipe)
    print(best)
    return 0
