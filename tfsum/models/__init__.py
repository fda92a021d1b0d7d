"""The models of tfsum, in pure Keras: they run on TensorFlow and on JAX."""

from tfsum.models.bert import Bert
from tfsum.models.bert_classifier import BertClassifier
from tfsum.models.bert_for_pretraining import BertForPretraining
from tfsum.models.bert_sum_ext import BertSumExt
from tfsum.models.masked_words import Guess, fill_mask
from tfsum.models.transformer import Transformer

__all__ = ["Bert", "BertClassifier", "BertForPretraining", "BertSumExt", "Guess", "Transformer", "fill_mask"]
