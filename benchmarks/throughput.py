"""How much of the bare SDK's throughput is left when rageval asks: store, claims, budget and gate included.

    python benchmarks/throughput.py

A server of this machine answers after 50 ms. The openai SDK alone and rageval with its openai adapter take
turns at asking it, each in a process of its own, with 64 calls under way. Ends with 1 if an aim is missed.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from timing import markdown, verdict

DELAY = 0.05  # seconds until the server answers
AT_A_TIME = 64
AIM = 1 / 0.9  # at least 90 % of the SDK's calls a second
SCHEMA = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["support", "none"]}},
    "required": ["label"],
    "additionalProperties": False,
}
SYSTEM = "Judge whether the text between the fences supports the claim. " * 10
REPLY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "stop",
            "message": {"role": "assistant", "content": '{"label": "none"}'},
        }
    ],
    "usage": {"prompt_tokens": 100, "completion_tokens": 20, "total_tokens": 120},
}


def texts(count: int) -> list[str]:
    return [f"Text {at}. " + "It was a bright cold day in April. " * 20 for at in range(count)]


class Server(asyncio.Protocol):
    """As little of HTTP as keeps a connection open, so that the server is never what is measured."""

    body = json.dumps(REPLY).encode()
    head = f"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport
        self.came = b""

    def data_received(self, data: bytes) -> None:
        self.came += data
        head, end, body = self.came.partition(b"\r\n\r\n")
        if end and len(body) >= int(head.lower().partition(b"content-length:")[2].split()[0]):
            self.came = b""
            answer = self.head.encode() + self.body
            asyncio.get_running_loop().call_later(DELAY, self.transport.write, answer)


async def serve() -> None:
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=256)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


async def ask_bare(url: str, count: int) -> float:
    """Seconds for so many calls of the SDK alone."""
    from openai import AsyncOpenAI

    form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
    places = asyncio.Semaphore(AT_A_TIME)
    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0) as client:

        async def ask(text: str) -> None:
            messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
            async with places:
                await client.chat.completions.create(
                    model="m", messages=messages, response_format=form, max_tokens=1024, temperature=0.0
                )

        start = time.perf_counter()
        await asyncio.gather(*map(ask, texts(count)))
        return time.perf_counter() - start


def ask_ours(url: str, count: int) -> float:
    """Seconds for so many calls through rageval, into a new store; connections are opened on the way."""
    from rageval.judges.asking import ask_all
    from rageval.judges.base import Request
    from rageval.judges.models._openai import OpenAIChat
    from rageval.judges.store import Store

    model = OpenAIChat("m", url)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store.sqlite") as store:

        def ask(some: list[str]) -> None:
            requests = [(at, Request(SYSTEM, text, SCHEMA)) for at, text in enumerate(some)]
            found = list(ask_all(requests, model, store, concurrency=AT_A_TIME))
            if [reply.status for _, reply in found] != ["ok"] * len(some):
                sys.exit("some calls failed")

        ask([f"Warm up {at}." for at in range(AT_A_TIME)])
        start = time.perf_counter()
        ask(texts(count))
        return time.perf_counter() - start


CONTESTANTS: dict[str, Callable[[str, int], float]] = {
    "rageval": ask_ours,
    "openai": lambda url, count: asyncio.run(ask_bare(url, count)),
}


@contextmanager
def server() -> Iterator[str]:
    """The address of a server in a process of its own."""
    with subprocess.Popen(
        [sys.executable, __file__, "--serve"], stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            yield f"http://127.0.0.1:{process.stdout.readline().strip()}/v1"
        finally:
            process.kill()


def sample(name: str, url: str, count: int) -> float:
    command = [sys.executable, __file__, "--ask", name, "--url", url, "--calls", str(count)]
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    return float(subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout)


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure rageval's throughput beside the SDK's.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    if options.ask:
        print(CONTESTANTS[options.ask](options.url, options.calls))
        return 0
    with server() as url:
        taken = [
            {name: sample(name, url, options.calls) for name in CONTESTANTS} for _ in range(options.rounds)
        ]
    ratio = statistics.median(times["rageval"] / times["openai"] for times in taken)
    speeds = [statistics.median(options.calls / times[name] for times in taken) for name in CONTESTANTS]
    row = (f"{AT_A_TIME}", *(f"{speed:.0f}" for speed in speeds), f"{1 / ratio:.0%}", verdict(ratio, AIM))
    print(markdown(("under way", "rageval, calls/s", "openai, calls/s", "share", "time ratio"), [row]))
    return int("over" in row[-1])


if __name__ == "__main__":
    sys.exit(main())
