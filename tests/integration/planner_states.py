"""The five states of one task, driven against any ``Model`` and any set of tools: what the executor asks, in order."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.prompts import schemas
from services.executor.core.prompts.sections import render
from services.executor.core.prompts.texts import load
from services.executor.ports.models import (
    Message,
    Model,
    ModelReply,
    ModelRequest,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
)
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, plain

_PROMPTS = load()
_ROUNDS = 12


class Offered(NamedTuple):
    """A set of tools: what reads, what writes, and how to call one. ``call`` raises ``ValueError`` to refuse."""

    readers: Sequence[ToolDefinition]
    writers: Sequence[ToolDefinition]
    call: Callable[[str, JsonObject], Json]


class Run(NamedTuple):
    """What came of a task."""

    decomposition: JsonObject
    facts: list[Json]
    findings: str
    values: list[Json]
    plan: JsonObject
    writes: list[Json]
    answer: str


async def run(model: Model, task: str, tools: Offered) -> Run:
    """The five states, each in a message history of its own; a plan's calls are carried out as written."""
    decomposition = loads_object((await _ask(model, _PROMPTS.decompose, {"task": task}, schemas.DECOMPOSITION)).text)
    facts, findings = await _assess(model, {"task": task, "needs": decomposition["needs"]}, tools)
    known: dict[str, Json] = {"task": task, "facts": facts}
    computed = loads_object((await _ask(model, _PROMPTS.compute, known, schemas.COMPUTATION)).text)
    known["values"] = computed["values"]
    listed = {"write_tools": _listing(tools.writers, "change"), "read_tools": _listing(tools.readers, "read")}
    plan = loads_object((await _ask(model, _PROMPTS.plan, {**known, **listed}, schemas.WRITE_PLAN)).text)
    writes = _carried_out(plan, tools)
    why = {"constraints": f"Nothing is written: {plan['why_none']}"} if plan["why_none"] else {}
    last = {**known, **why, "writes": writes, "answer_format": decomposition["answer_format"]}
    answer = (await _ask(model, _PROMPTS.complete, last, None)).text
    values = computed["values"]
    return Run(decomposition, facts, findings, values if isinstance(values, list) else [], plan, writes, answer)


async def _ask(
    model: Model, state: str, sections: Mapping[str, Json], schema: dict[str, JsonValue] | None
) -> ModelReply:
    message = Message("user", (TextBlock(render(sections)),))
    return await model.complete(
        ModelRequest(Tier.HAIKU, (_PROMPTS.role, state), (message,), schema=schema, max_tokens=4096)
    )


async def _assess(model: Model, sections: Mapping[str, Json], tools: Offered) -> tuple[list[Json], str]:
    messages = [Message("user", (TextBlock(render(sections)),))]
    facts: list[Json] = []
    for _ in range(_ROUNDS):
        request = ModelRequest(Tier.HAIKU, (_PROMPTS.role, _PROMPTS.assess), tuple(messages), tuple(tools.readers))
        reply = await model.complete(request._replace(max_tokens=2048))
        if not reply.tool_uses:
            return facts, reply.text
        results = []
        for use in reply.tool_uses:
            answer, failed = _called(tools, use.name, use.input)
            results.append(ToolResult(use.id, dumps(answer), failed))
            facts.append({"ref": f"f{len(facts) + 1}", "tool": use.name, "arguments": use.input, "result": answer})
        messages += [Message("assistant", reply.blocks), Message("user", tuple(results))]
    raise AssertionError(f"ASSESS did not end in {_ROUNDS} rounds")


def _called(tools: Offered, name: str, arguments: JsonObject) -> tuple[Json, bool]:
    try:
        return tools.call(name, arguments), False
    except ValueError as refusal:
        return {"error": str(refusal)}, True


def _listing(tools: Sequence[ToolDefinition], tool_class: str) -> list[Json]:
    return [
        {
            "name": tool.name,
            "connection": "main",
            "description": tool.description,
            "input_schema": _json(tool.input_schema),
            "class": tool_class,
        }
        for tool in tools
    ]


def _json(schema: Mapping[str, JsonValue]) -> Json:
    return plain(schema)


def _carried_out(plan: JsonObject, tools: Offered) -> list[Json]:
    calls = [] if plan["cannot"] else plan["calls"]
    done: list[Json] = []
    for call in calls if isinstance(calls, list) else []:
        if not isinstance(call, dict):
            raise AssertionError("a planned call is an object")
        arguments = loads_object(str(call["arguments_json"]))
        answer, failed = _called(tools, str(call["tool"]), arguments)
        shown = _shown(call["read_back"], tools)
        status = "refused" if failed else "verified" if shown else "unverified"
        done.append({**call, "arguments": arguments, "status": status, "result": answer, "note": ""})
    return done


def _shown(read_back: Json, tools: Offered) -> bool:
    if not isinstance(read_back, dict):
        return False
    _, failed = _called(tools, str(read_back["tool"]), loads_object(str(read_back["arguments_json"])))
    return not failed
