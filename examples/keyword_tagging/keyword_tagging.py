"""How to add a task: which words of a text are its keywords, from a corpus to an exported model,
outside the package.

    python examples/keyword_tagging/keyword_tagging.py FOLDER

trains, exports, verifies, and tags a sentence. `tfsum.tasks.task.Task` lists the parts of a task,
here functions of one module.
"""

import pathlib
import sys
from typing import Literal

import keras
import numpy as np
import tensorflow as tf
from pydantic import Field

import tfsum
from tfsum.data import readers
from tfsum.data.batcher import SharedBatches, TokenBudgetBatcher
from tfsum.export import golden, saved_model, stored_weights
from tfsum.export.model_card import Card
from tfsum.formats import assign_weights, open_folder, weight_names
from tfsum.inference.exported_model import ExportedModel
from tfsum.inference.texts import check_texts
from tfsum.models.bert import Bert
from tfsum.models.model import Model
from tfsum.tasks import register
from tfsum.tasks.task import Task
from tfsum.text.packing import pack
from tfsum.text.word_piece import WordPiece
from tfsum.training import run, settings
from tfsum.training.optimizer import Adam, WarmUp

HERE = pathlib.Path(__file__).parent
KIND = "keyword_tagging"  # of recipes and of exports
# of an export that takes `text` alone
requests, signatures, warmup = golden.requests, golden.signatures, golden.warmup
# labels of tokens; 0 is padding's, so that a padded batch needs no mask beside it
NONE, OTHER, KEYWORD = range(3)
HEAD = [(f"classifier.{name}", path, transposed) for name, path, transposed in weight_names.DENSE]


# a config.json of this task's model
def owns(config):
    return "KeywordTagger" in (config.get("architectures") or [])


class KeywordTagger(Model):
    """A logit for each token, (B, T) -> (B, T). Of two sums `Model` makes a `fit` that is exact on
    every strategy."""

    def __init__(self, bert):
        super().__init__(name="keyword_tagger")
        self.bert, self.classifier = bert, keras.layers.Dense(1, name="classifier")
        self.bert.pooler.trainable = False  # takes no part in the logits
        self({"token_ids": np.zeros((1, 2), np.int32)})  # builds the layers

    def call(self, inputs, training=None):
        vectors = self.bert(inputs["token_ids"], training=training)["sequence_output"]
        return keras.ops.cast(self.classifier(vectors)[..., 0], "float32")

    def summed_loss(self, x, y, training):
        logits, target = (
            self(x, training=training),
            keras.ops.cast(x["labels"] == KEYWORD, "float32"),
        )
        loss = keras.ops.binary_crossentropy(target, logits, from_logits=True)
        return keras.ops.sum(keras.ops.where(x["labels"] == NONE, 0.0, loss))

    def loss_weight(self, x, y):
        return keras.ops.sum(keras.ops.cast(x["labels"] != NONE, "float32"))

    def folder_config(self):
        return {"model_type": "bert", "architectures": ["KeywordTagger"], **self.bert.config}

    def tensors(self):  # model.safetensors
        head = weight_names.variables_by_path(self.classifier)
        return weight_names.bert_tensors(self.bert, "bert.") | weight_names.named_tensors(
            head, HEAD
        )


def lay_out(words, word_piece, length):
    """Words (B, W) as rows for `Bert`, the first piece of each: in training and in the exported
    graph alike."""
    pieces = word_piece.tokenize(words.values).to_tensor(word_piece.unk_id, shape=[None, 1])
    return pack(words.with_values(pieces[:, 0]), length, word_piece.cls_id, word_piece.sep_id)


def read_tagged(length, corpus, validation_share):
    """Reads a text a line, keywords *between asterisks*: arrays (N, length) by split, and the words
    that occur."""
    marked = tf.strings.split(list(readers.read_lines(corpus)))
    words = marked.with_values(tf.strings.regex_replace(marked.values, r"^\*(.+)\*$", r"\1"))
    labels = marked.with_values(tf.where(words.values == marked.values, OTHER, KEYWORD))
    vocabulary = [
        "[PAD]",
        "[UNK]",
        "[CLS]",
        "[SEP]",
        *sorted({word.decode() for word in words.values.numpy()}),
    ]
    rows = {
        "token_ids": lay_out(words, WordPiece(vocabulary), length),
        "labels": pack(labels, length, NONE, NONE),
    }
    rows = {name: packed["token_ids"].numpy() for name, packed in rows.items()}
    held = int(len(rows["labels"]) * validation_share)
    train, validation = (
        {name: row[part] for name, row in rows.items()} for part in (slice(held, None), slice(held))
    )
    return {"train": train, "validation": validation, "vocabulary": vocabulary}


class TaggedBatcher(TokenBudgetBatcher):  # texts of like length in a budget of padded tokens
    row, signature = (
        "text",
        dict.fromkeys(("token_ids", "labels"), tf.TensorSpec((None, None), tf.int32)),
    )

    def __init__(self, texts, tokens_per_batch):
        super().__init__(np.count_nonzero(texts["token_ids"], axis=1), tokens_per_batch)
        self._texts = texts

    def assemble(self, rows, epoch=0):
        return {
            name: values[rows, : self.length[rows].max()] for name, values in self._texts.items()
        }


# what a recipe may say: a class for each section, whose fields are its keys
class DataSettings(settings.Settings):
    corpus: str = Field(description="Texts, one a line, with their keywords between asterisks.")
    validation_share: float = Field(0.2, ge=0, lt=1, description="Share of texts held out.")


class ModelSettings(settings.ModelSettings):
    kind: Literal["keyword_tagging"] = Field(description="Kind of the model.")
    hidden_size: int = Field(768, ge=1, description="Width of the encoder.")
    num_hidden_layers: int = Field(12, ge=1, description="Layers of the encoder.")
    num_attention_heads: int = Field(12, ge=1, description="Attention heads of a layer.")
    intermediate_size: int = Field(3072, ge=1, description="Feed-forward width of a layer.")
    max_position_embeddings: int = Field(512, ge=3, description="Tokens of a text at most.")
    hidden_dropout_prob: float = Field(0.1, ge=0, lt=1, description="Dropout of the encoder.")
    attention_probs_dropout_prob: float = Field(0.1, ge=0, lt=1, description="Of its attention.")


class TrainSettings(settings.OptimizerSettings):
    tokens_per_batch: settings.TokensPerBatch = 512  # all but its default is in the base class
    warmup_steps: settings.WarmupSteps = 20


class RecipeSettings(settings.Recipe):
    data: DataSettings
    model: ModelSettings
    train: TrainSettings


def prepare_data(recipe):
    length, data = recipe.model.max_position_embeddings, recipe.data
    return read_tagged(length, data.corpus, data.validation_share)


def build_model(recipe, data):  # `data` is what the stage before it, `prepare_data`, returned
    sizes = recipe.model.model_dump(exclude={"kind"})
    # or Bert.from_stored(...), for a pretrained encoder
    return KeywordTagger(Bert(len(data["vocabulary"]), **sizes))


# has checkpoints, resume, signals and the log; a task adds what is read, measured and kept
class TaggingRun(run.Run):
    def __init__(self, recipe, data, model):
        self.recipe, self.data, train = recipe, data, recipe.train
        with model.distribute_strategy.scope():  # where the model's variables are
            schedule = WarmUp(train.learning_rate, train.warmup_steps, train.steps)
            optimizer = Adam(
                schedule, weight_decay=train.weight_decay or None, global_clipnorm=train.clip_norm
            )
        super().__init__(model, optimizer, train)

    def batches(self, done):  # a pure function of `done`, so that a run can resume
        batcher = TaggedBatcher(self.data["train"], self.settings.tokens_per_batch)
        return SharedBatches(batcher, done, self.settings.steps)

    def measure(self):
        texts = self.data["validation"]
        true, found = (
            texts["labels"] == KEYWORD,
            (self.model(texts).numpy() > 0) & (texts["labels"] != NONE),
        )
        return {"f1": 200.0 * float((true & found).sum() / max(1, true.sum() + found.sum()))}

    def selection_score(self, scores):
        return scores["f1"]

    def save_best(self, folder):
        self.model.save_pretrained(
            folder,
            self.data["vocabulary"],
            {"recipe": self.recipe.model_dump(), "validation": self.state["best"]},
        )


class TextTagger(tf.Module):  # the exported graph: raw strings in, words with probabilities out
    def __init__(self, model, word_piece):
        super().__init__()
        self.word_piece, self.length = word_piece, model.bert.config["max_position_embeddings"]
        # the Keras model itself would be stored a second time
        self.weights = stored_weights.StoredWeights(model)

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string, "text")])
    def serve(self, text):
        words = tf.strings.split(text)
        rows = lay_out(words, self.word_piece, self.length)
        with self.weights.model(self.weights.read()) as model:
            probability = tf.sigmoid(model({"token_ids": rows["token_ids"]}, training=False))[
                :, 1:-1
            ]
        return {
            "words": words.to_tensor(""),
            "probability": probability,
            "cut": rows["pieces_cut"],
            "count": tf.cast(words.row_lengths(), tf.int32) - rows["pieces_cut"],
        }

    def signatures(self):
        return {"serving_default": self.serve}


def export_model(folder, destination, ops="core"):
    source, destination = pathlib.Path(folder), saved_model.version_folder(destination)
    settings, stored = saved_model.read_settings(source), open_folder.open_folder(source)
    model = KeywordTagger(Bert.from_stored(stored))
    classifier = weight_names.variables_by_path(model.classifier)
    tensors = {name: stored.tensors[name] for name, _, _ in HEAD}
    assign_weights.assign(classifier, HEAD, tensors, source)
    module = TextTagger(model, WordPiece.from_file(source / "vocab.txt", ops=ops))
    exported = {"kind": KIND, "ops": ops, "storage": "float32", "text": settings["text"]}
    return saved_model.write_export(module, PARTS, card, source, destination, settings, exported)


# answers in JSON's types: `tfsum.verify` compares them with those of the day of export
def ask(model, requests):
    given = model.call("serving_default", {"text": golden.column(requests, "text")})
    rows = zip(*(given[name] for name in ("probability", "count", "cut")))
    return [{"probability": row[:count].tolist(), "cut": int(cut)} for row, count, cut in rows]


def card(description):  # the task's part of the model card, with no row of its own in the table
    return Card("A keyword tagger for TensorFlow", "words with their probabilities", {})


class Tagger(ExportedModel):  # texts in, the (word, probability) pairs of each out
    def __call__(self, texts):
        rows = self._ask("serving_default", {"text": check_texts(texts)})
        rows = [zip(row["words"][: row["count"]], row["probability"]) for row in rows]
        return [[(word.decode(), float(probability)) for word, probability in row] for row in rows]


make_run, PARTS = TaggingRun, sys.modules[__name__]
TASK = Task(
    name=KIND,
    owns=owns,
    export_kind=KIND,
    settings=lambda: RecipeSettings,
    training=lambda: PARTS,  # prepare_data, build_model and make_run
    export=lambda: export_model,
    golden=lambda: PARTS,  # signatures, requests, ask and warmup
    exported_model=lambda: Tagger,
)
register(TASK)  # the one call that makes it a task


def main(folder):
    overrides = [f"data.corpus={HERE / 'corpus.txt'}", f"train.folder={folder}/run"]
    exported = tfsum.export_model(
        tfsum.train(HERE / "recipe.toml", overrides), f"{folder}/keywords"
    )
    tagger = tfsum.load(exported)
    print(
        tfsum.verify(exported),
        f"validation F1: {tagger.description['validation']['f1']:.1f}",
        sep="\n",
    )
    print(
        *(f"{p:.2f} {word}" for word, p in tagger(["no ferry was near the bridge of the town"])[0]),
        sep="\n",
    )


if __name__ == "__main__":
    main(sys.argv[1])
