"""Specifications of missing calculators, and the checks that code written for them must pass."""

import ast
import re
from hashlib import sha256
from typing import Literal, NamedTuple

from shared.contracts.made_tool import MadeTool
from shared.domain.exact_json import Json

_NAME_PATTERN = re.compile(r"[a-z][a-z0-9_]{2,39}", re.ASCII)
_MOST_ARGUMENTS = 8
_LONGEST_PURPOSE = 400


class NoToolMade(Exception):
    """No calculator was made; the message says why."""


class CalculatorSpec(NamedTuple):
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


def check_spec(spec: CalculatorSpec) -> CalculatorSpec:
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


def check_and_normalize_code(code: str, spec: CalculatorSpec) -> str:
    """Checks the code; returns it normalised, without comments, as it is stored. Raises ``BadCode``."""
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


def hash_program(code: str) -> str:
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


def _require_single_function(tree: ast.Module, spec: CalculatorSpec) -> ast.FunctionDef:
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


def find_calculators_in_text(text: str) -> tuple[CalculatorSpec, ...]:
    """Up to three calculators that the text asks for: by formulas (``margin = price - cost``), then by measures."""
    specs: dict[str, CalculatorSpec] = {}
    for formula in _FORMULA_PATTERN.finditer(text.translate(_ASCII_BY_SIGN)):
        name, terms = formula["name"].lower(), _find_longest_expression(_TOKEN_PATTERN.findall(formula["terms"]))
        arguments = tuple(dict.fromkeys(word.lower() for word in _WORD_PATTERN.findall(terms)))
        if arguments and _OPERATOR_PATTERN.search(terms):
            specs.setdefault(name, CalculatorSpec(name, f"{name} = {terms.lower()}", arguments))
    for measure in _CALCULATOR_PHRASE_PATTERN.finditer(_CALCULATOR_PHRASES):
        if re.search(measure["words"], text, re.IGNORECASE):
            arguments = tuple(measure["arguments"].split(", "))
            specs.setdefault(measure["name"], CalculatorSpec(measure["name"], measure["purpose"], arguments))
    return tuple(specs.values())[:_MOST_TOOLS]


def _find_longest_expression(parts: list[str]) -> str:
    """The longest beginning of a formula's parts that is a complete expression, found in one pass; may be empty."""
    complete_length, depth, wants_term = 0, 0, True
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
