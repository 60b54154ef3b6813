"""A kind of process, as data; the machine: what each state permits (I1), and pure transitions over a process's states;
and the ways in which a run can end before its answer.
"""

import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from typing import Literal, NamedTuple, TypeAlias

from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import Rule
from shared.contracts.task import Turn, TurnKind
from shared.domain.words import DONE, UNDECIDED, FsmState, TaskState, ToolClass


class BadTemplate(ValueError):
    """A template cannot be followed, or must not be; the message says why."""


_SHAPE = re.compile(r"([a-z_|]+)((?:\[[^\[\]]*\])*)(?:\.([a-z_|]+))?")
_BRACKET = re.compile(r"\[([^\[\]]*)\]")
_GOVERNED = re.compile(r"(?:([a-z_|]+)\.)?([a-z_]+)")
_CONDITION = re.compile(r"([a-z_|]+)\s*(!=|=|~)\s*(.*)")
OWN = "@"
POLICY_MARK = "process:"  # begins the id of the policy that a process brings with it


class BadPattern(ValueError):
    """A text names no operand; the message says what it should look like."""


class GovernedArgument(NamedTuple):
    """An argument that a figure governs: of tools with one of the ``kinds`` in their name, or of all tools."""

    kinds: tuple[str, ...]
    argument: str


class RouteChoice(NamedTuple):
    """A condition on rows: the names of its field, ``=``, ``!=`` or ``~``, and values, one of which has to match."""

    fields: tuple[str, ...]
    sign: str
    values: tuple[str, ...]


class Pattern(NamedTuple):
    """An operand in the facts: what its record may be called, its fields, or the rows that ``choices`` narrow."""

    kinds: tuple[str, ...]
    fields: tuple[str, ...]
    rows: bool = False
    choices: tuple[RouteChoice, ...] = ()


def is_figure(text: str) -> bool:
    """Whether an operand is the name of an earlier figure."""
    return text.isidentifier()


def parse_pattern(text: str) -> Pattern:
    """The operand that a text such as ``kind.field`` names; raises ``BadPattern`` for any other text."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise BadPattern(f"{text!r} is no operand such as kind.field, kind[].field or kind[][field=value]")
    kinds, brackets, fields = match[1], _BRACKET.findall(match[2]), match[3]
    if brackets and brackets[0]:
        raise BadPattern(f"{text!r}: [] comes before what chooses among the rows")
    choices = tuple(_parse_choice(inner, text) for inner in brackets[1:])
    if not _split_names(kinds) or not (fields or brackets):
        raise BadPattern(f"{text!r} names no kind of record, or nothing of it")
    return Pattern(_split_names(kinds), _split_names(fields or ""), bool(brackets), choices)


def parse_governed(text: str) -> GovernedArgument:
    """The argument that ``argument`` or ``kind|kind.argument`` names; raises ``BadPattern``."""
    match = _GOVERNED.fullmatch(text)
    if match is None:
        raise BadPattern(f"{text!r} is no argument such as amount or credit.amount")
    return GovernedArgument(_split_names(match[1] or ""), match[2])


def _parse_choice(inner: str, text: str) -> RouteChoice:
    match = _CONDITION.fullmatch(inner)
    if match is None:
        raise BadPattern(f"{text!r}: [{inner}] is no condition such as [status=open|held]")
    return RouteChoice(_split_names(match[1]), match[2], _split_names(match[3]))


def _split_names(text: str) -> tuple[str, ...]:
    return tuple(name for name in text.split("|") if name)


class Figure(Contract):
    """A named value that the executor itself computes from the facts; the first of several with one name that can be.

    ``operands``: patterns over the facts (``kind.field``), or names of figures before it. ``about``: the kind of record
    of which a task may name several; then each has a figure of its own. ``by``: one figure for each value of this
    field of the rows. ``required``: a change of which it is not known asks a person; not one by a verb of
    ``not_required_for``, and of those in ``required_for`` alone, where any are named. ``governs``: arguments that are
    the figure and nothing else. ``remainder``: of a required difference, that it is what is left of its first operand:
    for changes of one plan that draw on the same it is what all of them leave.
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
    def kinds(self) -> tuple[str, ...]:
        return _split_names(self.about)


class Route(Contract):
    """How to treat those rows of the list whose age in days is above ``over`` and at most ``up_to``."""

    name: str
    way: str
    over: int = 0
    up_to: int | None = None


class ProcessTemplate(Contract):
    """A kind of process, as data. A task keeps the template that it began with.

    ``instructions``: what a model is told besides in a state. ``outputs``: what an answer has to speak of.
    ``figures``: what the executor computes itself. ``rules``: policy of the process; it adds to the tenant's.
    ``must_know``: fields that its rules decide by (``a|b``: one of them); a change about which none was read asks.
    ``whole_lists``: a list that could not be read to its end is no source for a figure, and a plan on it asks a person.
    ``routes``: the way of each row by its age, which stands in the field that ``routed`` names.
    ``approvers``: how many distinct people an approval of it takes.
    ``escalates``: a rule that escalates ends it in ESCALATE, with its work done; elsewhere it waits for a person.
    ``two_persons_about``: words of the task or its facts for which two different people have to approve.
    ``confirmations``: each is an approval of its own, in this order, on the same plan.
    ``sequence``: a change goes out only once the one before it is verified.
    ``notice_to``: whoever has to be told of a change. ``quiet_hours``: notices wait until the tenant's are over.
    ``synthesized``: a model made it up, for a kind of task that no file describes.
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
    routes: tuple[Route, ...] = ()
    approvers: int = 1
    escalates: bool = False
    two_persons_about: tuple[str, ...] = ()
    confirmations: tuple[str, ...] = ()
    sequence: bool = False
    notice_to: str = ""
    quiet_hours: bool = False
    synthesized: bool = False


Processes: TypeAlias = Mapping[str, ProcessTemplate]
_PROCESS_NAME = re.compile(r"[a-z]{2,20}(?:_[a-z]{2,20}){0,4}")
_NO_PROCESS_NAMES = frozenset({"unknown", "other", "none", "custom", "new", "special", "process", "task", "any"})


def process_name(text: str) -> str:
    """The text as a process's name in snake case; empty if it names no process."""
    name = re.sub(r"[\s-]+", "_", text.strip().lower())
    return name if _PROCESS_NAME.fullmatch(name) and name not in _NO_PROCESS_NAMES else ""


_FOLDER = files(__package__) / "processes"
READ_ONLY = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.COMPLETE)


def read_template(text: str) -> ProcessTemplate:
    """The template in a file's text, which ``refuse_bad_template`` checks; raises ``BadTemplate`` if
    there is none.
    """
    try:
        given = tomllib.loads(text)
        template = ProcessTemplate.model_validate(given)
    except ValueError as error:
        raise BadTemplate(f"no process can be read from this file: {error}") from error
    unknown = sorted(set(given) - set(ProcessTemplate.model_fields))
    if unknown:  # a misspelt name would silently switch off what it was to say
        raise BadTemplate(f"nobody reads {', '.join(unknown)}")
    return template


def _read_built_in() -> dict[str, ProcessTemplate]:
    """The built-in templates by process type."""
    texts = (entry.read_text("utf-8") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))
    templates = sorted(map(read_template, texts), key=lambda template: template.process_type)
    return {template.process_type: template for template in templates}


TEMPLATES: Mapping[str, ProcessTemplate] = _read_built_in()
GENERAL = TEMPLATES["general"]


_NONE: frozenset[ToolClass] = frozenset()
_READING = frozenset({ToolClass.READ, ToolClass.COMPUTE})
_NOTIFYING = _READING | {ToolClass.NOTIFY}
_CHANGING = _NOTIFYING | {ToolClass.CHANGE}
# The classes of server tools that each state may dispatch.
PERMITTED: Mapping[FsmState, frozenset[ToolClass]] = {
    FsmState.DECOMPOSE: _NONE,
    FsmState.ASSESS: _READING,
    FsmState.COMPUTE: _NONE,
    FsmState.POLICY_CHECK: _NONE,
    FsmState.APPROVAL_GATE: _READING,
    FsmState.MUTATE: _CHANGING,
    FsmState.SCHEDULE_NOTIFY: _NOTIFYING,
    FsmState.COMPLETE: _NONE,
    FsmState.ESCALATE: _NONE,
    FsmState.FAILED: _NONE,
}
_COMPLEX = "reconcile|root cause|diagnose|forecast|synthesize|cross-reference|correlate|investigate".split("|")


def is_complex(task: str) -> bool:
    """Whether the task uses one of the complex words: a question with one goes to the large model."""
    return any(word in task.lower() for word in _COMPLEX)


PLAN_STATES = (FsmState.POLICY_CHECK, FsmState.APPROVAL_GATE, FsmState.MUTATE, FsmState.SCHEDULE_NOTIFY)
_ENDS = (FsmState.COMPLETE, FsmState.ESCALATE)


class NoSuchStep(Exception):
    """A path does not have the step that was asked for."""


def state_after(path: Sequence[FsmState], state: FsmState) -> FsmState:
    """The state that follows ``state`` on ``path``."""
    try:
        return path[path.index(state) + 1]
    except (ValueError, IndexError):
        raise NoSuchStep(f"no state follows {state} on the path {', '.join(path)}") from None


def after_planning(path: Sequence[FsmState]) -> FsmState:
    """The state in which a plan begins to be carried out; raises ``NoSuchStep`` if the path writes nothing."""
    found = next((state for state in path if state in PLAN_STATES), None)
    if found is None:
        raise NoSuchStep(f"nothing is written on the path {', '.join(path)}")
    return found


def with_gate(path: Sequence[FsmState]) -> tuple[FsmState, ...]:
    """The path with APPROVAL_GATE in it, put directly before MUTATE if the template has none."""
    if FsmState.APPROVAL_GATE in path:
        return tuple(path)
    at = path.index(FsmState.MUTATE)
    return (*path[:at], FsmState.APPROVAL_GATE, *path[at:])


def with_end(path: Sequence[FsmState], escalated: bool) -> tuple[FsmState, ...]:
    """The path with ESCALATE or COMPLETE as its end."""
    return (*path[:-1], FsmState.ESCALATE if escalated else FsmState.COMPLETE)


def is_end(state: FsmState) -> bool:
    """Whether a path ends in this state."""
    return state in _ENDS


REST_SUBJECT = "quiet:"  # begins the subject of the timer that ends a rest, whatever it is for
FailedPart = Literal["model", "tool_server", "policy_service"]  # of the installation: what did not work
NOTHING_WRITTEN = "Nothing was written or sent."


class EarlyEnd(Exception):
    """Raised where a run ends before its answer. ``fsm_state``: the machine's; None: as it is."""

    state = TaskState.FAILED
    fsm_state: FsmState | None = FsmState.FAILED
    escalated = False
    partial = False

    def __init__(self, reason: str, part: FailedPart | None = None) -> None:
        """``part``: what did not work, where the cause lies in a part of the installation and not in the task."""
        super().__init__(reason)
        self.reason = reason
        self.part = part

    def correct_reason(self, ledger: Iterable[LedgerEntry]) -> None:
        """Makes a reason that says that nothing was written, of the plan at hand, true of a task that has written."""
        if any(entry.status in (*DONE, *UNDECIDED) for entry in ledger):
            self.reason = _NOTHING_WRITTEN.sub(r"\1othing more was written", self.reason)


_NOTHING_WRITTEN = re.compile(r"\b([Nn])othing was written\b")


class TenantStopped(Exception):
    """The tenant is stopped, as the message says: the run pauses, and goes on from its journal later."""


class Failed(EarlyEnd):
    """Something that was needed did not work."""


class ModelTemporarilyAway(Failed):
    """The model is away and may be back in minutes. ``retry_after``: after how many seconds, if it says so."""

    def __init__(self, reason: str, retry_after: float | None = None) -> None:
        super().__init__(reason, "model")
        self.retry_after = retry_after


class Rejected(EarlyEnd):
    """A policy or a person said no."""

    state = TaskState.REJECTED
    fsm_state = None


class Escalated(EarlyEnd):
    """A person has to look at it: a write in doubt, an audit that would not come clean."""

    fsm_state = FsmState.ESCALATE
    escalated = True


class Canceled(EarlyEnd):
    """Somebody asked for the task to stop."""

    state = TaskState.CANCELED
    fsm_state = None


def ends_timed_wait(turn: Turn) -> bool:
    """Whether a turn is the timer that ends a rest."""
    return turn.kind is TurnKind.DEADLINE and str(turn.data.get("subject", "")).startswith(REST_SUBJECT)
