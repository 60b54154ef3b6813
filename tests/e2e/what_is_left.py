"""What one task left behind: rows of the company, what the company applied, journal, ledger, record."""

import re
from typing import NamedTuple, cast

from examples.company import ledger as company
from services.executor.core.session.journal import KINDS_WITHOUT_STEP
from shared.domain.exact_json import loads_object
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.journal_rows import TEXT_KIND, parse_steps
from shared.infra.ledger_rows import parse_ledger_entry
from shared.infra.stored_outcomes import unpack_outcome
from tests.e2e.whole_stack import TENANT, WholeStack

_OWN = (  # what differs from task to task and from run to run, whatever happens
    (re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\b[0-9a-f]{32,64}\b"), "<digest>"),
    (re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)?"), "<time>"),
    (re.compile(r"\btoolu_[0-9a-f]+"), "<call>"),
    (re.compile(r'"spent":\{[^}]*\}|"usage":\[[^]]*\]'), "<cost>"),  # less, where a lost answer is not told again
    (re.compile(r'"worked_ms":\d+'), '"worked_ms":<ms>'),
    (re.compile(r'"answer":(null|\{[^{}]*\})'), '"answer":<of the server>'),  # the same of an answer: it got lost
    (re.compile(r"no answer came, but the read-back shows it"), "read back"),
)


class Asked(NamedTuple):
    """A task with two writes, on rows that no other task touches: each case has a number of its own."""

    session: str
    number: int

    @property
    def employee(self) -> str:
        return f"EMP-{self.number}"

    @property
    def asset(self) -> str:
        return f"AST-{self.number}"

    @property
    def phone(self) -> str:
        return f"+1 555 {self.number}"

    @property
    def text(self) -> str:
        phone = f"Update the phone of employee {self.employee} to {self.phone}."
        return f"{phone} Assign asset {self.asset} to employee {self.employee}."


class Left(NamedTuple):
    """``writes``: the ledger's call ids and statuses. ``journal``: each step's key, kind and data, without what one
    run and not another was given (an attempt's beginning, an answer of the policy service, a reservation), in the
    order of the keys: of two calls at once, either may be answered first.
    """

    state: TaskState
    escalated: bool
    rows: tuple[bool, bool]  # whether the company's rows show the first write, and the second
    applied: tuple[str, ...]
    writes: dict[str, str]
    journal: tuple[tuple[str, str, str], ...]
    outcomes: int  # how often its end was told to the learner


async def what_is_left(whole: WholeStack, asked: Asked) -> Left:
    record = await whole.record(asked.session)
    return Left(
        state=record.state,
        escalated=bool(record.metadata.get("escalated")),
        rows=_rows(whole, asked),
        applied=_applied(whole, asked),
        writes=await _writes(whole, asked),
        journal=await _journal(whole, asked),
        outcomes=await _outcomes(whole, asked),
    )


def _rows(whole: WholeStack, asked: Asked) -> tuple[bool, bool]:
    employee = company.row(whole.database, "employees", asked.employee) or {}
    asset = company.row(whole.database, "assets", asked.asset) or {}
    return employee["phone"] == asked.phone, asset["employee_id"] == asked.employee


def _applied(whole: WholeStack, asked: Asked) -> tuple[str, ...]:
    """The writes that the company counted about this task's rows, in order."""
    written = company.writes(whole.database)
    return tuple(write.tool for write in written if write.arguments.get("employee_id") == asked.employee)


async def _writes(whole: WholeStack, asked: Asked) -> dict[str, str]:
    name = keys.task_keys(TENANT, asked.session, asked.session).ledger
    rows = await whole.redis.hgetall(name)  # type: ignore[misc]  # sync or async
    found = (parse_ledger_entry(str(row)) for row in rows.values())
    return {entry.call.call_id: entry.status.value for entry in sorted(found, key=lambda entry: entry.call.call_id)}


async def _journal(whole: WholeStack, asked: Asked) -> tuple[tuple[str, str, str], ...]:
    name = keys.task_keys(TENANT, asked.session, asked.session).journal
    rows = cast("list[tuple[str, dict[str, str]]]", await whole.redis.xrange(name))
    steps = (step for step in parse_steps(rows) if step.kind not in {*KINDS_WITHOUT_STEP, TEXT_KIND})
    names = (
        (step, {name: name for name in step.shared_text_names}) for step in steps
    )  # of texts that other tasks have as well
    return tuple(
        sorted((_nameless(one.key, asked), one.kind, _nameless(one.join_data(texts), asked)) for one, texts in names)
    )


async def _outcomes(whole: WholeStack, asked: Asked) -> int:
    rows = await whole.redis.xrange(keys.partition_keys_of(TENANT, asked.session).outcomes)
    told = (loads_object(unpack_outcome(row["o"])[1]) for _, row in cast("list[tuple[str, dict[str, str]]]", rows))
    return sum(outcome["task_id"] == asked.session for outcome in told)


def _nameless(text: str, asked: Asked) -> str:
    for pattern, stands_for in _OWN:
        text = pattern.sub(stands_for, text)
    return text.replace(asked.session, "<task>").replace(str(asked.number), "<n>")
