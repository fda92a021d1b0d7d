"""Figures of models and of their answers (extra `plots`), and the HTML report.

Every `plot_` function returns a matplotlib figure; nothing is shown or written by itself.
"""

import importlib
from typing import Any

_LAZY = {  # public name -> its module; TensorFlow is loaded by the first use
    "Attention": "tfsum.visualization.attention",
    "bert_attention": "tfsum.visualization.attention",
    "transformer_attention": "tfsum.visualization.attention",
    "plot_attention": "tfsum.visualization.attention_map",
    "plot_attention_lines": "tfsum.visualization.attention_lines",
    "Explanation": "tfsum.tasks.extractive.explain",
    "explain": "tfsum.tasks.extractive.explain",
    "WrittenExplanation": "tfsum.tasks.abstractive.explain",
    "explain_written": "tfsum.tasks.abstractive.explain",
    "html_report": "tfsum.tasks.extractive.explain",
    "written_report": "tfsum.tasks.abstractive.explain",
    "write_page": "tfsum.visualization.html_page",
    "plot_curves": "tfsum.visualization.curves",
    "plot_learning_rate": "tfsum.visualization.learning_rate",
    "plot_look_ahead_mask": "tfsum.visualization.masks",
    "plot_padding_mask": "tfsum.visualization.masks",
    "plot_positional_encoding": "tfsum.visualization.positional_encoding",
    "plot_positional_encoding_heat_map": "tfsum.visualization.positional_encoding",
    "plot_sentence_scores": "tfsum.visualization.sentence_scores",
}

__all__ = list(_LAZY)


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(
            f"module 'tfsum.visualization' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    return getattr(importlib.import_module(_LAZY[name]), name)
