"""The encoder of an exported BERT in OpenVINO's operations, with the weights of the export.

OpenVINO computes attention without writing its scores to memory, and packs weights once. Its
int8 keeps too few of the sentences, see benchmarks/README.md.
"""

from collections.abc import Mapping

import numpy as np
import openvino
from openvino import opset13 as ops

LENGTHS = 16  # windows are padded to a multiple: OpenVINO compiles code for each shape
WORDS = "bert/word_embeddings/embeddings"
SCALES = WORDS + "_scale"  # of exports whose storage is small


class OpenVinoEncoder:
    """A BERT that OpenVINO computes, in bfloat16 where the processor has instructions for it.

    Args:
        weights: Name of a variable -> its values, as the export stores them.
        config: The encoder's config.json.

    Example:
        >>> encoder = OpenVinoEncoder(weights, description["config"])  # doctest: +SKIP
        >>> encoder.encode(windows["token_ids"], windows["segment_ids"]).shape  # doctest: +SKIP
        (1, 48, 384)
    """

    def __init__(self, weights: Mapping[str, np.ndarray], config: dict) -> None:
        self._weights, self._config = weights, config
        self._compiled = openvino.Core().compile_model(self._model(), "CPU")

    def encode(self, token_ids: np.ndarray, segment_ids: np.ndarray) -> np.ndarray:
        """Encodes windows, one after another and without most of their padding.

        Args:
            token_ids: Int32 array (W, T), 0 is padding.
            segment_ids: Int32 array (W, T).

        Returns:
            Float32 array (W, T, D), 0 beyond the end of a window.
        """
        sequence = np.zeros((*token_ids.shape, self._config["hidden_size"]), np.float32)
        request = self._compiled.create_infer_request()
        for i, length in enumerate(np.count_nonzero(token_ids, axis=1)):
            window = np.s_[i : i + 1, : -(-length // LENGTHS) * LENGTHS]
            sequence[window] = request.infer([token_ids[window], segment_ids[window]])[0]
        return sequence

    def _model(self) -> openvino.Model:
        """What `tfsum.models.Bert.encode` computes, of ids (B, T)."""
        token_ids, segment_ids = (ops.parameter([-1, -1], np.int32) for _ in range(2))
        x = self._rows(WORDS, token_ids)
        if SCALES in self._weights:
            x = x * ops.unsqueeze(self._rows(SCALES, token_ids), 2)
        places = ops.range(0, ops.gather(ops.shape_of(token_ids), 1, 0), 1, "i64")
        x = x + self._rows("bert/segment_embeddings/embeddings", segment_ids)
        x = x + self._rows("bert/position_embeddings/embeddings", places)
        x = self._normalized("bert/embedding_norm", x)

        real = ops.unsqueeze(ops.not_equal(token_ids, np.int32(0)), [1, 2])  # (B, 1, 1, T)
        for i in range(self._config["num_hidden_layers"]):
            x = self._layer(f"bert/encoder/layer_{i}", x, real)
        return openvino.Model([x], [token_ids, segment_ids])

    def _layer(self, name: str, x: openvino.Node, real: openvino.Node) -> openvino.Node:
        """What `tfsum.layers.EncoderLayer` computes."""
        heads = self._config["num_attention_heads"]
        query, key, value = (
            ops.transpose(
                ops.reshape(self._dense(f"{name}/attention/{part}", x), [0, 0, heads, -1], True),
                [0, 2, 1, 3],
            )
            for part in ("query", "key", "value")
        )
        y = ops.scaled_dot_product_attention(query, key, value, real)  # (B, H, T, D/H)
        y = ops.reshape(ops.transpose(y, [0, 2, 1, 3]), [0, 0, self._config["hidden_size"]], True)
        x = self._normalized(
            f"{name}/attention_norm", x + self._dense(f"{name}/attention/output", y)
        )

        y = self._dense(f"{name}/feed_forward/inner", x)
        if self._config["hidden_act"] == "relu":
            y = ops.relu(y)
        else:
            y = ops.gelu(y, "erf" if self._config["hidden_act"] == "gelu" else "tanh")
        y = self._dense(f"{name}/feed_forward/outer", y)
        return self._normalized(f"{name}/feed_forward_norm", x + y)

    def _rows(self, name: str, ids: openvino.Node) -> openvino.Node:
        """Rows of a table as they are stored, converted to float32."""
        return ops.convert(ops.gather(ops.constant(self._weights[name]), ids, 0), "f32")

    def _normalized(self, name: str, x: openvino.Node) -> openvino.Node:
        x = ops.mvn(x, [-1], True, self._config["layer_norm_eps"], "inside_sqrt")
        return x * self._floats(f"{name}/gamma") + self._floats(f"{name}/beta")

    def _dense(self, name: str, x: openvino.Node) -> openvino.Node:
        x = ops.matmul(x, self._floats(f"{name}/kernel"), False, False)
        return x + self._floats(f"{name}/bias")

    def _floats(self, name: str) -> np.ndarray:
        return self._weights[name].astype(np.float32)
