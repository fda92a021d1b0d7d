"""Pretraining steps of transformers' BertForPreTraining on torch; run by benchmarks/pretraining.py.

Reads {"precision", "gathered", "steps"} and prints {"seconds": [...], "loss"}, one line per
request. "gathered" applies the masked-word head only to the masked positions; the original applies
it to every position.

    python pretraining_torch.py '{"config": {...}, "rows": 32, "length": 128, "predictions": 20}'
"""

import json
import os
import sys
import time

import numpy as np
import torch
import transformers

NOT_DECAYED = ("bias", "LayerNorm.weight")


def optimizer_of(model):
    """AdamW without weight decay on biases and normalizations."""
    groups = {True: [], False: []}
    for name, parameter in model.named_parameters():
        groups[name.endswith(NOT_DECAYED)].append(parameter)
    return torch.optim.AdamW(
        [
            {"params": groups[False], "weight_decay": 0.01},
            {"params": groups[True], "weight_decay": 0.0},
        ],
        lr=1e-4,
        eps=1e-6,
    )


def loss_of(model, batch, gathered):
    """The loss of both tasks."""
    inputs = {name: batch[name] for name in ("input_ids", "token_type_ids", "attention_mask")}
    if not gathered:
        labels = torch.full_like(batch["input_ids"], -100)
        labels.scatter_(1, batch["positions"], batch["labels"])
        return model(**inputs, labels=labels, next_sentence_label=batch["next_sentence_label"]).loss
    sequence, pooled = model.bert(**inputs, return_dict=False)
    places = batch["positions"][..., None].expand(-1, -1, sequence.shape[-1])
    scores = model.cls.predictions(torch.gather(sequence, 1, places))
    words = torch.nn.functional.cross_entropy(
        scores.flatten(0, 1).float(), batch["labels"].flatten()
    )
    pairs = model.cls.seq_relationship(pooled)
    return words + torch.nn.functional.cross_entropy(pairs.float(), batch["next_sentence_label"])


def main():
    task = json.loads(sys.argv[1])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    torch.set_num_threads(os.cpu_count())
    config = transformers.BertConfig(**task["config"])
    random, shape = np.random.default_rng(0), (task["rows"], task["length"])
    places = np.stack(
        [random.permutation(task["length"])[: task["predictions"]] for _ in range(task["rows"])]
    )
    ids = random.integers(5, config.vocab_size, shape)
    batch = {
        "input_ids": ids,
        "token_type_ids": np.zeros(shape, int),
        "attention_mask": np.ones(shape, int),
        "positions": places,
        "labels": np.take_along_axis(ids, places, 1),
        "next_sentence_label": random.integers(0, 2, task["rows"]),
    }
    batch = {name: torch.from_numpy(value).to(device) for name, value in batch.items()}
    runs = {}
    facts = {"torch": torch.__version__, "transformers": transformers.__version__, "device": device}
    print(json.dumps(facts), flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        key = (asked["precision"], asked["gathered"])
        if key not in runs:
            model = transformers.BertForPreTraining(config).to(device).train()
            runs[key] = model, optimizer_of(model)
        model, optimizer = runs[key]
        seconds = []
        for _ in range(asked["steps"]):
            start = time.perf_counter()
            with torch.autocast(device, torch.bfloat16, enabled=asked["precision"] == "bfloat16"):
                loss = loss_of(model, batch, asked["gathered"])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()
            value = loss.item()  # waits for the device
            seconds.append(time.perf_counter() - start)
        print(json.dumps({"seconds": seconds, "loss": value}), flush=True)


if __name__ == "__main__":
    main()
