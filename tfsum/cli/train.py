"""Train a model from a recipe; interrupt it, run it again, it goes on where it was."""

import argparse

from tfsum.cli.quiet_tensorflow import load_tensorflow

EXAMPLES = """examples:
  tfsum train training/bert_sum_ext_news.toml
  tfsum train training/bert_sum_ext_news.toml --set train.learning_rate=1e-4 --set train.seed=2

exit status 75 where it was stopped (Ctrl-C or SIGTERM) with its state saved.
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("recipe", metavar="RECIPE", help="a TOML file, such as those in training/")
    parser.add_argument(
        "--set",
        dest="overrides",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="override a key of the recipe; may be given several times",
    )


def run(arguments: argparse.Namespace) -> int:
    load_tensorflow()
    from tfsum.training.recipes import load_recipe, train

    recipe = load_recipe(arguments.recipe, overrides=arguments.overrides)
    print(train(recipe))
    return 0
