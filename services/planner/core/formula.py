"""Arithmetic formulas: parsed, written as a Python function, and evaluated."""

import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import TypeAlias

_FORMULA_PATTERN = re.compile(r"[:=]\s*(?P<terms>[^:=]+?)\s*\.?$")
_PART_PATTERN = re.compile(r"\s*(\d+(?:\.\d+)?(?![\w.])|[A-Za-z_]\w*|\*\*|[-+*/()])")
_CONTEXT = Context(prec=60)
_STRENGTHS = {"+": 1, "-": 1, "*": 2, "/": 2, "**": 4}  # how strongly a sign binds; one before a term: 3
_OF_SIGNED, _DEEPEST = 3, 50

Terms: TypeAlias = Decimal | str | tuple["Terms", str, "Terms"]  # a name is a text; a negated term is 0 minus the term


class NoFormula(ValueError):
    """The text holds no formula of plain arithmetic over the given names."""


def parse_formula(text: str, names: Sequence[str]) -> Terms:
    """Parses what stands after the last colon or equals sign of a text; raises ``NoFormula`` if it is more than
    arithmetic.
    """
    match = _FORMULA_PATTERN.search(text)
    source = match["terms"].strip().replace("^", "**") if match else ""
    parts = _PART_PATTERN.findall(source)
    is_plain = re.fullmatch(f"(?:{_PART_PATTERN.pattern})+", source) is not None
    if not is_plain or {part for part in parts if part[0].isalpha() or part[0] == "_"} != set(names):
        raise NoFormula(text)
    left = parts[::-1]
    terms = _read_terms(left, 0, 0)
    if left:
        raise NoFormula(text)
    return terms


def _read_terms(parts: list[str], least: int, depth: int) -> Terms:
    """Takes terms from the end of the list, joined by signs that bind at least so strongly.

    Raises ``NoFormula`` if a term is missing, or they are nested too deeply.
    """
    part = parts.pop() if parts else ""
    if not part or depth > _DEEPEST:
        raise NoFormula(part)
    terms: Terms = Decimal(part) if part[0].isdigit() else part
    if part in ("-", "+"):
        terms = _read_terms(parts, _OF_SIGNED, depth + 1)
        terms = (Decimal(0), "-", terms) if part == "-" else terms
    elif part == "(":
        terms = _read_terms(parts, 0, depth + 1)
        if not parts or parts.pop() != ")":
            raise NoFormula(part)
    elif part in (*_STRENGTHS, ")"):
        raise NoFormula(part)
    while parts and (strength := _STRENGTHS.get(parts[-1], -1)) >= max(least, 0):
        sign = parts.pop()  # a power takes what stands behind it with its own powers
        terms = terms, sign, _read_terms(parts, _OF_SIGNED if sign == "**" else strength + 1, depth + 1)
    return terms


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
