"""Arithmetic formulas: parsed, written as a Python function, and evaluated."""

import ast
import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import TypeAlias

_FORMULA_PATTERN = re.compile(r"[:=]\s*(?P<terms>[^:=]+?)\s*\.?$")
_FIGURE_PATTERN = re.compile(r"\d+(?:\.\d+)?")
_CONTEXT = Context(prec=60)
_SIGNS: Mapping[type[ast.operator], str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Pow: "**"}

Terms: TypeAlias = Decimal | str | tuple["Terms", str, "Terms"]  # a name is a text; a negated term is 0 minus the term


class NoFormula(ValueError):
    """The text holds no formula of plain arithmetic over the given names."""


def parse_formula(text: str, names: Sequence[str]) -> Terms:
    """Parses what stands after the last colon or equals sign of a text; raises ``NoFormula`` if it is more than
    arithmetic.
    """
    match = _FORMULA_PATTERN.search(text)
    source = " ".join(match["terms"].replace("^", "**").split()) if match else ""
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:  # as it is nested too deeply, for one
        raise NoFormula(text) from error
    if {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} != set(names):
        raise NoFormula(text)
    return _read_terms(tree, source)


def _read_terms(node: ast.expr, source: str) -> Terms:
    """The terms of a part of a formula; raises ``NoFormula`` if it is more than arithmetic."""
    match node:
        case ast.Name(id=name):
            return name
        case ast.Constant() if _FIGURE_PATTERN.fullmatch(figure := ast.get_source_segment(source, node) or ""):
            return Decimal(figure)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            return _read_terms(left, source), _SIGNS[type(sign)], _read_terms(right, source)
        case ast.UnaryOp(op=ast.USub(), operand=negated):
            return Decimal(0), "-", _read_terms(negated, source)
        case ast.UnaryOp(op=ast.UAdd(), operand=term):
            return _read_terms(term, source)
        case _:
            raise NoFormula(source)


def as_function(name: str, names: Sequence[str], terms: Terms) -> str:
    """The formula as source of a Python function over decimals."""
    return f"def {name}({', '.join(names)}):\n    return {_write_terms(terms)}"


def _write_terms(terms: Terms) -> str:
    match terms:
        case str():
            return terms
        case Decimal():
            return f"{terms:f}" if terms == terms.to_integral_value() else f'Decimal("{terms:f}")'
        case (left, sign, right):
            return f"({_write_terms(left)} {sign} {_write_terms(right)})"


def compute_terms(terms: Terms, values: Mapping[str, Decimal]) -> Decimal:
    """The formula's value to 60 digits; raises ``ArithmeticError`` where it has none."""
    match terms:
        case str():
            return values[terms]
        case Decimal():
            return terms
        case (left, sign, right):
            compute = {"+": _CONTEXT.add, "-": _CONTEXT.subtract, "*": _CONTEXT.multiply, "/": _CONTEXT.divide}
            return compute.get(sign, _CONTEXT.power)(compute_terms(left, values), compute_terms(right, values))
