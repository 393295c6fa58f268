"""How many calls a second rageval makes: store, claims, budget and gate included.

    python benchmarks/throughput.py

A server of this machine answers after 50 ms. The openai SDK alone, rageval by that SDK, aiohttp alone, and
rageval with the extra `fast` (aiohttp) take turns at asking it, each in a process of its own, with 64 and
with 512 calls under way. Ends with 1 if an aim is missed. Processor time says most where others use the
machine, too.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from timing import MEGABYTE, PEAK_UNIT, markdown

DELAY = 0.05  # seconds until the server answers
UNDER_WAY = (64, 512)
BY_SDK, FASTEST = 1.3, 1500  # times the SDK's calls a second; calls a second with the extra, 512 under way
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
    return [f"Text {index}. " + "It was a bright cold day in April. " * 20 for index in range(count)]


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
    server = await asyncio.get_running_loop().create_server(Server, "127.0.0.1", 0, backlog=1024)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


@dataclass
class Clock:
    """Seconds since it was made: those that passed, and those of the processor."""

    wall: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=time.process_time)

    def read(self) -> tuple[float, float]:
        return time.perf_counter() - self.wall, time.process_time() - self.cpu


async def ask_at_once(
    send: Callable[[dict[str, Any]], Awaitable[object]], count: int, under_way: int
) -> tuple[float, float]:
    """Seconds for so many calls, and those of the processor."""
    form = {"type": "json_schema", "json_schema": {"name": "verdict", "strict": True, "schema": SCHEMA}}
    rest = {"model": "m", "response_format": form, "max_tokens": 1024, "temperature": 0.0}
    places = asyncio.Semaphore(under_way)

    async def ask(text: str) -> None:
        messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": text}]
        async with places:
            await send({"messages": messages, **rest})

    clock = Clock()
    await asyncio.gather(*map(ask, texts(count)))
    return clock.read()


async def ask_by_sdk_alone(url: str, count: int, under_way: int) -> tuple[float, float]:
    from openai import AsyncOpenAI

    async with AsyncOpenAI(base_url=url, api_key="none", max_retries=0, timeout=120) as client:
        return await ask_at_once(
            lambda arguments: client.chat.completions.create(**arguments), count, under_way
        )


async def ask_by_aiohttp_alone(url: str, count: int, under_way: int) -> tuple[float, float]:
    import aiohttp

    async with aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0)) as session:

        async def send(arguments: dict[str, Any]) -> None:
            async with session.post(f"{url}/chat/completions", json=arguments) as response:
                await response.json()

        return await ask_at_once(send, count, under_way)


def ask_ours(url: str, count: int, under_way: int) -> tuple[float, float]:
    """Return the same through rageval, into a new store; connections are opened on the way."""
    from rageval.judges.asking import ask_all
    from rageval.judges.base import Request
    from rageval.judges.models._openai import OpenAIChat
    from rageval.judges.store import Store

    model = OpenAIChat("m", url)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "store.sqlite") as store:

        def ask(some: list[str]) -> None:
            requests = [(index, Request(SYSTEM, text, SCHEMA)) for index, text in enumerate(some)]
            answers = list(ask_all(requests, model, store, concurrency=under_way))
            if [reply.status for _, reply in answers] != ["ok"] * len(some):
                sys.exit("some calls failed")

        ask([f"Warm up {number}." for number in range(under_way)])
        clock = Clock()
        ask(texts(count))
        return clock.read()


def ask_by_sdk(url: str, count: int, under_way: int) -> tuple[float, float]:
    """Return the same by the SDK, which asks where the environment points."""
    os.environ["OPENAI_BASE_URL"] = url
    return ask_ours(url, count, under_way)


CONTESTANTS: dict[str, Callable[[str, int, int], tuple[float, float]]] = {
    "fast": ask_ours,
    "aiohttp alone": lambda *how: asyncio.run(ask_by_aiohttp_alone(*how)),
    "by the SDK": ask_by_sdk,
    "SDK alone": lambda *how: asyncio.run(ask_by_sdk_alone(*how)),
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


def sample(name: str, url: str, count: int, under_way: int) -> tuple[float, float, float]:
    """Calls a second, microseconds of the processor a call, and megabytes at the most."""
    command = [sys.executable, __file__, "--ask", name, "--url", url, "--calls", str(count)]
    command += ["--under-way", str(under_way)]
    environment = {**os.environ, "NO_PROXY": "127.0.0.1"}
    output = subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout
    seconds, cpu, memory = map(float, output.split())
    return count / seconds, cpu * 1e6 / count, memory


def main() -> int:
    parser = argparse.ArgumentParser(description="Measure rageval's throughput beside the SDK's.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--ask", choices=CONTESTANTS, help=argparse.SUPPRESS)
    parser.add_argument("--url", help=argparse.SUPPRESS)
    parser.add_argument("--under-way", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        asyncio.run(serve())
    if options.ask:
        seconds, cpu = CONTESTANTS[options.ask](options.url, options.calls, options.under_way)
        print(seconds, cpu, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * PEAK_UNIT / MEGABYTE)
        return 0
    with server() as url:
        taken = [
            {
                (name, number): sample(name, url, options.calls, number)
                for number in UNDER_WAY
                for name in CONTESTANTS
            }
            for _ in range(options.rounds)
        ]
    speed = {key: statistics.median(sampled[key][0] for sampled in taken) for key in taken[0]}
    rows = [
        (
            f"{number}",
            name,
            f"{speed[name, number]:.0f}",
            f"{statistics.median(sampled[name, number][1] for sampled in taken):.0f}",
            f"{max(sampled[name, number][2] for sampled in taken):.0f}",
        )
        for number in UNDER_WAY
        for name in CONTESTANTS
    ]
    print(markdown(("under way", "", "calls/s", "CPU, µs a call", "peak, MB"), rows))
    few, many = UNDER_WAY
    aims = {
        f"fast, {many} under way: {FASTEST} calls a second": speed["fast", many] / FASTEST,
        f"fast, no slower with {many} under way than with {few}": speed["fast", many] / speed["fast", few],
        f"by the SDK {BY_SDK} × the SDK alone, {few} under way": speed["by the SDK", few]
        / speed["SDK alone", few]
        / BY_SDK,
    }
    print(
        "\n".join(f"{aim}: {'ok' if share >= 1 else f'missed, {share:.0%}'}" for aim, share in aims.items())
    )
    return int(min(aims.values()) < 1)


if __name__ == "__main__":
    sys.exit(main())
