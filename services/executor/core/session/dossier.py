"""What the states of one run pass on to each other: typed data with references, never raw transcripts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from types import MappingProxyType
from typing import Literal, NamedTuple

from pydantic import JsonValue

from services.executor.core.session.values import Fact, NamedValue, PartOfTask
from services.executor.core.states.machine import GENERAL_TEMPLATE, QUIET_HOURS_TIMER_PREFIX, ProcessTemplate
from services.executor.ports.services import OrchestratorName
from services.executor.ports.turns import Timer
from shared.contracts.approval import Approval, GivenConfirmation
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.made_tool import MadeTool
from shared.contracts.outcome import Threshold
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.task import Artifact
from shared.domain.exact_json import Json, digest, dumps_inexact
from shared.domain.identity_cache import IdentityCache
from shared.domain.words import FsmState, Strategy, TaskState


class Dossier(Contract):
    """What a run knows and has decided. ``approved_hash``: of the plan that a person or the gate has permitted."""

    parts: tuple[PartOfTask, ...] = ()  # of the task, as the first reply understood it
    answer_format: Literal["prose", "list"] = "prose"
    facts: tuple[Fact, ...] = ()
    values: tuple[NamedValue, ...] = ()
    made: tuple[MadeTool, ...] = ()  # the made tools that values were worked out with: the code that ran
    plan: WritePlan | None = None
    plans: tuple[WritePlan, ...] = ()  # those before it, which were carried out
    verdict: Verdict | None = None
    approved_hash: str | None = None
    approval_note: str | None = None
    by_person: bool = False  # whether a person let the plan through
    approved_level: str | None = None  # the level at which a person did
    answer: str | None = None

    @property
    def every_plan(self) -> tuple[WritePlan, ...]:
        """All plans of the task, the current one last."""
        return (*self.plans, self.plan) if self.plan is not None else self.plans

    @property
    def present_plan(self) -> WritePlan:
        """The current plan; an empty plan if there is none."""
        return self.plan or WritePlan(task_id="")

    @property
    def every_call(self) -> tuple[PlannedCall, ...]:
        return tuple(call for plan in self.every_plan for call in plan.every_call)


class Progress(Contract):
    """A checkpoint of the run. ``visited``: the states passed so far, the current one last."""

    template: ProcessTemplate = GENERAL_TEMPLATE
    path: tuple[FsmState, ...]
    visited: tuple[FsmState, ...]
    strategy: Strategy = Strategy.FSM  # the bandit's choice
    strategy_why: str = ""
    orchestrators: tuple[OrchestratorName, ...] = (OrchestratorName.LOCAL,)  # that may carry the run, the present first
    passed_over: dict[str, str] = {}  # those that were not available, and why
    replies: int = 0  # of the model, that the conversation had when this was stored
    fell_back: str = ""  # why ``strategy`` could not be applied, and fsm carries the run instead
    bandit_json: str = "{}"  # the arms as they stood when the strategy was chosen
    read_only: bool = False
    policy_versions: tuple[str, ...] = ()
    tenant_version: str = ""  # of the tenant's record, whose policies hold for this task to its end
    dossier: Dossier = Dossier()
    tool_calls: int = 0  # of the plans' calls; see ``calls_made``
    repeated_calls: int = 0  # identical reads beyond the first; they were answered from the first
    model_calls: int = 0
    worked_ms: int = 0
    ruled_tools: tuple[str, ...] = ()  # tools, or patterns of tools, that rules ask about
    corrections: dict[str, str] = {}  # of renamed columns that the session knows: the new name by the old
    confirmed: tuple[GivenConfirmation, ...] = ()  # the template's confirmations that were given on the present plan
    insight: dict[str, JsonValue] = {}  # what the strategy tells of its own course, for the outcome
    thresholds: tuple[Threshold, ...] = ()  # the limits that were known before the task acted
    notes: dict[str, JsonValue] = {}  # how the request was read, for the task's metadata: memory, policies

    @property
    def process_type(self) -> str:
        return self.template.process_type

    @property
    def effective_strategy(self) -> Strategy:
        """The strategy that is used: the chosen one, or ``fsm`` if the run fell back."""
        return Strategy.FSM if self.fell_back else self.strategy

    @property
    def calls_made(self) -> int:
        """How many calls went to tool servers: each read once, and the plans' calls."""
        return len(self.dossier.facts) + self.tool_calls

    @property
    def helper_calls(self) -> int:
        """How many model requests were not part of the conversation (further drafts, plan audits, a better answer)."""
        return max(0, self.model_calls - self.replies)

    @property
    def orchestrator(self) -> OrchestratorName:
        """The orchestrator that is used now."""
        return self.orchestrators[0]

    @property
    def state(self) -> FsmState:
        return self.visited[-1]

    @property
    def visit_key(self) -> str:
        """A name for this visit of this state, unique in the task; the prefix of its journal keys."""
        return f"{len(self.visited)}.{self.state}"

    def move_to(self, state: FsmState) -> "Progress":
        return self.model_copy(update={"visited": (*self.visited, state)})

    def add_notes(self, **notes: JsonValue) -> "Progress":
        """The progress with these notes added for the task's metadata."""
        return self.model_copy(update={"notes": {**self.notes, **notes}})

    def update_dossier(self, **entries: object) -> "Progress":
        """The progress with these fields of its dossier replaced."""
        return self.model_copy(update={"dossier": self.dossier.model_copy(update=entries)})


def changed_fields_as_json(progress: Progress, stored_progress: Progress | None) -> dict[str, str]:
    """The fields that differ from the stored progress, as ``{field name: JSON text}``; names of the dossier's fields
    begin with ``dossier.``. Values that Python calls equal (``True == 1``) differ if their texts do.
    """
    progress_before = stored_progress or NO_PROGRESS
    changes = (
        _find_replaced_fields(progress, progress_before),
        _find_replaced_fields(progress.dossier, progress_before.dossier),
    )
    equal_names = [{name for name, is_equal in fields.items() if is_equal} for fields in changes]
    texts_before = _format_fields(progress_before, *equal_names) if any(equal_names) else {}
    texts = _format_fields(progress, set(changes[0]), set(changes[1]))
    # Other releases may have another default.
    template = {} if stored_progress else {"template": _encode_template(progress.template)}
    return {name: text for name, text in texts.items() if text != texts_before.get(name)} | template


def _find_replaced_fields(contract: Contract, old_contract: Contract) -> dict[str, bool]:
    """The fields whose object was replaced, as ``{field name: whether the new object equals the old one}``."""
    new_fields, old_fields = contract.__dict__, old_contract.__dict__
    pairs = ((name, new, old_fields[name]) for name, new in new_fields.items() if name != "dossier")
    replaced = [(name, new, old) for name, new, old in pairs if new is not old and not new == {} == old]
    return {name: new == old for name, new, old in replaced}


def _format_fields(progress: Progress, fields: set[str], dossier_fields: set[str]) -> dict[str, str]:
    """These fields of the progress and its dossier as JSON texts with exact numbers, by name (``dossier.plan``)."""
    plain_fields = fields - {"confirmed", "template"}
    values = progress.model_dump(include=plain_fields) if plain_fields else {}
    if "confirmed" in fields:  # it has times, and no figures
        values |= progress.model_dump(mode="json", include={"confirmed"})
    texts = {name: dumps_inexact(value) for name, value in values.items()}
    if "template" in fields:
        texts["template"] = _encode_template(progress.template)
    dossier = progress.dossier.model_dump(include=dossier_fields) if dossier_fields else {}
    return texts | {f"dossier.{name}": dumps_inexact(value) for name, value in dossier.items()}


_encode_template = IdentityCache[ProcessTemplate, str](lambda template: dumps_inexact(template.model_dump()), 256)
# What was never stored is at its default. These two fields have none, and are empty in no other progress.
NO_PROGRESS = Progress(path=(), visited=())


class TimedWait(NamedTuple):
    """A wait until a time: the end of quiet hours, or the next question to a model or agent."""

    until: datetime
    reason: str

    @property
    def timer(self) -> Timer:
        return Timer(self.until, f"{QUIET_HOURS_TIMER_PREFIX}{self.until.isoformat()}")


class WaitsForDecision(NamedTuple):
    """The run waits for a person to decide on its plan. ``changes``: what changed since the question was last asked."""

    progress: Progress
    changes: tuple[str, ...] = ()


class WaitsForTime(NamedTuple):
    """The run waits until the time of its next step."""

    progress: Progress
    wait: TimedWait


class StaleInputs(NamedTuple):
    """Nothing was written, since what the plan was based on has changed. ``progress`` has the new values."""

    progress: Progress
    reason: str


class AnsweredTask(NamedTuple):
    """The task is answered. ``not_done``: which parts were not done, and why; empty if all were."""

    progress: Progress
    not_done: str = ""


class RunEnd(NamedTuple):
    """The state of a run at its end or wait. ``progress``: None if the run failed before it began."""

    state: TaskState
    fsm_state: FsmState | None
    reason: str | None
    answer: str
    progress: Progress | None
    writes: Sequence[LedgerEntry]
    is_escalated: bool = False
    failed_part: str | None = None  # the part of the installation that did not work, if the task failed by one
    is_partial: bool = False  # the budget is spent, and the answer says what is known
    timer: Timer | None = None  # ends the wait, if the task waits for something else than an approval
    approval: Approval | None = None  # that this turn asked for or decided
    settled_approval: Approval | None = None  # an earlier one that no longer waits, in its final state
    question: Mapping[str, Json] | None = None  # to a person, if one is asked
    spend: Mapping[str, JsonValue] = MappingProxyType({})  # of the model's calls: tokens, money, ceilings
    documents: tuple[Artifact, ...] = ()
    review: Mapping[str, JsonValue] = MappingProxyType({})  # what was done for the answer after it was drafted

    @property
    def final_progress(self) -> Progress:
        """The progress; an empty one if the run failed before it began."""
        return self.progress or NO_PROGRESS


def hash_for_approval(verdict: Verdict) -> str:
    """The hash that an approval is bound to, over the verdict's policy, context and plan hashes."""
    return digest([verdict.policy_hash, verdict.context_hash, verdict.plan_hash])
