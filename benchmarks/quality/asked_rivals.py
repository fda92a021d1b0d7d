"""What `python -m benchmarks asked` compares tfsum with, in an environment of its own
(requirements/asked.txt).

Answers lines of JSON: {"rank": SENTENCES} with the order of the sentences by LexRank and TextRank,
{"query": TEXT, "sentences": SENTENCES} with their scores by BM25, {"keywords": TEXT, "number": N}
with the keywords of each program, {"texts": TEXTS} with the best words by TF-IDF.
"""

import re
import warnings

from benchmarks.other_interpreter import answer

warnings.simplefilter("ignore")


def ranked(sentences):
    """Indices of the sentences from the best down, by each of sumy's summarizers."""
    from sumy.models.dom import ObjectDocumentModel, Paragraph, Sentence
    from sumy.summarizers.lex_rank import LexRankSummarizer
    from sumy.summarizers.text_rank import TextRankSummarizer

    class Tokenizer:
        def to_words(self, sentence):
            return tuple(re.findall(r"\w+", sentence))

    made = [Sentence(text, Tokenizer()) for text in sentences]
    document = ObjectDocumentModel([Paragraph(made)])
    place = {id(sentence): i for i, sentence in enumerate(document.sentences)}
    found = {}
    for name, summarizer in (("lexrank", LexRankSummarizer()), ("textrank", TextRankSummarizer())):
        # The first of 1, 2, 3 ... sentences give the order.
        rate = summarizer.rate_sentences(document) if name == "textrank" else None
        if rate is None:
            words = [summarizer._to_words_set(sentence) for sentence in document.sentences]
            tf = summarizer._compute_tf(words)
            matrix = summarizer._create_matrix(
                words, summarizer.threshold, tf, summarizer._compute_idf(words)
            )
            scores = summarizer.power_method(matrix, summarizer.epsilon)
            rate = dict(zip(document.sentences, scores))
        order = sorted(document.sentences, key=lambda sentence: -rate[sentence])
        found[name] = [place[id(sentence)] for sentence in order]
    return found


def by_bm25(query, sentences):
    """Scores of the sentences."""
    import bm25s

    retriever = bm25s.BM25()
    tokens = bm25s.tokenize(sentences, stopwords=None, show_progress=False)
    retriever.index(tokens, show_progress=False)
    asked = bm25s.tokenize([query], stopwords=None, show_progress=False, return_ids=False)[0]
    return {"bm25s": retriever.get_scores(asked).tolist()}


def keywords(text, number):
    """The keywords of each program."""
    import yake
    from multi_rake import Rake
    from rakun2 import RakunKeyphraseDetector

    rakun = RakunKeyphraseDetector(
        {"num_keywords": number, "merge_threshold": 1.1, "alpha": 0.3, "token_prune_len": 3},
        verbose=False,
    )
    return {
        "yake": [word for word, _ in yake.KeywordExtractor(n=3, top=number).extract_keywords(text)],
        "multi-rake": [word for word, _ in Rake(language_code="en").apply(text)][:number],
        "rakun2": [word for word, _ in rakun.find_keywords(text, input_type="string")][:number],
    }


def fit(texts):
    """The ten best words of texts by TF-IDF over all of them, and the words that never count."""
    import numpy as np
    from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS, TfidfVectorizer

    vectorizer = TfidfVectorizer(stop_words="english")
    matrix, names = vectorizer.fit_transform(texts), vectorizer.get_feature_names_out()
    best = [[names[i] for i in np.argsort(-row)[:10]] for row in matrix.toarray()]
    return {"tf-idf": best, "stop": sorted(ENGLISH_STOP_WORDS)}


def answer_to(asked):
    """The answer to a question."""
    if "rank" in asked:
        return ranked(asked["rank"])
    if "query" in asked:
        return by_bm25(asked["query"], asked["sentences"])
    if "texts" in asked:
        return fit(asked["texts"])
    return keywords(asked["keywords"], asked["number"])


if __name__ == "__main__":
    answer({"ready": True}, answer_to)
