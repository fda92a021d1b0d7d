"""The Transformer (Vaswani et al. 2017, "Attention Is All You Need")."""

import inspect
from typing import Any

import keras
import numpy as np
from keras import ops

from tfsum.errors import CheckpointError, Error
from tfsum.formats import model_folder
from tfsum.layers import Decoder, Encoder, PositionalEncoding, padding_mask
from tfsum.models.generation import GenerativeModel
from tfsum.models.label_smoothing import label_smoothing_loss
from tfsum.tensor import Tensor

PRESETS = {
    # The paper's base model, and one that two CPU cores train in an hour or two.
    "base": {"num_encoder_layers": 6, "num_decoder_layers": 6, "d_model": 512, "num_heads": 8,
             "feed_forward_width": 2048},
    "small": {"num_encoder_layers": 4, "num_decoder_layers": 4, "d_model": 128, "num_heads": 4,
              "feed_forward_width": 256},
}


@keras.saving.register_keras_serializable("tfsum")
class Transformer(GenerativeModel):
    """Sequence to sequence: source ids and the target so far in, logits of each next token out.

    Inputs are a dict of `source_ids` (B, Ts) and `target_ids` (B, T), which begins with the start token;
    `target_labels` (B, T), the same target without it and with the end token, train it, in the dict or beside it.
    Id 0 is padding everywhere. A source of padding alone is read as one padding token, however long it is.
    `predict` decodes greedily; `generate` takes any strategy.

    Args:
        source_vocabulary_size: number of source ids.
        target_vocabulary_size: V; that of the source by default.
        num_encoder_layers, num_decoder_layers: numbers of layers.
        d_model, num_heads, feed_forward_width, activation, norm, attention_dropout, activation_dropout, epsilon: of
            every layer, see `EncoderLayer`.
        dropout: likewise, and on the sums of embeddings and positions.
        shared_embeddings: one table for source and target (section 3.4), which then have one vocabulary.
        tied_output: the target's table is the output projection too (section 3.4).
        label_smoothing: see `label_smoothing_loss`.
        start_id: the token that every target begins with.
        end_id: the token that every target ends with.
        max_length: tokens of an answer of `predict`, the end token among them.

    Raises:
        Error: a size below 1, vocabularies of two sizes in one table, special tokens outside of them or both the same,
            or a label smoothing out of range.

    Example:
        >>> from tfsum.decoding import Greedy
        >>> model = Transformer(100, 100, num_encoder_layers=1, num_decoder_layers=1, d_model=8, num_heads=2,
        ...                     feed_forward_width=16, start_id=2, end_id=3)
        >>> ids, log_probabilities, lengths = model.generate(np.array([[2, 5, 3]]), Greedy(), max_length=4)
        >>> tuple(ids.shape)
        (1, 1, 4)
    """

    def __init__(self, source_vocabulary_size: int, target_vocabulary_size: int | None = None,
                 num_encoder_layers: int = 6, num_decoder_layers: int = 6, d_model: int = 512, num_heads: int = 8,
                 feed_forward_width: int = 2048, activation: str = "relu", norm: str = "post", dropout: float = 0.1,
                 attention_dropout: float = 0.0, activation_dropout: float = 0.0, epsilon: float = 1e-6,
                 shared_embeddings: bool = True, tied_output: bool = True, label_smoothing: float = 0.1,
                 start_id: int = 2, end_id: int = 3, max_length: int = 64, name: str = "transformer", **kwargs):
        super().__init__(name=name, **kwargs)
        if target_vocabulary_size is None:
            target_vocabulary_size = source_vocabulary_size
        self.config: dict[str, Any] = {
            "source_vocabulary_size": source_vocabulary_size,
            "target_vocabulary_size": target_vocabulary_size,
            "num_encoder_layers": num_encoder_layers,
            "num_decoder_layers": num_decoder_layers,
            "d_model": d_model,
            "num_heads": num_heads,
            "feed_forward_width": feed_forward_width,
            "activation": activation,
            "norm": norm,
            "dropout": dropout,
            "attention_dropout": attention_dropout,
            "activation_dropout": activation_dropout,
            "epsilon": epsilon,
            "shared_embeddings": shared_embeddings,
            "tied_output": tied_output,
            "label_smoothing": label_smoothing,
            "start_id": start_id,
            "end_id": end_id,
            "max_length": max_length,
        }
        _check(self.config)
        self.start_id, self.end_id, self.max_length = start_id, end_id, max_length
        policy = self.dtype_policy
        layer = {k: self.config[k] for k in ("d_model", "num_heads", "feed_forward_width", "activation", "norm",
                                             "dropout", "attention_dropout", "activation_dropout", "epsilon")}

        def embedding(rows, table):
            # Scaled by sqrt(D) in the sum with the positions, such rows have variance 1.
            return keras.layers.Embedding(rows, d_model, keras.initializers.RandomNormal(stddev=d_model**-0.5),
                                          name=table, dtype=policy)

        self.source_embedding = embedding(source_vocabulary_size,
                                          "embedding" if shared_embeddings else "source_embedding")
        self.target_embedding = self.source_embedding
        if not shared_embeddings:
            self.target_embedding = embedding(target_vocabulary_size, "target_embedding")
        self.source_positions = PositionalEncoding(True, dropout, name="source_positions", dtype=policy)
        self.target_positions = PositionalEncoding(True, dropout, name="target_positions", dtype=policy)
        self.encoder = Encoder(num_encoder_layers, **layer, name="encoder", dtype=policy)
        self.decoder = Decoder(num_decoder_layers, **layer, name="decoder", dtype=policy)

    @classmethod
    def from_preset(cls, preset: str, source_vocabulary_size: int, **arguments):
        """Makes an untrained model of a named size.

        Args:
            preset: "base" (6+6 layers, D 512, H 8, F 2048: the paper's) or "small" (4+4 layers, D 128, H 4, F 256).
            source_vocabulary_size, **arguments: those of the class; they go before the preset's.

        Returns:
            a `Transformer`.

        Raises:
            Error: no preset has this name.
        """
        if preset not in PRESETS:
            raise Error(f"Transformer: preset {preset!r}; known are {', '.join(PRESETS)}")
        return cls(source_vocabulary_size, **{**PRESETS[preset], **arguments})

    def build(self, input_shape=None):
        if self.built:
            return
        for layer in (self.source_embedding, self.target_embedding, self.encoder, self.decoder):
            layer.build(None)
        size, width = self.config["target_vocabulary_size"], self.config["d_model"]
        self.output_kernel = self.target_embedding.embeddings
        if not self.config["tied_output"]:
            self.output_kernel = self.add_weight((size, width), "glorot_uniform", name="output_kernel")
        self.output_bias = self.add_weight((size,), "zeros", name="output_bias", autocast=False)
        self.built = True

    def call(self, inputs, training=None):
        """Predicts each next token.

        Args:
            inputs: dict of `source_ids` (B, Ts) and `target_ids` (B, T).

        Returns:
            float32 logits (B, T, V).
        """
        target_ids = inputs["target_ids"]
        source, source_mask = self._read(inputs["source_ids"], training)
        x = self.target_positions(self.target_embedding(target_ids), training=training)
        x = self.decoder(x, source, attention_mask=padding_mask(target_ids)[:, None, None, :],
                         source_mask=source_mask[:, None, None, :], training=training)
        return self._logits(x)

    def encode(self, source_ids, training=None):
        """The encoder's output: int tensor (B, Ts) -> float tensor (B, Ts, D)."""
        return self._read(source_ids, training)[0]

    def _read(self, source_ids, training=None):
        """What the decoder needs of the sources: the encoder's output, and the mask (B, Ts) of what may be seen of it.

        The mean of all positions, which attention gives where all are hidden, would depend on how many there are.
        """
        if source_ids.shape[1] == 0:
            source_ids = ops.zeros((ops.shape(source_ids)[0], 1), "int32")
        mask = padding_mask(source_ids)
        first = ops.arange(ops.shape(source_ids)[1]) == 0
        mask = ops.logical_or(mask, ops.logical_and(first, ops.logical_not(ops.any(mask, axis=1, keepdims=True))))
        x = self.source_positions(self.source_embedding(source_ids), training=training)
        return self.encoder(x, attention_mask=mask[:, None, None, :], training=training), mask

    def _logits(self, x):
        """float tensor (..., D) -> float32 (..., V)."""
        kernel = ops.cast(self.output_kernel, self.compute_dtype)
        return ops.cast(ops.matmul(x, ops.transpose(kernel)), "float32") + ops.cast(self.output_bias, "float32")

    def start(self, source_ids: Tensor, max_length: int, num_beams: int = 1) -> dict:
        """Encodes the sources and makes room for their targets: the first half of what a strategy needs.

        Args:
            source_ids: int tensor (B, Ts).
            max_length: L, the most steps that follow.
            num_beams: K, hypotheses per source.

        Returns:
            dict of `source_mask` (B, Ts), `layers`, each decoder layer's cache, and `hypotheses`, a dict of `slots`
            (B * K, L), the one tensor that changes with the places of hypotheses (see `Decoder.start`).
        """
        if max_length < 1:
            raise Error(f"Transformer: max_length is {max_length}; at least one token must fit")
        self.build()
        source, source_mask = self._read(source_ids, training=False)
        slots, layers = self.decoder.start(source, max_length, num_beams)
        return {"source_mask": source_mask, "layers": layers, "hypotheses": {"slots": slots}}

    def step(self, token_ids: Tensor, position: Tensor, state: dict) -> tuple[Tensor, dict]:
        """Reads one token of each hypothesis and predicts the next: the second half.

        Args:
            token_ids: int tensor (B * K,), the tokens at `position`; the start token at 0.
            position: int scalar, below L.
            state: what `start` gave, with the positions before this one filled in.

        Returns:
            float32 logits (B * K, V) and the state with this position filled in.
        """
        x = self.target_embedding(token_ids)[:, None, :]
        x = self.target_positions(x, first_position=ops.reshape(position, (1,)), training=False)[:, 0]
        x, slots, layers = self.decoder.step(x, position, state["hypotheses"]["slots"], state["layers"],
                                             state["source_mask"])
        return self._logits(x), {**state, "layers": layers, "hypotheses": {"slots": slots}}

    def summed_loss(self, x, y, training):
        """The label-smoothed loss summed over the real tokens of the targets."""
        labels = x["target_labels"] if y is None else y
        return ops.sum(label_smoothing_loss(self(x, training=training), labels, self.config["label_smoothing"]))

    def loss_weight(self, x, y):
        """The number of real tokens of the targets: float32 scalar."""
        return ops.sum(ops.cast(padding_mask(x["target_labels"] if y is None else y), "float32"))

    @classmethod
    def from_pretrained(cls, folder, **changes):
        """Reads a model folder.

        Args:
            folder: path of a folder that `save_pretrained` wrote.
            **changes: arguments of the class that differ from the folder's.

        Returns:
            a built `Transformer`.

        Raises:
            CheckpointError: a file or a tensor is missing, unknown, broken or of another shape.
        """
        path = f"{folder}/config.json"
        config = model_folder.read_json(path)
        kind = config.pop("model_type", None)
        if kind != "transformer":
            raise CheckpointError(f"{path}: model_type is {kind!r}; Transformer reads 'transformer'")
        unknown = config.keys() - inspect.signature(cls).parameters.keys()
        if unknown or "source_vocabulary_size" not in config:
            raise CheckpointError(f"{path}: {', '.join(sorted(unknown)) or 'no source_vocabulary_size'}; the fields "
                                  "must be arguments of Transformer")
        model = cls(**{**config, **changes})
        model.build()
        model_folder.assign(model_folder.variables_by_path(model), model.weight_names(),
                            model_folder.read_safetensors(f"{folder}/model.safetensors"), folder)
        return model

    def weight_names(self) -> list[tuple[str, str, bool]]:
        """(name in the file, path of the variable, transposed) of all weights."""
        return [(p.replace("/", "."), p, False) for p in model_folder.variables_by_path(self)]

    def tensors(self) -> dict[str, np.ndarray]:
        """Returns the weights under the names of their paths."""
        return model_folder.named_tensors(model_folder.variables_by_path(self), self.weight_names())

    def folder_config(self) -> dict:
        """Returns the content of config.json."""
        return {"model_type": "transformer", **self.config}

    def save_pretrained(self, folder, vocabulary: list[str] | None = None,  # type: ignore[override]
                        target_vocabulary: list[str] | None = None, settings: dict | None = None) -> None:
        """Writes a model folder.

        Args:
            folder: path; created if it does not exist.
            vocabulary: the word pieces of the source, for vocab.txt.
            target_vocabulary: those of the target if they differ, for target_vocab.txt.
            settings: the content of tfsum.json (text settings under "text", recipe, scores).

        Raises:
            CheckpointError: a file cannot be written.
        """
        model_folder.save_model(self, folder, vocabulary, settings, target_vocabulary)

    def get_config(self):
        return {**super().get_config(), "name": self.name, **self.config}


def _check(config):
    """Raises an Error that names the argument that cannot be."""
    def wrong(argument, expected):
        raise Error(f"Transformer: {argument} is {config[argument]!r}; it must be {expected}")

    for argument in ("source_vocabulary_size", "target_vocabulary_size", "num_encoder_layers", "num_decoder_layers",
                     "d_model", "num_heads", "feed_forward_width", "start_id", "end_id", "max_length"):
        if not isinstance(config[argument], int) or config[argument] < 1:
            wrong(argument, "a whole number above 0")
    if not 0 <= config["label_smoothing"] < 1:
        wrong("label_smoothing", "at least 0 and below 1")
    source, target = config["source_vocabulary_size"], config["target_vocabulary_size"]
    if config["shared_embeddings"] and source != target:
        wrong("target_vocabulary_size", f"that of the source, {source}, where they share one table; or pass "
                                        "shared_embeddings=False")
    if config["end_id"] == config["start_id"]:
        wrong("end_id", "another than start_id")
    for argument in ("start_id", "end_id"):
        if config[argument] >= target:
            wrong(argument, f"below the vocabulary's size, {target}")
