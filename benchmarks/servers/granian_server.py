"""The application of `tfsum serve` on granian in place of uvicorn.

python benchmarks/servers/granian_server.py FOLDER --port 8601
"""

import argparse
import asyncio
import os

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

from granian.constants import Interfaces
from granian.server.embed import Server as Granian

from tfsum.serving import Server, ServerSettings


async def main(folder: str, port: int) -> None:
    server = Server(folder, ServerSettings(port=0))
    server.versions.scan()
    granian = Granian(
        server.application, port=port, interface=Interfaces.ASGINL, backlog=2048, log_enabled=False
    )
    serving = asyncio.create_task(granian.serve())
    await asyncio.sleep(1.0)
    print(
        f"http://127.0.0.1:{port} answers for {', '.join(server.versions.available())} (1)",
        flush=True,
    )
    await serving


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--port", type=int)
    options, _ = parser.parse_known_args()
    asyncio.run(main(options.folder, options.port))
