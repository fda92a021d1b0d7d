"""The same training on one device, on two, in two processes and in two processes of two devices:
how far apart?

python benchmarks/strategies.py --results matrix [--models extractive,abstractive] [--layouts
one,workers]

Each of the four kinds of model is trained on a tiny corpus, by its own task, for three passes and
more, dropout off, with 1 and 4 micro-batches, with clipping and without, by SGD with momentum and
by Adam (epsilon 1e-4; at 1e-8 Adam makes whole steps of what float32 rounds off). Prints the
largest differences from one device's weights and losses; biases of keys, whose gradient is zero but
for rounding, are left out. Then each layout trains each model twice with dropout on: the weights
must be equal bit for bit. The layout "moved" begins on one device, is stopped by SIGTERM after 6
steps, resumes in two processes, of which the second has folders of its own, is stopped after 12 and
ends on one device; its losses are means since it resumed, and are not compared. The results are
kept in the folder, and what is there is not computed again.
"""

import argparse
import functools
import itertools
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys

import numpy as np

CORPUS = pathlib.Path(__file__).parents[1] / "tests" / "fixtures" / "tiny_corpus"
MODELS = {
    "extractive": "bert_sum_ext",
    "abstractive": "transformer",
    "classification": "bert_classifier",
    "pretraining": "bert_for_pretraining",
}  # recipe -> task
# processes, devices
LAYOUTS = {"one": (1, 1), "mirrored": (1, 2), "workers": (2, 1), "workers of two devices": (2, 2)}
# of the layout "moved": until which step it is on which
MOVES = (("one", 6), ("workers", 12), ("one", STEPS := 18))
BERT_DROPOUT = ["model.hidden_dropout_prob", "model.attention_probs_dropout_prob"]
DROPOUT = {
    "abstractive": ["model.dropout"],
    "classification": [*BERT_DROPOUT, "model.classifier_dropout"],
}
WITHOUT_GRADIENT = "key.bias"


def cases(layout: str) -> list[tuple]:
    """(parts, clip_norm, optimizer, dropout, repetition)."""
    exact = [
        (parts, clip, optimizer, 0.0, 0)
        for parts, clip, optimizer in itertools.product((1, 4), (0.0, 0.05), ("sgd", "adam"))
    ]
    if layout == "moved":
        return [case for case in exact if case[0] == 4]
    return [*exact, *((4, 0.05, "adam", 0.1, repetition) for repetition in (0, 1))]


def name_of(model: str, case: tuple) -> str:
    parts, clip, optimizer, dropout, repetition = case
    return f"{model} parts={parts} clip={clip} {optimizer} dropout={dropout} {repetition}"


def train(layout: str, models: list[str], results: pathlib.Path, index: int, move: int) -> None:
    """Trains all cases in this process, one of a layout's."""
    on, until = MOVES[move] if layout == "moved" else (layout, STEPS)
    processes, devices = LAYOUTS[on]
    import tensorflow as tf

    if devices == 2:
        tf.config.set_logical_device_configuration(
            tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
        )
    from tensorflow.python.distribute import collective_all_reduce_strategy

    from tfsum.training.environment import strategy_of

    # TensorFlow takes one CPU of each worker, however many logical ones there are
    if processes == 2:
        extended = collective_all_reduce_strategy.CollectiveAllReduceExtended
        extended._initialize_local_devices = lambda self, resolver, worker: (
            tuple(f"{worker}/device:CPU:{i}" for i in range(devices)),
            "CPU",
        )
    strategy = strategy_of(
        "multi_worker" if processes == 2 else "mirrored" if devices == 2 else "one"
    )
    folder = results / "work" / layout / str(index)
    shutil.copytree(CORPUS, folder, dirs_exist_ok=True)
    os.chdir(folder)
    for model, case in itertools.product(models, cases(layout)):
        if not move:
            shutil.rmtree(f"runs/{name_of(model, case)}", ignore_errors=True)
        file = results / layout / f"{name_of(model, case)}.npz"
        if not file.exists():
            found = train_case(strategy, model, case, until)
            if index == 0 and until == STEPS:
                file.parent.mkdir(parents=True, exist_ok=True)
                np.savez(file.with_suffix(".part.npz"), **found)
            # Every worker asks whether the file is there: it must not appear before all have asked.
            from tfsum.training.workers import Workers

            Workers(strategy).exchange(None)
            if index == 0 and until == STEPS:
                file.with_suffix(".part.npz").rename(file)
            Workers(strategy).exchange(None)


def train_case(strategy, model: str, case: tuple, until: int) -> dict[str, np.ndarray]:
    """The weights and the losses of one training, or nothing where it is stopped before its end."""
    import keras

    from tfsum.errors import Stopped
    from tfsum.tasks import task
    from tfsum.tasks.recipes import load_recipe
    from tfsum.training.environment import set_precision_and_seed
    from tfsum.training.optimizer import Adam

    parts, clip, optimizer, dropout, _ = case
    rate = 0.05 if optimizer == "sgd" else 1e-3
    sets = {
        "train.folder": f"runs/{name_of(model, case)}",
        "train.steps": STEPS,
        "train.validate_every": STEPS,
        "train.micro_batches": parts,
        "train.clip_norm": clip,
        "train.learning_rate": rate,
        "train.average_decay": 0.9,
        **dict.fromkeys(DROPOUT.get(model, BERT_DROPOUT), dropout),
    }
    if model == "classification":
        sets["train.tokens_per_batch"] = 36  # three batches a pass
    if model == "abstractive":
        sets["evaluate.metric"] = "loss"
    else:
        sets["train.encoder_learning_rate"] = rate / 2
    recipe = load_recipe(f"{model}.toml", [f"{key}={value}" for key, value in sets.items()])
    module = task(MODELS[model]).training()

    def sgd(learning_rate, *_, global_clipnorm=None, **__):
        return keras.optimizers.SGD(
            learning_rate, momentum=0.9, global_clipnorm=global_clipnorm, name="sgd"
        )

    def adam(*arguments, **others):
        return Adam(*arguments, **{**others, "epsilon": 1e-4})

    module.Adam = {"sgd": sgd, "adam": adam}[optimizer]
    data = module.prepare_data(recipe)
    set_precision_and_seed("float32", 3)
    with strategy.scope():
        built = module.build_model(recipe, data)
    run = module.make_run(recipe, data, built)
    start = {v.path: v.numpy() for v in built.trainable_variables}
    losses, stopped, follow = [], [], run.average.on_train_batch_end

    def note(batch, logs=None):
        losses.append(float(logs["loss"]))
        follow(batch, logs)
        if run.steps_done == until < STEPS and not stopped:
            stopped.append(os.kill(os.getpid(), signal.SIGTERM))

    run.average.on_train_batch_end = note
    try:
        run.fit()
    except Stopped:
        return {}
    values = {v.path.replace("/", "."): v.numpy() for v in run.variables}
    weights = {
        name: value for name, value in values.items() if np.issubdtype(value.dtype, np.floating)
    }
    moved = max(float(np.abs(v.numpy() - start[v.path]).max()) for v in built.trainable_variables)
    return {
        **weights,
        "losses": np.array(losses),
        "moved": np.array(moved),
        "validated": np.array(
            [v for k, v in sorted(run.state["history"][-1].items()) if k != "step"]
        ),
    }


def start(layout: str, models: list[str], results: pathlib.Path, move: int = 0) -> int:
    """Runs the processes of a layout; gives their worst exit status."""
    from tfsum.cli.local_workers import free_addresses

    processes, _ = LAYOUTS[MOVES[move][0] if layout == "moved" else layout]
    addresses, started = free_addresses(processes), []
    for index in range(processes):
        config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
        environment = {
            **os.environ,
            "TF_CPP_MIN_LOG_LEVEL": "3",
            "TF_CONFIG": json.dumps(config) if processes > 1 else "",
        }
        (results / "logs").mkdir(exist_ok=True)
        with open(results / "logs" / f"{layout} {index}", "w", encoding="utf-8") as log:
            started.append(
                subprocess.Popen(
                    [
                        sys.executable,
                        __file__,
                        "--results",
                        str(results),
                        "--models",
                        ",".join(models),
                        "--train",
                        layout,
                        "--index",
                        str(index),
                        "--move",
                        str(move),
                    ],
                    env=environment,
                    stdout=log,
                    stderr=log,
                )
            )
    return max(process.wait() for process in started)


def difference(one: dict, other: dict, kind: str) -> float:
    """The largest difference of weights, or of losses, in absolute value."""
    if kind == "losses":
        return float(np.abs(one["losses"] - other["losses"]).max())
    if kind == "scores":
        return float(np.abs(one["validated"] - other["validated"]).max())
    names = [
        name
        for name in one
        if name not in ("losses", "moved", "validated") and WITHOUT_GRADIENT not in name
    ]
    return max(float(np.abs(one[name] - other[name]).max()) for name in names)


def report(layouts: list[str], models: list[str], results: pathlib.Path) -> bool:
    """Prints the table; whether all is within 1e-6, and bit-equal with dropout."""
    read = functools.lru_cache(None)(
        lambda layout, name: dict(np.load(results / layout / f"{name}.npz"))
    )
    good = True
    print(
        f"{'model':15} {'layout':23} cases  weights   losses    scores    least move  over 1e-6"
        " (moved: 1e-5)"
    )
    for model, layout in itertools.product(models, [found for found in layouts if found != "one"]):
        names = [name_of(model, case) for case in cases(layout) if not case[3]]
        bound = 1e-5 if layout == "moved" else 1e-6
        worst = {
            kind: [difference(read("one", name), read(layout, name), kind) for name in names]
            for kind in ("weights", "scores", *([] if layout == "moved" else ["losses"]))
        }
        worst.setdefault("losses", [float("nan")] * len(names))
        over = [
            name
            for name, *values in zip(names, worst["weights"], worst["losses"])
            if any(value > bound for value in values)
        ]
        moved = min(float(read("one", name)["moved"]) for name in names)
        print(
            f"{model:15} {layout:23} {len(names):5}  {max(worst['weights']):.2e} "
            f" {max(worst['losses']):.2e}  {max(worst['scores']):.2e}  {moved:.1e}    "
            f" {', '.join(over) or 'none'}"
        )
        good &= not over
    for layout in [found for found in layouts if found != "moved"]:
        pairs = [
            [read(layout, name_of(model, case)) for case in cases(layout) if case[3]]
            for model in models
        ]
        equal = [
            all(np.array_equal(one[name], other[name]) for name in one) for one, other in pairs
        ]
        print(
            f"dropout on, trained twice, {layout}: bit-equal for {sum(equal)} of {len(equal)}"
            " models"
        )
        good &= all(equal)
    return good


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=pathlib.Path, required=True, metavar="FOLDER")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--layouts", default=",".join([*LAYOUTS, "moved"]))
    parser.add_argument("--train", help=argparse.SUPPRESS)
    parser.add_argument("--index", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--move", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    models, results = arguments.models.split(","), arguments.results.resolve()
    if arguments.train:
        train(arguments.train, models, results, arguments.index, arguments.move)
        return 0
    results.mkdir(parents=True, exist_ok=True)
    for layout in arguments.layouts.split(","):
        for move in range(len(MOVES) if layout == "moved" else 1):
            if status := start(layout, models, results, move):
                print(f"{layout}: exit status {status}; see {results}/logs", file=sys.stderr)
                return 1
    return 0 if report(arguments.layouts.split(","), models, results) else 1


if __name__ == "__main__":
    sys.exit(main())
