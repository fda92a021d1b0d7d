"""Writes data/bert_pretraining: a small random BertForPreTraining of transformers in each of its files, and what it
computes: the losses as well, and their gradients.

Run where the extra `reference` is installed: python tests/data/make_bert_pretraining.py
"""

import pathlib

import numpy as np
import torch
from transformers import BertConfig, BertForPreTraining

FOLDER = pathlib.Path(__file__).parent / "bert_pretraining"
CONFIG = {"vocab_size": 40, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
          "intermediate_size": 24, "max_position_embeddings": 20, "type_vocab_size": 2, "layer_norm_eps": 1e-7,
          "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}


def tiny(config=CONFIG):
    """A model whose biases and normalizations are not what they begin with."""
    torch.manual_seed(12)
    model = BertForPreTraining(BertConfig(**config)).eval()
    noise = 0.8 / config["hidden_size"] ** 0.5  # so that the scores of a wide model are no larger
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.add_(torch.randn_like(weight) * (0.1 if "LayerNorm" in name or "bias" in name else noise))
    return model


def inputs(words=CONFIG["vocab_size"], lengths=(14, 9, 5), masks=(3, 2, 1)):
    """Padded ids (B, T), segments, places to guess with their true pieces (0 where none), and pairs."""
    random = np.random.default_rng(3)
    width, lengths = max(lengths), np.array(lengths)
    place = np.arange(width)[None]
    real = place < lengths[:, None]
    positions = np.zeros((len(lengths), max(masks)), np.int32)
    for row, (length, count) in enumerate(zip(lengths, masks, strict=True)):
        positions[row, :count] = np.sort(random.choice(np.arange(1, length), count, replace=False))
    return {"token_ids": (random.integers(1, words, real.shape) * real).astype(np.int32),
            "segment_ids": ((place * 2 >= lengths[:, None]) & real).astype(np.int32),
            "masked_lm_positions": positions,
            "masked_lm_ids": (random.integers(1, words, positions.shape) * (positions > 0)).astype(np.int32),
            "masked_lm_weights": (positions > 0).astype(np.float32),
            "next_sentence_labels": (np.arange(len(lengths)) > 0).astype(np.int32)}


def outputs(model, x):
    """Logits of every token and of the pairs, the loss and its gradients."""
    labels = np.full(x["token_ids"].shape, -100)
    chosen = x["masked_lm_weights"] > 0
    labels[np.nonzero(chosen)[0], x["masked_lm_positions"][chosen]] = x["masked_lm_ids"][chosen]
    found = model(input_ids=torch.tensor(x["token_ids"]).long(), labels=torch.tensor(labels),
                  attention_mask=torch.tensor(x["token_ids"] != 0).long(),
                  token_type_ids=torch.tensor(x["segment_ids"]).long(),
                  next_sentence_label=torch.tensor(x["next_sentence_labels"]).long())
    model.zero_grad()
    found.loss.backward()
    gradients = {f"gradient/{name}": weight.grad.numpy() for name, weight in model.named_parameters()}
    return {"prediction_logits": found.prediction_logits.detach().numpy(), "loss": found.loss.detach().numpy(),
            "seq_relationship_logits": found.seq_relationship_logits.detach().numpy(), **gradients}


if __name__ == "__main__":
    model, x = tiny(), inputs()
    model.save_pretrained(FOLDER / "whole")
    model.save_pretrained(FOLDER / "shards", max_shard_size="6KB")
    (FOLDER / "torch").mkdir(exist_ok=True)
    torch.save(model.state_dict(), FOLDER / "torch" / "pytorch_model.bin")
    for folder in ("shards", "torch"):
        (FOLDER / folder / "config.json").write_bytes((FOLDER / "whole" / "config.json").read_bytes())
    kept = {name: value for name, value in outputs(model, x).items()
            if not name.startswith("gradient/bert") or "word_embeddings" in name}
    np.savez_compressed(FOLDER / "expected.npz", **x, **kept)
