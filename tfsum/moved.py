"""Modules that had other names in tfsum 0.1.0: importing one of them is an error that gives the new name."""

import importlib.abc
from collections.abc import Sequence
from types import ModuleType

MODULES = {  # below tfsum: the name in 0.1.0 -> the name now
    "conversion.google": "formats.google",
    "conversion.hugging_face": "formats.hugging_face",
    "conversion.restricted_pickle": "formats.restricted_pickle",
    "conversion.text_settings": "formats.text_settings",
    "conversion.torch_file": "formats.torch_file",
    "conversion.torch_objects": "formats.torch_objects",
    "data.batches": "tasks.extractive.batches",
    "data.corpus_vocabulary": "tasks.pretraining.vocabulary",
    "data.document_writer": "tasks.extractive.document_writer",
    "data.epoch_plan": "data.batcher",
    "data.labelled_batches": "tasks.classification.batches",
    "data.labelled_texts": "tasks.classification.prepare",
    "data.masking": "tasks.pretraining.masking",
    "data.next_sentence": "tasks.pretraining.next_sentence",
    "data.pair_batches": "tasks.abstractive.batches",
    "data.pair_vocabularies": "tasks.abstractive.vocabularies",
    "data.pairs": "tasks.abstractive.prepare",
    "data.prepare": "tasks.extractive.prepare",
    "data.prepare_pretraining": "tasks.pretraining.prepare",
    "data.pretraining_batches": "tasks.pretraining.batches",
    "data.sentence_pair_writer": "tasks.pretraining.pair_writer",
    "data.shards": "data.preparation",
    "decoding.length_normalization": "decoding.beam_search",
    "decoding.ngram_blocking": "decoding.strategy",
    "decoding.rows": "decoding.strategy",
    "decoding.single_path": "decoding.strategy",
    "decoding.truncation": "decoding.sampling",
    "layers.write_position": "layers.cache",
    "evaluation.baselines": "tasks.extractive.baselines",
    "evaluation.classification": "tasks.classification.report",
    "evaluation.generation": "tasks.abstractive.report",
    "evaluation.report": "tasks.extractive.report",
    "export.abstractive": "tasks.abstractive.module",
    "export.abstractive_model": "tasks.abstractive.export",
    "export.classifier": "tasks.classification.module",
    "export.classifier_model": "tasks.classification.export",
    "export.classifying": "tasks.classification.classifier",
    "export.documents": "tasks.extractive.documents",
    "export.exported_model": "inference.exported_model",
    "export.exporting": "tasks.export",
    "export.extractive": "tasks.extractive.module",
    "export.generator": "tasks.abstractive.generator",
    "export.in_place": "tasks.abstractive.in_place",
    "export.known_words": "text.known_words",
    "export.loading": "tasks.load",
    "export.shipped": "inference.shipped",
    "export.summarizer": "tasks.extractive.summarizer",
    "models.bert_config": "formats.bert_config",
    "models.int8_rows": "formats.int8_rows",
    "models.masked_words": "tasks.pretraining.fill_mask",
    "models.model_folder": "formats.model_folder",
    "text.piece_file": "formats.piece_file",
    "training.classification": "tasks.classification.train",
    "training.extractive": "tasks.extractive.train",
    "training.pair_validation": "tasks.abstractive.validation",
    "training.pairs": "tasks.abstractive.train",
    "training.pretraining": "tasks.pretraining.train",
    "training.pretraining_validation": "tasks.pretraining.validation",
    "training.recipes": "tasks.recipes",
    "training.validation": "tasks.extractive.validation",
}
NAMES = {  # public names that a module of 0.1.0 had -> where they are now
    "tfsum.export.export_model": "tfsum.export_model",
    "tfsum.export.export_extractive": "tfsum.export_model",
    "tfsum.export.export_abstractive": "tfsum.export_model",
    "tfsum.export.export_classifier": "tfsum.export_model",
    "tfsum.export.verify": "tfsum.verify",
    "tfsum.export.load": "tfsum.load",
    "tfsum.export.Summarizer": "tfsum.Summarizer",
    "tfsum.export.Summary": "tfsum.Summary",
    "tfsum.export.Generator": "tfsum.Generator",
    "tfsum.export.Generated": "tfsum.Generated",
    "tfsum.export.Classifier": "tfsum.Classifier",
    "tfsum.export.Classified": "tfsum.Classified",
    "tfsum.layers.write_position": "tfsum.layers.Cache",
    "tfsum.models.fill_mask": "tfsum.fill_mask",
    "tfsum.models.Guess": "tfsum.tasks.pretraining.fill_mask.Guess",
}


def moved_name(module: str, name: str) -> str:
    """The message for a name that a module does not have.

    Args:
        module: the module's full name.
        name: the name.

    Returns:
        The message, with the new name where there is one.

    Example:
        >>> moved_name("tfsum.export", "load")
        'tfsum.export.load is now tfsum.load'
    """
    old = f"{module}.{name}"
    return (
        f"{old} is now {NAMES[old]}"
        if old in NAMES
        else f"module {module!r} has no attribute {name!r}"
    )


class MovedModules(importlib.abc.MetaPathFinder):
    """The last finder, for modules that no other finder has found.

    Example:
        >>> import tfsum.data.pairs
        Traceback (most recent call last):
        ImportError: tfsum.data.pairs is now tfsum.tasks.abstractive.prepare
    """

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Raises ImportError for a module that moved."""
        new = MODULES.get(fullname.removeprefix("tfsum."))
        if new and fullname.startswith("tfsum."):
            raise ImportError(f"{fullname} is now tfsum.{new}", name=fullname)
