"""The models of tfsum, in pure Keras: they run on TensorFlow and on JAX."""

from tfsum.models.bert import Bert
from tfsum.models.bert_classifier import BertClassifier
from tfsum.models.bert_for_pretraining import BertForPretraining
from tfsum.models.bert_sum_abs import BertSumAbs
from tfsum.models.bert_sum_ext import BertSumExt
from tfsum.models.transformer import Transformer

__all__ = [
    "Bert",
    "BertClassifier",
    "BertForPretraining",
    "BertSumAbs",
    "BertSumExt",
    "Transformer",
]
