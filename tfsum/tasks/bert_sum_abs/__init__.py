"""Abstractive summarization: BertSumAbs writes the summary (Liu and Lapata 2019)."""

EXPORT_KIND, VERB = "abstractive", "summarize"
SHARED = {
    "load": "tfsum.generation.generator",
    "prepare": "tfsum.data.documents.prepare",
    "golden": "tfsum.generation.golden",
    "evaluate": "tfsum.generation.evaluate",
    "explain": "tfsum.generation.explain",
}
"""Parts that are in modules of other names."""


def owns(config: dict) -> bool:
    """Whether a config.json is of a BertSumAbs."""
    return "bert_sum_abs" in config
