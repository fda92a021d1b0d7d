"""Figures of models and their answers (extra `plots`), and the HTML report.

Every `plot_` function returns a matplotlib `Figure`, and neither shows nor writes it:
`figure.savefig("x.png")` does. pyplot does not know it, so that `plt.savefig` writes another one.
"""

from tfsum.loading import lazy_names

_LAZY = {  # public name -> its module; the first use loads TensorFlow or matplotlib
    "Attention": "tfsum.generation.generator",
    "bert_attention": "tfsum.visualization.attention",
    "transformer_attention": "tfsum.visualization.attention",
    "plot_attention": "tfsum.visualization.attention_figures",
    "plot_attention_lines": "tfsum.visualization.attention_figures",
    "Explanation": "tfsum.tasks.bert_sum_ext.explain",
    "explain": "tfsum.tasks.bert_sum_ext.explain",
    "WrittenExplanation": "tfsum.generation.explain",
    "explain_written": "tfsum.generation.explain",
    "html_report": "tfsum.tasks.bert_sum_ext.explain",
    "written_report": "tfsum.generation.explain",
    "write_page": "tfsum.html_page",
    "plot_curves": "tfsum.visualization.curves",
    "plot_learning_rate": "tfsum.visualization.curves",
    "plot_look_ahead_mask": "tfsum.visualization.positions",
    "plot_padding_mask": "tfsum.visualization.positions",
    "plot_positional_encoding": "tfsum.visualization.positions",
    "plot_positional_encoding_heat_map": "tfsum.visualization.positions",
    "plot_sentence_scores": "tfsum.visualization.sentence_scores",
}

__all__ = list(_LAZY)
__getattr__ = lazy_names(__name__, _LAZY, "plots")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
