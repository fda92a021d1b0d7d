"""Asks `tfsum serve` by KServe's own client (REST, protocol v1), in an environment of its own.

    tfsum serve --port 8501 &
    python3 -m venv other && other/bin/pip install kserve
    other/bin/python benchmarks/kserve_client.py http://127.0.0.1:8501 bert_sum_ext_news_en

Only requests to `:predict` are common to KServe's protocol and TensorFlow Serving's:
`is_server_live` and `is_model_ready` expect fields ({"status": "alive"}, "ready") that TensorFlow
Serving does not give either.
"""

import asyncio
import sys

from kserve import InferenceRESTClient, RESTConfig

TEXTS = ["It rained. The bridge was closed on Monday.", "", "日本語。今日は晴れ。"]


async def main(url: str, model: str) -> int:
    client = InferenceRESTClient(RESTConfig(protocol="v1"))
    right = True
    for body in ({"instances": TEXTS}, {"instances": [{"text": text} for text in TEXTS]}):
        answer = await client.infer(url, data=body, model_name=model)
        for text, row in zip(TEXTS, answer["predictions"], strict=True):
            print(repr(text), "->", repr(row["summary"]), row["count"])
            right &= row["count"] == len([sentence for sentence in row["sentences"] if sentence])
    try:
        await client.infer(url, data={"instances": [1]}, model_name=model)
        right = False
    except Exception as error:
        print(type(error).__name__, "for a wrong body:", str(error)[:200])
    await client.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main(*sys.argv[1:])))
