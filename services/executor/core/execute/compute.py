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


class Computation(BaseModel):
    values: tuple[StatedValue, ...]


class Calculation(BaseModel):
    operation: str
    operands: tuple[Operand, ...]


async def compute(ctx: TurnContext, progress: Progress) -> Progress:
    """The progress with audited values. Two failed audits escalate: no write is built on wrong figures."""
    facts = progress.dossier.facts

    own = figured(progress.template, facts, ctx.task)

    def check(computation: Computation) -> tuple[NamedValue, ...]:
        values = with_figures(computation.values, own)
        problems = audit(values, facts, ctx.task)
        if problems:
            raise UnusableAnswer("the audit found: " + "; ".join(problems))
        return values

    question = Question(
        step=progress.step,
        tier=tier_of(FsmState.COMPUTE, ctx.task),
        system=(ctx.prompts.role, ctx.prompts.compute),
        sections={
            **ctx.sections,
            "process": process_section(ctx, progress, FsmState.COMPUTE),
            "facts": [fact.as_json() for fact in facts],
        },
        schema=schemas.COMPUTATION,
        tools=(CALCULATE, *AGGREGATES),
        dispatch=Calculator(facts, ctx.task),
    )
    done = await checked(ctx, question, Computation, check, giving_up=Escalated)
    counted = progress.model_copy(update={"model_calls": progress.model_calls + done.model_calls})
    return counted.learned(values=done.value, audit_clean=True)


class Calculator:
    """The local tool's dispatch: pure, so it is neither journaled nor counted. Any other tool is refused."""

    def __init__(self, facts: tuple[Fact, ...], task: str) -> None:
        self._facts = facts
        self._task = task

    async def __call__(self, _key: str, use: ToolUse) -> ToolResult:
        if use.name in (tool.name for tool in AGGREGATES):
            return aggregated(use, self._facts)
        if use.name != CALCULATE.name:
            return ToolResult(use.id, f"{use.name!r} was not called: COMPUTE permits no server's tools.", is_error=True)
        try:
            asked = Calculation.model_validate_json(dumps(use.input))
            result = evaluate(asked.operation, asked.operands, {}, self._facts, self._task)
        except (ValidationError, CannotCalculate, NoSuchPath) as error:
            return ToolResult(use.id, str(error), is_error=True)
        return ToolResult(use.id, decimal_text(result))
