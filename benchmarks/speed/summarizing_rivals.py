"""The whole task by other programs, in an environment of their own (requirements/rivals.txt); run
by `python -m benchmarks summarizing`.

A BertSumExt of the given sizes with random weights: transformers' BERT layers on torch (sdpa), and
the same model in ONNX Runtime and OpenVINO, float32, bfloat16 (torch, OpenVINO) and int8. Its
documents are split by nltk's Punkt and tokenized by Hugging Face's fast tokenizer. LexRank and
TextRank are sumy's. Answers {"windows": [rows, tokens]} or {"characters": N} with {"seconds"}.
"""

import contextlib
import importlib.metadata
import json
import re
import sys
import tempfile
import time

from benchmarks.other_interpreter import answer

SENTENCES = 3
WINDOWS_AT_ONCE = 8
PACKAGES = {
    "transformers": ("torch", "transformers"),
    "onnxruntime": ("onnxruntime",),
    "openvino": ("openvino", "nncf"),
    "lexrank": ("sumy",),
    "textrank": ("sumy",),
}


def punkt():
    """Punkt without its trained abbreviations, which would have to be fetched."""
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return PunktSentenceTokenizer()


def bert_sum_ext(task):
    """A BertSumExt of torch's and transformers' layers, with random weights."""
    import torch
    import transformers

    config = task["config"]
    head = config["bert_sum_ext"]

    def bert(attention, **sizes):
        known = {key: value for key, value in config.items() if key != "bert_sum_ext"}
        return transformers.BertConfig(**{**known, **sizes}, attn_implementation=attention)

    class BertSumExt(torch.nn.Module):
        def __init__(self, attention):
            super().__init__()
            self.bert = transformers.BertModel(bert(attention), add_pooling_layer=False)
            self.head = transformers.models.bert.modeling_bert.BertEncoder(
                bert(
                    attention,
                    num_hidden_layers=head["head_layers"],
                    num_attention_heads=head["head_num_heads"],
                    intermediate_size=head["head_feed_forward_width"],
                )
            )
            self.score = torch.nn.Linear(config["hidden_size"], 1)

        def forward(self, token_ids, segment_ids, mask, starts):
            vectors = self.bert(
                input_ids=token_ids, token_type_ids=segment_ids, attention_mask=mask
            ).last_hidden_state
            places = starts[..., None].expand(-1, -1, vectors.shape[-1])
            return self.score(self.head(vectors.gather(1, places))[0])[..., 0]

    torch.manual_seed(0)
    return BertSumExt


def run_torch(task):
    """Function from arrays to logits, by torch."""
    import torch

    torch.set_num_threads(task["threads"])
    model = bert_sum_ext(task)("sdpa").eval()
    if task["who"].endswith("bfloat16"):
        model = model.to(torch.bfloat16)

    def run(*arrays):
        with torch.inference_mode():
            return model(*map(torch.from_numpy, arrays)).float().numpy()

    return run


def write_onnx(task, path):
    """The model of `run_torch` as a file of ONNX, for any number and length of windows."""
    import torch

    model = bert_sum_ext(task)("eager").eval()
    example = tuple(map(torch.from_numpy, windows(2, 64)))
    names = ("token_ids", "segment_ids", "mask", "starts")
    axes = {name: {0: "rows", 1: "tokens"} for name in names[:3]}
    axes |= {"starts": {0: "rows", 1: "sentences"}, "scores": {0: "rows", 1: "sentences"}}
    torch.onnx.export(
        model,
        example,
        path,
        input_names=names,
        output_names=("scores",),
        dynamic_axes=axes,
        dynamo=False,
        opset_version=17,
    )


def run_onnxruntime(task):
    """The same by ONNX Runtime; int8: weights by column, activations by ranges found per call."""
    import onnxruntime
    from onnxruntime.quantization import QuantType, quantize_dynamic

    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        write_onnx(task, path)
        if task["who"].endswith("int8"):
            quantize_dynamic(
                path, f"{folder}/int8.onnx", per_channel=True, weight_type=QuantType.QInt8
            )
            path = f"{folder}/int8.onnx"
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = task["threads"]
        session = onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])
    names = [one.name for one in session.get_inputs()]
    return lambda *arrays: session.run(None, dict(zip(names, arrays)))[0]


def run_openvino(task):
    """The same by OpenVINO; int8 by NNCF's quantization after training."""
    import nncf
    import openvino

    with tempfile.TemporaryDirectory() as folder:
        write_onnx(task, f"{folder}/model.onnx")
        model = openvino.Core().read_model(f"{folder}/model.onnx")
    names = [one.any_name for one in model.inputs]
    if task["who"].endswith("int8"):
        shapes = [(1, 128), (2, 256), (1, 512)]
        examples = nncf.Dataset([dict(zip(names, windows(*shape))) for shape in shapes])
        model = nncf.quantize(model, examples, model_type=nncf.ModelType.TRANSFORMER)
    kind = "bf16" if task["who"].endswith("bfloat16") else "f32"
    compiled = openvino.Core().compile_model(
        model,
        "CPU",
        {
            "PERFORMANCE_HINT": "LATENCY",
            "INFERENCE_NUM_THREADS": task["threads"],
            "INFERENCE_PRECISION_HINT": kind,
        },
    )
    request = compiled.create_infer_request()
    return lambda *arrays: request.infer(dict(zip(names, arrays)))[0]


MAKERS = {
    "transformers": run_torch,
    "onnxruntime": run_onnxruntime,
    "openvino": run_openvino,
}


def windows(rows, length):
    """Windows without padding, of random tokens: ids, segments, mask, starts of sentences."""
    import numpy as np

    ids = np.random.default_rng(0).integers(5, 60, (rows, length))
    segments = np.tile(np.arange(length) // 25 % 2, (rows, 1))
    starts = np.tile(np.arange(0, length, 25), (rows, 1))
    return ids, segments, np.ones((rows, length), np.int64), starts


def summarize_by(run, task):
    """Function from a text to its best sentences: split, tokenize, windows, scores."""
    import numpy as np
    import transformers

    tokenizer = transformers.BertTokenizerFast(task["vocabulary"])
    length = task["config"]["max_position_embeddings"]
    splitter = punkt()

    def arrays(group):
        widest = max(sum(map(len, row)) for row in group)
        most = max(map(len, group))
        ids, segments, mask = (np.zeros((len(group), widest), np.int64) for _ in range(3))
        starts = np.zeros((len(group), most), np.int64)
        for i, row in enumerate(group):
            flat = [piece for sentence in row for piece in sentence]
            ids[i, : len(flat)], mask[i, : len(flat)] = flat, 1
            lengths = [len(sentence) for sentence in row]
            segments[i, : len(flat)] = np.repeat(np.arange(len(row)) % 2, lengths)
            starts[i, : len(row)] = np.cumsum([0, *lengths[:-1]])
        return ids, segments, mask, starts

    def summarize(text):
        sentences = splitter.tokenize(text)
        pieces = tokenizer(sentences, truncation=True, max_length=length)["input_ids"]
        rows = [[]]
        for sentence in pieces:
            if sum(map(len, rows[-1])) + len(sentence) > length:
                rows.append([])
            rows[-1].append(sentence)
        scores = []
        for first in range(0, len(rows), WINDOWS_AT_ONCE):
            group = rows[first : first + WINDOWS_AT_ONCE]
            logits = run(*arrays(group))
            scores += [logits[i, : len(row)] for i, row in enumerate(group)]
        best = np.argsort(-np.concatenate(scores))[:SENTENCES]
        return " ".join(sentences[i] for i in sorted(best))

    return summarize


def summarize_by_sumy(task):
    """Function from a text to its best sentences, by sumy."""
    from sumy.parsers.plaintext import PlaintextParser
    from sumy.summarizers.lex_rank import LexRankSummarizer
    from sumy.summarizers.text_rank import TextRankSummarizer

    class Tokenizer:
        """sumy's own needs the data of nltk."""

        language, splitter = "english", punkt()

        def to_sentences(self, paragraph):
            return tuple(self.splitter.tokenize(paragraph))

        def to_words(self, sentence):
            return tuple(re.findall(r"\w+", sentence))

    kinds = {"lexrank": LexRankSummarizer, "textrank": TextRankSummarizer}
    summarizer, tokenizer = kinds[task["who"]](), Tokenizer()

    def summarize(text):
        document = PlaintextParser.from_string(text, tokenizer).document
        return " ".join(map(str, summarizer(document, SENTENCES)))

    return summarize


def main():
    task = json.loads(sys.argv[1])
    kind = task["who"].partition("-")[0]
    run = None
    with contextlib.redirect_stdout(sys.stderr):  # NNCF prints
        if kind in MAKERS:
            run = MAKERS[kind](task)
            summarize = summarize_by(run, task)
        else:
            summarize = summarize_by_sumy(task)

    def timed(asked):
        given = windows(*asked["windows"]) if "windows" in asked else None
        begin = time.perf_counter()
        if given:
            run(*given)
        else:
            summarize(task["text"][: asked["characters"]])
        return {"seconds": time.perf_counter() - begin}

    versions = {package: importlib.metadata.version(package) for package in PACKAGES[kind]}
    answer({"who": task["who"], "encoder": run is not None, **versions}, timed)


if __name__ == "__main__":
    main()
