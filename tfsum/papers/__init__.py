"""What is as BertSum and PreSumm did it, and not as one would do it today.

`import tfsum.papers` adds to the tables of the engines: the LSTM head to `HEADS` of
`tfsum.models.sentence_heads`, PreSumm's search to the strategies that `tfsum.decoding` knows by
name, and the preprocessing of both to `WRITERS` of `tfsum.data.documents.prepare`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from tfsum.data.documents.prepare import WRITERS
from tfsum.data.preparation import RecordWriter
from tfsum.papers.checkpoint_reader import checkpoint_to_folder
from tfsum.papers.checkpoint_writer import folder_to_checkpoint
from tfsum.papers.lstm_head import LSTMHead
from tfsum.papers.presumm_search import PreSummBeamSearch

__all__ = ["LSTMHead", "PreSummBeamSearch", "checkpoint_to_folder", "folder_to_checkpoint"]


def _original_writer(settings: Mapping[str, Any], vocabularies: Sequence[str]) -> RecordWriter:
    """The writer, imported when there are documents: it loads TensorFlow, which models do not."""
    from tfsum.papers.preprocessing import OriginalWriter

    return OriginalWriter(settings, vocabularies)


WRITERS["bertsum"] = WRITERS["presumm"] = _original_writer
