"""What the states of one run hand each other: a typed dossier with references, never a raw transcript."""

from decimal import Decimal
from typing import Literal

from pydantic import JsonValue, model_validator

from services.executor.core.dossier.parts import PartOfTask
from services.executor.core.states.template import Template
from services.executor.core.states.templates import GENERAL, TEMPLATES
from services.executor.core.tools.paginate_shown import beginning
from services.executor.ports.orchestrators import Orchestrating
from shared.contracts.approval import Confirmed
from shared.contracts.base import Contract
from shared.contracts.made_tool import MadeBy, MadeTool
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.threshold import Threshold
from shared.domain.exact_json import Json, JsonObject, loads
from shared.domain.words import FsmState, Strategy


class Fact(Contract):
    """One tool result, by reference. ``ok`` is false where the server answered with an error or only an echo.

    ``note``: what is to be said of a list that came in parts: how many, and why rows are missing if they are.
    ``by_machine``: nobody but the machine asked for it, to know what a call names.
    """

    ref: str
    connection_id: str
    tool: str
    arguments_json: str
    result_json: str
    ok: bool = True
    note: str = ""
    by_machine: bool = False

    @property
    def result(self) -> Json:
        return loads(self.result_json)

    def as_json(self) -> Json:
        """As a model sees it: of a long list only the beginning, and what was left out."""
        seen, cut = beginning(self.result)
        said: dict[str, Json] = {"note": " ".join(filter(None, (self.note, cut)))} if self.note or cut else {}
        return {"ref": self.ref, "tool": self.tool, "arguments": loads(self.arguments_json), "result": seen, **said}


class Operand(Contract):
    """Where one figure of a computation comes from.

    ``task``: what the task or an earlier turn of the user says, as it is written there. ``today``: the day that the
    task goes by, in ``literal``. ``constant``: a number that is so by definition (12 months), or a word that a field is
    compared with. ``row``: another field of the row that a condition is about.
    """

    source: Literal["result", "task", "value", "today", "constant", "row"]
    ref: str = ""
    path: str = ""
    literal: str = ""

    def as_json(self) -> Json:
        return {"source": self.source, "ref": self.ref, "path": self.path, "literal": self.literal}


class RowCondition(Contract):
    """Which rows of a list count: those whose field stands in this relation to something."""

    field: str
    sign: str
    against: Operand

    def as_json(self) -> Json:
        return {"field": self.field, "is": self.sign, "against": self.against.as_json()}


class NamedValue(Contract):
    """A figure with its operation, operands and value: a decimal, an ISO date, true or false, or a text.

    ``kind`` says which of these; ``groups`` is a JSON object of decimal texts by group. ``currency`` and ``unit`` (such
    as cents or minutes) are empty where nothing states them. ``where`` are conditions on the rows of list operands,
    ``by`` the field that rows are grouped by, ``give`` the field that a sought row is named by, and ``date_order`` how
    dates such as 03/04/2026 are read. ``note`` says what was left out, or what else would have fitted.

    ``figure``: its name in the process file, where the executor computed it itself; ``about`` then is the id of the
    record that it is about, if there are several, and ``group`` the figure that it is one part of. ``made_by``: the
    made tool that the operation is, if it is one.
    """

    name: str
    operation: str
    operands: tuple[Operand, ...]
    value: str
    figure: str = ""
    about: str = ""
    group: str = ""
    made_by: MadeBy | None = None
    kind: Literal["decimal", "date", "boolean", "text", "groups"] = "decimal"
    currency: str = ""
    unit: str = ""
    where: tuple[RowCondition, ...] = ()
    by: str = ""
    give: str = ""
    date_order: Literal["", "day_first", "month_first"] = ""
    note: str = ""

    @property
    def number(self) -> Decimal | None:
        """The value where it is a decimal."""
        return Decimal(self.value) if self.kind == "decimal" else None

    def as_json(self) -> Json:
        operands: list[Json] = [operand.as_json() for operand in self.operands]
        made: JsonObject = {"made_by": self.made_by.model_dump(mode="json", exclude={"v"})} if self.made_by else {}
        where: JsonObject = {"where": [condition.as_json() for condition in self.where]} if self.where else {}
        texts = {"currency": self.currency, "unit": self.unit, "by": self.by, "give": self.give, "note": self.note}
        texts |= {"kind": self.kind if self.kind != "decimal" else "", "date_order": self.date_order}
        more: JsonObject = {name: text for name, text in texts.items() if text}
        return {
            "name": self.name, "operation": self.operation, "operands": operands, "value": self.value,
            **more, **where, **made,
        }  # fmt: skip


class Dossier(Contract):
    """``approved_hash`` is the plan's hash that a person, or the gate's automatic pass, let through."""

    parts: tuple[PartOfTask, ...] = ()  # of the task, as the first reply understood it
    answer_format: Literal["prose", "list"] = "prose"
    facts: tuple[Fact, ...] = ()
    values: tuple[NamedValue, ...] = ()
    made: tuple[MadeTool, ...] = ()  # the made tools that values were worked out with: the code that ran
    audit_clean: bool | None = None
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
        """All plans of the task, the present one last."""
        return (*self.plans, self.plan) if self.plan is not None else self.plans

    @property
    def every_call(self) -> tuple[PlannedCall, ...]:
        return tuple(call for plan in self.every_plan for call in plan.every_call)


class Progress(Contract):
    """A checkpoint: where the run stands and what it knows. ``visited``: the states walked, the present one last."""

    template: Template = GENERAL
    path: tuple[FsmState, ...]
    visited: tuple[FsmState, ...]
    strategy: Strategy = Strategy.FSM  # the bandit's choice
    strategy_why: str = ""
    orchestrators: tuple[Orchestrating, ...] = (Orchestrating.LOCAL,)  # that may carry the run, the present one first
    passed_over: dict[str, str] = {}  # those that were not available, and why
    replies: int = 0  # of the model, that the conversation had when this was stored
    fell_back: str = ""  # why that strategy could not be applied, and fsm carries the run instead
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
    corrections: dict[str, str] = {}  # what the session knows of renamed columns
    confirmed: tuple[Confirmed, ...] = ()  # the template's confirmations that were given on the present plan
    insight: dict[str, JsonValue] = {}  # what the strategy tells of its own course, for the outcome
    thresholds: tuple[Threshold, ...] = ()  # the limits that were known before the task acted
    notes: dict[str, JsonValue] = {}  # how the request was read, for the task's metadata: memory, policies

    @model_validator(mode="before")
    @classmethod
    def _of_the_version_before(cls, given: object) -> object:
        """Older checkpoints name their process, which was a built-in one, in place of its template."""
        if not isinstance(given, dict) or "template" in given or "process_type" not in given:
            return given
        return {**given, "template": TEMPLATES.get(given["process_type"], GENERAL)}

    @property
    def process_type(self) -> str:
        return self.template.process_type

    @property
    def thinks(self) -> Strategy:
        """The strategy that carries the run."""
        return Strategy.FSM if self.fell_back else self.strategy

    @property
    def calls_made(self) -> int:
        """How many calls the servers had: each read once, and the plans' own."""
        return len(self.dossier.facts) + self.tool_calls

    @property
    def orchestrator(self) -> Orchestrating:
        """Who thinks."""
        return self.orchestrators[0]

    @property
    def state(self) -> FsmState:
        return self.visited[-1]

    @property
    def step(self) -> str:
        """A name for this visit of this state, unique in the task: the prefix of its journal keys."""
        return f"{len(self.visited)}.{self.state}"

    def move_to(self, state: FsmState) -> "Progress":
        return self.model_copy(update={"visited": (*self.visited, state)})

    def update_dossier(self, **known: object) -> "Progress":
        """The same progress with new entries in its dossier."""
        return self.model_copy(update={"dossier": self.dossier.model_copy(update=known)})
