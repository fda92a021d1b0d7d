"""An exported extractive summarizer whose encoder OpenVINO computes, and TensorFlow all the rest:
splitting, word pieces, windows, the head and the choice of sentences."""

import pathlib
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

from tfsum.errors import ExportError, needs_extra, require
from tfsum.inference.c_session import CSession

OF_READING = "_of_reading"  # end of a signature's name that takes the outputs of `read` for a text
# the same of all whose inputs or outputs are the model's own: their rows are no texts
OWN = (OF_READING, "windows", "read_encoded")
READING = ("read", "score", "extract", "keywords", "relevance")  # signatures that encode texts


class OpenVinoModel:
    """An exported model that is called by the C library and by OpenVINO.

    Args:
        folder: Directory `.../NAME/VERSION`.
        description: Content of its assets.extra/tfsum.json.

    Attributes:
        signatures: Name of a signature -> the names of its inputs.

    Raises:
        ExportError: The model cannot be loaded, or has no signatures for another encoder.
        Error: OpenVINO is not installed.

    Example:
        >>> from tfsum.inference.saved_model import read_description
        >>> model = OpenVinoModel(folder, read_description(folder))  # doctest: +SKIP
        >>> model.call("score", {"text": [b"It rained."]})["count"].tolist()  # doctest: +SKIP
        [1]
    """

    def __init__(self, folder: pathlib.Path, description: dict) -> None:
        require(
            description.get("windows"),
            f"{folder}: has no signature windows, which compute='openvino' needs and older exports"
            " and other models than extractive summarizers lack; export the model again, or take"
            " 'auto'",
            ExportError,
        )
        with needs_extra("openvino", "compute='openvino'"):
            from tfsum.inference.openvino_encoder import OpenVinoEncoder

        self._session = CSession(folder, description, "openvino")
        self.signatures = self._session.signatures
        weights = [name for name in description["weights"] if name.startswith("bert/")]
        self._encoder = OpenVinoEncoder(self._session.variables(weights), description["config"])

    def call(self, signature: str, inputs: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
        """Calls a signature, from any thread.

        Args:
            signature: Name of the signature; those that are not of `READING` TensorFlow computes.
            inputs: Name -> array, or list of bytes.

        Returns:
            Name -> array.

        Raises:
            CallError: The graph rejects the inputs, or fails.
        """
        if signature not in READING:
            return self._session.call(signature, inputs)

        reading = self._read(inputs["text"])
        if signature + OF_READING not in self.signatures:
            return {name: reading[name] for name in self._session.outputs[signature]}
        known = self.signatures[signature + OF_READING]
        given: dict[str, ArrayLike] = {**reading, **inputs}
        return self._session.call(
            signature + OF_READING, {name: given[name] for name in given if name in known}
        )

    def interrupt(self) -> None:
        """Ends the calls that are computed, as `CSession.interrupt`."""
        self._session.interrupt()

    def _read(self, text: ArrayLike) -> dict[str, np.ndarray]:
        """The signature `read` of texts (B,)."""
        windows = self._session.call("windows", {"text": text})
        sequence = self._encoder.encode(windows["token_ids"], windows["segment_ids"])
        return self._session.call("read_encoded", {"text": text, "sequence": sequence})
