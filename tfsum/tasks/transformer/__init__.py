"""Translation and short summaries: a Transformer generates the answer (Vaswani et al. 2017)."""

EXPORT_KIND, VERB = "abstractive", "summarize"
SHARED = {
    "load": "tfsum.generation.generator",
    "golden": "tfsum.generation.golden",
    "evaluate": "tfsum.generation.evaluate",
    "explain": "tfsum.generation.explain",
}
"""Parts that are in modules of other names."""


def owns(config: dict) -> bool:
    """Whether a config.json is of a Transformer."""
    return config.get("model_type") == "transformer"
