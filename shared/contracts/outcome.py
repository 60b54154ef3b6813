"""What the executor tells the learner about one ended task: one event, once."""

from datetime import datetime

from pydantic import JsonValue

from shared.contracts.base import Contract
from shared.contracts.threshold import ThresholdOutcome
from shared.domain.words import Strategy, TaskState


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
