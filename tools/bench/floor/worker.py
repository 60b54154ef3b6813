"""``python -m tools.bench.floor.worker REDIS_URL MODEL_PORT COMPANY_PORT``: the least that a durable worker can cost.

A yardstick, not a product: every step is stored before the next, a write is intended before it is sent and read back
after it, and nothing else is done. A line on standard input is a batch, ``{"tasks": {NAME: TEXT}, "at_once": 4}``; its
answer is a line with the CPU time of this process and the time that each task took, in milliseconds. The line
``{"sdk_calls": 100}`` asks for so many calls of the official SDK instead; its answer is the CPU time of one.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from time import perf_counter, process_time, time
from typing import Any

import uvloop
from redis.asyncio import Redis

from tools.bench.floor.sdk_call import measure_sdk_call
from tools.bench.floor.steps import FloorTurn
from tools.bench.gateway.client import BenchConnection, encode_request, open_connections

_RESERVED = 4096  # tokens, of each call
_LIMIT = 500.0  # what may be approved without a person
_WRITES, _PROOF = frozenset({"approve_expense"}), "get_expense"
_RULES = "You carry out business tasks with the tools that you are given. Read before you write."
_MCP = "Accept: application/json, text/event-stream\r\nMCP-Protocol-Version: 2025-06-18"


class FloorWorker:
    """Carries out one task after another."""

    def __init__(self, redis: Redis, model: BenchConnection, company: BenchConnection, opening: bytes = b"") -> None:
        self._redis = redis
        self._model = model
        self._company = company
        self._opening = opening

    async def list_tools(self) -> bytes:
        answer = await self._ask_company("tools/list", {})
        shown = [
            {"name": tool["name"], "description": tool.get("description", ""), "input_schema": tool["inputSchema"]}
            for tool in answer["tools"]
        ]
        first = {"model": "canned", "max_tokens": _RESERVED, "system": _RULES, "tools": shown}
        return json.dumps(first).encode()[:-1] + b', "messages": '

    async def carry_out(self, name: str, task: str) -> None:
        turn = FloorTurn(self._redis, name)
        await turn.accept(task, time())
        text = await turn.claim(f"{os.getpid()}", _RESERVED)
        messages: list[Mapping[str, object]] = [{"role": "user", "content": text}]
        read: dict[str, object] = {}
        while True:
            reply = await self._ask_model(messages)
            calls = [block for block in reply if block["type"] == "tool_use"]
            if not calls:
                return await turn.finish(str(reply[0]["text"]))
            await turn.append(json.dumps(reply).encode(), "reply")
            results = [await self._judge_and_call(call, read) for call in calls]
            await turn.append(json.dumps(results).encode(), "results", _RESERVED)
            messages += [{"role": "assistant", "content": reply}, {"role": "user", "content": results}]

    async def _judge_and_call(self, use: Mapping[str, object], read: dict[str, object]) -> Mapping[str, object]:
        """Makes one call; returns its result as a block for the model. What the call reads is added to ``read``.

        A write's intent is the reply stored before it: it is judged by what was read, sent, and read back. Raises
        ``PermissionError`` if it takes a person.
        """
        tool, arguments = str(use["name"]), use["input"]
        if tool in _WRITES and not _is_allowed(read):
            raise PermissionError(f"{tool} needs a person")
        text = await self._call_tool(tool, arguments)
        if tool in _WRITES and json.loads(await self._call_tool(_PROOF, arguments))["status"] != "approved":
            raise AssertionError(f"{tool} did not take hold")
        read |= json.loads(text)
        return {"type": "tool_result", "tool_use_id": use["id"], "content": text}

    async def _call_tool(self, tool: str, arguments: object) -> str:
        answer = await self._ask_company("tools/call", {"name": tool, "arguments": arguments})
        return str(answer["content"][0]["text"])

    async def _ask_model(self, messages: Sequence[Mapping[str, object]]) -> list[dict[str, object]]:
        body = self._opening + json.dumps(messages).encode() + b"}"
        answer = json.loads(await self._model.ask(encode_request(body, "/0/v1/messages", "x-api-key: none")))
        return list(answer["content"])

    async def _ask_company(self, method: str, params: Mapping[str, object]) -> Mapping[str, list[dict[str, object]]]:
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        return dict(json.loads(await self._company.ask(encode_request(body, "/mcp", _MCP)))["result"])


def _is_allowed(read: Mapping[str, object]) -> bool:
    return float(str(read["amount"])) <= _LIMIT and read["category"] != "alcohol"


class Floor:
    """``opening``: the beginning of each request, with the tools as the company lists them, encoded once."""

    def __init__(self, redis: Redis, model_port: int, company_port: int, opening: bytes = b"") -> None:
        self._redis = redis
        self._model_port = model_port
        self._company_port = company_port
        self._opening = opening

    @asynccontextmanager
    async def workers(self, count: int) -> AsyncIterator[list[FloorWorker]]:
        """Each with a connection to the model and one to the company."""
        models = open_connections(self._model_port, count)
        companies = open_connections(self._company_port, count)
        async with models as to_model, companies as to_company:
            lines = zip(to_model, to_company, strict=True)
            yield [FloorWorker(self._redis, model, company, self._opening) for model, company in lines]

    async def answer(self, asked: Mapping[str, Any]) -> Mapping[str, object]:
        if calls := asked.get("sdk_calls"):
            return {"cpu_ms": await measure_sdk_call(self._model_port, calls)}
        return await self.play(asked["tasks"], asked["at_once"])

    async def play(self, tasks: Mapping[str, str], at_once: int) -> Mapping[str, object]:
        waiting, took = iter(tasks.items()), list[float]()

        async def one_after_another(worker: FloorWorker) -> None:
            for name, text in waiting:
                began = perf_counter()
                await worker.carry_out(name, text)
                took.append((perf_counter() - began) * 1000)

        async with self.workers(at_once) as workers, asyncio.TaskGroup() as group:
            spent = process_time()
            for worker in workers:
                group.create_task(one_after_another(worker))
        return {"cpu_ms": (process_time() - spent) * 1000, "took_ms": took}


def _write_line(text: str) -> None:
    sys.stdout.write(text + "\n")
    sys.stdout.flush()


async def main(redis_url: str, model_port: int, company_port: int) -> None:
    redis = Redis.from_url(redis_url, decode_responses=True)
    async with Floor(redis, model_port, company_port).workers(1) as [worker]:
        floor = Floor(redis, model_port, company_port, await worker.list_tools())
    _write_line("ready")
    while line := await asyncio.to_thread(sys.stdin.readline):
        _write_line(json.dumps(await floor.answer(json.loads(line))))
    await redis.aclose()


if __name__ == "__main__":
    uvloop.run(main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3])))
