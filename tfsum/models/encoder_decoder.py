"""Base class of models whose decoder attends to the output of an encoder: the Transformer and BertSumAbs."""

from collections.abc import Sequence
from typing import Any

from keras import ops

from tfsum.decoding.strategy import ids_of
from tfsum.errors import Error
from tfsum.layers import CopyAttention, Decoder, PositionalEncoding, padding_mask
from tfsum.layers.copy_attention import last_two
from tfsum.models.generation import GenerativeModel
from tfsum.models.label_smoothing import label_smoothing_loss
from tfsum.tensor import Tensor


class EncoderDecoder(GenerativeModel):
    """A `GenerativeModel` of an encoder, which a subclass implements by `read`, and a `Decoder`.

    Subclasses set `decoder`, `target_embedding`, `target_positions`, and in `build` `output_kernel` (V, D) and
    `output_bias` (V,); their `config` has `label_smoothing`. One whose source and target share a vocabulary may set
    `copy_attention`. Inputs of training are the sources, `target_ids` (B, T),
    which begins with the start token, and `target_labels` (B, T), the target without the start token and with the end
    token, in the dict or as labels. Id 0 is padding.

    Example:
        >>> import tfsum
        >>> issubclass(tfsum.Transformer, EncoderDecoder)
        True
    """

    decoder: Decoder
    target_embedding: Any
    target_positions: PositionalEncoding
    output_kernel: Any
    output_bias: Any
    copy_attention: CopyAttention | None = None
    config: dict[str, Any]

    def read(self, source: Any, training: bool | None = None) -> tuple[Tensor, Tensor]:
        """Encodes sources.

        Args:
            source: an int tensor (B, Ts), or a dict of those of `source_names`.
            training: whether dropout is applied.

        Returns:
            the encoder's output (B, Ts, D), and bool (B, Ts), which of its positions are visible.
        """
        raise NotImplementedError

    def visible(self, source_ids: Tensor) -> Tensor:
        """Which positions of sources are visible: int (B, Ts) -> bool (B, Ts).

        The first one of a source of padding only is: with all positions masked, attention would return their mean,
        which depends on their number.
        """
        mask = padding_mask(source_ids)
        first = ops.arange(ops.shape(source_ids)[1]) == 0
        return ops.logical_or(
            mask, ops.logical_and(first, ops.logical_not(ops.any(mask, axis=1, keepdims=True)))
        )

    def call(self, inputs: dict[str, Tensor], training: bool | None = None) -> Tensor:
        """Predicts each next token.

        Args:
            inputs: dict of the sources and `target_ids` (B, T).

        Returns:
            float32 logits (B, T, V).
        """
        return self.logits(*self._decoded(inputs, training))

    def _decoded(
        self, inputs: dict[str, Tensor], training: bool | None
    ) -> tuple[Tensor, dict[str, Tensor] | None]:
        """The decoder's output (B, T, D) for the inputs of `call`, and what `logits` needs to copy."""
        source = self.source_of(inputs)
        output, source_mask = self.read(source, training)
        x = self.decode(inputs["target_ids"], output, source_mask, training)
        return x, self.copying(source, output, source_mask, inputs["target_ids"])

    def decode(
        self, target_ids: Tensor, source: Tensor, source_mask: Tensor, training: bool | None = None
    ) -> Tensor:
        """The decoder's output (B, T, D), from target ids (B, T) and what `read` returned."""
        x = self.target_positions(self.target_embedding(target_ids), training=training)
        return self.decoder(
            x,
            source,
            attention_mask=padding_mask(target_ids)[:, None, None, :],
            source_mask=source_mask[:, None, None, :],
            training=training,
        )

    def copying(
        self, source: Any, output: Tensor, source_mask: Tensor, target_ids: Tensor | None = None
    ) -> dict[str, Tensor] | None:
        """What `logits` needs to copy tokens of a source, from the source and what `read` returned of it.

        Args:
            source, output, source_mask: see `read`.
            target_ids: int (B, T), or None where they are not known yet: then `written` is to be added.

        Returns:
            the arguments of `CopyAttention`, or None for a model that does not copy.
        """
        if self.copy_attention is None:
            return None
        copying = {
            "keys": self.copy_attention.keys(output),
            "source": output,
            "source_ids": ids_of(source),
            "source_mask": source_mask,
        }
        return copying if target_ids is None else {**copying, "written": last_two(target_ids)}

    def logits(self, x: Tensor, copying: dict[str, Tensor] | None = None) -> Tensor:
        """The logits of each next token: the decoder's output, float tensor (B, T, D) -> float32 (B, T, V).

        With `copying`, the arguments of `CopyAttention`, these are the logarithms of probabilities.
        """
        kernel = ops.cast(self.output_kernel, self.compute_dtype)
        own = ops.cast(ops.matmul(x, ops.transpose(kernel)), "float32") + ops.cast(
            self.output_bias, "float32"
        )
        return (
            own
            if copying is None or self.copy_attention is None
            else self.copy_attention(own, x, **copying)
        )

    def start(self, source: Any, max_length: int, num_beams: int = 1) -> dict:
        """Encodes the sources and allocates the caches of their targets, see `tfsum.decoding.Strategy`.

        Args:
            source: see `read`.
            max_length: L, the maximum number of steps.
            num_beams: K, hypotheses per source.

        Returns:
            dict of `source_mask` (B, Ts), `layers`, the caches of each decoder layer, `hypotheses`, a dict of the
            tensors to reorder with the hypotheses: `slots` (B * K, L) (see `Decoder.start`); and, of a model that
            copies, `copying` and in `hypotheses` `before` (B * K,), the token before the last one.
        """
        if max_length < 1:
            raise Error(
                f"{type(self).__name__}: max_length is {max_length}; at least one token must fit"
            )
        self.build()
        memory, source_mask = self.read(source, training=False)
        slots, layers = self.decoder.start(memory, max_length, num_beams)
        state = {"source_mask": source_mask, "layers": layers, "hypotheses": {"slots": slots}}
        copying = self.copying(source, memory, source_mask)
        if copying is None:
            return state
        before = ops.zeros((ops.shape(slots)[0],), "int32")
        return {**state, "copying": copying, "hypotheses": {"slots": slots, "before": before}}

    def step(self, token_ids: Tensor, position: Tensor, state: dict) -> tuple[Tensor, dict]:
        """Reads one token of each hypothesis and predicts the next one.

        Args:
            token_ids: int tensor (B * K,), the tokens at `position`; the start token at 0.
            position: int scalar, below L.
            state: the state of `start` with the earlier positions filled in.

        Returns:
            float32 logits (B * K, V) and the state with this position filled in.
        """
        x = self.target_embedding(token_ids)[:, None, :]
        x = self.target_positions(x, first_position=ops.reshape(position, (1,)), training=False)[
            :, 0
        ]
        x, slots, layers = self.decoder.step(
            x, position, state["hypotheses"]["slots"], state["layers"], state["source_mask"]
        )
        copying, hypotheses = state.get("copying"), {"slots": slots}
        if copying is not None:  # the hypotheses of a source are its T here
            sources = ops.shape(state["source_mask"])[0]
            written = ops.stack(
                [ops.cast(token_ids, "int32"), state["hypotheses"]["before"]], axis=-1
            )
            copying = {**copying, "written": ops.reshape(written, (sources, -1, 2))}
            hypotheses["before"] = written[:, 0]
            x = ops.reshape(x, (sources, -1, x.shape[-1]))
        logits = self.logits(x, copying)
        return ops.reshape(logits, (-1, logits.shape[-1])), {
            **state,
            "layers": layers,
            "hypotheses": hypotheses,
        }

    def metric_inputs(self, x: dict, y: Tensor | None) -> tuple[Tensor, Tensor, Tensor]:
        """The next tokens (B, T), the probabilities of the vocabulary (B, T, V), and which tokens are no padding."""
        labels = x["target_labels"] if y is None else y
        return labels, ops.softmax(self(x, training=False)), padding_mask(labels)

    def summed_loss(self, x: dict, y: Tensor | None, training: bool) -> Tensor:
        """The loss summed over the real tokens of the targets: label-smoothed, or that of a model that copies."""
        labels = x["target_labels"] if y is None else y
        decoded, copying = self._decoded(x, training)
        loss = label_smoothing_loss(self.logits(decoded), labels, self.config["label_smoothing"])
        if copying is None or self.copy_attention is None:
            return ops.sum(loss)
        loss = self.copy_attention.loss(loss, labels, decoded, **copying)
        return ops.sum(ops.where(padding_mask(labels), loss, 0.0))

    def loss_weight(self, x: dict, y: Tensor | None) -> Tensor:
        """The number of real tokens of the targets: float32 scalar."""
        return ops.sum(ops.cast(padding_mask(x["target_labels"] if y is None else y), "float32"))

    def check_sizes(self, arguments: Sequence[str], vocabulary_size: int) -> None:
        """Checks what both models have in their `config`.

        Args:
            arguments: the names of the whole numbers above 0.
            vocabulary_size: V.

        Raises:
            Error: a size below 1, special tokens outside of the vocabulary or both the same, or a label smoothing out
                of range.
        """
        for argument in (*arguments, "start_id", "end_id", "max_length"):
            if not isinstance(self.config[argument], int) or self.config[argument] < 1:
                self.wrong(argument, "a whole number above 0")
        if self.config.get("copy") and self.config["label_smoothing"]:
            self.wrong(
                "label_smoothing",
                "0 where copy is true: the probabilities that are smoothed are the "
                "vocabulary's alone",
            )
        if not 0 <= self.config["label_smoothing"] < 1:
            self.wrong("label_smoothing", "at least 0 and below 1")
        if self.config["end_id"] == self.config["start_id"]:
            self.wrong("end_id", "another than start_id")
        for argument in ("start_id", "end_id"):
            if self.config[argument] >= vocabulary_size:
                self.wrong(argument, f"below the vocabulary's size, {vocabulary_size}")

    def wrong(self, argument: str, expected: str) -> None:
        """Raises an Error that names an invalid argument of the class."""
        raise Error(
            f"{type(self).__name__}: {argument} is {self.config[argument]!r}; it must be {expected}"
        )
