"""What the states of one run hand each other: a typed dossier with references, never a raw transcript."""

from typing import Literal

from pydantic import JsonValue, model_validator

from services.executor.core.fsm.templates import GENERAL, TEMPLATES, Template
from services.executor.core.tooling.paginate_shown import beginning
from services.executor.ports.orchestrators import Orchestrating
from shared.contracts.approval import Confirmed
from shared.contracts.base import Contract
from shared.contracts.made_tool import MadeBy, MadeTool
from shared.contracts.plan import WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.threshold import Threshold
from shared.domain.exact_json import Json, JsonObject, digest, loads, loads_object
from shared.domain.words import FsmState, Strategy


class Fact(Contract):
    """One tool result, by reference. ``ok`` is false where the server answered with an error or only an echo.

    ``note``: what is to be said of a list that came in parts: how many, and why rows are missing if they are.
    """

    ref: str
    connection_id: str
    tool: str
    arguments_json: str
    result_json: str
    ok: bool = True
    note: str = ""

    @property
    def result(self) -> Json:
        return loads(self.result_json)

    def as_json(self) -> Json:
        """As a model sees it: of a long list only the beginning, and what was left out."""
        seen, cut = beginning(self.result)
        said: dict[str, Json] = {"note": " ".join(filter(None, (self.note, cut)))} if self.note or cut else {}
        return {"ref": self.ref, "tool": self.tool, "arguments": loads(self.arguments_json), "result": seen, **said}


class Operand(Contract):
    """Where one figure of a computation comes from."""

    source: Literal["result", "task", "value"]
    ref: str = ""
    path: str = ""
    literal: str = ""

    def as_json(self) -> Json:
        return {"source": self.source, "ref": self.ref, "path": self.path, "literal": self.literal}


class NamedValue(Contract):
    """A figure with its operation, operands and value (a decimal text).

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

    def as_json(self) -> Json:
        operands: list[Json] = [operand.as_json() for operand in self.operands]
        made: JsonObject = {"made_by": self.made_by.model_dump(mode="json", exclude={"v"})} if self.made_by else {}
        return {"name": self.name, "operation": self.operation, "operands": operands, "value": self.value, **made}


class PlannedRead(Contract):
    """A read that a plan of reads names. An argument may be ``{"$ref": "s1.field"}``, from a read before it."""

    id: str
    need: str
    tool: str
    arguments_json: str

    @property
    def arguments(self) -> JsonObject:
        return loads_object(self.arguments_json)


class WantedWrite(Contract):
    """A write that an orchestrator asked for; it becomes a call of the plan. ``use_id``: what it called it by."""

    call_id: str
    use_id: str
    connection: str
    tool: str
    arguments_json: str
    read_back_json: str = ""  # how it wants the write proved, if it said so


class Conversation(Contract):
    """What was said with an orchestrator that remembers it; ``said_json`` is its whole course."""

    id: str
    said_json: str = "[]"
    wanted: tuple[WantedWrite, ...] = ()
    values: tuple[NamedValue, ...] = ()  # what it had calculated
    last: str = ""  # its last text
    planned: bool = False  # whether a plan was made of its wishes


class Dossier(Contract):
    """``approved_hash`` is the plan's hash that a person, or the gate's automatic pass, let through."""

    needs: tuple[str, ...] = ()
    answer_format: Literal["prose", "list"] = "prose"
    reads: tuple[PlannedRead, ...] = ()  # what is still to be read, where the strategy plans its reads
    look_again: bool = False  # whether more may have to be read than these
    unmet: tuple[str, ...] = ()  # needs that no read could meet, each with the reason
    facts: tuple[Fact, ...] = ()
    findings: str = ""
    findings_about: str = ""  # the digest of the facts that they were drawn from; fsm draws none
    values: tuple[NamedValue, ...] = ()
    made: tuple[MadeTool, ...] = ()  # the made tools that values were worked out with: the code that ran
    audit_clean: bool | None = None
    audit_issues: tuple[str, ...] = ()  # what the model's audit objected to, while that is being mended
    plan: WritePlan | None = None
    verdict: Verdict | None = None
    approved_hash: str | None = None
    approval_note: str | None = None
    by_person: bool = False  # whether a person let the plan through
    approved_level: str | None = None  # the level at which a person did
    answer: str | None = None

    @property
    def facts_digest(self) -> str:
        """A name for the facts as they are known now."""
        return digest([[fact.ref, fact.result_json] for fact in self.facts])

    @property
    def thought(self) -> str:
        """The findings of a strategy that draws conclusions, as long as they are about the facts known now."""
        return self.findings if self.findings_about and self.findings_about == self.facts_digest else ""


class Progress(Contract):
    """A checkpoint: where the run stands and what it knows. ``visited``: the states walked, the present one last."""

    template: Template = GENERAL
    path: tuple[FsmState, ...]
    visited: tuple[FsmState, ...]
    strategy: Strategy = Strategy.FSM  # the bandit's choice
    strategy_why: str = ""
    orchestrators: tuple[Orchestrating, ...] = (Orchestrating.LOCAL,)  # that may carry the run, the present one first
    passed_over: dict[str, str] = {}  # those that were not available, and why
    conversation: Conversation | None = None
    fell_back: str = ""  # why that strategy could not be applied, and fsm carries the run instead
    bandit_json: str = "{}"  # the arms as they stood when the strategy was chosen
    read_only: bool = False
    policy_versions: tuple[str, ...] = ()
    tenant_version: str = ""  # of the tenant's record, whose policies hold for this task to its end
    dossier: Dossier = Dossier()
    tool_calls: int = 0
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

    def moved(self, state: FsmState) -> "Progress":
        return self.model_copy(update={"visited": (*self.visited, state)})

    def learned(self, **known: object) -> "Progress":
        """The same progress with new entries in its dossier."""
        return self.model_copy(update={"dossier": self.dossier.model_copy(update=known)})
