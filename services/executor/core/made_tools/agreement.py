"""When a function that one call of a model wrote is believed: when the cases of another call come out."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext

from services.executor.core.made_tools.spec import Spec
from shared.contracts.made_tool import MadeCase

FEWEST, MOST = 3, 8
_FEWEST_PLACES, _FEWEST_DIGITS, _MOST_DIGITS = 2, 4, 24


class BadCases(ValueError):
    """They prove nothing; the message says why."""


def checked_cases(cases: Sequence[MadeCase], spec: Spec) -> tuple[MadeCase, ...]:
    """The cases if they can prove something: enough, all different, of figures that the function takes."""
    if not FEWEST <= len(cases) <= MOST:
        raise BadCases(f"{FEWEST} to {MOST} cases are needed, and there are {len(cases)}")
    fixed, repeats = len(spec.arguments), spec.arguments[-1].endswith("...")
    for case in cases:
        if len(case.inputs) < fixed or (len(case.inputs) > fixed and not repeats):
            raise BadCases(f"a case has {len(case.inputs)} figures, and {spec.name} takes {', '.join(spec.arguments)}")
        for text in (*case.inputs, case.expected):
            decimal(text)
    if len({tuple(map(decimal, case.inputs)) for case in cases}) < len(cases):
        raise BadCases("a case stands there twice")
    if len({decimal(case.expected) for case in cases}) < 2:
        raise BadCases("all cases come to the same, which any constant would")
    return tuple(cases)


def agrees(result: Decimal, expected: Decimal) -> bool:
    """Whether they are equal, or equal half up at the last place that the case states.

    Such a case states two places and four digits at least, so what may differ is at most a thousandth part: how much
    is ours to say, and not the model's.
    """
    if result == expected:
        return True
    _, digits, exponent = expected.as_tuple()
    if not isinstance(exponent, int) or -exponent < _FEWEST_PLACES or len(digits) < _FEWEST_DIGITS:
        return False
    with localcontext() as context:
        context.prec = 60
        return result.quantize(expected, rounding=ROUND_HALF_UP) == expected


def decimal(text: str) -> Decimal:
    """A plain decimal of at most 24 digits; raises ``BadCases``."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        raise BadCases(f"{text[:40]!r} is no decimal") from None
    _, digits, exponent = number.as_tuple()
    if not isinstance(exponent, int) or len(digits) > _MOST_DIGITS or abs(exponent) > _MOST_DIGITS:
        raise BadCases(f"{text[:40]!r} is too long for a figure")
    return number
