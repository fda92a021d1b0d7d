"""Makes the small checkpoints of this folder; needs torch (2.13.0 was used), which tfsum never does.

    python make_torch_files.py

The same objects as zip archive and as legacy stream; expected.npz holds what torch says is in them.
"""

import argparse
import collections
import pathlib

import numpy as np
import torch

FOLDER = pathlib.Path(__file__).parent
DTYPES = "float16 float32 float64 bfloat16 int8 int16 int32 int64 uint8 bool"


def tensors() -> dict[str, torch.Tensor]:
    """One tensor of every dtype, and views: transposed, shared, repeated, empty, without axes."""
    made = {
        f"dtype.{name}": torch.arange(-2, 4).reshape(2, 3).to(getattr(torch, name)) for name in DTYPES.split()
    }
    made["dtype.float32.special"] = torch.tensor([float("nan"), float("inf"), -0.0, 1e-42])
    made["dtype.bfloat16.special"] = made["dtype.float32.special"].to(torch.bfloat16)
    base = torch.arange(24, dtype=torch.float32).reshape(4, 6)
    made |= {"base": base, "transposed": base.t(), "column": base[:, 2], "steps": base[1::2, 1::2]}
    made |= {"repeated": base[0, :1].expand(5), "empty": torch.zeros(0, 3), "scalar": torch.tensor(2.5)}
    return made


def checkpoint(weights: dict[str, torch.Tensor]) -> dict:
    """The same kinds of objects that the BertSum trainer saves."""
    layer = torch.nn.Linear(3, 2)
    with torch.no_grad():
        layer.weight.copy_(torch.arange(6.0).reshape(2, 3))
        layer.bias.fill_(0.5)
    adam = torch.optim.Adam(layer.parameters(), lr=0.1)
    layer(torch.ones(1, 3)).sum().backward()
    adam.step()
    options = argparse.Namespace(heads=8, lr=2e-3, accum=[1, 2], name="tiny", size=torch.Size([2, 3]))
    moments = collections.defaultdict(dict, {key: adam.state[key] for key in layer.parameters()})
    return {"model": collections.OrderedDict(weights), "layer": layer.state_dict(), "parameter": layer.weight,
            "opt": options, "moments": moments, "optim": adam, "names": {"a", "b"}}  # fmt: skip


def main() -> None:
    """Writes zip.pt, legacy.pt and expected.npz."""
    torch.manual_seed(0)
    weights = tensors()
    saved = checkpoint(weights)
    torch.save(saved, FOLDER / "zip.pt")
    torch.save(saved, FOLDER / "legacy.pt", _use_new_zipfile_serialization=False)
    arrays = {name: (t.float() if t.dtype == torch.bfloat16 else t).numpy() for name, t in weights.items()}
    arrays |= {f"layer.{name}": tensor.numpy() for name, tensor in saved["layer"].items()}
    arrays["exp_avg"] = saved["moments"][saved["parameter"]]["exp_avg"].numpy()
    np.savez(FOLDER / "expected.npz", **arrays)


if __name__ == "__main__":
    main()
