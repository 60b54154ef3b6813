"""COMPUTE: named values from facts, with exact local calculators and an audit; no server's tool is reachable here."""

from decimal import Decimal, InvalidOperation

from pydantic import BaseModel, ValidationError, field_validator

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Fact, NamedValue, Operand, Progress
from services.executor.core.endings import Escalated
from services.executor.core.execute.aggregates import AGGREGATES, aggregated
from services.executor.core.execute.compute_audit import audit, evaluate
from services.executor.core.execute.model_calls import UnusableAnswer
from services.executor.core.execute.paths import NoSuchPath
from services.executor.core.execute.process_figures import figured, with_figures
from services.executor.core.execute.process_section import process_section
from services.executor.core.execute.structured import Question, checked
from services.executor.core.finance.calculators import CannotCalculate, decimal_text
from services.executor.core.finance.catalogue import offered
from services.executor.core.fsm.states import tier_of
from services.executor.core.making.made import NOTHING, Made
from services.executor.core.making.make import section, stamped, with_made
from services.executor.core.making.running import Bench, worked_out
from services.executor.core.prompts import schemas
from services.executor.ports.models import ToolDefinition, ToolResult, ToolUse
from shared.domain.exact_json import dumps
from shared.domain.words import FsmState

CALCULATE = ToolDefinition(
    "calculate",
    "Exact decimal arithmetic over facts and figures of the task. quotient and average keep six places, half up; "
    "percentage takes a base and a percent; count counts what a path selects. The rest take their operands in this "
    "order (a list such as values... may be one path) and round once, half up to the currency's minor unit: "
    + offered()
    + ".",
    schemas.CALCULATE,
)


def calculate_tool(made: Made) -> ToolDefinition:
    """The local tool, with the operations that were made for the task beside those that are built in."""
    if not made.tools:
        return CALCULATE
    extra = "; ".join(f"{tool.name}({', '.join(tool.arguments)})" for tool in made.tools.values())
    said = f"{CALCULATE.description} Besides, as <made_tools> describes them: {extra}."
    return ToolDefinition(CALCULATE.name, said, schemas.calculation(*made.tools))


class StatedValue(NamedValue):
    """A named value as the model states it; its value must be a plain decimal."""

    @field_validator("value")
    @classmethod
    def _is_decimal(cls, value: str) -> str:
        try:
            number = Decimal(value)
        except InvalidOperation:
            raise ValueError(f"{value!r} is no decimal number") from None
        return decimal_text(number)

    @field_validator("figure", "about", "group")
    @classmethod
    def _is_no_figure_of_the_process(cls, _stated: str) -> str:
        """What a model states is its own value, whatever it calls it: the executor alone computes the figures."""
        return ""

    @field_validator("made_by", mode="before")
    @classmethod
    def _is_signed_by_nobody_else(cls, _stated: object) -> None:
        """Likewise: which tool worked a value out is for the executor to say."""


class Computation(BaseModel):
    values: tuple[StatedValue, ...]


class Calculation(BaseModel):
    operation: str
    operands: tuple[Operand, ...]


async def compute(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with audited values. Two failed audits escalate: no write is built on wrong figures."""
    facts = progress.dossier.facts
    progress, made = await with_made(ctx, progress)
    own = figured(progress.template, facts, ctx.task)

    def check(computation: Computation) -> tuple[NamedValue, ...]:
        values = with_figures(computation.values, own)
        problems = audit(values, facts, ctx.task, audited)
        if problems:
            raise UnusableAnswer("the audit found: " + "; ".join(problems))
        return values

    async def rerun(key: str, computation: Computation) -> None:
        values = with_figures(computation.values, own)
        await worked_out(ctx, f"{key}:audit", audited, lambda: audit(values, facts, ctx.task, audited))

    audited = made.fresh()

    question = Question(
        step=progress.step,
        tier=tier_of(FsmState.COMPUTE, ctx.task),
        system=(ctx.prompts.role, ctx.prompts.compute),
        sections={
            **ctx.sections,
            "process": process_section(ctx, progress, FsmState.COMPUTE),
            "made_tools": section(made),
            "facts": [fact.as_json() for fact in facts],
        },
        schema=schemas.computation(*made.tools),
        tools=(calculate_tool(made), *AGGREGATES),
        dispatch=Calculator(facts, ctx.task, Bench(ctx, made)),
    )
    done = await checked(ctx, question, Computation, check, giving_up=Escalated, before=rerun)
    counted = progress.model_copy(update={"model_calls": progress.model_calls + done.model_calls})
    values, used = stamped(done.value, made)
    return counted.learned(values=values, made=used, audit_clean=True)


class Calculator:
    """The local tool's dispatch: pure, so it is neither journaled nor counted. Any other tool is refused.

    What a made tool gives is journaled: a sandbox has limits, and a replay must not meet them at another place.
    """

    def __init__(self, facts: tuple[Fact, ...], task: str, bench: Bench | None = None) -> None:
        self._facts = facts
        self._task = task
        self._bench = bench

    async def __call__(self, key: str, use: ToolUse) -> ToolResult:
        if use.name in (tool.name for tool in AGGREGATES):
            return aggregated(use, self._facts)
        if use.name != CALCULATE.name:
            return ToolResult(use.id, f"{use.name!r} was not called: COMPUTE permits no server's tools.", is_error=True)
        try:
            asked = Calculation.model_validate_json(dumps(use.input))
            result = await self._result(key, asked)
        except (ValidationError, CannotCalculate, NoSuchPath) as error:
            return ToolResult(use.id, str(error), is_error=True)
        return ToolResult(use.id, decimal_text(result))

    async def _result(self, key: str, asked: Calculation) -> Decimal:
        def evaluated(made: Made = NOTHING) -> Decimal:
            return evaluate(asked.operation, asked.operands, {}, self._facts, self._task, made)

        return await self._bench.worked_out(key, evaluated) if self._bench else evaluated()
