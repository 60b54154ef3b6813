"""Finds, makes and runs made tools. Each result is a journal step, the same in a resumed turn and a replay."""

import ast
import re
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from hashlib import sha256
from typing import Literal, NamedTuple, TypeVar

from pydantic import BaseModel, JsonValue

from services.executor.core.figures.calculator import (
    MadeToolCall,
    MadeToolNotRun,
    MadeToolOutcome,
    MadeToolResults,
    has_few_digits,
    parse_made_tool_outcome,
)
from services.executor.core.figures.identifiers import find_ids_and_figures
from services.executor.core.figures.operations import CALCULATORS_DESCRIPTION, OPERATIONS
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
from shared.contracts.made_tool import MadeTool, MadeToolTestCase
from shared.domain.exact_json import Json, digest, dumps, loads_object
from shared.domain.protected_values import find_protected_values
from shared.ports.models import ModelRequest, Tier
from shared.ports.store import StoreUnavailable

_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{2,39}", re.ASCII)
_MOST_ARGUMENTS = 8
_LONGEST_PURPOSE = 400


class NoToolMade(Exception):
    """No calculator was made; the message says why."""


class MadeToolSpec(NamedTuple):
    """What a missing calculator must compute: ``purpose`` defines it, and the last of ``arguments`` ends in ``...`` if
    it may repeat. ``by_words``: the task's own words define it, so only a tool with the same purpose will do.
    """

    name: str
    purpose: str
    arguments: tuple[str, ...]
    result: Literal["money", "ratio"] = "ratio"
    by_words: bool = True

    def as_json(self) -> Json:
        arguments: list[Json] = list(self.arguments)
        return {"name": self.name, "definition": self.purpose, "arguments": arguments, "result": self.result}

    def is_met_by(self, tool: MadeTool) -> bool:
        is_same_function = (tool.name, tool.arguments, tool.result) == (self.name, self.arguments, self.result)
        return is_same_function and (not self.by_words or tool.purpose == self.purpose)


def check_spec(spec: MadeToolSpec) -> MadeToolSpec:
    """Returns the specification if a calculator can be made from it; raises ``NoToolMade``."""
    names = [argument.removesuffix("...") for argument in spec.arguments]
    repeated = [argument for argument in spec.arguments[:-1] if argument.endswith("...")]
    if not _NAME_PATTERN.fullmatch(spec.name):
        raise NoToolMade(f"{spec.name[:40]!r} is no name for an operation")
    if not names or len(names) > _MOST_ARGUMENTS or len(set(names)) < len(names) or repeated:
        raise NoToolMade(
            f"{spec.name} would take {len(names)} arguments, or one twice: 1 to {_MOST_ARGUMENTS} are meant"
        )
    if any(not re.fullmatch(r"[a-z][a-z0-9_]{0,39}", name, re.ASCII) for name in names) or spec.name in names:
        raise NoToolMade(f"{spec.name} has an argument that has no plain name")
    if not spec.purpose.strip() or len(spec.purpose) > _LONGEST_PURPOSE:
        raise NoToolMade(f"the purpose of {spec.name} takes 1 to {_LONGEST_PURPOSE} characters")
    return spec


_LONGEST_CODE = 4_000  # characters
_NUMBER_PATTERN = re.compile(r"-?\d{1,24}(?:\.\d{1,24})?", re.ASCII)
_ALLOWED_CALLS = frozenset(
    {"Decimal", "abs", "enumerate", "int", "len", "list", "max", "min", "range", "reversed", "sorted", "sum", "zip"}
)
_ALLOWED_METHODS = frozenset({"append", "exp", "ln", "log10", "quantize", "sqrt", "to_integral_value"})
_ALLOWED_NODES: tuple[type[ast.AST], ...] = (
    ast.FunctionDef, ast.arguments, ast.arg, ast.Return, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If,
    ast.Expr, ast.Break, ast.Continue, ast.Pass, ast.BoolOp, ast.BinOp, ast.UnaryOp, ast.IfExp, ast.Compare, ast.Call,
    ast.keyword, ast.Constant, ast.Attribute, ast.Subscript, ast.Slice, ast.Name, ast.List, ast.Tuple, ast.ListComp,
    ast.comprehension, ast.expr_context, ast.boolop, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_FORBIDDEN_NODES = (ast.MatMult, ast.LShift, ast.RShift, ast.BitAnd, ast.BitOr, ast.BitXor, ast.Invert)
# Only whole numbers and decimals exist in a program, and these two are all that could make a float of whole numbers.
PRELUDE = """
from decimal import ROUND_HALF_UP, Decimal, getcontext
getcontext().prec = 50
def _divided(one, other):
    return Decimal(one) / Decimal(other)
def _raised(one, other):
    return Decimal(one) ** Decimal(other)
"""


class BadCode(NoToolMade):
    """The code is not a pure function over decimals."""

    def __init__(self, reason: str) -> None:
        """``reason``: what in the code is not permitted."""
        super().__init__(f"the function is not one that may be run: {reason}")


def check_and_normalize_code(code: str, spec: MadeToolSpec) -> str:
    """Checks the code; returns it as it is stored: without comments, with divisions and powers as calls of ``_divided``
    and ``_raised``. Raises ``BadCode``.
    """
    if len(code) > _LONGEST_CODE:
        raise BadCode(f"it is longer than {_LONGEST_CODE} characters")
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise BadCode(f"it is no Python: {type(error).__name__}") from error
    function = _require_single_function(tree, spec)
    for node in ast.walk(function):
        _refuse_bad_node(node, function)
    exact = ast.fix_missing_locations(_ExactArithmetic().visit(_without_docstring(function)))
    return ast.unparse(exact)


def _hash_program(code: str) -> str:
    """The hash of the whole program: the function and the code that is added around it."""
    return sha256((PRELUDE + code).encode()).hexdigest()


def render_program(code: str, name: str, arguments: tuple[str, ...]) -> str:
    """The complete program. It reads decimal texts from ``_inputs`` and returns a decimal text."""
    is_repeated = arguments[-1].endswith("...")
    fixed_count = len(arguments) - is_repeated
    call_arguments = [
        *(f"_given[{index}]" for index in range(fixed_count)),
        *(["_given[_fixed:]"] if is_repeated else []),
    ]
    return (
        f"{PRELUDE}{code}\n_given = [Decimal(_figure) for _figure in _inputs]\n_fixed = {fixed_count}\n"
        f"_result = {name}({', '.join(call_arguments)})\n"
        "str(Decimal(_result)) if type(_result) in (int, Decimal) else type(_result)"
    )


def _require_single_function(tree: ast.Module, spec: MadeToolSpec) -> ast.FunctionDef:
    match tree.body:
        case [ast.FunctionDef() as function] if function.name == spec.name:
            pass
        case _:
            raise BadCode(f"it is not the one function {spec.name}")
    args = function.args
    is_plain = not (args.posonlyargs or args.kwonlyargs or args.vararg or args.kwarg or args.defaults)
    names = tuple(argument.arg for argument in args.args)
    if not is_plain or names != tuple(argument.removesuffix("...") for argument in spec.arguments):
        raise BadCode(f"it does not take {', '.join(spec.arguments)}")
    inner_nodes = (node for node in ast.walk(function) if node is not function)
    if function.decorator_list or any(isinstance(node, ast.FunctionDef) for node in inner_nodes):
        raise BadCode("it has decorators, or functions within")
    return function


def _without_docstring(function: ast.FunctionDef) -> ast.FunctionDef:
    if ast.get_docstring(function) is not None:
        function.body = function.body[1:] or [ast.Pass()]
    function.returns = None
    for argument in function.args.args:
        argument.annotation = None
    return function


def _refuse_bad_node(node: ast.AST, function: ast.FunctionDef) -> None:
    if not isinstance(node, _ALLOWED_NODES) or isinstance(node, _FORBIDDEN_NODES):
        raise BadCode(f"there is {type(node).__name__} in it")
    match node:
        case ast.Name(id=name) | ast.arg(arg=name) if name.startswith("_"):
            raise BadCode(f"there is the name {name[:40]} in it")
        case ast.Attribute(attr=name) if name not in _ALLOWED_METHODS:
            raise BadCode(f"there is the attribute {name[:40]} in it")
        case ast.Call():
            _refuse_bad_call(node)
        case ast.Name(id=name, ctx=ast.Store()) if name in _ALLOWED_CALLS or name == function.name:
            raise BadCode(f"it calls something else {name}")
        case ast.Constant(value=value):
            _refuse_bad_constant(value, node, function)


def _refuse_bad_call(call: ast.Call) -> None:
    match call.func:
        case ast.Name(id=name) if name in _ALLOWED_CALLS:
            allowed = {"key", "reverse", "start", "rounding"}
        case ast.Attribute():
            allowed = {"rounding"}
        case _:
            raise BadCode("it calls what is no calculator's business")
    if any(keyword.arg not in allowed for keyword in call.keywords):
        raise BadCode("it calls with names that are not meant")


def _refuse_bad_constant(value: object, node: ast.Constant, function: ast.FunctionDef) -> None:
    is_docstring = isinstance(function.body[0], ast.Expr) and function.body[0].value is node
    if isinstance(value, str) and not is_docstring and not _NUMBER_PATTERN.fullmatch(value):
        raise BadCode("there is a text in it that is no number")
    if not isinstance(value, str | int | None):
        raise BadCode(f"there is a {type(value).__name__} in it: figures are Decimal")


class _ExactArithmetic(ast.NodeTransformer):
    """Rewrites division and powers so that whole numbers are computed as decimals."""

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:  # the name that ast asks for
        self.generic_visit(node)
        function = {ast.Div: "_divided", ast.Pow: "_raised"}.get(type(node.op))
        return ast.Call(ast.Name(function, ast.Load()), [node.left, node.right], []) if function else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        function = {ast.Div: "_divided", ast.Pow: "_raised"}.get(type(node.op))
        if function is None:
            return node
        if not isinstance(node.target, ast.Name):
            raise BadCode("it divides what stands in a list in place")
        old_value = ast.Name(node.target.id, ast.Load())
        return ast.Assign([node.target], ast.Call(ast.Name(function, ast.Load()), [old_value, node.value], []))


_ASCII_BY_SIGN = str.maketrans({"×": "*", "·": "*", "÷": "/", "\N{MINUS SIGN}": "-", "–": "-"})
# A hyphen of an identifier (AB-12) is no minus, and a stroke between two words (yes/no) divides nothing.
_FORMULA_PATTERN = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z][A-Za-z0-9_]{2,39})\s*=(?!=)\s*"
    r"(?P<terms>(?:[A-Za-z_]\w*|\d+(?:\.\d+)?|[+*^()]|[ \t]|"
    r"(?:(?<![A-Za-z])-|-(?!\d))|(?:(?<![A-Za-z])/|/(?![A-Za-z])))+)"
)
_WORD_PATTERN = re.compile(r"[A-Za-z_]\w*")
_TOKEN_PATTERN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|\*\*|[-+*/^()]")
_OPERATOR_PATTERN = re.compile(r"[-+*/^]")
_OPERATORS = frozenset({"+", "-", "*", "/", "^", "**"})
_SIGNS_OF_TERM = frozenset({"+", "-"})  # may stand before a term
_MOST_TOOLS = 3  # made for one task by its words
# Measures that people name, each with the words for it and the textbook definition that the name stands for.
_CALCULATOR_PHRASES = r"""
compound_annual_growth(beginning, ending, years), said as \bCAGR\b|\bcompound annual growth\b
    compound annual growth rate in percent (5 means 5 %): ((ending / beginning) ** (1 / years) - 1) * 100
break_even_units(fixed_cost, price, variable_cost), said as \bbreak-?\s?even (?:point|units|quantity|volume)\b
    units to sell until fixed costs are covered: fixed_cost / (price - variable_cost)
payback_period(investment, yearly_flow), said as \bpayback (?:period|time)\b
    years until an investment is paid back: investment / yearly_flow
gross_margin_percent(revenue, cost), said as \bgross margin\b
    gross margin in percent (5 means 5 %): (revenue - cost) / revenue * 100
markup_percent(price, cost), said as \bmark-?up (?:percentage|percent|%|rate)
    markup on cost in percent (5 means 5 %): (price - cost) / cost * 100
inventory_turnover(cost_of_goods_sold, average_inventory), said as \binventory turnover\b|\bstock turns?\b
    how often stock is sold: cost_of_goods_sold / average_inventory
return_on_investment(gain, cost), said as \breturn on investment\b|\bROI\b
    return on investment in percent (5 means 5 %): (gain - cost) / cost * 100
sharpe_ratio(portfolio_return, risk_free_rate, deviation), said as \bsharpe ratio\b
    Sharpe ratio: (portfolio_return - risk_free_rate) / deviation
current_ratio(current_assets, current_liabilities), said as \bcurrent ratio\b
    current ratio: current_assets / current_liabilities
quick_ratio(current_assets, inventory, current_liabilities), said as \bquick ratio\b|\bacid[- ]test\b
    quick ratio: (current_assets - inventory) / current_liabilities
debt_to_equity(total_debt, total_equity), said as \bdebt[- ]to[- ]equity\b
    debt-to-equity ratio: total_debt / total_equity
median(figures...), said as \bmedian\b
    the median: the middle figure, or the mean of the two middle ones
sample_standard_deviation(figures...), said as \bstandard deviation\b
    sample standard deviation: square root of (sum of squared distances from the mean / (number - 1))
geometric_mean(figures...), said as \bgeometric mean\b
    geometric mean: the n-th root of the product of n figures
"""
_CALCULATOR_PHRASE_PATTERN = re.compile(
    r"^(?P<name>\w+)\((?P<arguments>[^)]+)\), said as (?P<words>.+)\n +(?P<purpose>.+)$", re.MULTILINE
)


def find_calculators_in_text(text: str) -> tuple[MadeToolSpec, ...]:
    """Up to three calculators that the text asks for: by formulas (``margin = price - cost``), then by terms (ROI)."""
    specs: dict[str, MadeToolSpec] = {}
    for formula in _FORMULA_PATTERN.finditer(text.translate(_ASCII_BY_SIGN)):
        name = formula["name"].lower()
        terms = _find_longest_expression(_TOKEN_PATTERN.findall(formula["terms"]))
        arguments = tuple(dict.fromkeys(word.lower() for word in _WORD_PATTERN.findall(terms)))
        if arguments and _OPERATOR_PATTERN.search(terms):
            specs.setdefault(name, MadeToolSpec(name, f"{name} = {terms.lower()}", arguments))
    for measure in _CALCULATOR_PHRASE_PATTERN.finditer(_CALCULATOR_PHRASES):
        if re.search(measure["words"], text, re.IGNORECASE):
            arguments = tuple(measure["arguments"].split(", "))
            specs.setdefault(measure["name"], MadeToolSpec(measure["name"], measure["purpose"], arguments))
    return tuple(specs.values())[:_MOST_TOOLS]


def _find_longest_expression(parts: list[str]) -> str:
    """The longest beginning of a formula's parts that is a complete expression, found in one pass; may be empty."""
    complete_length = 0
    depth = 0
    wants_term = True
    for number, part in enumerate(parts, 1):
        if part == ")":
            if wants_term or not depth:
                break
            depth -= 1
        elif part in _OPERATORS:
            if wants_term and part not in _SIGNS_OF_TERM:
                break
            wants_term = True
        elif wants_term:
            depth, wants_term = depth + (part == "("), part == "("
        else:
            break
        if not wants_term and not depth:
            complete_length = number
    return " ".join(parts[:complete_length])


T = TypeVar("T")


async def compute_with_made_tools(ctx: TurnContext, key: str, runs: MadeToolResults, compute: Callable[[], T]) -> T:
    """The result of ``compute``, repeated after each run (into ``runs``) of a made tool whose result it lacks."""
    while True:
        try:
            return compute()
        except MadeToolNotRun as missing:
            runs.add_outcome(missing.call, await _run_made_tool_as_step(ctx, key, missing.call))


async def _run_in_sandbox(sandbox: Sandbox, call: MadeToolCall) -> MadeToolOutcome:
    """Runs one call in a fresh sandbox. If the code fails, the outcome says why. Raises ``SandboxUnavailable``."""
    text = render_program(call.tool.code, call.tool.name, call.tool.arguments)
    try:
        return parse_made_tool_outcome(await sandbox.run(text, call.figures))
    except CodeFailed as error:
        return MadeToolOutcome(error=str(error))


async def _run_made_tool_as_step(ctx: TurnContext, key: str, call: MadeToolCall) -> MadeToolOutcome:
    figures: list[Json] = list(call.figures)
    question_digest = digest([call.tool.name, call.tool.code_sha256, figures])[:32]

    async def run() -> str:
        try:
            outcome = await _run_in_sandbox(ctx.ports.sandbox, call)
        except SandboxUnavailable as error:
            outcome = MadeToolOutcome(error=f"the sandbox cannot be had: {error}")
        return dumps(
            {
                "tool": call.tool.reference.model_dump(mode="json", exclude={"v"}),
                "figures": figures,
                **outcome._asdict(),
            }
        )

    stored = loads_object(await ctx.journal.run_local_step(f"{key}:made:{question_digest}", run, question_digest))
    return MadeToolOutcome(str(stored["value"]), str(stored["error"]))


_SHORTEST_TASK = 100  # characters of a task that a model is asked about
_LOCAL_NAMES = frozenset({*OPERATIONS, "calculate", "look"})


class _CalculatorNotMade(Contract):
    """A missing calculator that was not made, and why."""

    name: str
    why: str


class _MadeToolsStep(Contract):
    """The made tools found and made for a task, with their code, as the journal step stores them."""

    tools: tuple[MadeTool, ...] = ()
    fresh: tuple[str, ...] = ()  # the names of those that were made now
    gaps: tuple[_CalculatorNotMade, ...] = ()
    model_calls: int = 0


async def add_made_tools(ctx: TurnContext, progress: Progress, key: str) -> tuple[Progress, MadeToolResults]:
    """The progress with a note on the made tools that the task needs, and these tools: stored before, or made now."""

    async def find() -> str:
        if isinstance(ctx.ports.sandbox, NoSandbox):  # no model is asked for a program that nothing here could run
            return _MadeToolsStep().model_dump_json()
        return (await _ToolMaker(ctx, key).find_or_make_tools()).model_dump_json()

    choice = _MadeToolsStep.model_validate_json(await ctx.journal.run_local_step(key, find))
    note = _describe_made_tools_step(choice)
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

    async def find_or_make_tools(self) -> _MadeToolsStep:
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
        return _MadeToolsStep(
            tools=tuple(tools), fresh=tuple(made_now), gaps=tuple(self._gaps), model_calls=self._calls
        )

    async def _read_stored_tools(self) -> tuple[MadeTool, ...]:
        try:
            return await self._ctx.ports.made_tools.list_versions(self._ctx.record.tenant)
        except StoreUnavailable as error:
            self._ctx.journal.add_event("note", problem=f"the tools made before are not known: {error}")
            return ()

    async def _find_missing_calculators(self, newest: dict[str, MadeTool]) -> tuple[MadeToolSpec, ...]:
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
            return await _ask_model_for_missing_calculators(self._ctx, f"{self._key}:gap", descriptions)
        except NoToolMade as error:
            self._gaps.append(
                _CalculatorNotMade(name="?", why=f"whether a calculator is missing is not known: {error}")
            )
            return ()

    async def _make_tool(self, key: str, spec: MadeToolSpec, stored: tuple[MadeTool, ...]) -> MadeTool:
        """Makes a tool and tests it with cases that were asked for separately from the code; raises ``NoToolMade``."""
        self._calls += 2
        code, cases = await run_pair_in_parallel(
            _ask_for_code(self._ctx, f"{key}:function", spec), _ask_for_test_cases(self._ctx, f"{key}:cases", spec)
        )
        tool = MadeTool(
            name=spec.name,
            purpose=spec.purpose,
            arguments=spec.arguments,
            result=spec.result,
            code=code,
            code_sha256=_hash_program(code),
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

    async def _test_tool(self, tool: MadeTool, case: MadeToolTestCase) -> None:
        """Runs a test case twice; both results must be equal and as expected. Raises ``NoToolMade``."""
        try:
            outcomes: list[MadeToolOutcome] = [
                await _run_in_sandbox(self._ctx.ports.sandbox, MadeToolCall(tool, case.inputs)) for _ in range(2)
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


def _describe_made_tools_step(choice: _MadeToolsStep) -> list[JsonValue]:
    descriptions: list[JsonValue] = [
        {
            **tool.reference.model_dump(mode="json", exclude={"v"}),
            "made": "now" if tool.name in choice.fresh else "before",
        }
        for tool in choice.tools
    ]
    gaps: list[JsonValue] = [{"gap": gap.name, "why": gap.why} for gap in choice.gaps]
    return [*descriptions, *gaps]


FEWEST_CASES, MOST_CASES = 3, 8
_FEWEST_DECIMAL_PLACES, _FEWEST_DIGITS = 2, 4


def _require_useful_cases(cases: Sequence[MadeToolTestCase], spec: MadeToolSpec) -> tuple[MadeToolTestCase, ...]:
    """The test cases; raises ``NoToolMade`` unless they are three to eight that differ, fit and can prove something."""
    if not FEWEST_CASES <= len(cases) <= MOST_CASES:
        raise NoToolMade(f"{FEWEST_CASES} to {MOST_CASES} cases are needed, and there are {len(cases)}")
    least_inputs, may_take_more = len(spec.arguments), spec.arguments[-1].endswith("...")
    for case in cases:
        if len(case.inputs) < least_inputs or (len(case.inputs) > least_inputs and not may_take_more):
            arguments = ", ".join(spec.arguments)
            raise NoToolMade(f"a case has {len(case.inputs)} figures, and {spec.name} takes {arguments}")
        for text in (*case.inputs, case.expected):
            _parse_decimal(text)
    if len({tuple(map(_parse_decimal, case.inputs)) for case in cases}) < len(cases):
        raise NoToolMade("a case stands there twice")
    if len({_parse_decimal(case.expected) for case in cases}) < 2:
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


def _parse_decimal(text: str) -> Decimal:
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
    cases: tuple[MadeToolTestCase, ...]
    cannot: str = ""


async def _ask_model_for_missing_calculators(
    ctx: TurnContext, key: str, stored_tools: list[Json]
) -> tuple[MadeToolSpec, ...]:
    """The calculators that the task lacks, by what a model says; at most two. Raises ``NoToolMade``.

    The model is shown the built-in ones, and ``stored_tools``, the tenant's made tools as ``{name, arguments,
    definition}``.
    """
    sections: dict[str, Json] = {"task": ctx.task, "calculators": CALCULATORS_DESCRIPTION, "made_tools": stored_tools}
    request = build_helper_request(ctx, ctx.prompts.tool_gap, sections, 600, schema=TOOL_GAP_SCHEMA)
    answer = await _ask_model(ctx, key, request, _SECONDS_FOR_GAPS, _MissingCalculators)
    return tuple(_build_general_spec(gap, ctx.task) for gap in answer.gaps[:_MOST_TOOLS_FOR_A_TASK])


async def _ask_for_code(ctx: TurnContext, key: str, spec: MadeToolSpec) -> str:
    """Asks a model for the function's code, and checks it; raises ``NoToolMade``."""
    sections: dict[str, Json] = {"tool_spec": spec.as_json()}
    request = build_helper_request(
        ctx, ctx.prompts.make_tool, sections, 1_200, tier=Tier.LARGE, schema=MADE_FUNCTION_SCHEMA
    )
    answer = await _ask_model(ctx, key, request, _SECONDS_FOR_ANSWER, _FunctionAnswer)
    if answer.cannot or not answer.code.strip():
        raise NoToolMade(f"no function was written: {answer.cannot[:200] or 'the answer is empty'}")
    return check_and_normalize_code(answer.code, spec)


async def _ask_for_test_cases(ctx: TurnContext, key: str, spec: MadeToolSpec) -> tuple[MadeToolTestCase, ...]:
    """Asks a model that has not seen the code for test cases; raises ``NoToolMade``."""
    sections: dict[str, Json] = {"tool_spec": spec.as_json()}
    request = build_helper_request(ctx, ctx.prompts.tool_cases, sections, 1_200, schema=MADE_CASES_SCHEMA)
    answer = await _ask_model(ctx, key, request, _SECONDS_FOR_ANSWER, _CasesAnswer)
    if answer.cannot:
        raise NoToolMade(f"no cases were given to judge it by: {answer.cannot[:200]}")
    return _require_useful_cases(answer.cases, spec)


def _build_general_spec(gap: _MissingCalculator, task: str) -> MadeToolSpec:
    """The specification that the model describes.

    Later tasks are shown it, so this raises ``NoToolMade`` for a protected value, and for a figure or identifier of
    this task that is longer than two characters.
    """
    purpose = " ".join(gap.purpose.split())
    names = " ".join((gap.name, *gap.arguments))
    details_of_task = find_ids_and_figures(task) & find_ids_and_figures(f"{purpose} {names}")
    if find_protected_values(purpose) or any(len(detail) > _LONGEST_HARMLESS_DETAIL for detail in details_of_task):
        raise NoToolMade(f"the purpose of {gap.name[:40]} speaks of the one task that it was found in")
    return check_spec(MadeToolSpec(gap.name, purpose, gap.arguments, gap.result, by_words=False))


async def _ask_model(ctx: TurnContext, key: str, request: ModelRequest, seconds: float, shape: type[Shape]) -> Shape:
    """The model's answer; raises ``NoToolMade`` if it is late, down, not affordable or unusable."""
    try:
        return parse_reply(await ask_if_possible(ctx, key, request, seconds=seconds), shape)
    except UnusableAnswer as error:
        raise NoToolMade(f"the model's answer cannot be used: {error}") from error
    except HelperUnavailable as error:
        raise NoToolMade(str(error)) from error
