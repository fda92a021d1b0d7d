"""Several workers on this machine, to try a training of several machines: one process each."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from typing import IO

from tfsum.errors import RecipeError, require

STOPPED = 75  # exit status of a training whose state is saved
GRACE = 30.0  # seconds to stop in, once it is noticed that another worker has ended
START = (
    "import sys; from tfsum.cli.local_workers import end_with_launcher; end_with_launcher(); "
    "from tfsum.cli.main import main; sys.exit(main())"
)


def run_workers(count: int, words: Sequence[str], worker_timeout: float) -> int:
    """Runs a command of tfsum in several processes, the workers of one training.

    Each has its TF_CONFIG and its share of the threads; its lines on standard error begin with its
    number, and the first one's standard output is this process's. Signals are passed on to all, and
    all stop when this process is killed.

    Args:
        count: Number of workers, 2 or more.
        words: Words of the command, such as ["train", "news.toml"].
        worker_timeout: Seconds in which workers notice that one has ended, [train] worker_timeout;
            those that have not stopped 30 seconds after it are killed.

    Returns:
        The exit status: the first one's that was not 0, or 0.

    Raises:
        RecipeError: `count` is below 2, or TF_CONFIG is set already.
    """
    require(
        count > 1,
        f"--local-workers {count}: expected 2 or more; leave it out to train in one process",
        RecipeError,
    )
    require(
        not os.environ.get("TF_CONFIG", "").strip(),
        "--local-workers: TF_CONFIG is set, so that this process is itself a worker; unset it",
        RecipeError,
    )

    addresses = free_addresses(count)
    processes: list[subprocess.Popen] = []

    def pass_on_signal(number: int, _: object) -> None:
        for process in processes:
            process.send_signal(number)

    with contextlib.ExitStack() as stack:  # which is undone from its end
        for number in (signal.SIGINT, signal.SIGTERM):
            stack.callback(signal.signal, number, signal.signal(number, pass_on_signal))
        for index in range(count):
            process = _start(index, addresses, words)
            processes.append(process)
            reader = threading.Thread(target=_pass_on, args=(index, process.stderr), daemon=True)
            reader.start()
            stack.callback(reader.join, 5.0)
            stack.callback(process.kill)
        return _wait(processes, worker_timeout + GRACE)


def _start(index: int, addresses: Sequence[str], words: Sequence[str]) -> subprocess.Popen:
    """Starts one of the workers."""
    config = {"cluster": {"worker": addresses}, "task": {"type": "worker", "index": index}}
    threads = str(max(1, (os.cpu_count() or 1) // len(addresses)))
    environment = {
        "TF_NUM_INTRAOP_THREADS": threads,
        "TF_NUM_INTEROP_THREADS": threads,
        **os.environ,
        "TF_CONFIG": json.dumps(config),
    }
    return subprocess.Popen(
        [sys.executable, "-P", "-c", START, *words],  # -P: nothing of this folder is run
        env=environment,
        text=True,
        # which is closed when this process ends, however it does
        stdin=subprocess.PIPE,
        stdout=None if index == 0 else subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        # Ctrl-C reaches them through this process, once
        start_new_session=True,
    )


def end_with_launcher() -> None:
    """Sends this process, a worker of `run_workers`, SIGTERM when its standard input ends."""

    def follow() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=follow, daemon=True).start()


def free_addresses(count: int) -> list[str]:
    """Addresses on this machine whose ports nobody uses.

    Args:
        count: Number of addresses.

    Example:
        >>> len(set(free_addresses(2)))
        2
    """
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for free in sockets:
            free.bind(("localhost", 0))
        return [f"localhost:{free.getsockname()[1]}" for free in sockets]


def _pass_on(index: int, lines: IO[str]) -> None:
    for line in lines:
        print(f"[worker {index}] {line}", end="", file=sys.stderr, flush=True)


def _wait(processes: Sequence[subprocess.Popen], grace: float) -> int:
    """Waits until all have ended, or one has failed and the others have had their time of grace."""
    failed, until = 0, float("inf")
    statuses: list[int | None] = [None]
    while None in statuses and time.monotonic() < until:
        time.sleep(0.2)
        statuses = [process.poll() for process in processes]
        index, status = next(((i, each) for i, each in enumerate(statuses) if each), (0, 0))
        if status and not failed:
            failed, until = status, time.monotonic() + grace
            if failed < 0:
                print(
                    f"worker {index} was ended by {signal.Signals(-failed).name}; waiting for the"
                    " others",
                    file=sys.stderr,
                    flush=True,
                )
    if STOPPED in statuses:  # the others saved their state, or have it in a checkpoint
        return STOPPED
    if failed < 0:  # of a signal, as a shell has it
        return 128 - failed
    return failed
