"""What a canned model says to the bench's tasks: a question, and a claim with or without a notice."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple, TypeAlias

Block: TypeAlias = dict[str, object]
Message: TypeAlias = Mapping[str, object]

_TASK = re.compile(r"<task>\n(.*?)\n</task>", re.DOTALL)
_QUESTION = re.compile(r"What is the amount of expense claim (?P<key>EXP-\d+)\?")
_CLAIM = re.compile(
    r"(?P<part>Approve expense claim (?P<key>EXP-\d+))"
    r"(?: and (?P<notice>notify (?P<whom>EMP-\d+) that (?P<message>claim EXP-\d+ is approved)))?\."
)
_AGREED = '{"agrees": true, "problems": []}'
_NO_FACTS = '{"facts": []}'


class UncannedTask(LookupError):
    """A request that holds none of the bench's tasks."""


class CannedCall(NamedTuple):
    tool: str
    arguments: Mapping[str, object]


class CannedTalk(NamedTuple):
    """A conversation so far. ``speaks_ours``: whether the worker offers ``understand`` and asks for parts."""

    messages: Sequence[Message]
    speaks_ours: bool

    @property
    def shown(self) -> str:
        return "\n".join(text for message in self.messages for text in _texts(message["content"]))

    def has_called(self, tool: str) -> bool:
        said = (message["content"] for message in self.messages if message["role"] == "assistant")
        return any(block.get("name") == tool for content in said if isinstance(content, list) for block in content)

    def call(self, *calls: CannedCall) -> list[Block]:
        """Blocks that make these calls, each under a name of its own."""
        return [
            {"type": "tool_use", "id": f"toolu_{len(self.messages)}_{place}", "name": tool, "input": arguments}
            for place, (tool, arguments) in enumerate(calls)
        ]

    def understand(self, kind: str, *quotes: str) -> list[CannedCall]:
        parts = [{"quote": quote, "kind": kind} for quote in quotes]
        given = {"parts": parts, "process": "general", "answer_form": "prose"}
        return [CannedCall("understand", given)] if self.speaks_ours else []

    def write_call(self, part: int, tool: str, arguments: Mapping[str, object]) -> CannedCall:
        return CannedCall(tool, {**arguments, "_call": {"part": part}} if self.speaks_ours else arguments)


def reply_to(body: bytes) -> bytes:
    """The Messages API's answer to a request. Raises ``UncannedTask`` and ``ValueError``.

    Two replies to a question: the claim is read, its amount is told. Four to a claim: it is read, the budget of its
    department is read, it is approved, and that is told. A request without tools asks for a second opinion, and agrees,
    or for what a task taught, which is nothing.
    """
    request = json.loads(body)
    tools = {tool["name"] for tool in request.get("tools", ())}
    blocks = _reply(CannedTalk(request["messages"], "understand" in tools)) if tools else _as_text(_judge(request))
    message = {
        "id": "msg_canned",
        "type": "message",
        "role": "assistant",
        "model": request["model"],
        "content": blocks,
        "stop_reason": "tool_use" if blocks[0]["type"] == "tool_use" else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": len(body) // 4, "output_tokens": 40},
    }
    return json.dumps(message).encode()


def _reply(talk: CannedTalk) -> list[Block]:
    first = "\n".join(_texts(talk.messages[0]["content"]))
    section = _TASK.search(first)  # beside it may stand what is known of earlier tasks
    task = section[1] if section else first
    if question := _QUESTION.search(task):
        return _answer_question(talk, question)
    if claim := _CLAIM.search(task):
        return _carry_out(talk, claim)
    raise UncannedTask("none of the bench's tasks stands in the first message")


def _answer_question(talk: CannedTalk, question: re.Match[str]) -> list[Block]:
    key, record = question["key"], _find_record(talk.shown, question["key"])
    if not record:
        return talk.call(*talk.understand("find out", question[0]), CannedCall("get_expense", {"expense_id": key}))
    return _as_text(f"The amount of {key} is {_field(record, 'amount')}.")


def _carry_out(talk: CannedTalk, claim: re.Match[str]) -> list[Block]:
    """What comes next goes by what is shown, since a worker may begin a new history with the results so far."""
    key, shown = claim["key"], talk.shown
    record = _find_record(shown, key)
    if not record:
        quotes = [quote for quote in (claim["part"], claim["notice"]) if quote]
        return talk.call(*talk.understand("do", *quotes), CannedCall("get_expense", {"expense_id": key}))
    if '"available"' not in shown:
        return talk.call(CannedCall("get_department_budget", {"department": _field(record, "department")}))
    if not talk.has_called("approve_expense"):
        notice = {"employee_id": claim["whom"], "message": claim["message"]}
        told = [talk.write_call(2, "notify_employee", notice)] if claim["notice"] else []
        return talk.call(talk.write_call(1, "approve_expense", {"expense_id": key}), *told)
    also = f" {claim['whom']} is notified." if claim["notice"] else ""
    return _as_text(f"{key} of {_field(record, 'amount')} is approved.{also}")


def _judge(request: Mapping[str, object]) -> str:
    return _NO_FACTS if '"facts"' in json.dumps(request.get("output_config", {})) else _AGREED


def _as_text(text: str) -> list[Block]:
    return [{"type": "text", "text": text}]


def _find_record(shown: str, key: str) -> str:
    """The claim as a result showed it first; empty where none did."""
    found = re.search(rf'\{{[^{{}}]*"id"\s*:\s*"{key}"[^{{}}]*\}}', shown)
    return found[0] if found else ""


def _field(record: str, name: str) -> str:
    found = re.search(rf'"{name}"\s*:\s*"?([^",}}]+)', record)
    if found is None:
        raise UncannedTask(f"the claim does not show its {name}")
    return found[1]


def _texts(content: object) -> Iterator[str]:
    if isinstance(content, str):
        yield content
    elif isinstance(content, list):
        for block in content:
            yield from _texts(block.get("text") or block.get("content") or "")
