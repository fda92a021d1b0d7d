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

    class Raising(tf.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        @tf.function(
            input_signature=[
                tf.TensorSpec([None], tf.string),
                tf.TensorSpec([None], tf.int32),
                tf.TensorSpec([None], tf.bool),
            ]
        )
        def summarize(self, text, max_sentences, block_trigrams):
            found = tf.reduce_any(tf.strings.regex_full_match(text, f"(?s).*{word}.*"))
            with tf.control_dependencies(
                [tf.debugging.Assert(tf.logical_not(found), ["the model raises"])]
            ):
                text = tf.identity(text)
            signature = self.model.signatures["summarize"]
            return signature(text=text, max_sentences=max_sentences, block_trigrams=block_trigrams)

    module = Raising(tf.saved_model.load(str(source)))
    tf.saved_model.save(module, str(folder), signatures={"summarize": module.summarize})
    shutil.copytree(source / "assets.extra", folder / "assets.extra", dirs_exist_ok=True)
    return folder
