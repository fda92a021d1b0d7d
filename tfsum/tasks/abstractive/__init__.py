"""Abstractive summarization and translation: a Transformer writes its answer (Vaswani et al. 2017)."""

MODEL_KIND, EXPORT_KIND, VERB = "transformer", "abstractive", "summarize"


def owns(config: dict) -> bool:
    """Whether a config.json is of a Transformer."""
    return config.get("model_type") == "transformer"


def load(folder):
    """The `Generator` of an exported model."""
    from tfsum.tasks.abstractive.generator import Generator

    return Generator(folder)
