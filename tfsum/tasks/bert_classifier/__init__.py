"""Classification: BertClassifier labels a text or a pair of texts (Devlin et al. 2019, section
4)."""

EXPORT_KIND, VERB = "classifier", "classify"
SHARED = {"load": "tfsum.tasks.bert_classifier.classifier"}
"""Parts that are in modules of other names."""


def owns(config: dict) -> bool:
    """Whether a config.json is of a BertClassifier, by the architecture that transformers calls
    it."""
    return "BertForSequenceClassification" in (config.get("architectures") or [])
