"""Two hundred clients at once, most of them ill-behaved; afterwards nothing is left of them."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path

import httpx
import psutil

from tests.server.running import RunningServer, serving

CLIENTS = 200
KEY = {"authorization": "Bearer right-key"}


def chat(tokens: int, **options: object) -> dict[str, object]:
    return {"messages": [{"role": "user", "content": "go on"}], "max_tokens": tokens, **options}


async def behave(http: httpx.AsyncClient, kind: int, chance: random.Random) -> str:
    path = "/chat/completions"
    if kind == 0:
        reply = await http.post(path, json=chat(6), headers=KEY)
    elif kind == 1:
        reply = await http.post(path, content=b'{"messages": [' * 50, headers=KEY)
    elif kind == 2:
        reply = await http.post(path, content=b"x" * 120_000, headers=KEY)
    elif kind == 3:
        reply = await http.post(path, json=chat(6), headers={"authorization": "Bearer wrong"})
    elif kind == 4:
        async with http.stream("POST", path, json=chat(250, stream=True), headers=KEY) as stream:
            seen = 0
            async for _ in stream.aiter_lines():
                seen += 1
                if seen > chance.randrange(1, 20):
                    return "left in the middle"
            return "stream over"
    else:
        asking = asyncio.ensure_future(http.post(path, json=chat(250, n=2), headers=KEY))
        done, _ = await asyncio.wait([asking], timeout=chance.uniform(0, 0.3))
        asking.cancel()
        if not done:
            return "left before the reply"
        reply = asking.result()
    return str(reply.status_code)


async def storm(base_url: str) -> Counter[str]:
    chance = random.Random(3)
    limits = httpx.Limits(max_connections=CLIENTS)
    async with httpx.AsyncClient(
        base_url=base_url, timeout=60, limits=limits, verify=False
    ) as http:
        outcomes = await asyncio.gather(
            *(behave(http, number % 6, chance) for number in range(CLIENTS))
        )
    return Counter(outcomes)


def test_nothing_is_left_after_a_storm(endless_model: Path, tmp_path: Path) -> None:
    options = ("--ctx", "512", "--parallel", "4", "--queue", "200", "--body-limit", "0.05")
    with serving(endless_model, tmp_path, *options, "--api-key", "right-key") as server:
        process = psutil.Process(server.process.pid)
        warm_up = asyncio.run(storm(server.base_url))
        assert {"200", "400", "401", "413", "left before the reply"} <= set(warm_up)
        server.wait_until_idle(headers=KEY)
        memory, files, threads = measure(process)
        asyncio.run(storm(server.base_url))
        figures = server.wait_until_idle(headers=KEY)
        assert figures['sssd_kv_cells_used{by="live"}'] == 0
        assert figures["sssd_failed_answers_total"] == 0
        assert_served(server)
        memory_after, files_after, threads_after = measure(process)
        # Connections that wait for another request are closed a few seconds later.
        assert files_after <= files + 3
        assert threads_after <= threads + 2
        assert memory_after < memory + 32e6


def measure(process: psutil.Process) -> tuple[int, int, int]:
    return process.memory_info().rss, process.num_fds(), process.num_threads()


def assert_served(server: RunningServer) -> None:
    with server.client(headers=KEY) as http:
        reply = http.post("/chat/completions", json=chat(6))
    assert reply.status_code == 200
    assert reply.json()["usage"]["completion_tokens"] == 6
