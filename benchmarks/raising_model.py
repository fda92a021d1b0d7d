"""An extractive model that raises on a text with a certain word: to see what becomes of the
others."""

import pathlib
import shutil


def write_raising_model(source: pathlib.Path, folder: pathlib.Path, word: str) -> pathlib.Path:
    """Exports a model around another one.

    Args:
        source: folder of the exported extractive model.
        folder: of the new one, `.../NAME/VERSION`.
        word: a batch with it in one of the texts fails.

    Returns:
        `folder`.
    """
    import tensorflow as tf
    import tensorflow_text  # noqa: F401  its operations are in the graph

    model = tf.saved_model.load(str(source))
    extract = model.signatures["extract"]
    specs = extract.structured_input_signature[1]

    class Raising(tf.Module):
        @tf.function(input_signature=[*specs.values()])
        def extract(self, *inputs):
            given = dict(zip(specs, inputs))
            found = tf.reduce_any(tf.strings.regex_full_match(given["text"], f"(?s).*{word}.*"))
            check = tf.debugging.Assert(tf.logical_not(found), ["the model raises"])
            with tf.control_dependencies([check]):
                given["text"] = tf.identity(given["text"])
            return extract(**given)

    module = Raising()
    module.model = model
    tf.saved_model.save(module, str(folder), signatures={"extract": module.extract})
    shutil.copytree(source / "assets.extra", folder / "assets.extra", dirs_exist_ok=True)
    return folder
