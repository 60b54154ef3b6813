"""Formulas of plain arithmetic: read, written as a function, and worked out."""

import ast
import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal

_FORMULA = re.compile(r"[:=]\s*(?P<terms>[^:=]+?)\s*\.?$")
_CONTEXT = Context(prec=60)
_OPERATORS: Mapping[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
}


class NoFormula(ValueError):
    """There is none that is plain arithmetic over the names."""


def formula(text: str, names: Sequence[str]) -> ast.expr:
    """What stands after the last colon or equals sign of a text; raises ``NoFormula`` if it is more than arithmetic."""
    found = _FORMULA.search(text)
    if found is None:
        raise NoFormula(text)
    try:
        terms = ast.parse(found["terms"].replace("^", "**"), mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise NoFormula(text) from error
    used = {node.id for node in ast.walk(terms) if isinstance(node, ast.Name)}
    if used != set(names) or not all(map(_is_arithmetic, ast.walk(terms))):
        raise NoFormula(text)
    return terms


def as_function(name: str, names: Sequence[str], terms: ast.expr) -> str:
    """The formula as Python over decimals."""
    return f"def {name}({', '.join(names)}):\n    return {_written(terms)}"


def worked_out(terms: ast.expr, given: Mapping[str, Decimal]) -> Decimal:
    """The formula's value to 60 digits; raises ``ArithmeticError`` where it has none."""
    match terms:
        case ast.Name(id=name):
            return given[name]
        case ast.Constant(value=value):
            return Decimal(str(value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -worked_out(operand, given)
        case ast.UnaryOp(operand=operand):
            return worked_out(operand, given)
        case ast.BinOp(left=left, op=sign, right=right):
            return _applied(sign, worked_out(left, given), worked_out(right, given))
        case _:
            raise NoFormula(ast.dump(terms))


def _is_arithmetic(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float) and not isinstance(value, bool)
        case ast.BinOp(op=sign):
            return type(sign) in _OPERATORS
        case ast.Name() | ast.UnaryOp() | ast.USub() | ast.UAdd() | ast.operator() | ast.Load():
            return True
        case _:
            return False


def _applied(sign: ast.operator, one: Decimal, other: Decimal) -> Decimal:
    match sign:
        case ast.Add():
            return _CONTEXT.add(one, other)
        case ast.Sub():
            return _CONTEXT.subtract(one, other)
        case ast.Mult():
            return _CONTEXT.multiply(one, other)
        case ast.Div():
            return _CONTEXT.divide(one, other)
        case _:
            return _CONTEXT.power(one, other)


def _written(terms: ast.expr) -> str:
    match terms:
        case ast.Constant(value=value):
            return str(value) if isinstance(value, int) else f'Decimal("{Decimal(str(value)):f}")'
        case ast.Name(id=name):
            return name
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return f"(-{_written(operand)})"
        case ast.UnaryOp(operand=operand):
            return _written(operand)
        case ast.BinOp(left=left, op=sign, right=right):
            return f"({_written(left)} {_OPERATORS[type(sign)]} {_written(right)})"
        case _:
            raise NoFormula(ast.dump(terms))
