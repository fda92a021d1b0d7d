"""Writes data/torch_transformer.npz: what torch.nn.Transformer computes, post- and pre-norm, and its weights.

Embeddings, positions and the output projection, which torch leaves to its user, stand around it as the paper has
them. The post-norm form goes without the normalizations that torch adds at the end of both stacks: the paper has none.

Run where the extra `reference` is installed: python tests/data/make_torch_transformer.py
"""

import math
import pathlib

import numpy as np
import torch

PATH = pathlib.Path(__file__).parent / "torch_transformer.npz"
D, H, F, LAYERS, V = 8, 2, 12, 2, 20
SOURCE = [[5, 9, 17, 4, 11], [6, 3, 8, 0, 0]]
TARGET = [[2, 7, 12, 5, 19, 4], [2, 14, 6, 6, 0, 0]]


def positions(length):
    """sin(p / 10000^(2i/D)) in column 2i and the cosine of the same angle in column 2i+1, by the formula."""
    return torch.tensor([[(math.cos if i % 2 else math.sin)(p / 10000 ** (2 * (i // 2) / D)) for i in range(D)]
                         for p in range(length)])


PARTS = {
    "encoder": {"attention": "self_attn", "attention_norm": "norm1", "feed_forward_norm": "norm2"},
    "decoder": {"self_attention": "self_attn", "cross_attention": "multihead_attn", "self_attention_norm": "norm1",
                "cross_attention_norm": "norm2", "feed_forward_norm": "norm3"},
}


def our_names(state):
    """Torch's weights under the paths of our variables; torch keeps query, key and value in one matrix."""
    weights = {}
    for stack, parts in PARTS.items():
        for i in range(LAYERS):
            layer, ours = f"{stack}.layers.{i}.", f"{stack}/layer_{i}/"
            dense = {"feed_forward/inner": "linear1", "feed_forward/outer": "linear2"}
            dense |= {f"{k}/output": f"{v}.out_proj" for k, v in parts.items() if "norm" not in k}
            for path, name in dense.items():
                weights |= {f"{ours}{path}/kernel": state[f"{layer}{name}.weight"].T,
                            f"{ours}{path}/bias": state[f"{layer}{name}.bias"]}
            for path, name in parts.items():
                if "norm" in path:
                    weights |= {f"{ours}{path}/gamma": state[f"{layer}{name}.weight"],
                                f"{ours}{path}/beta": state[f"{layer}{name}.bias"]}
                    continue
                for j, part in enumerate(("query", "key", "value")):
                    rows = slice(j * D, (j + 1) * D)
                    weights |= {f"{ours}{path}/{part}/kernel": state[f"{layer}{name}.in_proj_weight"][rows].T,
                                f"{ours}{path}/{part}/bias": state[f"{layer}{name}.in_proj_bias"][rows]}
        if f"{stack}.norm.weight" in state:
            weights |= {f"{stack}/final_norm/gamma": state[f"{stack}.norm.weight"],
                        f"{stack}/final_norm/beta": state[f"{stack}.norm.bias"]}
    return weights


def make(form):
    model = torch.nn.Transformer(D, H, LAYERS, LAYERS, F, dropout=0.0, batch_first=True, norm_first=form == "pre",
                                 layer_norm_eps=1e-5)
    if form == "post":
        model.encoder.norm = model.decoder.norm = None
    return model.train()  # without dropout the same as eval, and never torch's fused path


def compute():
    """The ids, and under `post:` and `pre:` the weights by our names and the outputs of encoder, decoder and model."""
    torch.manual_seed(11)
    source, target = torch.tensor(SOURCE), torch.tensor(TARGET)
    arrays = {"source_ids": np.array(SOURCE, np.int32), "target_ids": np.array(TARGET, np.int32)}
    for form in ("post", "pre"):
        model, table, bias = make(form), torch.randn(V, D) * 0.6, torch.randn(V)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) * 0.2)
            memory = model.encoder(table[source] * D**0.5 + positions(source.shape[1]),
                                   src_key_padding_mask=source == 0)
            causal = model.generate_square_subsequent_mask(target.shape[1]) < 0
            output = model.decoder(table[target] * D**0.5 + positions(target.shape[1]), memory, tgt_mask=causal,
                                   tgt_key_padding_mask=target == 0, memory_key_padding_mask=source == 0)
        found = our_names({k: v.numpy() for k, v in model.state_dict().items()})
        found |= {"embedding/embeddings": table.numpy(), "output_bias": bias.numpy(),
                  "encoder_output": memory.numpy(), "decoder_output": output.numpy(),
                  "logits": (output @ table.T + bias).numpy()}
        arrays |= {f"{form}:{name}": value for name, value in found.items()}
    return arrays


if __name__ == "__main__":
    np.savez_compressed(PATH, **compute())
