"""Extractive summarization by BertSumExt (Liu 2019; Liu and Lapata 2019)."""

EXPORT_KIND, VERB = "extractive", "summarize"
SHARED = {
    "load": "tfsum.tasks.bert_sum_ext.summarizer",
    "prepare": "tfsum.data.documents.prepare",
}
"""Parts that are in modules of other names."""


def owns(config: dict) -> bool:
    """Whether a config.json is of a BertSumExt."""
    return config.get("model_type") == "bert" and "bert_sum_ext" in config
