"""Tiny random models of every kind, exported once for all tests of this room."""

import dataclasses
import json
import pathlib
import string
import subprocess
import sys

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


CLIENT = pathlib.Path(__file__).with_name("c_api.py")
TEXT_LIBRARIES = ("_fast_bert_normalizer.so", "_fast_wordpiece_tokenizer.so", "_whitespace_tokenizer_v2.so")


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


@pytest.fixture(scope="session")
def c_library():
    """The function that asks an export by the C library alone, with the op libraries that it needs or without."""

    def ask(exported: Exported, requests: list[dict], libraries: bool = True) -> subprocess.CompletedProcess:
        words = []
        if libraries and exported.ops == "text":
            import tensorflow_text

            folder = pathlib.Path(tensorflow_text.__file__).parent / "python" / "ops"
            words = [word for name in TEXT_LIBRARIES for word in ("--library", str(folder / name))]
        command = [sys.executable, "-I", str(CLIENT), str(exported.folder), *words]
        return subprocess.run(command, capture_output=True, input=json.dumps(requests), text=True, check=False)

    return ask


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


VARIANTS = {  # both heads, both poolings, both ways of text, two storages, both selections
    "transformer": ("transformer", "mean", "core", "float32", "expected_rouge"),
    "classifier": ("classifier", "cls", "text", "small", "score"),
}


@pytest.fixture(scope="session", params=VARIANTS)
def exported(request, tmp_path_factory) -> Exported:
    """Each of the variants."""
    return export(tmp_path_factory, *VARIANTS[request.param])


@pytest.fixture(scope="session")
def transformer(tmp_path_factory) -> Exported:
    """The variant that the shipped model is of."""
    return export(tmp_path_factory, *VARIANTS["transformer"])


_made: dict = {}


def export(tmp_path_factory, head: str, pooling: str, ops: str, storage: str, selection: str) -> Exported:
    """Exports a variant, once a session."""
    key = (head, pooling, ops, storage, selection)
    if key not in _made:
        import tensorflow as tf

        from tfsum.export import export_extractive

        folder = tmp_path_factory.mktemp("_".join(key))
        source = model_folder(folder / "best", head, pooling)
        written = export_extractive(source, folder / "news", ops=ops, storage=storage, selection=selection)
        _made[key] = Exported(source, written, tf.saved_model.load(str(written)), ops)
    return _made[key]


LETTERS = string.ascii_letters + string.digits + "éàçñßü한국어고양"
REVERSIBLE = ["▁the", "▁bridge", "▁was", "##ed", "##er", "⌣s", "##ing", "▁I", "▁한국", "##re"]


def writer_folder(folder, apart: bool = False, **settings) -> pathlib.Path:
    """Writes a tiny random Transformer whose answers differ from source to source and end, some of them, early."""
    import keras
    import numpy as np

    from tfsum.models import Transformer
    from tfsum.text.escape import PIECES

    keras.utils.set_random_seed(11)
    pieces = [*SPECIAL, *PIECES, *string.punctuation, "«", "»", *("##" + c for c in LETTERS), *REVERSIBLE]
    target = [*pieces, "▁pont", "##ier"] if apart else pieces
    model = Transformer(len(pieces), len(target), 1, 1, 16, 2, 24, max_length=12, shared_embeddings=not apart,
                        tied_output=not apart, dropout=0.0)
    model.build()
    random = np.random.default_rng(11)
    for weight in model.trainable_weights:
        weight.assign(np.asarray(weight) + random.normal(size=weight.shape) * 0.4)
    text = {"lowercase": False, "strip_accents": None, "max_source_length": 24}
    model.save_pretrained(str(folder), pieces, target if apart else None,
                          {"text": text, "licence": "Apache-2.0", **settings})
    return pathlib.Path(folder)


WRITERS = {  # one vocabulary and two, both ways of text, a search with rules and one with random numbers
    "beam": (False, "core", "float32", dict(name="beam", width=3, length_penalty=1.0, normalization="length",
                                            min_length=3, no_repeat_ngram=2)),
    "sampling": (True, "text", "small", dict(name="sampling", temperature=0.8, top_k=20, seed=5, n_samples=2)),
}


@pytest.fixture(scope="session", params=WRITERS)
def writer(request, tmp_path_factory) -> Exported:
    """Each of the Transformers."""
    return export_writer(tmp_path_factory, request.param)


@pytest.fixture(scope="session")
def beam_writer(tmp_path_factory) -> Exported:
    """The Transformer of core operations."""
    return export_writer(tmp_path_factory, "beam")


def export_writer(tmp_path_factory, name: str) -> Exported:
    """Exports a Transformer, once a session."""
    if name not in _made:
        import tensorflow as tf

        from tfsum.decoding.named_strategy import named_strategy
        from tfsum.export import export_model

        apart, ops, storage, search = WRITERS[name]
        folder = tmp_path_factory.mktemp(name)
        source = writer_folder(folder / "best", apart)
        written = export_model(source, folder / "writer", ops=ops, storage=storage, strategy=named_strategy(**search))
        _made[name] = Exported(source, written, tf.saved_model.load(str(written)), ops)
    return _made[name]


@pytest.fixture(scope="session")
def write_writer_folder():
    """The function that writes a tiny random Transformer."""
    return writer_folder


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
