"""Google's BERT folders: bert_config.json, a TensorFlow 1 checkpoint and vocab.txt (google-research/bert)."""

import json
import os
import pathlib
import re

import numpy as np

from tfsum.atomic_files import write_atomically
from tfsum.errors import CheckpointError
from tfsum.formats import bert_config, model_folder
from tfsum.formats.weight_names import StoredModel

PREFIX = "bert_model.ckpt"
SKIPPED = re.compile(r"/(adam_[mv]|AdamWeightDecayOptimizer(_1)?)$|^global_step$")
"""What training adds to a checkpoint and the original never restores from one (modeling.py,
`get_assignment_map_from_checkpoint`)."""
TANH_GELU = ("gelu_new", "gelu_pytorch_tanh", "gelu_tanh")
EPSILON = 1e-12  # of the normalizations; the original's config has no field for it


def is_google(source: str | os.PathLike) -> bool:
    """Whether a path is meant as a Google folder, or as the prefix of a checkpoint.

    Args:
        source: a folder, or the prefix of a checkpoint.

    Example:
        >>> is_google("no/such/folder")
        False
    """
    path = pathlib.Path(source)
    if path.is_dir():
        if (path / "config.json").exists():
            return False
        # Early archives of torch's weights have a bert_config.json too.
        torch = (*path.glob("model*.safetensors"), *path.glob("pytorch_model*.bin"))
        return any(path.glob("*.index")) or ((path / "bert_config.json").exists() and not torch)
    return pathlib.Path(f"{source}.index").is_file() or (path.parent / "bert_config.json").is_file()


def read_google(source: str | os.PathLike) -> StoredModel:
    """Reads a Google folder by `tf.train.load_checkpoint`.

    Args:
        source: the folder, or the prefix of its checkpoint (`FOLDER/bert_model.ckpt`).

    Returns:
        The encoder and whatever heads the file has; the optimizer's variables are left out.

    Raises:
        CheckpointError: no config or a field of it, no such prefix or several, a broken file, a vocabulary of
            another size.

    Source: google-research/bert, modeling.py, `BertConfig` and `get_assignment_map_from_checkpoint`.

    Example:
        >>> stored = read_google("uncased_L-2_H-128_A-2")  # doctest: +SKIP
        >>> stored.config["hidden_size"]  # doctest: +SKIP
        128
    """
    folder, prefix = _locate(pathlib.Path(source))
    config = _read_config(folder / "bert_config.json")
    model_folder.check_vocabulary(folder, config["vocab_size"])
    return StoredModel(str(prefix), config, _read_variables(prefix), google_name)


def google_name(name: str, transposed: bool) -> tuple[str, bool]:
    """Google's name for one of Hugging Face's.

    Kernels are (in, out) at Google; only the matrices of the small heads are (out, in) in both.

    Args:
        name: in full, such as `bert.encoder.layer.0.attention.self.query.weight`.
        transposed: whether Hugging Face stores it as (out, in).

    Returns:
        The name, such as `bert/encoder/layer_0/attention/self/query/kernel`, and whether Google stores it so.

    Example:
        >>> google_name("bert.encoder.layer.0.attention.self.query.weight", True)
        ('bert/encoder/layer_0/attention/self/query/kernel', False)
    """
    path, _, kind = name.rpartition(".")
    if path == "classifier":  # outside of any scope (run_classifier.py, `create_model`)
        return f"output_{'weights' if kind == 'weight' else 'bias'}", transposed
    path = re.sub(r"/layer/(\d+)/", r"/layer_\1/", path.replace(".", "/"))
    if path in ("cls/predictions", "cls/seq_relationship"):
        return f"{path}/output_{'weights' if kind == 'weight' else 'bias'}", transposed
    if path.endswith("/LayerNorm"):
        return f"{path}/{'gamma' if kind == 'weight' else 'beta'}", transposed
    if path.endswith("_embeddings"):
        return path, transposed
    return f"{path}/{'kernel' if kind == 'weight' else kind}", False


def google_config(config: dict) -> dict:
    """The bert_config.json of a `Bert`'s arguments.

    The original always computes the tanh GELU and an epsilon of 1e-12. Differences are stored in keys that it
    ignores and `read_google` reads: `exact_gelu`, `layer_norm_eps`.

    Args:
        config: the arguments of `Bert`.

    Returns:
        The content of the file.

    Example:
        >>> import tfsum
        >>> google_config(tfsum.Bert(10, 8, 1, 2, 16).config)["exact_gelu"]
        True
    """
    named = {key: config[key] for key in (*bert_config.FIELDS, *bert_config.OPTIONS)}
    if named["hidden_act"] == "gelu":
        named["exact_gelu"] = True
    elif named["hidden_act"] in TANH_GELU:
        named["hidden_act"] = "gelu"
    if named["layer_norm_eps"] == EPSILON:
        del named["layer_norm_eps"]
    return named


def write_google(
    folder: str | os.PathLike, config: dict, tensors: dict[str, np.ndarray], extra: dict
) -> None:
    """Writes bert_config.json and the checkpoint, each under a temporary name and renamed when whole.

    Args:
        folder: path; made if it does not exist.
        config: the arguments of `Bert`.
        tensors: float32 arrays as Hugging Face names and stores them, in full (`bert.`, `cls.`).
        extra: further keys of bert_config.json, which the original does not read.

    Raises:
        CheckpointError: it cannot be written.

    Example:
        >>> import tempfile, tfsum
        >>> from tfsum.formats.weight_names import bert_tensors
        >>> bert = tfsum.Bert(10, 8, 1, 2, 16)
        >>> bert.build()
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     write_google(folder, bert.config, bert_tensors(bert, "bert."), {})
        ...     sorted(path.name for path in pathlib.Path(folder).iterdir())
        ['bert_config.json', 'bert_model.ckpt.data-00000-of-00001', 'bert_model.ckpt.index']
    """
    import tensorflow as tf

    folder = pathlib.Path(folder)
    part = folder / f"{PREFIX}.part"
    named = {}
    for name, value in tensors.items():
        google, as_there = google_name(name, True)
        named[google] = value if as_there else value.T  # a vector is its own transpose
    names = sorted(named)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tf.device("cpu"):
            tf.raw_ops.SaveV2(
                prefix=str(part),
                tensor_names=names,
                shape_and_slices=[""] * len(names),
                tensors=[tf.constant(named[name]) for name in names],
            )
        for ending in (".data-00000-of-00001", ".index"):
            os.replace(f"{part}{ending}", folder / f"{PREFIX}{ending}")
        config_text = json.dumps(google_config(config) | extra, indent=2, sort_keys=True) + "\n"
        write_atomically(folder / "bert_config.json", config_text)
    except (OSError, tf.errors.OpError) as error:
        for left in folder.glob(f"{PREFIX}.part*"):
            left.unlink()
        raise CheckpointError(
            f"{folder}: cannot be written ({error}); free space or choose another folder"
        ) from None


def _locate(path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The folder and the prefix of its one checkpoint."""
    if not path.is_dir():
        if not pathlib.Path(f"{path}.index").is_file():
            raise CheckpointError(
                f"{path}: no such checkpoint ({path.name}.index is not in {path.parent}); give a "
                f"prefix, found are {', '.join(_prefixes(path.parent)) or 'none'}"
            )
        return path.parent, path
    found = _prefixes(path)
    if PREFIX in found:
        return path, path / PREFIX
    if len(found) != 1:
        cure = (
            f"give the prefix of one, such as {path / found[-1]}"
            if found
            else "put them beside bert_config.json"
        )
        raise CheckpointError(
            f"{path}: expected one checkpoint, {PREFIX}.index and its data; found are "
            f"{', '.join(found) or 'none'}; {cure}"
        )
    return path, path / found[0]


def _prefixes(folder: pathlib.Path) -> list[str]:
    return sorted(path.name.removesuffix(".index") for path in folder.glob("*.index"))


def _read_config(path: pathlib.Path) -> dict:
    if not path.is_file():
        raise CheckpointError(
            f"{path}: no such file; a Google folder has bert_config.json, {PREFIX}.* and vocab.txt"
        )
    stored = model_folder.read_json(path)
    config = bert_config.bert_arguments(stored, path)
    if config.get("hidden_act", "gelu") == "gelu":
        config["hidden_act"] = "gelu" if stored.get("exact_gelu") else "gelu_new"
    return config


def _read_variables(prefix: pathlib.Path) -> dict[str, np.ndarray]:
    import tensorflow as tf

    try:
        reader = tf.train.load_checkpoint(str(prefix))
        kinds = reader.get_variable_to_dtype_map()
        arrays = {name: reader.get_tensor(name) for name in kinds if not SKIPPED.search(name)}
    except (tf.errors.OpError, RuntimeError, ValueError, LookupError) as error:
        raise CheckpointError(
            f"{prefix}: cannot be read ({error}); a file of the checkpoint is missing, broken or "
            "cut short: fetch it again"
        ) from None
    arrays = {name: np.asarray(value) for name, value in arrays.items()}
    return {
        name: model_folder.widened(value) if kinds[name].is_floating else value
        for name, value in arrays.items()
    }
