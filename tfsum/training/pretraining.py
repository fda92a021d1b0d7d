"""Pretraining a BERT on documents: masked words and next sentences, from a corpus to the best model folder."""

import pathlib
from typing import Any, Literal

import numpy as np
import tensorflow as tf

from tfsum.data.corpus_vocabulary import corpus_vocabulary
from tfsum.data.masking import Masking
from tfsum.data.prepare import vocabulary_file
from tfsum.data.prepare_pretraining import prepare_pretraining
from tfsum.data.pretraining_batches import load_sentence_pairs, pretraining_batches, pretraining_report
from tfsum.errors import Error, RecipeError
from tfsum.models import BertForPretraining, model_folder
from tfsum.models.bert_for_pretraining import PRESETS
from tfsum.text.word_piece import WordPiece
from tfsum.training.encoder import CASE, check_segments, encoder_folder, text_settings
from tfsum.training.environment import set_precision_and_seed, strategy_of
from tfsum.training.optimizer import NOT_DECAYED, Adam, BertWarmUp, encoder_factor
from tfsum.training.pretraining_validation import PretrainingValidation
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders, write_recipe
from tfsum.training.run import Run, say

CORPORA = ("train", "validation", "validation_share", "records")


def schema() -> dict[str, dict[str, Key]]:
    """What a recipe may say: section -> key -> `Key`; the keys are arguments of the functions they go to."""
    prepared = keys_of(prepare_pretraining, "corpus", "out_dir", "vocabulary", "part", "held_out_share", "progress",
                       *CASE)
    run = {**keys_of(Run, "model", "optimizer"),
           **keys_of(PretrainingRun, "model", "records", "word_piece", "settings")}
    return {
        "data": {"train": Key((str,)), "validation": Key((str, type(None)), None),
                 "validation_share": Key((float,), 0.02), "records": Key((str,)),
                 **{k: v for k, v in prepared.items() if k != "newline"}},
        "text": {**CASE, "newline": prepared["newline"],
                 "vocabulary": Key((str, type(None)), None), "vocabulary_size": Key((int, type(None)), None),
                 "reversible": Key((bool,), True)},
        "model": keys_of(build_model, "vocabulary_size"),
        "train": {"strategy": Key((str,), "one", ("one", "mirrored")), **keys_of(set_precision_and_seed),
                  **{k: v for k, v in run.items() if k != "pairs"}},
        "evaluate": {"pairs": run["pairs"]},
    }


def train(recipe: dict[str, dict[str, Any]]) -> pathlib.Path:
    """Learns a vocabulary and prepares the data where that is still to do, and trains; see `recipes.train`."""
    data, model_options = recipe["data"], {k: v for k, v in recipe["model"].items() if k != "kind"}
    vocabulary, text = _vocabulary(data, recipe["text"], model_options["encoder"])
    word_piece = WordPiece.from_file(vocabulary, **{k: text[k] for k in CASE})
    # The precision is global in Keras: it must stand before the first layer does.
    set_precision_and_seed(recipe["train"]["precision"], recipe["train"]["seed"])
    with strategy_of(recipe["train"]["strategy"]).scope():
        model = build_model(vocabulary_size=len(word_piece.vocabulary), **model_options)
    longest = model.bert.config["max_position_embeddings"]
    if data["max_length"] > longest:
        raise RecipeError(f"[data] max_length is {data['max_length']}; the model has positions for {longest} tokens")
    if data["next_sentence"] != "none":
        check_segments(model.bert, "a pair of sentences ([data] next_sentence)")
    records = _prepare(data, vocabulary, {**{k: text[k] for k in CASE}, "newline": recipe["text"]["newline"]})
    settings = {"text": text, "recipe": without_folders(recipe)}
    arguments = {k: v for k, v in recipe["train"].items() if k not in ("strategy", "precision")}
    run = PretrainingRun(model, records, word_piece, settings, **arguments, **recipe["evaluate"])
    write_recipe(recipe, run.folder / "recipe.toml")
    return run.fit()


def _vocabulary(data: dict[str, Any], text: dict[str, Any], encoder: str | None) -> tuple[pathlib.Path, dict]:
    """The vocab.txt, and the text settings that the model folder will remember."""
    ready, size, case = text["vocabulary"], text["vocabulary_size"], {k: text[k] for k in CASE}
    if [encoder, ready, size].count(None) != 2:
        raise RecipeError(f"[model] encoder is {encoder!r}, [text] vocabulary {ready!r} and vocabulary_size {size}; "
                          "expected one of the three: an encoder, which has its vocabulary, a vocab.txt for a new "
                          "model, or the size of a vocabulary to be learned from the corpus")
    if size is None:
        place = pathlib.Path(ready) if encoder is None else encoder_folder(encoder)
        return vocabulary_file(place), text_settings(place, **case, max_length=data["max_length"])
    case["lowercase"] = bool(case["lowercase"])
    settings = {**case, "max_length": data["max_length"]}
    folder = pathlib.Path(data["records"]) / "vocabulary"
    file = corpus_vocabulary(data["train"], folder, data["text"], size, reversible=text["reversible"], **case)
    return file, settings


def _prepare(data: dict[str, Any], vocabulary: pathlib.Path, text: dict[str, Any]) -> dict[str, pathlib.Path]:
    """The folders of the records: "train", "validation" and, with a next-sentence task, "same_document"."""
    options = {k: v for k, v in data.items() if k not in CORPORA} | text
    own = data["validation"] is None
    held = {"held_out_share": data["validation_share"]} if own else {}
    measured = {**options, **held, "duplicates": 1, "part": "held_out" if own else "all"}
    splits = {"train": {**options, **held, "part": "training" if own else "all"},
              "validation": {**measured, "same_document_share": 0.0}}
    if data["next_sentence"] != "none":
        splits["same_document"] = {**measured, "same_document_share": 1.0}
    folders = {}
    for split, arguments in splits.items():
        corpus = data["train"] if own or split == "train" else data["validation"]
        folders[split] = pathlib.Path(data["records"]) / split
        counts = prepare_pretraining(corpus, folders[split], vocabulary, **arguments)
        print(f"{split}: " + ", ".join(f"{v} {k}" for k, v in counts.items()), flush=True)
    return folders


def build_model(vocabulary_size: int, encoder: str | None = None, size: Literal[tuple(PRESETS)] = "mini",
                max_position_embeddings: int = 512, hidden_dropout_prob: float = 0.1,
                attention_probs_dropout_prob: float = 0.1) -> BertForPretraining:
    """Builds a BertForPretraining with new weights, or with those of an encoder and, where it has none, new heads.

    Args:
        vocabulary_size: pieces of a new model's vocabulary.
        encoder: see `tfsum.training.encoder.encoder_folder`; None for new weights.
        size: of a new model, a key of `tfsum.models.bert_for_pretraining.PRESETS`.
        max_position_embeddings: positions of a new model.
        hidden_dropout_prob: dropout of the encoder.
        attention_probs_dropout_prob: dropout on its attention weights.
    """
    dropout = {"hidden_dropout_prob": hidden_dropout_prob, "attention_probs_dropout_prob": attention_probs_dropout_prob}
    if encoder is not None:
        return BertForPretraining.from_stored(model_folder.read(encoder_folder(encoder)), warn=False, **dropout)
    model = BertForPretraining({**PRESETS[size], "vocab_size": vocabulary_size,
                                "max_position_embeddings": max_position_embeddings, **dropout})
    model.build()
    return model


class PretrainingRun(Run):
    """A `Run` that trains a BertForPretraining and validates it by what it guesses.

    Args:
        model: a built `BertForPretraining`.
        records: folders of prepared pairs: "train", "validation" and, where there is a next-sentence task,
            "same_document".
        word_piece: the tokenizer.
        settings: what tfsum.json of the best model says.
        steps: optimizer steps of the whole run.
        tokens_per_batch: padded tokens of a step's batch, of each replica.
        masked_share, max_predictions, whole_words: see `Masking`.
        static_masks: see `tfsum.data.pretraining_batches.pretraining_batches`.
        learning_rate: the rate that the warm-up aims at; it falls linearly to 0 at the last step (`BertWarmUp`).
        encoder_learning_rate: the same of a trained encoder without its pooler, which may want less than new heads;
            None is `learning_rate`.
        warmup_steps: steps of linear growth of the rates.
        weight_decay: of AdamW; biases and normalizations are spared.
        bias_correction: False leaves Adam's moments as they are, as google-research/bert does.
        clip_norm: largest global norm of the gradients; 0 never clips.
        next_sentence_weight: what the loss of the pairs is multiplied by; the original's is 1. Pairs are learned late
            where the far larger gradients of the masks are all that the encoder feels at first.
        seed: of the order of the pairs and of the masks.
        pairs: how many held-out pairs a validation reads of each folder; None is all.
        **run: the other arguments of `Run`.
    """

    def __init__(self, model, records: dict[str, pathlib.Path], word_piece: WordPiece, settings: dict, steps: int,
                 tokens_per_batch: int = 4096, masked_share: float = 0.15, max_predictions: int = 20,
                 whole_words: bool = False, static_masks: bool = False, learning_rate: float = 1e-4,
                 encoder_learning_rate: float | None = None, warmup_steps: int = 100, weight_decay: float = 0.01,
                 bias_correction: bool = True, clip_norm: float = 1.0, next_sentence_weight: float = 1.0, seed: int = 0,
                 pairs: int | None = None, **run):
        if pairs is not None and pairs < 1:
            raise Error(f"pairs is {pairs}; expected 1 or more, or none for all of them")
        if next_sentence_weight < 0:
            raise Error(f"next_sentence_weight is {next_sentence_weight}; expected 0 or more")
        lower = encoder_factor(learning_rate if encoder_learning_rate is None else encoder_learning_rate, learning_rate)
        with model.distribute_strategy.scope():
            optimizer = Adam(BertWarmUp(learning_rate, warmup_steps, steps), {"bert": lower, "pooler": 1.0},
                             epsilon=1e-6, weight_decay=weight_decay, bias_correction=bias_correction,
                             global_clipnorm=clip_norm or None)
            optimizer.exclude_from_weight_decay(var_names=NOT_DECAYED)
        model.next_sentence_weight = next_sentence_weight
        super().__init__(model, optimizer, steps=steps, **run)
        self.settings, self._vocabulary = settings, word_piece.vocabulary
        self._pairs = load_sentence_pairs(records["train"])
        masking = Masking(self._vocabulary, masked_share, max_predictions, whole_words, seed)
        common = {"masking": masking, "tokens_per_batch": tokens_per_batch, "cls_id": word_piece.cls_id,
                  "sep_id": word_piece.sep_id}
        self._batches = {**common, "static_masks": static_masks, "seed": seed}
        self.validation = PretrainingValidation(model, records["validation"], records.get("same_document"), pairs=pairs,
                                                **common)

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first tells what a pass over the pairs holds, and what the most frequent piece scores."""
        report = pretraining_report(self._pairs, tokens_per_batch=self._batches["tokens_per_batch"])
        say(f"one pass: {report['pairs']} pairs, {report['tokens']} tokens, {report['batches']} batches, padding "
            f"{100 * report['padding']:.1f} %")
        guess = int(np.bincount(self._pairs.pieces).argmax())
        self.state["unigram"] = {"piece": self._vocabulary[guess],
                                 "masked_lm_accuracy": self.validation.unigram_accuracy(guess)}
        say("unigram guess {piece!r}: masked_lm_accuracy {masked_lm_accuracy:.2f}".format(**self.state["unigram"]))
        best = super().fit()
        say(table(self.state["history"]))
        return best

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """Token batches of pairs of about equal lengths, masked anew in each epoch; see `Run.batches`."""
        def batches(skip):
            return pretraining_batches(self._pairs, training=True, skip_batches=skip, **self._batches)

        return self.replicated(batches, done), self.steps

    def measure(self) -> dict[str, float]:
        """See `PretrainingValidation.scores`."""
        return self.validation.scores()

    def goodness(self, scores: dict[str, float]) -> float:
        """The loss, the lower the better."""
        return -scores["loss"]

    def keep(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores beside the unigram guess's."""
        told = {"validation": self.state["best"], "unigram": self.state["unigram"],
                "seconds": round(self.state["seconds"])}
        self.model.save_pretrained(folder, self._vocabulary, {**self.settings, **told})


def table(history: list[dict[str, float]]) -> str:
    """The validations of a run, one a line."""
    names = list(history[0])
    rows = [names, *([str(row["step"]), *(f"{row[name]:.2f}" for name in names[1:])] for row in history)]
    return "\n".join("  ".join(cell.rjust(len(name)) for cell, name in zip(row, names, strict=True)) for row in rows)
