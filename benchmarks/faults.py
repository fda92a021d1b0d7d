"""Kills a training at random moments, resumes it each time, and compares its end with a training
that was not killed.

python benchmarks/faults.py --workers 1 --kills 20
python benchmarks/faults.py --workers 2 --kills 20 --seed 1

The training shuffles, has dropout and micro-batches, and writes a checkpoint about every second. Of
the kills (SIGKILL, of all workers at once, as when the power fails) some come while a checkpoint is
written, some as a validation ends, some in preparation, and the others after a random time. Where a
training ends before all kills are made, another is begun. Prints the moments, and whether the
weights, the optimizer, the average, the best model and the history are equal bit for bit. `--late
SECONDS` starts the last worker so much later than the others, without a kill. `--small FOLDER`, an
empty file system of a few MB (`mount -t tmpfs -o size=4m tmpfs FOLDER`), fills it once the first
checkpoint is there, makes room again when the training has ended, and resumes.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import numpy as np

CORPUS = pathlib.Path(__file__).parents[1] / "tests" / "fixtures" / "tiny_corpus"
START = "import sys; from tfsum.cli.main import main; sys.exit(main())"
MOMENTS = (
    "random",
    "saving",
    "random",
    "validation",
    "random",
    "preparation",
    "random",
    "saving",
    "random",
    "validation",
)


class Training:
    """The processes of one training, from start to end or kill."""

    def __init__(
        self, folder: pathlib.Path, name: str, workers: int, steps: int, late: float = 0.0
    ) -> None:
        from tfsum.cli.local_workers import free_addresses

        sets = [
            f"train.folder=runs/{name}",
            f"data.records=records/{name}",
            f"train.steps={steps}",
            "train.validate_every=25",
            "train.micro_batches=2",
            "train.checkpoint_minutes=0.02",
        ]
        words = [
            sys.executable,
            "-c",
            START,
            "train",
            "extractive.toml",
            *(w for s in sets for w in ("--set", s)),
        ]
        addresses = free_addresses(workers)
        self.run, self.records, self.lines = folder / "runs" / name, folder / "records" / name, []
        self.processes = []
        for index in range(workers):
            if late and index == workers - 1:
                time.sleep(late)
            config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
            environment = {
                **os.environ,
                **({"TF_CONFIG": json.dumps(config)} if workers > 1 else {}),
            }
            self.processes.append(
                subprocess.Popen(
                    words,
                    cwd=folder,
                    env=environment,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        for process in self.processes[1:]:
            threading.Thread(target=process.communicate, daemon=True).start()

    def _read(self) -> None:
        self.lines.extend(iter(self.processes[0].stderr.readline, ""))

    def kill_at(self, moment: str, seconds: float) -> str:
        """Kills all processes at a moment; says when that was, or "" where the training ended
        before it."""
        begin, last = time.monotonic(), None
        # by a training that was killed
        left = {path.name for path in self.run.glob("checkpoints/writing-*")}
        while any(process.poll() is None for process in self.processes):
            now, lines = time.monotonic() - begin, len(self.lines)
            new = self.lines[last or 0 : lines]
            last = lines
            if {
                "random": now >= seconds,
                "saving": any(
                    path.name not in left for path in self.run.glob("checkpoints/writing-*")
                ),
                "validation": any(": rouge1" in line and line.startswith("step") for line in new),
                "preparation": self.records.exists() and not (self.run / "history.json").exists(),
            }[moment]:
                for process in self.processes:
                    process.send_signal(signal.SIGKILL)
                for process in self.processes:
                    process.wait()
                new = {path.name for path in self.run.glob("checkpoints/writing-*")} - left
                writing = " while a checkpoint was written" if new else ""
                steps = [int(path.stem[5:]) for path in self.run.glob("checkpoints/ckpt-*.json")]
                return (
                    f"{moment}: after {now:.2f} s, last checkpoint"
                    f" {max(steps, default='none')}{writing}"
                )
            time.sleep(0.001)
        return ""

    def statuses(self) -> list[int]:
        """The exit statuses, at the end."""
        found = [process.wait() for process in self.processes]
        self._reader.join()
        return found


def end_of(run: pathlib.Path) -> dict:
    """What a training left: the last checkpoint's arrays, the best model, the history."""
    import tensorflow as tf

    steps = [int(path.stem[5:]) for path in run.glob("checkpoints/ckpt-*.json")]
    reader = tf.train.load_checkpoint(str(run / "checkpoints" / f"ckpt-{max(steps)}"))
    arrays = {
        name: reader.get_tensor(name)
        for name in reader.get_variable_to_shape_map()
        if "OBJECT_GRAPH" not in name
    }
    history = json.loads((run / "history.json").read_text(encoding="utf-8"))
    history.pop("seconds")
    return {
        "arrays": arrays,
        "best": (run / "best" / "model.safetensors").read_bytes(),
        "history": history,
    }


def differences(one: dict, other: dict) -> list[str]:
    """What is not equal bit for bit."""
    names = [
        name
        for name in {*one["arrays"], *other["arrays"]}
        if name not in one["arrays"]
        or name not in other["arrays"]
        or not np.array_equal(one["arrays"][name], other["arrays"][name])
    ]
    return sorted(names) + [part for part in ("best", "history") if one[part] != other[part]]


def fill(folder: pathlib.Path, arguments: argparse.Namespace, expected: dict) -> int:
    """Lets the disk be full in a training, and resumes it when there is room again."""
    (folder / "runs" / "full").symlink_to(arguments.small.resolve())
    training, filler = (
        Training(folder, "full", arguments.workers, arguments.steps),
        arguments.small / "filler",
    )
    while (
        not list(arguments.small.glob("checkpoints/ckpt-*.json"))
        and training.processes[0].poll() is None
    ):
        time.sleep(0.01)
    with contextlib.suppress(OSError), filler.open("wb") as file:
        while True:
            file.write(b"0" * 1024)
            file.flush()
    statuses, said = training.statuses(), "".join(training.lines[-1:]).strip()
    print("full disk: exit statuses", statuses, said)
    kept = sorted(path.name for path in arguments.small.glob("checkpoints/*"))
    print("left in the folder:", ", ".join(kept))
    filler.unlink()
    again = Training(folder, "full", arguments.workers, arguments.steps)
    found = (
        differences(expected, end_of(again.run))
        if not any(again.statuses())
        else ["an exit status"]
    )
    print("resumed:", found or "equal bit for bit")
    return 0 if any(statuses) and "cannot be written" in said and not found else 1


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--steps", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("--late", type=float, default=0.0, metavar="SECONDS")
    arguments = parser.parse_args()
    chance, good = random.Random(arguments.seed), True
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        shutil.copytree(CORPUS, folder, dirs_exist_ok=True)
        begin = time.monotonic()
        whole = Training(folder, "whole", arguments.workers, arguments.steps)
        print("not killed: exit statuses", whole.statuses(), flush=True)
        length, expected = time.monotonic() - begin, end_of(whole.run)
        if arguments.late:
            late = Training(folder, "late", arguments.workers, arguments.steps, arguments.late)
            found = (
                differences(expected, end_of(late.run))
                if not any(late.statuses())
                else ["an exit status"]
            )
            print(f"the last worker {arguments.late:.0f} s late:", found or "equal bit for bit")
            return 1 if found else 0
        if arguments.small:
            return fill(folder, arguments, expected)
        kills = trainings = 0
        while kills < arguments.kills:
            trainings += 1
            name, ended = f"killed{trainings}", False
            while not ended:
                moment = MOMENTS[kills % len(MOMENTS)] if kills < arguments.kills else "random"
                seconds = chance.uniform(0.0, length) if kills < arguments.kills else float("inf")
                if moment == "preparation" and (folder / "runs" / name / "history.json").exists():
                    moment = "random"  # it is prepared
                training = Training(folder, name, arguments.workers, arguments.steps)
                when = training.kill_at(moment, seconds)
                ended = not when
                kills += not ended
                if when:
                    print(f"kill {kills}: {when}", flush=True)
            statuses = training.statuses()
            found = (
                ["an exit status"] if any(statuses) else differences(expected, end_of(training.run))
            )
            result = (
                f"differs: {found}"
                if found
                else ("weights, optimizer, average, best model and history equal bit for bit")
            )
            print(f"training {trainings}: exit statuses {statuses}; {result}", flush=True)
            if found:
                print("".join(training.lines[-20:]))
            good &= not found
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
