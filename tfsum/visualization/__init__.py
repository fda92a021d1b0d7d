"""Looking inside: figures of what models are made of and of what they do (extra `plots`), and the HTML report.

Every `plot_` function returns a matplotlib figure; nothing is shown or written by itself.
"""

import importlib

_LAZY = {  # TensorFlow is loaded by the first use
    "Attention": "attention",
    "bert_attention": "attention",
    "transformer_attention": "attention",
    "plot_attention": "attention_map",
    "plot_attention_lines": "attention_lines",
    "Explanation": "explanation",
    "explain": "explanation",
    "WrittenExplanation": "written",
    "explain_written": "written",
    "html_report": "report",
    "written_report": "written_page",
    "write_page": "html_page",
    "plot_learning_rate": "learning_rate",
    "plot_look_ahead_mask": "masks",
    "plot_padding_mask": "masks",
    "plot_positional_encoding": "positional_encoding",
    "plot_positional_encoding_heat_map": "positional_encoding",
    "plot_sentence_scores": "sentence_scores",
}

__all__ = list(_LAZY)


def __getattr__(name: str):
    if name not in _LAZY:
        raise AttributeError(
            f"module 'tfsum.visualization' has no attribute {name!r}; it offers {', '.join(__all__)}"
        )
    return getattr(importlib.import_module(f"tfsum.visualization.{_LAZY[name]}"), name)
