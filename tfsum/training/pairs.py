"""Training a Transformer on pairs of texts, from their files to the best model folder."""

import pathlib
from typing import Any, Literal

import tensorflow as tf

from tfsum.data.pair_batches import load_pairs, pair_batches, pair_batches_report
from tfsum.data.pair_vocabularies import pair_vocabularies
from tfsum.data.pairs import prepare_pairs
from tfsum.errors import RecipeError
from tfsum.models import Transformer
from tfsum.models.model_folder import variables_by_path
from tfsum.text.word_piece import WordPiece
from tfsum.training.environment import set_precision_and_seed, strategy_of
from tfsum.training.optimizer import Adam, WarmUp
from tfsum.training.pair_validation import PairValidation
from tfsum.training.recipe_file import Key, keys_of
from tfsum.training.recipe_writer import without_folders, write_recipe
from tfsum.training.run import Run, say

CASE = ("lowercase", "strip_accents")
VOCABULARIES = ("vocabulary", "target_vocabulary", "vocabulary_size", "target_vocabulary_size")
# What a folder's weights depend on; dropout and the like may differ.
SHAPE = ("num_encoder_layers", "num_decoder_layers", "d_model", "num_heads", "feed_forward_width", "activation", "norm",
         "epsilon", "shared_embeddings", "tied_output")
MEASURED = ("metric", "documents", "tokenize", "words")


def schema() -> dict[str, dict[str, Key]]:
    """What a recipe may say: section -> key -> `Key`; the keys are arguments of the functions they go to."""
    vocabularies = keys_of(pair_vocabularies)
    run = {**keys_of(Run, "model", "optimizer"),
           **keys_of(PairRun, "model", "train_records", "validation_records", "vocabularies", "settings")}
    other = Key((str, type(None)), None)
    return {
        "data": {"train": Key((str,)), "train_target": other, "validation": Key((str,)), "validation_target": other,
                 "records": Key((str,)),
                 **keys_of(prepare_pairs, "corpus", "target_corpus", "out_dir", *VOCABULARIES, *CASE)},
        "text": {k: vocabularies[k] for k in (*VOCABULARIES, *CASE)},
        "model": {"start": Key((str, type(None)), None),
                  **keys_of(Transformer, "source_vocabulary_size", "target_vocabulary_size", "start_id", "end_id",
                            "name")},
        "train": {"strategy": Key((str,), "one", ("one", "mirrored")), **keys_of(set_precision_and_seed),
                  **{k: v for k, v in run.items() if k not in MEASURED}},
        "evaluate": {k: run[k] for k in MEASURED},
    }


def train(recipe: dict[str, dict[str, Any]]) -> pathlib.Path:
    """Learns the vocabularies and prepares the pairs where that is still to do, and trains; see `recipes.train`."""
    data, text = recipe["data"], recipe["text"]
    records, vocabularies = _prepare(data, text)
    pieces = [WordPiece.from_file(file, **{k: text[k] for k in CASE}) for file in vocabularies]
    strategy, precision, seed = (recipe["train"][k] for k in ("strategy", "precision", "seed"))
    # The precision is global in Keras: it must stand before the first layer does.
    set_precision_and_seed(precision, seed)
    with strategy_of(strategy).scope():
        model = build_model(*pieces, **{k: v for k, v in recipe["model"].items() if k not in ("kind", "start")})
        if recipe["model"]["start"] is not None:
            start_from(model, recipe["model"]["start"], *pieces)
    treated = {**{k: text[k] for k in CASE}, **{k: data[k] for k in ("max_source_length", "cut_sources")}}
    settings = {"text": treated, "recipe": without_folders(recipe)}
    arguments = {k: v for k, v in recipe["train"].items() if k not in ("strategy", "precision")}
    run = PairRun(model, records["train"], records["validation"], [p.vocabulary for p in pieces], settings,
                  **arguments, **recipe["evaluate"])
    write_recipe(recipe, run.folder / "recipe.toml")
    return run.fit()


def _prepare(data: dict[str, Any], text: dict[str, Any]) -> tuple[dict[str, pathlib.Path], tuple]:
    """The folders of the records, by split, and the vocabulary files of source and target."""
    folder, columns = pathlib.Path(data["records"]), {k: data[k] for k in ("source", "target")}
    options = {k: v for k, v in data.items()
               if k not in ("train", "train_target", "validation", "validation_target", "records")}
    vocabularies = pair_vocabularies(data["train"], folder / "vocabulary", target_corpus=data["train_target"],
                                     **columns, **text)
    records = {}
    for split in ("train", "validation"):
        records[split] = folder / split
        if split == "validation":  # measured is what the model is for: the pairs that somebody wrote
            options["window_sentences"] = None
        counts = prepare_pairs(data[split], records[split], vocabularies[0], target_vocabulary=vocabularies[1],
                               target_corpus=data[f"{split}_target"], **options, **{k: text[k] for k in CASE})
        print(f"{split}: " + ", ".join(f"{v} {k}" for k, v in counts.items()), flush=True)
    return records, vocabularies


def build_model(source: WordPiece, target: WordPiece, **arguments) -> Transformer:
    """Builds an untrained Transformer for two tokenizers.

    Args:
        source, target: the tokenizers; their vocabularies may be one.
        **arguments: those of `Transformer` that they do not decide.

    Raises:
        RecipeError: two vocabularies are to share one table.
    """
    apart = source.vocabulary != target.vocabulary
    if apart and arguments.get("shared_embeddings", True):
        raise RecipeError("[model] shared_embeddings is true, and source and target have vocabularies of their own; "
                          "set it to false, or take one vocabulary for both")
    model = Transformer(len(source.vocabulary), len(target.vocabulary), start_id=target.cls_id, end_id=target.sep_id,
                        **arguments)
    model.build()
    say(f"{sum(v.shape.num_elements() for v in model.trainable_variables):,} weights")
    return model


def start_from(model: Transformer, folder: str | pathlib.Path, source: WordPiece, target: WordPiece) -> None:
    """Gives a new model the weights of a model folder, to be trained on with other pairs.

    Args:
        model: a built `Transformer`.
        folder: a model folder of a Transformer of the same shape.
        source, target: the model's tokenizers, whose vocabularies must be the folder's.

    Raises:
        RecipeError: the shapes or the vocabularies differ.
        CheckpointError: the folder is no model folder of a Transformer.
    """
    folder, stored = pathlib.Path(folder), Transformer.from_pretrained(folder)
    if others := [name for name in SHAPE if stored.config[name] != model.config[name]]:
        wanted = ", ".join(f"{name} = {stored.config[name]!r}" for name in others)
        raise RecipeError(f"[model] start: {folder} is a Transformer of another shape; [model] must have {wanted}")
    file = folder / "target_vocab.txt"
    for key, tokenizer, path in (("vocabulary", source, folder / "vocab.txt"),
                                 ("target_vocabulary", target, file if file.is_file() else folder / "vocab.txt")):
        if WordPiece.from_file(path).vocabulary != tokenizer.vocabulary:
            raise RecipeError(f'[model] start: its weights belong to other word pieces; [text] needs {key} = "{path}" '
                              f"in place of {key}_size")
    weights = variables_by_path(stored)
    for path, variable in variables_by_path(model).items():
        variable.assign(weights[path])


class PairRun(Run):
    """A `Run` that trains a Transformer and validates it by its loss and its greedy answers.

    Args:
        model: a built `Transformer`.
        train_records: folder of the training records.
        validation_records: folder of the validation records.
        vocabularies: the word pieces of source and target.
        settings: what tfsum.json of the best model says.
        steps: optimizer steps of the whole run.
        tokens_per_batch: padded tokens of a batch's longer side, of each replica.
        learning_rate: peak rate, reached when the warm-up ends.
        warmup_steps: steps of linear growth of the rate.
        decay: "sqrt", the paper's inverse square root, or "linear" to 0 at the last step.
        beta_1, beta_2, epsilon: of Adam; the defaults are the paper's.
        weight_decay: of AdamW; 0 is the paper's Adam.
        clip_norm: largest global norm of the gradients; 0 never clips.
        shuffle_sources: the control: each target beside another pair's source, so that all that is learned is
            learned without the source.
        seed: of the order of the pairs.
        metric, documents, tokenize, words: see `PairValidation`; the metric decides which model is the best.
        **run: the other arguments of `Run`.
    """

    def __init__(self, model, train_records, validation_records, vocabularies: list[list[str]], settings: dict,
                 steps: int, tokens_per_batch: int = 4096, learning_rate: float = 1e-3, warmup_steps: int = 4000,
                 decay: Literal["sqrt", "linear"] = "sqrt", beta_1: float = 0.9, beta_2: float = 0.98,
                 epsilon: float = 1e-9, weight_decay: float = 0.0, clip_norm: float = 0.0,
                 shuffle_sources: bool = False, seed: int = 0, metric: Literal["bleu", "rouge", "loss"] = "bleu",
                 documents: int | None = None, tokenize: Literal["13a", "intl", "zh", "char", "none"] = "13a",
                 words: Literal["english", "plain"] = "english", **run):
        with model.distribute_strategy.scope():
            schedule = WarmUp(learning_rate, warmup_steps, steps if decay == "linear" else None)
            optimizer = Adam(schedule, beta_1=beta_1, beta_2=beta_2, epsilon=epsilon,
                             global_clipnorm=clip_norm or None, weight_decay=weight_decay or None)
        super().__init__(model, optimizer, steps=steps, **run)
        self.settings, self._vocabularies, self._seed = settings, vocabularies, seed
        self._pairs = load_pairs(train_records)
        if shuffle_sources:
            self._pairs = self._pairs.with_shuffled_sources(seed)
        self._tokens_per_batch = tokens_per_batch
        self.validation = PairValidation(validation_records, model, vocabularies[1], tokens_per_batch, metric,
                                         documents, tokenize, words)

    def fit(self) -> pathlib.Path:
        """See `Run.fit`; first tells what a pass over the pairs holds."""
        report = pair_batches_report(self._pairs, tokens_per_batch=self._tokens_per_batch)
        say(f"one pass: {report['pairs']} pairs, {report['batches']} batches, {report['source_tokens']} source and "
            f"{report['target_tokens']} target tokens, padding {100 * report['padding']:.1f} %")
        most = self.model.max_length
        if beyond := int((self._pairs.target_counts + 1 > most).sum()):
            say(f"{beyond} of these targets have more than {most} tokens, the [model] max_length at which answers stop")
        return super().fit()

    def batches(self, done: int) -> tuple[tf.data.Dataset, int]:
        """Token batches of pairs of about equal lengths; see `Run.batches`."""
        def batches(skip):
            return pair_batches(self._pairs, tokens_per_batch=self._tokens_per_batch, cls_id=self.model.start_id,
                                sep_id=self.model.end_id, training=True, seed=self._seed, skip_batches=skip)

        return self.replicated(batches, done), self.steps

    def measure(self) -> dict[str, float]:
        """The loss on the validation pairs, and BLEU or ROUGE of the greedy answers."""
        scores = self.validation.scores()
        if self.validation.signature and "signature" not in self.state:
            self.state["signature"] = self.validation.signature
            say(f"BLEU is {self.validation.signature}")
        return scores

    def goodness(self, scores: dict[str, float]) -> float:
        """See `PairValidation.goodness`."""
        return self.validation.goodness(scores)

    def keep(self, folder: pathlib.Path) -> None:
        """Writes the model folder, with its scores."""
        source, target = self._vocabularies
        told = {"validation": self.state["best"], "seconds": round(self.state["seconds"])}
        if "signature" in self.state:
            told["signature"] = self.state["signature"]
        self.model.save_pretrained(folder, source, None if source == target else target, {**self.settings, **told})
