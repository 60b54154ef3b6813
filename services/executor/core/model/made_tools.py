"""Finds, makes and runs made tools. Each result is a journal step, the same in a resumed turn and a replay."""

from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from typing import Literal, TypeVar

from pydantic import BaseModel, JsonValue

from services.executor.core.figures.calculator import (
    MadeToolNotRun,
    MadeToolOutcome,
    MadeToolResults,
    MadeToolRun,
    has_few_digits,
    parse_made_tool_outcome,
)
from services.executor.core.figures.identifiers import find_case_specific_words
from services.executor.core.figures.operations import CALCULATORS_DESCRIPTION, OPERATIONS
from services.executor.core.model.made_code import (
    CalculatorSpec,
    NoToolMade,
    check_and_normalize_code,
    check_spec,
    find_calculators_in_text,
    hash_program,
    render_program,
)
from services.executor.core.model.model_calls import (
    HelperUnavailable,
    Shape,
    UnusableAnswer,
    ask_if_possible,
    build_helper_request,
    parse_reply,
)
from services.executor.core.session.context import TurnContext, run_pair_in_parallel
from services.executor.core.session.dossier import Progress
from services.executor.core.states.prompts import MADE_CASES_SCHEMA, MADE_FUNCTION_SCHEMA, TOOL_GAP_SCHEMA
from services.executor.ports.services import CodeFailed, NoSandbox, Sandbox, SandboxUnavailable
from shared.contracts.base import Contract
from shared.contracts.made_tool import MadeCase, MadeTool
from shared.domain.exact_json import Json, digest, dumps, loads_object
from shared.domain.protected_values import find_protected_values
from shared.ports.models import ModelRequest, Tier
from shared.ports.store import StoreUnavailable

T = TypeVar("T")


async def compute_with_made_tools(ctx: TurnContext, key: str, runs: MadeToolResults, compute: Callable[[], T]) -> T:
    """The result of ``compute``, called again after each made tool that it lacked has run (into ``runs``)."""
    while True:
        try:
            return compute()
        except MadeToolNotRun as missing:
            runs.add_outcome(missing.run, await _run_journaled(ctx, key, missing.run))


async def run_in_sandbox(sandbox: Sandbox, call: MadeToolRun) -> MadeToolOutcome:
    """Runs one call in a fresh sandbox. If the code fails, the outcome says why. Raises ``SandboxUnavailable``."""
    text = render_program(call.tool.code, call.tool.name, call.tool.arguments)
    try:
        return parse_made_tool_outcome(await sandbox.run(text, call.figures))
    except CodeFailed as error:
        return MadeToolOutcome(error=str(error))


async def _run_journaled(ctx: TurnContext, key: str, call: MadeToolRun) -> MadeToolOutcome:
    figures: list[Json] = list(call.figures)
    question_digest = digest([call.tool.name, call.tool.code_sha256, figures])[:32]

    async def run() -> str:
        try:
            outcome = await run_in_sandbox(ctx.ports.sandbox, call)
        except SandboxUnavailable as error:
            outcome = MadeToolOutcome(error=f"the sandbox cannot be had: {error}")
        return dumps(
            {"tool": call.tool.ref.model_dump(mode="json", exclude={"v"}), "figures": figures, **outcome._asdict()}
        )

    stored = loads_object(await ctx.journal.run_local_step(f"{key}:made:{question_digest}", run, question_digest))
    return MadeToolOutcome(str(stored["value"]), str(stored["error"]))


_SHORTEST_TASK = 100  # characters of a task that a model is asked about
_LOCAL_NAMES = frozenset({*OPERATIONS, "calculate", "look"})


class _CalculatorNotMade(Contract):
    """A missing calculator that was not made, and why."""

    name: str
    why: str


class _FoundTools(Contract):
    """The made tools found and made for a task, with their code, as the journal step stores them."""

    tools: tuple[MadeTool, ...] = ()
    fresh: tuple[str, ...] = ()  # the names of those that were made now
    gaps: tuple[_CalculatorNotMade, ...] = ()
    model_calls: int = 0


async def add_made_tools(ctx: TurnContext, progress: Progress, key: str) -> tuple[Progress, MadeToolResults]:
    """The progress with a note on the made tools that the task needs, and these tools: stored before, or made now."""

    async def find() -> str:
        if isinstance(ctx.ports.sandbox, NoSandbox):  # no model is asked for a program that nothing here could run
            return _FoundTools().model_dump_json()
        return (await _ToolMaker(ctx, key).find_or_make_tools()).model_dump_json()

    choice = _FoundTools.model_validate_json(await ctx.journal.run_local_step(key, find))
    note = _describe_found_tools(choice)
    if note:
        ctx.journal.add_event("note", made_tools=note)
        progress = progress.add_notes(made_tools=note)
    counted = progress.model_copy(update={"model_calls": progress.model_calls + choice.model_calls})
    return counted, MadeToolResults(choice.tools)


class _ToolMaker:
    """Finds or makes the made tools of one task. A failure becomes a note and raises nothing."""

    def __init__(self, ctx: TurnContext, key: str) -> None:
        self._ctx, self._key = ctx, key
        self._calls = 0
        self._gaps: list[_CalculatorNotMade] = []

    async def find_or_make_tools(self) -> _FoundTools:
        """The made tools that the task needs: stored ones and new ones, and a note on each that could not be made."""
        stored = await self._read_stored_tools()
        usable = sorted((tool for tool in stored if tool.removed_at is None), key=lambda tool: tool.version)
        newest = {tool.name: tool for tool in usable}
        server_tools = self._ctx.toolbox.tools
        used_names = _LOCAL_NAMES.union(server_tools, (tool.name for tool in server_tools.values()))
        tools, made_now = list[MadeTool](), list[str]()
        for number, spec in enumerate(await self._find_missing_calculators(newest)):
            existing = newest.get(spec.name)
            try:
                check_spec(spec)
                if spec.name in used_names:
                    raise NoToolMade("there is a tool of that name, and none is ever put in its place")
                if existing is not None and spec.is_met_by(existing):
                    tools.append(existing)
                    continue
                tools.append(await self._make_tool(f"{self._key}:{number}", spec, stored))
                made_now.append(spec.name)
            except NoToolMade as error:
                self._gaps.append(_CalculatorNotMade(name=spec.name, why=str(error)))
        return _FoundTools(tools=tuple(tools), fresh=tuple(made_now), gaps=tuple(self._gaps), model_calls=self._calls)

    async def _read_stored_tools(self) -> tuple[MadeTool, ...]:
        try:
            return await self._ctx.ports.made_tools.list_versions(self._ctx.record.tenant)
        except StoreUnavailable as error:
            self._ctx.journal.add_event("note", problem=f"the tools made before are not known: {error}")
            return ()

    async def _find_missing_calculators(self, newest: dict[str, MadeTool]) -> tuple[CalculatorSpec, ...]:
        """The calculators that the task lacks, by its words; if those name none and the task has at least 100
        characters, by what a model says. ``newest``: the stored tools by name, which the model is told.
        """
        specs = find_calculators_in_text(self._ctx.task)
        if specs or len(self._ctx.task) < _SHORTEST_TASK:
            return specs
        self._calls += 1
        descriptions: list[Json] = [
            {"name": tool.name, "arguments": list[Json](tool.arguments), "definition": tool.purpose}
            for tool in newest.values()
        ]
        try:
            return await ask_model_for_missing_calculators(self._ctx, f"{self._key}:gap", descriptions)
        except NoToolMade as error:
            self._gaps.append(
                _CalculatorNotMade(name="?", why=f"whether a calculator is missing is not known: {error}")
            )
            return ()

    async def _make_tool(self, key: str, spec: CalculatorSpec, stored: tuple[MadeTool, ...]) -> MadeTool:
        """Makes a tool and tests it with cases that were asked for separately from the code; raises ``NoToolMade``."""
        self._calls += 2
        code, cases = await run_pair_in_parallel(
            ask_for_code(self._ctx, f"{key}:function", spec), ask_for_test_cases(self._ctx, f"{key}:cases", spec)
        )
        tool = MadeTool(
            name=spec.name,
            purpose=spec.purpose,
            arguments=spec.arguments,
            result=spec.result,
            code=code,
            code_sha256=hash_program(code),
            cases=cases,
            made_at=self._ctx.journal.now,
            task_id=self._ctx.record.task_id,
        )
        removed = {(version.name, version.code_sha256) for version in stored if version.removed_at}
        if (tool.name, tool.code_sha256) in removed:
            raise NoToolMade("the same code was removed by an operator")
        for case in cases:
            await self._test_tool(tool, case)
        try:
            return await self._ctx.ports.made_tools.store_version(self._ctx.record.tenant, tool)
        except StoreUnavailable as error:
            raise NoToolMade(f"it could not be kept: {error}") from error

    async def _test_tool(self, tool: MadeTool, case: MadeCase) -> None:
        """Runs a test case twice; both results must be equal and as expected. Raises ``NoToolMade``."""
        try:
            outcomes: list[MadeToolOutcome] = [
                await run_in_sandbox(self._ctx.ports.sandbox, MadeToolRun(tool, case.inputs)) for _ in range(2)
            ]
        except SandboxUnavailable as error:
            raise NoToolMade(f"the sandbox cannot be had: {error}") from error
        outcome, second_outcome = outcomes
        figures = ", ".join(case.inputs)
        if outcome.error or second_outcome.error:
            raise NoToolMade(f"it fails on {figures}: {outcome.error or second_outcome.error}")
        if outcome != second_outcome:
            raise NoToolMade(f"it gives different results for {figures}")
        if not matches_expected(Decimal(outcome.value), Decimal(case.expected)):
            value = outcome.value[:40]
            raise NoToolMade(f"it gives {value} for {figures}, and an independent case says {case.expected}")


def _describe_found_tools(choice: _FoundTools) -> list[JsonValue]:
    descriptions: list[JsonValue] = [
        {**tool.ref.model_dump(mode="json", exclude={"v"}), "made": "now" if tool.name in choice.fresh else "before"}
        for tool in choice.tools
    ]
    gaps: list[JsonValue] = [{"gap": gap.name, "why": gap.why} for gap in choice.gaps]
    return [*descriptions, *gaps]


FEWEST_CASES, MOST_CASES = 3, 8
_FEWEST_DECIMAL_PLACES, _FEWEST_DIGITS = 2, 4


def require_useful_cases(cases: Sequence[MadeCase], spec: CalculatorSpec) -> tuple[MadeCase, ...]:
    """The test cases; raises ``NoToolMade`` unless they are three to eight that differ, fit and can prove something."""
    if not FEWEST_CASES <= len(cases) <= MOST_CASES:
        raise NoToolMade(f"{FEWEST_CASES} to {MOST_CASES} cases are needed, and there are {len(cases)}")
    least_inputs, may_take_more = len(spec.arguments), spec.arguments[-1].endswith("...")
    for case in cases:
        if len(case.inputs) < least_inputs or (len(case.inputs) > least_inputs and not may_take_more):
            arguments = ", ".join(spec.arguments)
            raise NoToolMade(f"a case has {len(case.inputs)} figures, and {spec.name} takes {arguments}")
        for text in (*case.inputs, case.expected):
            parse_decimal(text)
    if len({tuple(map(parse_decimal, case.inputs)) for case in cases}) < len(cases):
        raise NoToolMade("a case stands there twice")
    if len({parse_decimal(case.expected) for case in cases}) < 2:
        raise NoToolMade("all cases come to the same, which any constant would")
    return tuple(cases)


def matches_expected(result: Decimal, expected: Decimal) -> bool:
    """Whether the result equals the expected one, or rounds (half up) to it; the latter only if the expected one has at
    least two decimal places and four digits: 33.333 matches 33.33, and not 33.3.
    """
    if result == expected:
        return True
    _, digits, exponent = expected.as_tuple()
    if not isinstance(exponent, int) or -exponent < _FEWEST_DECIMAL_PLACES or len(digits) < _FEWEST_DIGITS:
        return False
    with localcontext() as context:
        context.prec = 60
        return result.quantize(expected, rounding=ROUND_HALF_UP) == expected


def parse_decimal(text: str) -> Decimal:
    """Parses a plain decimal of up to 24 digits; raises ``NoToolMade``."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise NoToolMade(f"{text[:40]!r} is no decimal") from None
    if not has_few_digits(number):
        raise NoToolMade(f"{text[:40]!r} is too long for a figure")
    return number


_SECONDS_FOR_GAPS, _SECONDS_FOR_ANSWER = 8.0, 10.0
_MOST_TOOLS_FOR_A_TASK = 2
_LONGEST_HARMLESS_DETAIL = 2  # characters; a number such as 12 may stand in any definition


class _MissingCalculator(BaseModel):
    name: str
    purpose: str
    arguments: tuple[str, ...]
    result: Literal["money", "ratio"]


class _MissingCalculators(BaseModel):
    gaps: tuple[_MissingCalculator, ...]


class _FunctionAnswer(BaseModel):
    code: str
    cannot: str = ""


class _CasesAnswer(BaseModel):
    cases: tuple[MadeCase, ...]
    cannot: str = ""


async def ask_model_for_missing_calculators(
    ctx: TurnContext, key: str, stored_tools: list[Json]
) -> tuple[CalculatorSpec, ...]:
    """The calculators that the task lacks, by what a model says; at most two. Raises ``NoToolMade``.

    The model is shown the built-in ones, and ``stored_tools``, the tenant's made tools as ``{name, arguments,
    definition}``.
    """
    sections: dict[str, Json] = {"task": ctx.task, "calculators": CALCULATORS_DESCRIPTION, "made_tools": stored_tools}
    request = build_helper_request(ctx, ctx.prompts.tool_gap, sections, 600, schema=TOOL_GAP_SCHEMA)
    answer = await _ask_model(ctx, key, request, _SECONDS_FOR_GAPS, _MissingCalculators)
    return tuple(_build_general_spec(gap, ctx.task) for gap in answer.gaps[:_MOST_TOOLS_FOR_A_TASK])


async def ask_for_code(ctx: TurnContext, key: str, spec: CalculatorSpec) -> str:
    """Asks a model for the function's code, and checks it; raises ``NoToolMade``."""
    sections: dict[str, Json] = {"tool_spec": spec.as_json()}
    request = build_helper_request(
        ctx, ctx.prompts.make_tool, sections, 1_200, tier=Tier.LARGE, schema=MADE_FUNCTION_SCHEMA
    )
    answer = await _ask_model(ctx, key, request, _SECONDS_FOR_ANSWER, _FunctionAnswer)
    if answer.cannot or not answer.code.strip():
        raise NoToolMade(f"no function was written: {answer.cannot[:200] or 'the answer is empty'}")
    return check_and_normalize_code(answer.code, spec)


async def ask_for_test_cases(ctx: TurnContext, key: str, spec: CalculatorSpec) -> tuple[MadeCase, ...]:
    """Asks a model that has not seen the code for test cases; raises ``NoToolMade``."""
    sections: dict[str, Json] = {"tool_spec": spec.as_json()}
    request = build_helper_request(ctx, ctx.prompts.tool_cases, sections, 1_200, schema=MADE_CASES_SCHEMA)
    answer = await _ask_model(ctx, key, request, _SECONDS_FOR_ANSWER, _CasesAnswer)
    if answer.cannot:
        raise NoToolMade(f"no cases were given to judge it by: {answer.cannot[:200]}")
    return require_useful_cases(answer.cases, spec)


def _build_general_spec(gap: _MissingCalculator, task: str) -> CalculatorSpec:
    """The specification that the model describes. Later tasks are shown it, so this raises ``NoToolMade`` for a
    protected value, and for a figure or identifier of this task that is longer than two characters.
    """
    purpose = " ".join(gap.purpose.split())
    names = " ".join((gap.name, *gap.arguments))
    details_of_task = find_case_specific_words(task) & find_case_specific_words(f"{purpose} {names}")
    if find_protected_values(purpose) or any(len(detail) > _LONGEST_HARMLESS_DETAIL for detail in details_of_task):
        raise NoToolMade(f"the purpose of {gap.name[:40]} speaks of the one task that it was found in")
    return check_spec(CalculatorSpec(gap.name, purpose, gap.arguments, gap.result, by_words=False))


async def _ask_model(ctx: TurnContext, key: str, request: ModelRequest, seconds: float, shape: type[Shape]) -> Shape:
    """The model's answer; raises ``NoToolMade`` if it is late, down, not affordable or unusable."""
    try:
        return parse_reply(await ask_if_possible(ctx, key, request, seconds=seconds), shape)
    except UnusableAnswer as error:
        raise NoToolMade(f"the model's answer cannot be used: {error}") from error
    except HelperUnavailable as error:
        raise NoToolMade(str(error)) from error
