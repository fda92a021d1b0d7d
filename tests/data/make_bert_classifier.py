"""Writes data/bert_classifier: a small random BertForSequenceClassification of transformers, and what it computes.

Run where the extra `reference` is installed: python tests/data/make_bert_classifier.py
"""

import pathlib

import numpy as np
import torch
from transformers import BertConfig, BertForSequenceClassification

FOLDER = pathlib.Path(__file__).parent / "bert_classifier"
LABELS = {0: "sport", 1: "weather", 2: "날씨"}
CONFIG = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
          "intermediate_size": 24, "max_position_embeddings": 20, "type_vocab_size": 2, "layer_norm_eps": 1e-7,
          "hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.0, "classifier_dropout": 0.3,
          "id2label": LABELS, "label2id": {name: i for i, name in LABELS.items()}}


def tiny():
    """A model whose biases and normalizations are not what they begin with."""
    torch.manual_seed(21)
    model = BertForSequenceClassification(BertConfig(**CONFIG)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.add_(torch.randn_like(weight) * (0.1 if "LayerNorm" in name or "bias" in name else 0.2))
    return model


def inputs():
    """Padded ids (4, 14) and segments of pairs, and labels."""
    random = np.random.default_rng(5)
    lengths, place = np.array([14, 9, 5, 3])[:, None], np.arange(14)[None]
    real = place < lengths
    return {"token_ids": (random.integers(1, 40, real.shape) * real).astype(np.int32),
            "segment_ids": ((place * 2 >= lengths) & real).astype(np.int32),
            "labels": np.array([0, 1, 2, 2], np.int32)}


def outputs(model, x):
    """Logits, the loss and the gradient of some weights."""
    found = model(input_ids=torch.tensor(x["token_ids"]).long(), labels=torch.tensor(x["labels"]).long(),
                  attention_mask=torch.tensor(x["token_ids"] != 0).long(),
                  token_type_ids=torch.tensor(x["segment_ids"]).long())
    found.loss.backward()
    gradients = {f"gradient/{name}": weight.grad.numpy() for name, weight in model.named_parameters()
                 if "classifier" in name or "pooler" in name}
    return {"logits": found.logits.detach().numpy(), "loss": found.loss.detach().numpy(), **gradients}


if __name__ == "__main__":
    model, x = tiny(), inputs()
    model.save_pretrained(FOLDER)
    np.savez_compressed(FOLDER / "expected.npz", **x, **outputs(model, x))
