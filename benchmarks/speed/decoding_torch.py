"""transformers' Marian on torch, and the same model in CTranslate2, float32 and int8; run by
`python -m benchmarks decoding`.

Answers {"who", "batch", "beams"} with {"seconds"}. Without ctranslate2 only Marian is there.
"""

import importlib.util
import json
import sys
import tempfile
import time

import torch
import transformers

from benchmarks.other_interpreter import answer

END, OUT_OF_REACH = 0, -1e9


def random_marian(task):
    """A Marian with random weights that never generates the end token or padding."""
    padding = task["vocabulary"] - 1
    config = transformers.MarianConfig(
        vocab_size=task["vocabulary"],
        d_model=task["width"],
        activation_function="relu",
        scale_embedding=True,
        encoder_layers=task["layers"],
        encoder_attention_heads=task["heads"],
        encoder_ffn_dim=task["feed_forward"],
        decoder_layers=task["layers"],
        decoder_attention_heads=task["heads"],
        decoder_ffn_dim=task["feed_forward"],
        max_position_embeddings=max(task["source"], task["tokens"] + 1),
        pad_token_id=padding,
        decoder_start_token_id=padding,
        eos_token_id=END,
        forced_eos_token_id=None,
    )
    model = transformers.MarianMTModel(config).eval()
    model.final_logits_bias[0, [END, padding]] = OUT_OF_REACH
    return model


def marian(model, tokens):
    """Decoding by transformers' `generate`."""

    def decode(sources, beams):
        ids = torch.tensor(sources)
        start = time.perf_counter()
        with torch.inference_mode():
            written = model.generate(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                num_beams=beams,
                do_sample=False,
                max_new_tokens=tokens,
            )
        seconds = time.perf_counter() - start
        assert written.shape[1] == tokens + 1, written.shape
        return seconds

    return decode


def ctranslate2_contestants(model, tokens, threads):
    """Name -> decoding by CTranslate2, with the model converted by its own converter."""
    import ctranslate2
    from ctranslate2.converters.converter import Converter
    from ctranslate2.converters.transformers import MarianMTLoader

    class Words:
        """The minimal tokenizer that the converter requires: each id is its own word."""

        eos_token, unk_token = "</s>", "<unk>"

        def get_vocab(self):
            named = {self.eos_token: END, self.unk_token: 1, "<pad>": model.config.pad_token_id}
            return named | {str(i): i for i in range(2, model.config.pad_token_id)}

    class RandomMarian(Converter):
        def _load(self):
            with torch.no_grad():
                return MarianMTLoader()(model, Words())

    def contestant(translator):
        def decode(sources, beams):
            words = [[str(i) for i in row] for row in sources]
            start = time.perf_counter()
            written = translator.translate_batch(words, beam_size=beams, max_decoding_length=tokens)
            seconds = time.perf_counter() - start
            assert all(len(row.hypotheses[0]) == tokens for row in written), written[0]
            return seconds

        return decode

    with tempfile.TemporaryDirectory() as folder:
        RandomMarian().convert(folder, force=True)
        return {
            name: contestant(
                ctranslate2.Translator(
                    folder, compute_type=kind, inter_threads=1, intra_threads=threads
                )
            )
            for name, kind in (("ctranslate2", "float32"), ("ctranslate2-int8", "int8"))
        }


def main():
    task = json.loads(sys.argv[1])
    torch.manual_seed(0)
    torch.set_num_threads(task["threads"])
    model = random_marian(task)
    facts = {"torch": torch.__version__, "transformers": transformers.__version__}
    made = {"marian": marian(model, task["tokens"])}
    if importlib.util.find_spec("ctranslate2"):
        import ctranslate2

        facts["ctranslate2"] = ctranslate2.__version__
        made |= ctranslate2_contestants(model, task["tokens"], task["threads"])

    def timed(asked):
        sources = task["sources"][str(asked["batch"])]
        return {"seconds": made[asked["who"]](sources, asked["beams"])}

    answer({**facts, "who": list(made)}, timed)


if __name__ == "__main__":
    main()
