"""transformers' BERT and torch's encoder as a BertSumExt; run by `python -m benchmarks training`.

Answers each {"what": "predict" or "train", "rows", "length", "steps"} with the seconds of a step.
"""

import json
import sys
import time

import torch
import transformers
from torch import nn

from benchmarks.other_interpreter import answer

SENTENCE = 32  # tokens of a sentence


class BertSumExt(nn.Module):
    """The mean over each sentence's tokens, layers over the sentences, and a score."""

    def __init__(self, config, head):
        super().__init__()
        settings = transformers.BertConfig(
            **config, attention_probs_dropout_prob=0.0, attn_implementation="sdpa"
        )
        self.bert = transformers.BertModel(settings, add_pooling_layer=False)
        width = settings.hidden_size
        layer = nn.TransformerEncoderLayer(
            width,
            8,
            head["head_feed_forward_width"],
            0.1,
            "gelu",
            batch_first=True,
            norm_first=True,
        )
        self.head = nn.TransformerEncoder(layer, head["head_layers"], enable_nested_tensor=False)
        self.score = nn.Linear(width, 1)

    def forward(self, ids, segments):
        mask = torch.ones_like(ids)
        sequence = self.bert(ids, attention_mask=mask, token_type_ids=segments).last_hidden_state
        rows, length, width = sequence.shape
        vectors = sequence.reshape(rows, length // SENTENCE, SENTENCE, width).mean(2)
        return self.score(self.head(vectors))[..., 0]


def main():
    task = json.loads(sys.argv[1])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(task["threads"])
    model = BertSumExt(task["config"], task["head"]).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), 1e-5, fused=True)
    autocast = torch.autocast(device, torch.bfloat16, enabled=task["dtype"] == "bfloat16")
    random = torch.Generator().manual_seed(1)

    @torch.inference_mode()
    def predict(ids, segments, labels):
        model.eval()
        with autocast:
            logits = model(ids.to(device), segments.to(device))
        return torch.sigmoid(logits.float())

    def train(ids, segments, labels):
        model.train()
        optimizer.zero_grad(set_to_none=True)
        with autocast:
            logits = model(ids.to(device), segments.to(device))
        loss = nn.functional.binary_cross_entropy_with_logits(logits.float(), labels.to(device))
        loss.backward()
        optimizer.step()
        return loss.detach()[None]

    def timed(asked):
        steps, rows, length = asked["steps"], asked["rows"], asked["length"]
        shape = steps, rows, length
        ids = torch.randint(1000, task["config"]["vocab_size"], shape, generator=random)
        labels = torch.rand((steps, rows, length // SENTENCE), generator=random)
        segments = torch.zeros_like(ids)
        call = {"predict": predict, "train": train}[asked["what"]]
        begin = time.perf_counter()
        # All results go to the host at the end, so that the host never waits for a step.
        torch.cat([call(*batch) for batch in zip(ids, segments, labels, strict=True)]).cpu()
        return {"seconds": (time.perf_counter() - begin) / steps}

    name = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    versions = f"torch {torch.__version__}, transformers {transformers.__version__}"
    answer({"device": name, "versions": versions}, timed)


if __name__ == "__main__":
    main()
