"""The models of tfsum, in Keras alone."""

from tfsum.models.bert import Bert
from tfsum.models.bert_sum_ext import BertSumExt

__all__ = ["Bert", "BertSumExt"]
