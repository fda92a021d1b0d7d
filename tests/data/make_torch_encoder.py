"""Writes data/torch_encoder.npz: what torch.nn.TransformerEncoder computes, post- and pre-norm, and its weights.

Run where the extra `reference` is installed: python tests/data/make_torch_encoder.py
"""

import pathlib

import numpy as np
import torch

PATH = pathlib.Path(__file__).parent / "torch_encoder.npz"
D, H, F, LAYERS = 8, 2, 12, 2


def compute():
    """Weights by torch's names under `post.` and `pre.`, the input, the mask and both outputs."""
    torch.manual_seed(7)
    x = torch.randn(2, 5, D)
    real = torch.arange(5)[None] < torch.tensor([[5], [3]])
    arrays = {"x": x.numpy(), "real": real.numpy()}
    for name in ("post", "pre"):
        layer = torch.nn.TransformerEncoderLayer(D, H, F, dropout=0.0, activation="gelu", batch_first=True,
                                                 norm_first=name == "pre", layer_norm_eps=1e-5)
        last = torch.nn.LayerNorm(D, eps=1e-5) if name == "pre" else None
        model = torch.nn.TransformerEncoder(layer, LAYERS, norm=last, enable_nested_tensor=False)
        with torch.no_grad():
            for weight in model.parameters():
                weight.add_(torch.randn_like(weight) * 0.2)
            arrays[f"{name}.output"] = model.train()(x, src_key_padding_mask=~real).numpy()
        arrays |= {f"{name}.{k}": v.numpy() for k, v in model.state_dict().items()}
    return arrays


if __name__ == "__main__":
    np.savez_compressed(PATH, **compute())
