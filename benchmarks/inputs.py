"""What the commands do with files of every kind: exit status, first line, and that nothing is
destroyed.

    python benchmarks/inputs.py                     # all kinds with all verbs
    python benchmarks/inputs.py --kinds 12 --verbs summarize prepare

Makes the files in a temporary folder, gives each to each verb in this process, and prints a JSON
line each: the exit status and the first line of the answer or of the error. Exit status 1 where a
call ended in a traceback, printed a control character, or changed a file that it was to read.
"""

import argparse
import bz2
import contextlib
import functools
import gzip
import hashlib
import io
import json
import lzma
import os
import pathlib
import pickle
import sqlite3
import sys
import tarfile
import tempfile
import traceback
import unicodedata
import zipfile

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import numpy as np

import tfsum
from tfsum.cli.main import main as run_command

VERBS = ("summarize", "explain", "classify", "evaluate", "prepare", "train")
ARTICLE = (
    "The old bridge over the river was closed on Monday after engineers found cracks in two of its"
    " pillars. Mayor Anna Holt said repairs would take at least six months. Buses will use the"
    " northern crossing. Shops near the bridge fear for their trade. The bridge was built in"
    " 1931.\n"
)
GERMAN = (
    "Die Brücke wurde am Montag geschlossen. Die Stadt prüft die Schäden an den Pfeilern für drei"
    " Wochen.\n"
)
KOREAN = (
    "오래된 다리가 월요일에 닫혔다. 기술자들이 기둥에서 금을 발견했다. 수리는 여섯 달이 걸린다.\n"
)
ROWS = [
    {"id": str(i), "text": ARTICLE * (i + 1), "summary": "The bridge was closed.", "label": i % 2}
    for i in range(4)
]


def of_zip(**members: str) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return data.getvalue()


def of_tar() -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        archive.addfile(tarfile.TarInfo("a.txt"), io.BytesIO())
    return data.getvalue()


def of_sqlite() -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        with sqlite3.connect(f"{folder}/a.db") as connection:
            connection.execute("create table documents (text text)")
        return pathlib.Path(folder, "a.db").read_bytes()


def of_numpy() -> bytes:
    data = io.BytesIO()
    np.save(data, np.arange(9))
    return data.getvalue()


def lines(*rows: object) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in rows).encode()


def files() -> dict[str, bytes]:
    """Name -> content of files of every kind."""
    text, rows = ARTICLE.encode(), lines(*ROWS)
    table = 'id,text,summary,label\n1,"It rained, they said.",Rain.,0\n2,It snowed.,Snow.,1\n'
    page = (
        "<!doctype"
        f" html><html><body><article><p>{ARTICLE}</p><p>{GERMAN}</p></article>"
        "</body></html>".encode()
    )
    mail = (
        "From: Anna <a@example.org>\nTo: b@example.org\nSubject: Bridge\n\n"
        f"{ARTICLE}\n> {ARTICLE}".encode()
    )
    return {
        "plain.txt": text,
        "empty.txt": b"",
        "blank.txt": b" \n\t\n",
        "word.txt": b"word",
        "lines.txt": b"\n" * 999,
        "crlf.txt": text.replace(b". ", b".\r\n"),
        "cr.txt": text.replace(b". ", b".\r"),
        "bom.txt": b"\xef\xbb\xbf" + text,
        "long_line.txt": b"word " * 50_000,
        "no_space.txt": b"x" * 100_000,
        "marks.txt": b"!?. " * 2_000,
        "latin_1.txt": GERMAN.encode("latin-1"),
        "cp1252.txt": ("“" + GERMAN + "”").encode("cp1252"),
        "utf_16.txt": ARTICLE.encode("utf-16"),
        "utf_16_le.txt": ARTICLE.encode("utf-16-le"),
        "utf_16_be.txt": ARTICLE.encode("utf-16-be"),
        "utf_32.txt": ARTICLE.encode("utf-32"),
        "euc_kr.txt": KOREAN.encode("euc-kr"),
        "shift_jis.txt": ("今日は天気が良いです。明日は雨です。" * 3).encode("shift_jis"),
        "korean.txt": KOREAN.encode(),
        "nfd.txt": unicodedata.normalize("NFD", KOREAN).encode(),
        "broken_utf_8.txt": text + b"\xff\xfe\xfd" + text,
        "cut_utf_8.txt": KOREAN.encode()[:-2],
        "nul.txt": text.replace(b"bridge", b"bri\0dge"),
        "escapes.txt": b"\x1b[31mred\x1b[0m \x07" + text,
        "bidi.txt": ("\u202e" + ARTICLE).encode(),
        "emoji.txt": ("😀👩‍👩‍👧 " + ARTICLE).encode(),
        "page.html": page,
        "page.txt": page,
        "broken.html": b"<html><body><p>" + text,
        "feed.xml": b"<?xml version='1.0'?><rss/>",
        "mail.eml": mail,
        "mail.txt": mail,
        "paper.pdf": b"%PDF-1.7\n%broken",
        "word.docx": of_zip(**{"word/document.xml": "x"}),
        "sheet.xlsx": of_zip(**{"xl/workbook.xml": "x"}),
        "archive.zip": of_zip(a="x"),
        "broken.zip": b"PK\x03\x04 no more",
        "old.doc": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600),
        "text.rtf": b"{\\rtf1 It rained.}",
        "text.txt.gz": gzip.compress(text),
        "named.txt": gzip.compress(text),
        "cut.jsonl.gz": gzip.compress(rows)[:-9],
        "text.bz2": bz2.compress(text),
        "text.xz": lzma.compress(text),
        "archive.tar": of_tar(),
        "program": pathlib.Path(sys.executable).resolve().read_bytes()[:9_999],
        "image.png": b"\x89PNG\r\n\x1a\n" + bytes(99),
        "image.jpg": b"\xff\xd8\xff\xe0" + bytes(99),
        "sound.mp3": b"ID3" + bytes(99),
        "array.npy": of_numpy(),
        "data.db": of_sqlite(),
        "model.pkl": pickle.dumps(ROWS),
        "random.bin": np.random.default_rng(0).bytes(5_000),
        "rows.jsonl": rows,
        "rows.jsonl.gz": gzip.compress(rows),
        "rows.txt": rows,
        "array.jsonl": b'[{"text": "x"}]\n',
        "broken.jsonl": rows + b'{"text": "x',
        "numbers.jsonl": lines({"text": 1}),
        "null.jsonl": lines({"text": None}),
        "other.jsonl": lines({"body": "It rained."}),
        "table.csv": table.encode(),
        "semicolons.csv": table.replace(",", ";").encode(),
        "table.tsv": table.replace(",", "\t").encode(),
        "ragged.csv": b"id,text\n1,a,b\n",
        "header.csv": b"id,text,summary\n",
        "recipe.toml": b'[model]\nkind = "x"\n',
        "broken.toml": b"[model\n",
        "settings.json": b'{"a": 1}',
    }


def arguments(
    verb: str, file: pathlib.Path, folder: pathlib.Path, classifier: str, vocabulary: str
) -> list[str]:
    rows = file.name.removesuffix(".gz").endswith((".jsonl", ".csv", ".tsv"))
    shipped = str(pathlib.Path(vocabulary).parents[1])
    return {
        "summarize": ["summarize", str(file), *(["--field", "text"] if rows else [])],
        "explain": ["explain", str(file), "--output", str(folder / "explained.html")],
        "classify": ["classify", classifier, str(file)],
        "evaluate": ["evaluate", shipped, str(file), "--samples", "5", "--limit", "2"],
        "prepare": [
            "prepare",
            str(file),
            "--vocabulary",
            vocabulary,
            "--output",
            str(folder / f"records_{file.name}"),
            "--processes",
            "1",
        ],
        "train": ["train", str(file)],
    }[verb]


def small_classifier(folder: pathlib.Path, vocabulary: str) -> str:
    """The export of a classifier without training."""
    from tfsum.formats.piece_files import read_pieces
    from tfsum.models import BertClassifier

    pieces = read_pieces(vocabulary)
    model = BertClassifier(
        {
            "vocab_size": len(pieces),
            "hidden_size": 8,
            "num_hidden_layers": 1,
            "intermediate_size": 8,
            "num_attention_heads": 2,
            "max_position_embeddings": 64,
        },
        ["a", "b"],
    )
    model.build()
    settings = {"text": {"lowercase": True, "strip_accents": None, "max_length": 64, "pair": False}}
    model.save_pretrained(folder / "classifier", pieces, settings)
    return str(tfsum.export_model(folder / "classifier", folder / "served" / "1"))


def call(argv: list[str]) -> tuple[int | None, str, str]:
    out, err = (
        io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape"),
        io.StringIO(),
    )
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            status = run_command(argv)
        except BaseException:
            return None, "", traceback.format_exc()
    out.flush()
    return status, out.buffer.getvalue().decode("utf-8", "replace"), err.getvalue()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--kinds", type=int, help="only the first of them")
    parser.add_argument("--verbs", nargs="+", choices=VERBS, default=VERBS)
    options = parser.parse_args()
    from tfsum.inference.shipped import shipped_model

    tfsum.load = functools.cache(tfsum.load)  # once for all files
    bad, counts = [], dict.fromkeys(map(str, (0, 1, 2, None)), 0)
    vocabulary = str(shipped_model() / "assets" / "vocab.txt")
    with tempfile.TemporaryDirectory() as place:
        folder = pathlib.Path(place)
        classifier = small_classifier(folder, vocabulary) if "classify" in options.verbs else ""
        for name, content in list(files().items())[: options.kinds]:
            file = folder / name
            file.write_bytes(content)
            for verb in options.verbs:
                status, out, err = call(arguments(verb, file, folder, classifier, vocabulary))
                shown = (err if status else out) or err
                first = next(
                    (line for line in shown.splitlines() if line.strip() and "%|" not in line), ""
                )
                print(
                    json.dumps(
                        {
                            "file": name,
                            "verb": verb,
                            "status": status,
                            "first": first.replace(place, "")[:160],
                        },
                        ensure_ascii=False,
                    ),
                    flush=True,
                )
                counts[str(status)] = counts.get(str(status), 0) + 1
                controls = {
                    c for c in out + err if unicodedata.category(c) == "Cc" and c not in "\n\t\r"
                }
                changed = (
                    hashlib.sha256(file.read_bytes()).digest() != hashlib.sha256(content).digest()
                )
                if status is None or controls or changed or "Traceback" in err:
                    bad.append(
                        (name, verb, err[-2000:] if status is None else f"{controls} {changed}")
                    )
    print(json.dumps({"calls": sum(counts.values()), "by_status": counts, "bad": len(bad)}))
    for name, verb, why in bad:
        print(f"--- {verb} {name}: {why}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
