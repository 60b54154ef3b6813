"""Formulas of plain arithmetic: read, written as a function, and worked out."""

import re
from collections.abc import Mapping, Sequence
from decimal import Context, Decimal
from typing import NamedTuple, TypeAlias

_FORMULA = re.compile(r"[:=]\s*(?P<terms>[^:=]+?)\s*\.?$")
_PART = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\*\*|[-+*/^()]))")
_STRONGER = (("+", "-"), ("*", "/"))
_CONTEXT = Context(prec=60)
_DEEPEST = 50


class NoFormula(ValueError):
    """There is none that is plain arithmetic over the names."""


class AppliedSign(NamedTuple):
    """Two terms and the sign between them; a negative term is 0 less it."""

    one: "Terms"
    sign: str
    other: "Terms"


Terms: TypeAlias = AppliedSign | Decimal | str  # a name is a text


def parse_formula(text: str, names: Sequence[str]) -> Terms:
    """What stands after the last colon or equals sign of a text; raises ``NoFormula`` if it is more than arithmetic."""
    found = _FORMULA.search(text)
    if found is None:
        raise NoFormula(text)
    reader = _Reader(found["terms"])
    terms = reader.all()
    if reader.names != set(names):
        raise NoFormula(text)
    return terms


def as_function(name: str, names: Sequence[str], terms: Terms) -> str:
    """The formula as Python over decimals."""
    return f"def {name}({', '.join(names)}):\n    return {_write_terms(terms)}"


def compute_terms(terms: Terms, given: Mapping[str, Decimal]) -> Decimal:
    """The formula's value to 60 digits; raises ``ArithmeticError`` where it has none."""
    match terms:
        case str():
            return given[terms]
        case Decimal():
            return terms
        case AppliedSign(one, sign, other):
            return _apply_sign(compute_terms(one, given), sign, compute_terms(other, given))


class _Reader:
    """Reads terms from left to right; ``names`` are those it came by."""

    def __init__(self, text: str) -> None:
        self._text, self._at, self._depth = text.strip(), 0, 0
        self.names: set[str] = set()

    def all(self) -> Terms:
        terms = self._sums(0)
        if self._at != len(self._text):
            raise NoFormula(self._text)
        return terms

    def _sums(self, level: int) -> Terms:
        """Sums of products of powers: what binds stronger is read first."""
        if level == len(_STRONGER):
            return self._read_signed()
        terms = self._sums(level + 1)
        while (sign := self._take_if("sign", _STRONGER[level])) is not None:
            terms = AppliedSign(terms, sign, self._sums(level + 1))
        return terms

    def _read_signed(self) -> Terms:
        """A term with its signs before it; powers bind stronger than these, and from the right."""
        self._depth += 1
        if self._depth > _DEEPEST:
            raise NoFormula(self._text)
        sign = self._take_if("sign", ("-", "+"))
        if sign is not None:
            terms: Terms = self._read_signed()
            terms = AppliedSign(Decimal(0), "-", terms) if sign == "-" else terms
        else:
            terms = self._single()
            if self._take_if("sign", ("**", "^")) is not None:
                terms = AppliedSign(terms, "**", self._read_signed())
        self._depth -= 1
        return terms

    def _single(self) -> Terms:
        number, name = self._take_if("number"), self._take_if("name")
        if number is not None and name is None:
            return Decimal(number)
        if name is not None and number is None:
            self.names.add(name)
            return name
        if number is not None or self._take_if("sign", ("(",)) is None:
            raise NoFormula(self._text)
        terms = self._sums(0)
        if self._take_if("sign", (")",)) is None:
            raise NoFormula(self._text)
        return terms

    def _take_if(self, kind: str, wanted: Sequence[str] = ()) -> str | None:
        """The next part if it is of that kind, and one of those that are wanted."""
        found = _PART.match(self._text, self._at)
        part = found[kind] if found else None
        if found is None or part is None or (wanted and part not in wanted):
            return None
        self._at = found.end()
        return part


def _apply_sign(one: Decimal, sign: str, other: Decimal) -> Decimal:
    match sign:
        case "+":
            return _CONTEXT.add(one, other)
        case "-":
            return _CONTEXT.subtract(one, other)
        case "*":
            return _CONTEXT.multiply(one, other)
        case "/":
            return _CONTEXT.divide(one, other)
        case _:
            return _CONTEXT.power(one, other)


def _write_terms(terms: Terms) -> str:
    match terms:
        case str():
            return terms
        case Decimal():
            return f"{terms:f}" if terms == terms.to_integral_value() else f'Decimal("{terms:f}")'
        case AppliedSign(one, sign, other):
            return f"({_write_terms(one)} {sign} {_write_terms(other)})"
