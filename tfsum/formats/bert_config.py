"""The arguments of a `Bert`, out of the config.json or bert_config.json of a model folder."""

import os
import pathlib

from tfsum.errors import CheckpointError
from tfsum.formats.model_folder import read_json

FIELDS = (
    "vocab_size",
    "hidden_size",
    "num_hidden_layers",
    "num_attention_heads",
    "intermediate_size",
    "max_position_embeddings",
    "type_vocab_size",
)
OPTIONS: dict[str, type | tuple[type, ...]] = {
    "hidden_act": str,
    "hidden_dropout_prob": (int, float),
    "attention_probs_dropout_prob": (int, float),
    "initializer_range": (int, float),
    "layer_norm_eps": (int, float),
}
DECODER = ("is_decoder", "add_cross_attention")


def config_file(folder: str | os.PathLike) -> pathlib.Path:
    """A folder's config.json; where there is none the bert_config.json that early archives have beside torch's file.

    Args:
        folder: path of the folder.

    Returns:
        The path, which may not exist.

    Example:
        >>> config_file("a_folder").name
        'config.json'
    """
    path, early = pathlib.Path(folder) / "config.json", pathlib.Path(folder) / "bert_config.json"
    return early if early.is_file() and not path.exists() else path


def read_bert_config(folder: str | os.PathLike) -> dict:
    """Reads the arguments of `Bert` from a folder of tfsum or Hugging Face.

    Args:
        folder: path of the folder.

    Returns:
        The arguments by name.

    Raises:
        CheckpointError: the file is missing, not JSON, of another kind of model, or a field is missing or invalid.

    Example:
        >>> import tempfile, tfsum
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tfsum.Bert(
        ...         vocab_size=10,
        ...         hidden_size=8,
        ...         num_hidden_layers=1,
        ...         num_attention_heads=2,
        ...         intermediate_size=16,
        ...     ).save_pretrained(folder)
        ...     read_bert_config(folder)["hidden_size"]
        8
    """
    path = config_file(folder)
    config = read_json(path)
    if config.get("model_type", "bert") not in ("bert", "bert_sum_ext"):
        raise CheckpointError(f"{path}: model_type is {config['model_type']!r}; tfsum reads 'bert'")
    if config.get("position_embedding_type", "absolute") != "absolute":
        raise CheckpointError(
            f"{path}: position_embedding_type is {config['position_embedding_type']!r}; "
            "only 'absolute' positions are known"
        )
    if decoder_keys := [key for key in DECODER if config.get(key)]:
        raise CheckpointError(
            f"{path}: {', '.join(decoder_keys)} is true: a decoder, whose tokens attend only to "
            "earlier ones; tfsum's Bert is an encoder, use a model that was trained as one"
        )
    return bert_arguments(config, path)


def bert_arguments(config: dict, path: pathlib.Path) -> dict:
    """Selects the arguments of `Bert` from a configuration.

    Args:
        config: the content of the file.
        path: of the file, for messages.

    Returns:
        The arguments by name; further keys are left out.

    Raises:
        CheckpointError: a field is missing or of another type.

    Example:
        >>> config = dict.fromkeys(FIELDS, 2) | {"architectures": ["BertModel"]}
        >>> sorted(bert_arguments(config, pathlib.Path("config.json")))[:2]
        ['hidden_size', 'intermediate_size']
    """
    if not any(k in config for k in FIELDS):
        inside = ", ".join(sorted(str(found.parent) for found in path.parent.glob("*/config.json")))
        cure = (
            f"it may be in a folder beside it: {inside}"
            if inside
            else "take the file that belongs to the weights"
        )
        raise CheckpointError(
            f"{path}: is no BERT's configuration, it has none of {', '.join(FIELDS)}; {cure}"
        )
    if wrong := {
        k: config.get(k) for k in FIELDS if type(config.get(k)) is not int or config[k] < 1
    }:
        raise CheckpointError(
            f"{path}: {', '.join(wrong)} must be there and be whole numbers above 0, found "
            f"{', '.join(map(repr, wrong.values()))}; take the file that belongs to the weights"
        )
    width, heads = config["hidden_size"], config["num_attention_heads"]
    if width % heads:
        raise CheckpointError(
            f"{path}: num_attention_heads is {heads}, hidden_size {width}, and {heads} heads do not "
            f"divide a width of {width}; take the file that belongs to the weights"
        )
    errors = [
        f"{k} is {config[k]!r}"
        for k, kind in OPTIONS.items()
        if k in config
        and (
            not isinstance(config[k], kind)
            or isinstance(config[k], bool)
            or (k == "layer_norm_eps" and config[k] <= 0)
        )
    ]
    if errors:
        raise CheckpointError(
            f"{path}: {', '.join(errors)}; expected a name for hidden_act, numbers for the others, "
            "and for layer_norm_eps one above 0"
        )
    return {k: config[k] for k in (*FIELDS, *OPTIONS) if k in config}
