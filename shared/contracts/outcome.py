"""The event by which the executor reports one ended task to the learner."""

from datetime import datetime
from enum import StrEnum

from pydantic import JsonValue

from shared.contracts.base import Contract
from shared.domain.words import Strategy, TaskState


class ThresholdKind(StrEnum):
    """Where the value comes from with which an actual one is compared."""

    VARIANCE = "variance"
    SLA_CREDIT = "sla_credit"
    POLICY_LIMIT = "policy_limit"


class Threshold(Contract):
    """A limit, or a value to expect, that is known before a task acts; after the task it is compared with the actual
    value. It is decimal text (``2%`` for a share); ``source`` says in words where it comes from.

    ``name``: the field or figure it is about; empty for a limit in plain words. ``sign``: empty if it is not a limit.
    ``rule_id`` and ``policy_id``: the rule whose whole condition is this limit (for calls of ``tool``, if given); empty
    if the rule has further conditions.
    """

    kind: ThresholdKind
    name: str
    sign: str
    value: str
    source: str
    tool: str = ""
    rule_id: str = ""
    policy_id: str = ""


class PredictionOutcome(Contract):
    """A predicted and an actual value; ``actual`` is None if nothing verified shows one.

    ``held``: for a limit, whether its rule triggered as the limit predicts; for other values, whether both are equal;
    None if unknown.
    """

    kind: ThresholdKind
    name: str
    sign: str
    predicted: str
    actual: str | None = None
    held: bool | None = None
    source: str = ""


class OutcomeTexts(Contract):
    """The texts of a task and its answer, shortened and without protected values; ``values``: figures by name."""

    task: str
    answer: str = ""
    values: dict[str, str] = {}


class TaskOutcome(Contract):
    """The facts of one ended task, from which the learner learns. ``event_id``: task id and run; the learner counts
    each event once by it.
    """

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
    escalated: bool = False  # whether it ended with a question to a higher level
    duration_ms: int
    ended_at: datetime
    worked: tuple[str, ...] = ()  # tools that did what they were called for
    failed: tuple[str, ...] = ()  # tools that did not
    thresholds: tuple[PredictionOutcome, ...] = ()  # what was predicted, and what it proved to be
    said: OutcomeTexts | None = None  # what facts and entities are found in
    details: dict[str, JsonValue] = {}
