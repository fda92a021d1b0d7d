"""The arrays of a BERT in tfsum and in another program: what is compared, and under which names."""

from collections.abc import Callable, Iterator

import numpy as np

from tfsum.formats import weight_names
from tfsum.models import BertForPretraining

FLOAT32 = 2e-5

# What is compared, found, expected, tolerance.
Comparisons = Iterator[tuple[str, np.ndarray, np.ndarray, float]]


def named_arrays(model: BertForPretraining, values, name_of: Callable) -> dict[str, np.ndarray]:
    """Arrays of the model's trainable variables, named and transposed as in a file (`name_of`, see
    `StoredModel`)."""
    layers = model.bert.config["num_hidden_layers"]
    names = {
        path: (name, transposed)
        for name, path, transposed in weight_names.bert_names(layers, "bert.")
    }
    heads = {
        path: (name, transposed)
        for rows in model.head_names().values()
        for name, path, transposed in rows
    }
    rooms = [(weight_names.variables_by_path(model.bert), names), (model.head_variables(), heads)]
    found = {}
    of_variable = {id(v): value for v, value in zip(model.trainable_variables, values, strict=True)}
    for variables, table in rooms:
        for path, variable in variables.items():
            name, transposed = name_of(*table[path])
            value = np.asarray(of_variable[id(variable)])
            found[name] = value.T if transposed else value
    return found


def gradients_by_name(
    model: BertForPretraining, x: dict, name_of: Callable
) -> dict[str, np.ndarray]:
    """Gradients of the loss on a batch with respect to every variable."""
    import tensorflow as tf

    with tf.GradientTape() as tape:
        loss = model.compute_loss(x, training=False)
    gradients = tape.gradient(loss, [v.value for v in model.trainable_variables])
    return named_arrays(model, [tf.convert_to_tensor(g) for g in gradients], name_of)
