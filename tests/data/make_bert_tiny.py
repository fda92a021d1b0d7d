"""Writes data/bert_tiny: a small random BertModel of transformers, inputs, and what it computes; and MiniLM's slice.

Run where the extra `reference` is installed: python tests/data/make_bert_tiny.py [FOLDER_OF_MINILM]
"""

import pathlib
import sys

import numpy as np
import torch
from transformers import BertConfig, BertModel

FOLDER = pathlib.Path(__file__).parent / "bert_tiny"
CONFIG = {"vocab_size": 60, "hidden_size": 24, "num_hidden_layers": 3, "num_attention_heads": 4,
          "intermediate_size": 40, "max_position_embeddings": 32, "type_vocab_size": 2}


def tiny():
    """A model whose biases and normalizations are not what they begin with."""
    torch.manual_seed(10)
    model = BertModel(BertConfig(**CONFIG)).eval()
    with torch.no_grad():
        for name, weight in model.named_parameters():
            weight.add_(torch.randn_like(weight) * (0.1 if "LayerNorm" in name or "bias" in name else 0.15))
    return model


def inputs(vocabulary, lengths, width):
    """Padded ids (B, width) and segments that change in the middle."""
    random = np.random.default_rng(4)
    token_ids = random.integers(1, vocabulary, (len(lengths), width))
    place = np.arange(width)[None]
    real = place < np.array(lengths)[:, None]
    segments = place * 2 >= np.array(lengths)[:, None]
    return (token_ids * real).astype(np.int32), (segments & real).astype(np.int32)


def outputs(model, token_ids, segment_ids):
    """Hidden states (L + 1, B, T, D), pooled output (B, D) and attentions (L, B, H, T, T)."""
    model.set_attn_implementation("eager")  # the only one that gives its weights
    with torch.no_grad():
        found = model(input_ids=torch.tensor(token_ids).long(), token_type_ids=torch.tensor(segment_ids).long(),
                      attention_mask=torch.tensor(token_ids != 0).long(), output_hidden_states=True,
                      output_attentions=True)
    return {"hidden_states": np.stack([h.numpy() for h in found.hidden_states]),
            "pooled_output": found.pooler_output.numpy(),
            "attentions": np.stack([a.numpy() for a in found.attentions])}


def write_tiny():
    model = tiny()
    model.save_pretrained(FOLDER, safe_serialization=True)
    token_ids, segment_ids = inputs(CONFIG["vocab_size"], [12, 7, 1], 12)
    np.savez_compressed(FOLDER / "expected.npz", token_ids=token_ids, segment_ids=segment_ids,
                        **outputs(model, token_ids, segment_ids))


def write_minilm(folder):
    model = BertModel.from_pretrained(folder).eval()
    token_ids, segment_ids = inputs(30000, [40, 23], 40)
    found = outputs(model, token_ids, segment_ids)
    # Every 4th column of every 5th token of each layer: 40 kB of the whole 0.9 MB.
    np.savez_compressed(FOLDER / "minilm.npz", token_ids=token_ids, segment_ids=segment_ids,
                        hidden_states=found["hidden_states"][:, :, ::5, ::4], pooled_output=found["pooled_output"])


if __name__ == "__main__":
    write_tiny()
    if len(sys.argv) > 1:
        write_minilm(sys.argv[1])
