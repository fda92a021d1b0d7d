"""What `tfsum mcp --proxy` makes of the results of your servers.

    python examples/proxy/measure.py                            # 50 calls about this repository
    python examples/proxy/measure.py servers.json calls.jsonl --tokens 1000

A line of the calls is a JSON object: `tool`, and its `arguments` if it has any; `question` and
`answer`, a few characters that the result holds, where a result has to answer something;
`"structured": true` where it must stay as it is. It prints, without the proxy's limit and with
each one, the tokens of all results (at four bytes each), how many results are shortened, how many
questions the results still answer, how many with one call of the tool `ask` for each (250 tokens),
and how many structured results changed. mcp's client is in `pip install 'tfsum[mcp]'`.
"""

import argparse
import asyncio
import json
import pathlib
import sys
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

FOLDER = pathlib.Path(__file__).parent
WHOLE = 10**9  # tokens that no result has
ASKED = 250  # tokens of an answer of `ask`


def text_of(result: CallToolResult) -> str:
    """The texts of a result."""
    return "\n".join(part.text for part in result.content if part.type == "text")


async def results_of(
    servers: pathlib.Path, calls: list[dict[str, Any]], tokens: int
) -> list[tuple[str, str]]:
    """The text of each call's result, and what `ask` then answers to its question."""
    arguments = ["-m", "tfsum", "mcp", "--proxy", str(servers), "--tokens", str(tokens)]
    found = []
    async with Client(StdioServerParameters(command=sys.executable, args=arguments)) as client:
        tools = {tool.name for tool in (await client.list_tools()).tools}
        ask = "ask" if "ask" in tools else "tfsum_ask"  # where a server has a tool of that name
        for call in calls:
            if call["tool"] not in tools:
                sys.exit(f"{call['tool']}: no such tool; there are {', '.join(sorted(tools))}")
            result = await client.call_tool(call["tool"], call.get("arguments", {}))
            text, answer = text_of(result), ""
            if result.is_error:
                sys.exit(f"{call['tool']} {call.get('arguments', {})}: {text}")
            _, shortened, after = text.partition("tfsum://documents/")
            if shortened and "question" in call:
                document = after.split()[0].strip(".,;)")
                asked = {"document": document, "query": call["question"], "tokens": ASKED}
                answer = text_of(await client.call_tool(ask, asked))
            found.append((text, answer))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("servers", nargs="?", type=pathlib.Path, default=FOLDER / "servers.json")
    parser.add_argument("calls", nargs="?", type=pathlib.Path, default=FOLDER / "calls.jsonl")
    parser.add_argument("--tokens", type=int, nargs="+", default=[2000, 1000, 500])
    options = parser.parse_args()

    calls = [json.loads(line) for line in options.calls.read_text("utf-8").splitlines()]
    asked = [number for number, call in enumerate(calls) if "question" in call]
    kept = [number for number, call in enumerate(calls) if call.get("structured")]
    print(f"{len(calls)} results, {len(asked)} questions, {len(kept)} structured results")

    whole = asyncio.run(results_of(options.servers, calls, WHOLE))
    for number in asked:
        if calls[number]["answer"] not in whole[number][0]:
            sys.exit(f"line {number + 1}: the whole result does not hold its answer")

    for tokens in (WHOLE, *options.tokens):
        found = asyncio.run(results_of(options.servers, calls, tokens))
        size = sum(len(text.encode()) // 4 for text, _ in found)
        shortened = sum(text != was for (text, _), (was, _) in zip(found, whole))
        answers = [(calls[number]["answer"], *found[number]) for number in asked]
        at_once = sum(answer in text for answer, text, _ in answers)
        then = sum(answer in text + more for answer, text, more in answers)
        changed = sum(found[number] != whole[number] for number in kept)
        limit = "no limit" if tokens == WHOLE else f"at most {tokens:,} tokens"
        print(
            f"{limit}: {size:,} tokens, {shortened} shortened; answered {at_once},"
            f" with `ask` {then}; structured changed {changed}",
            flush=True,
        )


if __name__ == "__main__":
    main()
