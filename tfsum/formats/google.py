"""BERT folders of google-research/bert: bert_config.json, a TensorFlow 1 checkpoint, vocab.txt."""

import json
import os
import pathlib
import re
import tempfile

import numpy as np

from tfsum.atomic_files import write_atomically
from tfsum.errors import CheckpointError, as_error, require
from tfsum.formats import config_json, weight_names
from tfsum.formats.model_folder import widened, writing_errors
from tfsum.formats.text_settings import check_vocabulary
from tfsum.json_text import read_json_object

PREFIX = "bert_model.ckpt"
SKIPPED = re.compile(r"/(adam_[mv]|AdamWeightDecayOptimizer(_1)?)$|^global_step$")
"""Variables of the optimizer (modeling.py, `get_assignment_map_from_checkpoint`)."""
RENAMED = (
    (r"\.", "/"),
    (r"/layer/(\d+)/", r"/layer_\1/"),
    (r"^classifier/", "output_"),  # outside of any scope (run_classifier.py, `create_model`)
    (r"^(cls/predictions|cls/seq_relationship)/(weight|bias)$", r"\1/output_\2"),
    (r"output_weight$", "output_weights"),
    (r"/LayerNorm/weight$", "/LayerNorm/gamma"),
    (r"/LayerNorm/bias$", "/LayerNorm/beta"),
    (r"_embeddings/weight$", "_embeddings"),
    (r"/weight$", "/kernel"),
)
"""Patterns in Hugging Face's names, and what Google has in their place, one after another."""
TANH_GELU = ("gelu_new", "gelu_pytorch_tanh", "gelu_tanh")
EPSILON = 1e-12  # of layer normalization; the original's config has no field for it


def is_google(source: str | os.PathLike) -> bool:
    """Whether a path is a Google folder or the prefix of a checkpoint.

    Args:
        source: Folder, or prefix of a checkpoint.

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


def read_google(source: str | os.PathLike) -> weight_names.StoredModel:
    """Reads a Google folder.

    Args:
        source: Folder, or prefix of its checkpoint (`FOLDER/bert_model.ckpt`).

    Returns:
        The encoder and the heads that the file has, without the optimizer's variables.

    Raises:
        CheckpointError: The config is missing or incomplete, the prefix is missing or ambiguous,
            a file is broken, or the vocabulary has another size.

    Source: google-research/bert, modeling.py, `BertConfig` and
        `get_assignment_map_from_checkpoint`.

    Example:
        >>> read_google("no_such_folder")  # doctest: +ELLIPSIS
        Traceback (most recent call last):
        tfsum.errors.CheckpointError: no_such_folder: no such checkpoint ...
    """
    import tensorflow as tf

    folder, prefix = _locate(pathlib.Path(source))
    file = folder / "bert_config.json"
    fields = read_json_object(
        file,
        CheckpointError,
        expected=f"a Google folder has bert_config.json, {PREFIX}.* and vocab.txt",
        cure="fetch the file again",
    )
    config = config_json.bert_arguments(fields, file)
    if config.get("hidden_act", "gelu") == "gelu" and not fields.get("exact_gelu"):
        config["hidden_act"] = "gelu_new"
    check_vocabulary(folder, config["vocab_size"])

    with as_error(
        f"{prefix}: cannot be read",
        *(tf.errors.OpError, RuntimeError, ValueError, LookupError),
        kind=CheckpointError,
        cure="; a file of the checkpoint is missing, broken or cut short: fetch it again",
    ):
        reader = tf.train.load_checkpoint(str(prefix))
        tensors = {
            name: widened(np.asarray(reader.get_tensor(name)))
            for name in reader.get_variable_to_shape_map()
            if not SKIPPED.search(name)
        }
    return weight_names.StoredModel(str(prefix), config, tensors, google_name, folder, fields)


def google_name(name: str, transposed: bool) -> tuple[str, bool]:
    """Converts a tensor name of Hugging Face to Google's.

    Google stores kernels as (in, out), except the matrices of the small heads.

    Args:
        name: Full name, such as `bert.encoder.layer.0.attention.self.query.weight`.
        transposed: Whether Hugging Face stores the tensor as (out, in).

    Returns:
        Google's name, such as `bert/encoder/layer_0/attention/self/query/kernel`, and whether
        Google stores the tensor as (out, in).

    Example:
        >>> google_name("bert.encoder.layer.0.attention.self.query.weight", True)
        ('bert/encoder/layer_0/attention/self/query/kernel', False)
    """
    for pattern, rewrite in RENAMED:
        name = re.sub(pattern, rewrite, name)
    return name, transposed and not name.endswith("/kernel")


def google_config(config: dict) -> dict:
    """Converts the arguments of a `Bert` to the content of bert_config.json.

    The original always computes the tanh GELU and uses an epsilon of 1e-12. Models that differ get
    the keys `exact_gelu` and `layer_norm_eps`, which only `read_google` reads.

    Args:
        config: Arguments of `Bert`.

    Returns:
        Content of the file.

    Example:
        >>> import tfsum
        >>> google_config(tfsum.Bert(10, 8, 1, 2, 16).config)["exact_gelu"]
        True
    """
    named = {key: config[key] for key in (*config_json.FIELDS, *config_json.OPTIONS)}
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
    """Writes bert_config.json and the checkpoint atomically.

    Args:
        folder: Directory; created if it does not exist.
        config: Arguments of `Bert`.
        tensors: float32 arrays with Hugging Face's full names and shapes (`bert.`, `cls.`).
        extra: Further keys of bert_config.json, which the original does not read.

    Raises:
        CheckpointError: A file cannot be written.

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
    renamed = [(*google_name(name, True), value) for name, value in tensors.items()]
    # A vector is its own transpose.
    named = {name: value if transposed else value.T for name, transposed, value in renamed}
    names = sorted(named)

    with writing_errors(folder, tf.errors.OpError):
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".part-", dir=folder) as part:
            with tf.device("cpu"):
                tf.raw_ops.SaveV2(
                    prefix=f"{part}/{PREFIX}",
                    tensor_names=names,
                    shape_and_slices=[""] * len(names),
                    tensors=[tf.constant(named[name]) for name in names],
                )
            for ending in (".data-00000-of-00001", ".index"):
                os.replace(f"{part}/{PREFIX}{ending}", folder / f"{PREFIX}{ending}")
        content = json.dumps(google_config(config) | extra, indent=2, sort_keys=True)
        write_atomically(folder / "bert_config.json", content + "\n")


def _locate(path: pathlib.Path) -> tuple[pathlib.Path, pathlib.Path]:
    """The folder and the prefix of its one checkpoint."""
    if not path.is_dir():
        require(
            pathlib.Path(f"{path}.index").is_file(),
            f"{path}: no such checkpoint ({path.name}.index is not in {path.parent}); give a "
            f"prefix, found are {', '.join(_prefixes(path.parent)) or 'none'}",
            CheckpointError,
        )
        return path.parent, path

    prefixes = _prefixes(path)
    prefixes = [name for name in prefixes if name == PREFIX] or prefixes  # the usual one, or all
    cure = "put them beside bert_config.json"
    if prefixes:
        cure = f"give the prefix of one, such as {path / prefixes[-1]}"
    require(
        len(prefixes) == 1,
        f"{path}: expected one checkpoint, {PREFIX}.index and its data; found are "
        f"{', '.join(prefixes) or 'none'}; {cure}",
        CheckpointError,
    )
    return path, path / prefixes[0]


def _prefixes(folder: pathlib.Path) -> list[str]:
    return sorted(path.name.removesuffix(".index") for path in folder.glob("*.index"))
