"""Pretraining a BERT on documents by masked words and next sentences (Devlin et al. 2019, section
3.1)."""

# an encoder is trained further, not served
EXPORT_KIND, VERB = None, None


def owns(config: dict) -> bool:
    """Whether a config.json is of a BERT: an encoder, unless it has the head of another task
    (`task_of_config`)."""
    return config.get("model_type") == "bert"
