"""What the executor tells the learner about one ended task: one event, once."""

from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from shared.contracts.base import Contract
from shared.domain.words import Strategy, TaskState


class ThresholdKind(StrEnum):
    VARIANCE = "variance"
    SLA_CREDIT = "sla_credit"
    POLICY_LIMIT = "policy_limit"


class Threshold(Contract):
    """A value, a decimal text (``2%`` for a share), with its source in words. ``sign`` is empty where it is no limit.

    ``name``: the field or figure that it is about; empty for a limit in plain words. ``rule_id`` and ``policy_id`` name
    the rule whose condition it is alone, or for the calls of ``tool``; where a rule asks for more, the limit does not
    decide it, and they are empty.
    """

    kind: ThresholdKind
    name: str
    sign: str
    value: str
    source: str
    tool: str = ""
    rule_id: str = ""
    policy_id: str = ""


class ThresholdOutcome(Contract):
    """What was predicted and what it proved to be; ``actual`` is None where nothing verified tells.

    Of a limit, ``actual`` is the value that was held against it, and ``held`` whether its rule did what the limit said;
    of a value, ``held`` is whether both are the same. None: it cannot be told.
    """

    kind: ThresholdKind
    name: str
    sign: str
    predicted: str
    actual: str | None = None
    held: bool | None = None
    source: str = ""


class Said(Contract):
    """What a task and its answer say, bounded, without anything that the privacy guard marks; ``values`` by name."""

    task: str
    answer: str = ""
    values: dict[str, str] = {}


class TaskOutcome(Contract):
    """The facts of one ended task. ``event_id`` is the task's id and run, the learner's key for 'once'."""

    event_id: str
    tenant: str
    session_id: str
    task_id: str
    state: TaskState
    process_type: str
    strategy: Strategy
    strategy_applied: bool = True  # false where the task's end says nothing about its strategy
    dry_run: bool = False  # nothing was to be written: it is counted, and nothing is learned from it
    practice: bool = False  # done in a world made for that: neither counted nor learned from
    quality: float  # 0 to 1, a score and no amount of money
    summary: str
    tool_calls: int
    model_calls: int
    writes: dict[str, int]  # by WriteStatus
    policy_passed: bool | None
    reason: str | None
    duration_ms: int
    ended_at: datetime
    worked: tuple[str, ...] = ()  # tools that did what they were called for
    failed: tuple[str, ...] = ()  # tools that did not
    thresholds: tuple[ThresholdOutcome, ...] = ()  # what was predicted, and what it proved to be
    said: Said | None = None  # what facts and entities are found in
    details: dict[str, JsonValue] = {}
