"""Process templates, the state machine over their states (which tools each permits, I1), and how runs end early."""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import Rule
from shared.contracts.task import Turn, TurnKind
from shared.domain.words import DONE_STATUSES, UNDECIDED_STATUSES, FsmState, TaskState, ToolClass


class BadTemplate(ValueError):
    """The template is invalid or not permitted; the message says why."""


_OPERAND_PATTERN = re.compile(r"([a-z_|]+)((?:\[[^\[\]]*\])*)(?:\.([a-z_|]+))?")
_BRACKET_CONTENT_PATTERN = re.compile(r"\[([^\[\]]*)\]")
_KINDS_AND_FIELD_PATTERN = re.compile(r"(?:([a-z_|]+)\.)?([a-z_]+)")
_CHOICE_PATTERN = re.compile(r"([a-z_|]+)\s*(!=|=|~)\s*(.*)")
OWN_VALUE_MARK = "@"  # in a pattern: the value of the record that the figure is about
PROCESS_POLICY_PREFIX = "process:"  # begins the id of the policy that a process brings with it


class BadPattern(ValueError):
    """The text is not an operand pattern; the message shows the expected form."""


class GovernedArgument(NamedTuple):
    """An argument that a figure determines: of tools with one of the ``kinds`` in their name, or of all tools."""

    kinds: tuple[str, ...]
    argument: str


class RowChoice(NamedTuple):
    """A condition on rows: possible names of its field, operator (``~``: as the task says), and possible values."""

    fields: tuple[str, ...]
    sign: str
    values: tuple[str, ...]


class OperandPattern(NamedTuple):
    """An operand as a pattern over facts, ``kind|kind[][field=value].field|field``: possible names of its record
    (``kinds``) and of its field; ``takes_rows``: with ``[]``, of all rows of a list that match all ``choices``.
    """

    kinds: tuple[str, ...]
    fields: tuple[str, ...]
    takes_rows: bool = False
    choices: tuple[RowChoice, ...] = ()


def is_figure_name(text: str) -> bool:
    """Whether an operand is spelled like a figure's name; there may be no such figure."""
    return text.isidentifier()


def parse_pattern(text: str) -> OperandPattern:
    """Parses an operand such as ``kind.field``; raises ``BadPattern``."""
    match = _OPERAND_PATTERN.fullmatch(text)
    if match is None:
        raise BadPattern(f"{text!r} is no operand such as kind.field, kind[].field or kind[][field=value]")
    kinds = match[1]
    brackets = _BRACKET_CONTENT_PATTERN.findall(match[2])
    fields = match[3]
    if brackets and brackets[0]:
        raise BadPattern(f"{text!r}: [] comes before what chooses among the rows")
    choices = tuple(_parse_choice(condition, text) for condition in brackets[1:])
    if not _split_names(kinds) or not (fields or brackets):
        raise BadPattern(f"{text!r} names no kind of record, or nothing of it")
    return OperandPattern(_split_names(kinds), _split_names(fields or ""), bool(brackets), choices)


def parse_governed(text: str) -> GovernedArgument:
    """Parses ``argument`` or ``kind|kind.argument``; raises ``BadPattern``."""
    match = _KINDS_AND_FIELD_PATTERN.fullmatch(text)
    if match is None:
        raise BadPattern(f"{text!r} is no argument such as amount or credit.amount")
    return GovernedArgument(_split_names(match[1] or ""), match[2])


def _parse_choice(condition: str, text: str) -> RowChoice:
    match = _CHOICE_PATTERN.fullmatch(condition)
    if match is None:
        raise BadPattern(f"{text!r}: [{condition}] is no condition such as [status=open|held]")
    return RowChoice(_split_names(match[1]), match[2], _split_names(match[3]))


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split("|") if name)


class Figure(Contract):
    """A value that the executor computes from facts. Of several figures with one name, the first that can be computed
    counts.

    ``operands``: patterns over facts (``kind.field``) or names of earlier figures. ``about``: the kind of record of
    which a task may name several, each with its own figure. ``by``: one figure for each value of this field of the
    rows. ``required``: a change for which the figure is unknown needs an approval, except changes by a verb of
    ``not_required_for``, and only changes by a verb of ``required_for`` if that is given. ``governs``: arguments that
    must equal the figure. ``remainder``: whether a required difference is what remains of its first operand after
    all changes of the plan that draw on it.
    """

    name: str
    operation: str
    operands: tuple[str, ...]
    about: str = ""
    by: str = ""
    required: bool = False
    required_for: tuple[str, ...] = ()
    not_required_for: tuple[str, ...] = ()
    governs: tuple[str, ...] = ()
    remainder: bool = False

    @property
    def subject_kinds(self) -> tuple[str, ...]:
        return _split_names(self.about)


class RouteByAge(Contract):
    """How to treat the rows of a list whose age in days is above ``over`` and at most ``up_to``."""

    name: str
    way: str
    over: int = 0
    up_to: int | None = None


class ProcessTemplate(Contract):
    """A kind of process, as data. A task keeps the template that it began with.

    ``instructions``: further instructions for the model, by state. ``outputs``: what an answer must mention.
    ``figures``: what the executor computes. ``rules``: rules in addition to the tenant's. ``must_know``: fields that
    the rules depend on (``a|b``: one of them); a change without any of them needs an approval. ``whole_lists``: an
    incomplete list is no source for a figure, and a plan based on one needs an approval. ``routes``: the treatment of
    each row by its age, which the field ``routed`` gives. ``approvers``: how many different people must approve.
    ``escalates``: whether a rule that escalates ends the task in ESCALATE with its work done, instead of waiting for a
    person. ``two_persons_about``: words of the task or its facts that make two different approvers necessary.
    ``confirmations``: separate approvals of the same plan, in this order. ``sequence``: each change is sent only after
    the one before it is verified. ``notice_to``: who must be notified of a change. ``quiet_hours``: whether notices
    wait until the tenant's quiet hours are over. ``synthesized``: whether a model designed it.
    """

    process_type: str
    states: tuple[FsmState, ...]
    risk: Literal["low", "medium", "high"] = "low"
    instructions: dict[FsmState, str] = {}
    outputs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    rules: tuple[Rule, ...] = ()
    must_know: tuple[str, ...] = ()
    whole_lists: bool = False
    routed: str = ""
    routes: tuple[RouteByAge, ...] = ()
    approvers: int = 1
    escalates: bool = False
    two_persons_about: tuple[str, ...] = ()
    confirmations: tuple[str, ...] = ()
    sequence: bool = False
    notice_to: str = ""
    quiet_hours: bool = False
    synthesized: bool = False


Processes: TypeAlias = Mapping[str, ProcessTemplate]
_PROCESS_NAME_PATTERN = re.compile(r"[a-z]{2,20}(?:_[a-z]{2,20}){0,4}")
_WORDS_THAT_NAME_NO_PROCESS = frozenset(
    {"unknown", "other", "none", "custom", "new", "special", "process", "task", "any"}
)


def normalize_process_name(text: str) -> str:
    """The text as a process name in snake case; empty if it cannot be one or says nothing, as ``other`` or ``task``."""
    name = re.sub(r"[\s-]+", "_", text.strip().lower())
    return name if _PROCESS_NAME_PATTERN.fullmatch(name) and name not in _WORDS_THAT_NAME_NO_PROCESS else ""


_TEMPLATE_FOLDER = files(__package__) / "processes"
READ_ONLY_STATES = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.COMPLETE)


def read_template(text: str) -> ProcessTemplate:
    """Parses the text of a process template; raises ``BadTemplate`` if it cannot be parsed. What the template says is
    not checked here: pass it to ``refuse_bad_template``.
    """
    try:
        fields = tomllib.loads(text)
        template = ProcessTemplate.model_validate(fields)
    except ValueError as error:
        raise BadTemplate(f"no process can be read from this file: {error}") from error
    unknown_fields = sorted(set(fields) - set(ProcessTemplate.model_fields))
    if unknown_fields:  # a misspelt name would silently switch off what it was to say
        raise BadTemplate(f"nobody reads {', '.join(unknown_fields)}")
    return template


def _read_built_in_templates() -> dict[str, ProcessTemplate]:
    """The built-in templates by process type."""
    texts = (entry.read_text("utf-8") for entry in _TEMPLATE_FOLDER.iterdir() if entry.name.endswith(".toml"))
    templates = sorted(map(read_template, texts), key=lambda template: template.process_type)
    return {template.process_type: template for template in templates}


BUILT_IN_TEMPLATES: Mapping[str, ProcessTemplate] = _read_built_in_templates()
GENERAL_TEMPLATE = BUILT_IN_TEMPLATES["general"]


_NO_CLASSES: frozenset[ToolClass] = frozenset()
_READING_CLASSES = frozenset({ToolClass.READ, ToolClass.COMPUTE})
_NOTIFYING_CLASSES = _READING_CLASSES | {ToolClass.NOTIFY}
_CHANGING_CLASSES = _NOTIFYING_CLASSES | {ToolClass.CHANGE}
# The classes of server tools that each state may dispatch.
PERMITTED_CLASSES: Mapping[FsmState, frozenset[ToolClass]] = {
    FsmState.DECOMPOSE: _NO_CLASSES,
    FsmState.ASSESS: _READING_CLASSES,
    FsmState.COMPUTE: _NO_CLASSES,
    FsmState.POLICY_CHECK: _NO_CLASSES,
    FsmState.APPROVAL_GATE: _READING_CLASSES,
    FsmState.MUTATE: _CHANGING_CLASSES,
    FsmState.SCHEDULE_NOTIFY: _NOTIFYING_CLASSES,
    FsmState.COMPLETE: _NO_CLASSES,
    FsmState.ESCALATE: _NO_CLASSES,
    FsmState.FAILED: _NO_CLASSES,
}
_COMPLEX_WORDS = "reconcile|root cause|diagnose|forecast|synthesize|cross-reference|correlate|investigate".split("|")


def has_complex_word(task: str) -> bool:
    """Whether the task uses one of the complex words, so that even a question goes to the large model."""
    return any(word in task.lower() for word in _COMPLEX_WORDS)


STATES_IN_ORDER = tuple(state for state in FsmState if state not in (FsmState.ESCALATE, FsmState.FAILED))
PLAN_STATES = (FsmState.POLICY_CHECK, FsmState.APPROVAL_GATE, FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)
END_STATES = (FsmState.COMPLETE, FsmState.ESCALATE)


def state_after(path: Sequence[FsmState], state: FsmState) -> FsmState:
    """The state that follows ``state`` on ``path``. The path must have the state, and not as its last."""
    return path[path.index(state) + 1]


def first_plan_state(path: Sequence[FsmState]) -> FsmState:
    """The state of the path in which a plan begins to be carried out. The path must have a state that writes."""
    return next(state for state in path if state in PLAN_STATES)


def with_approval_gate(path: Sequence[FsmState]) -> tuple[FsmState, ...]:
    """The path with APPROVAL_GATE, inserted before MUTATE if the template has none."""
    if FsmState.APPROVAL_GATE in path:
        return tuple(path)
    index = path.index(FsmState.MUTATE)
    return (*path[:index], FsmState.APPROVAL_GATE, *path[index:])


def with_end_state(path: Sequence[FsmState], is_escalated: bool) -> tuple[FsmState, ...]:
    """The path with ESCALATE or else COMPLETE as its last state."""
    return (*path[:-1], FsmState.ESCALATE if is_escalated else FsmState.COMPLETE)


QUIET_HOURS_TIMER_PREFIX = "quiet:"  # begins the subject of the timer that ends a ``TimedWait``, for whatever reason
FailedComponent = Literal["model", "tool_server", "policy_service"]  # of the installation: what did not work
NOTHING_WRITTEN_TEXT = "Nothing was written or sent."
_NOTHING_WRITTEN_PATTERN = re.compile(r"\b([Nn])othing was written\b")


class EarlyEnd(Exception):
    """A run ends before its answer. ``fsm_state``: the machine's final state; None to leave it unchanged."""

    state = TaskState.FAILED
    fsm_state: FsmState | None = FsmState.FAILED
    is_escalated = False
    is_partial = False

    def __init__(self, reason: str, failed_component: FailedComponent | None = None) -> None:
        """``failed_component``: what failed of the installation, if the cause is not in the task."""
        super().__init__(reason)
        self.reason, self.failed_component = reason, failed_component

    def correct_reason(self, ledger: Iterable[LedgerEntry]) -> None:
        """Corrects a reason that says that nothing was written, if earlier plans of the task have written."""
        if any(entry.status in (*DONE_STATUSES, *UNDECIDED_STATUSES) for entry in ledger):
            self.reason = _NOTHING_WRITTEN_PATTERN.sub(r"\1othing more was written", self.reason)


class TenantStopped(Exception):
    """The tenant is stopped. The run pauses, and continues later from its journal."""


class Failed(EarlyEnd):
    """Something that the task needs has failed."""


class ModelTemporarilyUnavailable(Failed):
    """The model is unavailable but may be back in minutes. ``retry_after``: in how many seconds; None if unknown."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason, "model")
        self.retry_after = retry_after


class Rejected(EarlyEnd):
    """A policy or a person has refused the task."""

    state = TaskState.REJECTED
    fsm_state = None


class Escalated(EarlyEnd):
    """A person must look at the task, for example because of a write in doubt."""

    fsm_state = FsmState.ESCALATE
    is_escalated = True


class Canceled(EarlyEnd):
    """Somebody has cancelled the task."""

    state = TaskState.CANCELED
    fsm_state = None


def ends_timed_wait(turn: Turn) -> bool:
    """Whether the turn is the timer that ends a ``TimedWait``."""
    return turn.kind is TurnKind.DEADLINE and str(turn.data.get("subject", "")).startswith(QUIET_HOURS_TIMER_PREFIX)
