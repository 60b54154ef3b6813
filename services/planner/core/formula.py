"""Arithmetic formulas: parsed, written as a Python function, and evaluated."""

import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import NamedTuple, TypeAlias

_FORMULA_PATTERN = re.compile(r"[:=]\s*(?P<terms>[^:=]+?)\s*\.?$")
_PART_PATTERN = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[-+*/^()]))")
_STRONGER = (("+", "-"), ("*", "/"))
_CONTEXT = Context(prec=60)
_DEEPEST = 50


class NoFormula(ValueError):
    """The text holds no formula of plain arithmetic over the given names."""


class AppliedSign(NamedTuple):
    """Two terms and the operator between them; a negated term is 0 minus the term."""

    one: "Terms"
    sign: str
    other: "Terms"


Terms: TypeAlias = AppliedSign | Decimal | str  # a name is a text


def parse_formula(text: str, names: Sequence[str]) -> Terms:
    """Parses what stands after the last colon or equals sign of a text; raises ``NoFormula`` if it is more than
    arithmetic.
    """
    match = _FORMULA_PATTERN.search(text)
    if match is None:
        raise NoFormula(text)
    reader = _Reader(match["terms"])
    terms = reader.read_all()
    if reader.names != set(names):
        raise NoFormula(text)
    return terms


def as_function(name: str, names: Sequence[str], terms: Terms) -> str:
    """The formula as source of a Python function over decimals."""
    return f"def {name}({', '.join(names)}):\n    return {_write_terms(terms)}"


def compute_terms(terms: Terms, values: Mapping[str, Decimal]) -> Decimal:
    """The formula's value to 60 digits; raises ``ArithmeticError`` where it has none."""
    match terms:
        case str():
            return values[terms]
        case Decimal():
            return terms
        case AppliedSign(one, sign, other):
            return _apply_sign(compute_terms(one, values), sign, compute_terms(other, values))


class _Reader:
    """Reads terms from left to right; ``names`` are those it came by."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text.strip(), 0, 0
        self.names: set[str] = set()

    def read_all(self) -> Terms:
        terms = self._read_operations(0)
        if self._at != len(self._text):
            raise NoFormula(self._text)
        return terms

    def _read_operations(self, level: int) -> Terms:
        """Reads terms with the operators of this level between them; a higher level binds more strongly."""
        if level == len(_STRONGER):
            return self._read_signed()
        terms = self._read_operations(level + 1)
        while (sign := self._take_if("sign", _STRONGER[level])) is not None:
            terms = AppliedSign(terms, sign, self._read_operations(level + 1))
        return terms

    def _read_signed(self) -> Terms:
        """Reads a term with the signs before it. A power binds more strongly than a sign.

        Raises ``NoFormula`` if the formula is nested too deeply, or no term follows.
        """
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormula(self._text)
        sign = self._take_if("sign", ("-", "+"))
        if sign is not None:
            terms: Terms = self._read_signed()
            terms = AppliedSign(Decimal(0), "-", terms) if sign == "-" else terms
        else:
            terms = self._read_single()
            if self._take_if("sign", ("**", "^")) is not None:
                terms = AppliedSign(terms, "**", self._read_signed())
        self._depth -= 1
        return terms

    def _read_single(self) -> Terms:
        number, name = self._take_if("number"), self._take_if("name")
        if number is not None and name is None:
            return Decimal(number)
        if name is not None and number is None:
            self.names.add(name)
            return name
        if number is not None or self._take_if("sign", ("(",)) is None:
            raise NoFormula(self._text)
        terms = self._read_operations(0)
        if self._take_if("sign", (")",)) is None:
            raise NoFormula(self._text)
        return terms

    def _take_if(self, kind: str, texts: Sequence[str] = ()) -> str | None:
        """The next part, which is taken, if it is of that kind; None if it is not.

        ``texts``: those that it may be; any without them.
        """
        match = _PART_PATTERN.match(self._text, self._at)
        part = match[kind] if match else None
        if match is None or part is None or (texts and part not in texts):
            return None
        self._at = match.end()
        return part


def _apply_sign(left: Decimal, sign: str, right: Decimal) -> Decimal:
    match sign:
        case "+":
            return _CONTEXT.add(left, right)
        case "-":
            return _CONTEXT.subtract(left, right)
        case "*":
            return _CONTEXT.multiply(left, right)
        case "/":
            return _CONTEXT.divide(left, right)
        case _:
            return _CONTEXT.power(left, right)


def _write_terms(terms: Terms) -> str:
    match terms:
        case str():
            return terms
        case Decimal():
            return f"{terms:f}" if terms == terms.to_integral_value() else f'Decimal("{terms:f}")'
        case AppliedSign(one, sign, other):
            return f"({_write_terms(one)} {sign} {_write_terms(other)})"
