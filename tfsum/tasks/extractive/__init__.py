"""Extractive summarization: BertSumExt chooses sentences of the text (Liu 2019; Liu and Lapata 2019)."""

MODEL_KIND, EXPORT_KIND, VERB = "bert_sum_ext", "extractive", "summarize"


def owns(config: dict) -> bool:
    """Whether a config.json is of a BertSumExt."""
    return config.get("model_type") == "bert" and "bert_sum_ext" in config


def load(folder):
    """The `Summarizer` of an exported model."""
    from tfsum.tasks.extractive.summarizer import Summarizer

    return Summarizer(folder)
