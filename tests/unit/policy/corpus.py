"""Requests that a seed makes up, over all kinds of rules, calls and mistakes; and the answers that are kept of them.

``python -m tests.unit.policy.corpus FILE ROWS SEED`` writes requests with the answers of the service as it is. Do so
only where a meaning is changed on purpose: the kept answers say what a rule means today.
"""

import asyncio
import gzip
import random
import sys
from collections.abc import Iterable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import NamedTuple, TypeVar

import httpx

from services.policy.entrypoints.http import build_application
from services.policy.settings import PolicySettings
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, to_exact

_T = TypeVar("_T")
KEPT = Path(__file__).parent / "golden" / "answers.jsonl.gz"
_FIELDS = ["amount", "total", "order.total", "is_vip", "vip.level", "status", "region", "tags", "tool", "verb", "a.b.c"]
_FIELDS += ["process_type", "tool_class", "call_id", "absent", "ünder_scored", "figures.amount"]
_TOOLS = ["pay", "ship", "cancel_order", "refund", "note"]
_TEXTS = ["", "active", "EU", "7", "7.0", "-3", "5,000", "$7,200", "€7,200.50", "1,2", "007", "it's", 'say "x"', "pay"]
_NUMBERS = ["0", "7", "7.0", "-3", "100", "5000", "5,000", "7200.5", "0.25", "-0", "12345678901234567890.1"]
_OPERATORS = [">", "<", ">=", "<=", "==", "!=", "===", "!=="]
_LEVELS = ["manager", "HR", " finance", "cfo", "legal", "queen", ""]
_BROKEN = ["a >", "a and b", "x === None", "a < b < c", "(a", "a)", "a = 1", "a & b", "'open", "05 > 1", "5x > 1", "$5"]
_BROKEN += ["", " ", "[1]", "a in 5", "a in [b]", "a in [1 2]", "a in [1,", "!", "-a", "-'x'", "a b", "1.2.3 > 0"]
_BROKEN += ["\\", "a == '\\n'", "a..b", "a.", "not a", "a is null", "True", "a == Null", "a || || b", "1,00 > 2", "a.5"]
_BROKEN += [
    "a ? b",
    "a == 'x' b",
    "(" * 51 + "a" + ")" * 51,
    "!" * 60 + "a",
    "in",
    "a in in",
    "null in [null]",
    "a in tags",
]
_WORDS = ["refund", "Order", "class", "classic", "straße", "STRASSE", "ｆｕｌｌ", "注文", "a b", "C++", "e\u0301te"]
_PATTERNS = ["CASE-[0-9]+", "(?-i:Ann)", "(", "(?=x)", r"\bpay\b", "", "[0-9]{4}", r"\p{Greek}+"]
_SOURCE = """# Refunds
Never call delete at all. Refunds over $5,000 need approval by the CFO, e.g. for Ann.
- An order is cancelled at most twice.
- Pay only after ship has succeeded; be nice to everybody.

A discount of 10% needs a manager. Tone: friendly!"""
_QUOTES = ["Never call delete", "refunds over $5,000 need approval by the cfo", "order is cancelled at most twice"]
_QUOTES += [
    "pay only after ship has succeeded",
    "A discount of 10% needs a manager",
    "Never call",
    "not in the text at all",
]


class Asked(NamedTuple):
    path: str
    body: JsonObject


class Kept(NamedTuple):
    """``answer``: what the service said of the body then, status and text."""

    path: str
    body: JsonObject
    status: int
    answer: str


def asked(count: int, seed: int) -> Iterator[Asked]:
    """As many requests; the same for the same seed."""
    made = _Made(random.Random(seed))  # noqa: S311  # for tests
    for _ in range(count):
        yield made.request()


@cache
def kept(file: Path = KEPT) -> tuple[Kept, ...]:
    lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    return tuple(Kept(*_row(loads_object(line))) for line in lines)


def _row(row: JsonObject) -> tuple[str, JsonObject, int, str]:
    body = row["body"]
    assert isinstance(body, dict)
    return str(row["path"]), body, int(str(row["status"])), str(row["answer"])


class _Made:
    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def request(self) -> Asked:
        drawn = self._chance.random()
        if drawn < 0.08:
            return Asked("/v1/prose/check", self._prose())
        policies: list[Json] = [self._policy(number) for number in range(self._chance.choice([1, 1, 1, 2, 3]))]
        body: JsonObject = {"policies": policies, "context": self._context()}
        if drawn < 0.2:
            offered: list[Json] = [{"tool": tool, "toolClass": self._class()} for tool in self._some(_TOOLS, 5)]
            return Asked("/v1/allowances", {**body, "tools": offered, **self._session()})
        if self._is(0.75):
            body["calls"] = [self._call(number) for number in range(self._chance.choice([1, 1, 2, 3, 5]))]
        if self._is(0.7):
            body["binding"] = True
        if self._is(0.8):
            body["text"] = " ".join(self._some([*_WORDS, "Case-12", "Ann", "pay", "2026"], 6))
        return Asked("/v1/evaluate", {**body, "planHash": "h", **self._session()})

    def _policy(self, number: int) -> JsonObject:
        policy: JsonObject = {"id": f"P{number}", "version": str(self._chance.randint(1, 3))}
        policy["rules"] = [self._rule(at) for at in range(self._chance.choice([0, 1, 2, 4, 8]))]
        if self._is(0.4):
            policy["context"] = self._context()
        if self._is(0.45):
            policy["toolRules"] = [self._tool_rule(at) for at in range(self._chance.choice([1, 2, 4]))]
            policy["toolDefault"] = self._mostly(["allow", "allow", "deny", "Deny_Writes"], "maybe")
        if self._is(0.25):
            policy["textRules"] = [self._text_rule(at) for at in range(self._chance.choice([1, 3]))]
            policy["textDefault"] = self._mostly(["allow", "allow", "deny"], "what")
        if self._is(0.3):
            policy["judgesRecords"] = True
        return policy

    def _rule(self, number: int) -> JsonObject:
        rule: JsonObject = {"id": f"R{number}", "condition": self._condition()}
        rule["action"] = self._one(["block", "escalate", "require_approval", " Require_Approval", "require_approval"])
        self._perhaps(rule, 0.5, "level", self._one(_LEVELS[:5]))
        self._perhaps(rule, 0.5, "reason", "because of " + "x" * self._chance.choice([3, 300]))
        self._perhaps(rule, 0.12, "reportOnly", True)
        self._perhaps(rule, 0.15, "ifKnown", True)
        self._perhaps(rule, 0.1, "approvers", self._one([1, 2, 3]) if self._is(0.9) else 21)
        self._perhaps(rule, 0.02, "action", self._one(["deny", ""]))
        self._perhaps(rule, 0.02, "level", self._one(_LEVELS))
        return rule

    def _tool_rule(self, number: int) -> JsonObject:
        kinds = ["never", "at_most", "only_after", "only_when", "only_after_confirmation", "allow"]
        kind = self._one([*kinds, *kinds[1:5], "ALLOW "])
        rule: JsonObject = {"id": f"T{number}", "kind": kind, "tool": self._one([*_TOOLS, "*", "p*", "*_o*r", "re*nd"])}
        if kind == "at_most":
            self._perhaps(rule, 0.5, "limit", self._mostly([1, 2], 0))
            self._perhaps(rule, 0.4, "counting", self._mostly(["calls", "Successes"], "all"))
        if kind == "only_after":
            rule["after"] = self._some(_TOOLS, 3)
        if kind == "only_when":
            rule["condition"] = self._condition()
        if kind in ("at_most", "only_after"):
            self._perhaps(rule, 0.4, "per", self._mostly([["amount"], ["region"], ["order.total", "region"]], ["a..b"]))
        self._perhaps(rule, 0.3, "level", "cfo" if kind == "only_after_confirmation" else None)
        self._perhaps(rule, 0.2, "reason", "so we decided")
        self._perhaps(rule, 0.15, "reportOnly", True)
        self._perhaps(rule, 0.02, "level", "hr")
        self._perhaps(rule, 0.01, "kind", "forbid")
        self._perhaps(rule, 0.02, "tool", self._one(["", "*a*b*c*d*e*"]))
        return rule

    def _text_rule(self, number: int) -> JsonObject:
        rule: JsonObject = {"id": f"X{number}", "type": self._mostly(["allow", "deny", "require", "Deny "], "refuse")}
        self._perhaps(rule, 0.95, "keywords", self._some(_WORDS, 3))
        self._perhaps(rule, 0.3, "pattern", self._mostly(_PATTERNS[:4:3], self._one(_PATTERNS)))
        self._perhaps(rule, 0.5, "description", "as agreed")
        return rule

    def _call(self, number: int) -> JsonObject:
        fields = self._context()
        call: JsonObject = {"callId": f"c{number}", "tool": self._one(_TOOLS), "fields": fields}
        call["toolClass"] = self._class()
        self._perhaps(call, 0.3, "unproven", self._some([*fields, "tool", "amount"], 3))
        if self._is(0.35):
            call["recorded"] = [self._context() for _ in range(self._chance.choice([1, 2]))]
        if self._is(0.6):
            call["unknownFields"] = self._some(["amount", "order.total", "is_vip", "status", "absent"], 3)
        return call

    def _class(self) -> str:
        return self._one(["change", "change", "read", "notify", "compute"])

    def _session(self) -> JsonObject:
        found: JsonObject = {}
        if self._is(0.4):
            outcomes = ["succeeded", "failed", "unknown", "unsent"]
            found["history"] = [
                {"tool": self._one(_TOOLS), "outcome": self._one(outcomes), "fields": self._context()}
                for _ in range(self._chance.randint(1, 4))
            ]
        if self._is(0.3):
            yes: JsonObject = {"tool": self._one(_TOOLS)}
            self._perhaps(yes, 0.6, "level", self._one(_LEVELS))
            self._perhaps(yes, 0.3, "callId", "c0")
            self._perhaps(yes, 0.3, "fields", {"amount": self._value()})
            found["confirmations"] = [yes]
        return found

    def _context(self) -> JsonObject:
        found: JsonObject = {}
        for name, value in (
            ("amount", self._amount()),
            ("total", self._amount()),
            ("is_vip", self._is(0.5)),
            ("status", self._one(_TEXTS)),
            ("region", self._one(["EU", "UK", None])),
            ("tags", self._some([*_TEXTS, 7, None, True], 4)),
            ("order", {"total": self._amount()}),
            ("vip", {"level": self._value()}),
            ("a", {"b": {"c": self._amount()}}),
            ("process_type", self._one(["claim", "order"])),
            ("verb", self._one(["pay", "cancel"])),
            ("tool", "refund"),
            ("ünder_scored", self._value()),
        ):
            self._perhaps(found, 0.25, name, self._value() if self._is(0.08) else value)
        return found

    def _value(self) -> Json:
        shapes: list[object] = [self._amount(), True, False, None, self._one(_TEXTS)]
        return to_exact(self._one([*shapes, ["EU", 7], {"total": 5}, "x" * 250]))

    def _amount(self) -> Json:
        return to_exact(self._one([0, 7, -3, 100, 5000, 7200, Decimal("7200.50"), "5,000", "$7,200", "€1", None]))

    def _condition(self) -> str:
        drawn = self._chance.random()
        if drawn < 0.03:
            return self._one(_BROKEN)
        if drawn < 0.45:
            tool = self._one([f'tool == "{self._one(_TOOLS)}"', f"tool in {self._choices()}", 'verb == "pay"'])
            return f"{tool} && {self._joined(2)}"
        text = self._joined(3)
        if drawn > 0.985:
            at = self._chance.randrange(len(text) + 1)
            text = text[:at] + self._one(list("!&|()<=>,.'\"-$ ä5")) + text[at:]
        return text

    def _joined(self, depth: int) -> str:
        drawn = self._chance.random()
        if depth == 0 or drawn < 0.35:
            return self._test()
        if drawn < 0.6:
            return f"({self._joined(depth - 1)}) && {self._joined(depth - 1)}"
        if drawn < 0.85:
            return f"{self._joined(depth - 1)} || {self._joined(depth - 1)}"
        if drawn < 0.93:
            return f"!({self._joined(depth - 1)})"
        if drawn < 0.95:
            return f"({self._joined(depth - 1)}) {self._one(_OPERATORS)} ({self._joined(depth - 1)})"
        return " && ".join(self._test() for _ in range(self._chance.randint(3, 5)))

    def _test(self) -> str:
        drawn = self._chance.random()
        if drawn < 0.35:
            return f"{self._one(['amount', 'total', 'order.total'])} {self._one(_OPERATORS)} {self._one(_NUMBERS)}"
        if drawn < 0.5:
            return f'{self._one(["status", "region", "tool"])} {self._one(_OPERATORS[4:])} "{self._one(_TEXTS[:12])}"'
        if drawn < 0.65:
            return self._one(["is_vip", "!is_vip", "!absent", "vip.level", "!vip.level", "!!is_vip"])
        if drawn < 0.75:
            return f"{self._one([*_FIELDS, '7', repr('EU')])} in {self._one([self._choices(), 'tags', 'absent'])}"
        return f"{self._operand()} {self._one(_OPERATORS)} {self._operand()}"

    def _choices(self) -> str:
        kinds = [*(f"'{tool}'" for tool in _TOOLS), *_NUMBERS[:5], "null", "true", '"EU"']
        return f"[{', '.join(self._some(kinds[:5] if self._is(0.6) else kinds, 4))}]"

    def _operand(self) -> str:
        literal = self._one([*_NUMBERS, "true", "null", "'active'", "'$7,200'", "'7'"])
        return self._one([*_FIELDS, *_FIELDS, literal, literal, literal])

    def _prose(self) -> JsonObject:
        candidates = []
        for number in range(self._chance.randint(1, 4)):
            candidate: JsonObject = {"quote": self._one(_QUOTES)}
            if self._is(0.5):
                conditions = ['tool == "refund" && amount > 5000', "discount > 0.1", self._condition(), "true"]
                candidate["rule"] = {**self._rule(number), "condition": self._one(conditions)}
            if "rule" not in candidate or self._is(0.05):
                candidate["toolRule"] = self._tool_rule(number)
            candidates.append(candidate)
        tools = [{"name": name, "fields": ["amount", "order", "id"]} for name in [*self._some(_TOOLS, 4), "delete"]]
        fields: list[Json] = ["status", "discount"]
        return {"source": _SOURCE, "candidates": [*candidates], "tools": to_exact(tools), "fields": fields}

    def _perhaps(self, into: JsonObject, chance: float, name: str, value: object) -> None:
        if self._is(chance):
            into[name] = to_exact(value)

    def _is(self, chance: float) -> bool:
        return self._chance.random() < chance

    def _mostly(self, usual: Sequence[_T], other: _T) -> _T:
        return self._one(usual) if self._is(0.94) else other

    def _one(self, among: Sequence[_T]) -> _T:
        return self._chance.choice(among)

    def _some(self, among: Sequence[_T], most: int) -> list[_T]:
        return [self._one(among) for _ in range(self._chance.randint(1, most))]


async def answers(rows: Iterable[Asked]) -> list[Kept]:
    """What the service says of each."""
    transport = httpx.ASGITransport(build_application(PolicySettings().max_body_bytes))
    async with httpx.AsyncClient(transport=transport, base_url="http://policy") as client:
        found = []
        for path, body in rows:
            answer = await client.post(path, content=dumps(body).encode())
            found.append(Kept(path, body, answer.status_code, answer.text))
        return found


def _write(file: Path, rows: int, seed: int) -> None:
    found = asyncio.run(answers(asked(rows, seed)))
    lines = [dumps({"path": one.path, "body": one.body, "status": one.status, "answer": one.answer}) for one in found]
    file.parent.mkdir(exist_ok=True)
    file.write_bytes(gzip.compress("\n".join(lines).encode(), mtime=0))


if __name__ == "__main__":
    _write(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
