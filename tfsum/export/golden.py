"""The golden answer: requests, and what the model said to them on the day of export."""

import tensorflow as tf

from tfsum.errors import ExportError

SCORE_TOLERANCE = 1e-3  # other processors add in another order; what a wrong weight or kernel does is far larger
TEXTS = (
    "The old bridge over the river was closed on Monday after engineers found cracks in two of its pillars. "
    "Mayor Anna Holt said repairs would take at least six months and cost about $4.2 million. Buses will use the "
    'northern crossing until then. "We cannot take any risk," she told reporters. Shops near the bridge fear for '
    "their trade. The bridge was built in 1931 and carries 18,000 cars a day.",
    "Seoul (AP) -- Scientists have found a new species of frog in the hills east of the city.\nThe animal is no "
    "longer than a fingernail, Dr. J. R. Kim of the U.S. Geological Survey said.\nIt was heard before it was seen. "
    "Its call resembles that of a cricket. The finding appeared in a journal on Thursday.",
    "",
    "   \n\t ",
    "One sentence without an end",
    "안녕하세요. 오늘은 날씨가 좋습니다. 内容を読む。今日は晴れ。",
    "Caf\u00e9 na\u00efve \U0001f600! Rain fell. " * 3 + "The\u00a0end\u2026",
    " ".join(
        f"Item {i} of the long report says that the number {i * 7} was counted twice in town {i % 13}."
        for i in range(60)
    ),
)


def ask_extractive(model, requests: list[dict]) -> list[dict]:
    """What a loaded extractive model answers to each of the requests, as plain Python values."""
    texts = [request["text"] for request in requests]
    given = model.signatures["summarize"](
        text=tf.constant(texts, tf.string),
        max_sentences=tf.constant([request["max_sentences"] for request in requests]),
        block_trigrams=tf.constant([request["block_trigrams"] for request in requests]),
    )
    given = {name: value.numpy() for name, value in given.items()}
    every = {
        name: value.numpy()
        for name, value in model.signatures["score"](text=tf.constant(texts)).items()
    }
    rows = []
    for i in range(len(texts)):
        count, total = int(given["count"][i]), int(every["count"][i])
        rows.append(
            {
                "summary": given["summary"][i].decode("utf-8"),
                "start": given["start"][i, :count].tolist(),
                "end": given["end"][i, :count].tolist(),
                "score": given["score"][i, :count].tolist(),
                "count": count,
                "coverage": float(given["coverage"][i]),
                "all_scores": every["score"][i, :total].tolist(),
            }
        )
    return rows


def ask_abstractive(model, requests: list[dict]) -> list[dict]:
    """What a loaded abstractive model answers to each of the requests, as plain Python values."""
    given = model.signatures["serving_default"](text=tf.constant([request["text"] for request in requests], tf.string))
    given = {name: value.numpy().tolist() for name, value in given.items()}
    names = ("summary", "log_probability", "coverage", "ended")
    rows = [dict(zip(names, row)) for row in zip(*(given[name] for name in names), strict=True)]
    return [{**row, "summary": row["summary"].decode("utf-8")} for row in rows]


def ask_classifier(model, requests: list[dict]) -> list[dict]:
    """What a loaded classifier answers to each of the requests, as plain Python values."""
    given = model.signatures["serving_default"](
        **{name: tf.constant([request[name] for request in requests], tf.string) for name in requests[0]}
    )
    given = {name: given[name].numpy().tolist() for name in ("label", "probability", "coverage")}
    rows = [dict(zip(given, row)) for row in zip(*given.values(), strict=True)]
    return [{**row, "label": row["label"].decode("utf-8")} for row in rows]


ASK = {"extractive": ask_extractive, "abstractive": ask_abstractive, "classifier": ask_classifier}
MEASURED = ("score", "all_scores", "coverage", "log_probability", "probability")


def record(model, description: dict) -> dict:
    """Asks a loaded model: the content of golden.json; the description is that of assets.extra/tfsum.json."""
    requests = [{"text": text} for text in TEXTS]
    if description["kind"] == "extractive":
        more = {"max_sentences": min(3, description["max_sentences"]), "block_trigrams": True}
        requests = [{**request, **more} for request in requests]
    if description["text"].get("pair"):
        requests = [{**request, "text_pair": text} for request, text in zip(requests, reversed(TEXTS))]
    answers = ASK[description["kind"]](model, requests)
    return {"score_tolerance": SCORE_TOLERANCE, "requests": requests, "answers": answers}


def replay(model, recorded: dict, kind: str, source) -> float:
    """Asks again and compares.

    Args:
        model: a loaded SavedModel.
        recorded: the content of golden.json.
        kind: a key of `ASK`.
        source: what a message calls the file.

    Returns:
        The largest difference of a score.

    Raises:
        ExportError: an answer differs: another text, other offsets, or a score beyond the tolerance.
    """
    worst = 0.0
    for i, (request, expected) in enumerate(zip(recorded["requests"], recorded["answers"], strict=True)):
        (found,) = ASK[kind](model, [request])
        for name, value in expected.items():
            if name in MEASURED:
                gaps = [abs(a - b) for a, b in zip(_list(found[name]), _list(value))]
                far = (
                    len(_list(found[name])) != len(_list(value))
                    or max(gaps, default=0.0) > recorded["score_tolerance"]
                )
                worst = max([worst, *gaps])
            else:
                far = found[name] != value
            if far:
                raise ExportError(
                    f"{source}: request {i} ({request['text'][:40]!r}): {name} is {found[name]!r}, and "
                    f"was {value!r} on the day of export; the model was changed or runs wrongly here"
                )
    return worst


def _list(value) -> list[float]:
    return value if isinstance(value, list) else [value]
