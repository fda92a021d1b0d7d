"""The recipes that tfsum ships, found by their names."""

import pathlib

from tfsum.shipped_files import shipped_folder


def shipped_recipes() -> dict[str, pathlib.Path]:
    """The file of every shipped recipe, by name.

    Example:
        >>> "bert_sum_ext_news" in shipped_recipes()
        True
    """
    return {path.stem: path for path in sorted(shipped_folder("recipes").glob("*.toml"))}


def recipe_path(recipe: str | pathlib.Path) -> pathlib.Path:
    """The file of a recipe.

    Args:
        recipe: Path of the file, or name of a shipped recipe; where there are both, the path wins.

    Example:
        >>> recipe_path("bert_sum_ext_news").name, str(recipe_path("mine/news.toml"))
        ('bert_sum_ext_news.toml', 'mine/news.toml')
    """
    path = pathlib.Path(recipe)
    return path if path.exists() else shipped_recipes().get(str(recipe), path)


def is_recipe(name: str) -> bool:
    """Whether a name is that of a recipe and not of a corpus.

    Example:
        >>> is_recipe("bert_sum_ext_news"), is_recipe("my.toml"), is_recipe("train.jsonl")
        (True, True, False)
    """
    return recipe_path(name).suffix == ".toml"


def list_recipes() -> str:
    """Lists the shipped recipes, a line each: name, and what the recipe trains.

    Example:
        >>> print(list_recipes().splitlines()[0][:60])
        bert_classify_disaster_tweets  Does a tweet report a real di
    """
    recipes = shipped_recipes()
    width = max(map(len, recipes), default=0)
    return "\n".join(f"{name:{width}}  {_first_line(path)}" for name, path in recipes.items())


def _first_line(path: pathlib.Path) -> str:
    """The first line of the comment, below that which names the schema."""
    return path.read_text(encoding="utf-8").split("\n")[1].removeprefix("# ")
