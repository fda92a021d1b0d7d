"""Tiny random models of every kind, exported once for all tests of this room."""

import dataclasses
import pathlib
import string

import pytest

SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
WORDS = (
    "the a of in on was were is it said to and item long report says that number counted twice town bridge "
    "river mayor repairs month cost rain fell one two three first second hello world test cat sat city news "
    "people market water fire school house night"
).split()
CHARACTERS = [*string.ascii_lowercase, *string.digits, *string.punctuation]
VOCABULARY = (
    SPECIAL
    + CHARACTERS
    + ["##" + c for c in string.ascii_lowercase + string.digits]
    + [w for w in WORDS if len(w) > 1]
)
WINDOW = 40


@dataclasses.dataclass(frozen=True)
class Exported:
    """A model folder, its export, and the exported model loaded."""

    source: pathlib.Path
    folder: pathlib.Path
    loaded: object
    ops: str

    def ask(self, signature: str, **inputs) -> dict:
        """Calls a signature with plain values; the answers are NumPy arrays."""
        import tensorflow as tf

        types = {"text": tf.string, "block_trigrams": tf.bool}
        tensors = {name: tf.constant(value, types.get(name, tf.int32)) for name, value in inputs.items()}
        return {k: v.numpy() for k, v in self.loaded.signatures[signature](**tensors).items()}


def model_folder(folder, head: str, pooling: str, **settings) -> pathlib.Path:
    """Writes a tiny random model whose scores differ from sentence to sentence."""
    import keras

    from tfsum.models import BertSumExt

    keras.utils.set_random_seed(7)
    model = BertSumExt(
        dict(
            vocab_size=len(VOCABULARY),
            hidden_size=32,
            num_hidden_layers=2,
            num_attention_heads=4,
            intermediate_size=64,
            max_position_embeddings=48,
            initializer_range=0.2,
        ),
        head=head,
        pooling=pooling,
        window_length=WINDOW,
        head_layers=2,
        head_num_heads=4,
        head_feed_forward_width=64,
    )
    model.build()
    text = {"lowercase": True, "strip_accents": None, "newline": "sentence", "window_length": WINDOW}
    model.save_pretrained(str(folder), VOCABULARY, {"text": text, "licence": "Apache-2.0", **settings})
    return pathlib.Path(folder)


VARIANTS = {  # both heads, both poolings, both ways of text, all storages
    "transformer": ("transformer", "mean", "core", "float32"),
    "classifier": ("classifier", "cls", "text", "small"),
}


@pytest.fixture(scope="session", params=VARIANTS)
def exported(request, tmp_path_factory) -> Exported:
    """Each of the variants."""
    return export(tmp_path_factory, *VARIANTS[request.param])


@pytest.fixture(scope="session")
def transformer(tmp_path_factory) -> Exported:
    """The variant that the shipped model is of."""
    return export(tmp_path_factory, *VARIANTS["transformer"])


_made: dict[tuple, Exported] = {}


def export(tmp_path_factory, head: str, pooling: str, ops: str, storage: str) -> Exported:
    """Exports a variant, once a session."""
    key = (head, pooling, ops, storage)
    if key not in _made:
        import tensorflow as tf

        from tfsum.export import export_extractive

        folder = tmp_path_factory.mktemp("_".join(key))
        source = model_folder(folder / "best", head, pooling)
        written = export_extractive(source, folder / "news", ops=ops, storage=storage)
        _made[key] = Exported(source, written, tf.saved_model.load(str(written)), ops)
    return _made[key]


@pytest.fixture(scope="session")
def article() -> str:
    """A text of two windows."""
    return (
        "The mayor said the bridge was closed. Repairs cost a lot, it was said on Monday! Was it the rain? "
        'The river fell twice in one night. People of the city counted to three. "Fire!" The school sat empty.'
    )


@pytest.fixture(scope="session")
def report() -> str:
    """A text of 90 sentences and far more windows than go through the encoder at once."""
    return " ".join(
        f"Item {i} of the long report says that the number {7 * i} was in town {i % 9}." for i in range(90)
    )


@pytest.fixture(scope="session")
def write_model_folder():
    """The function that writes a tiny random model folder."""
    return model_folder
