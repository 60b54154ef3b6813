"""The measured condition as a careful programmer writes it in Python, with the checks that the language makes.

Three answers, a boolean is no number, a missing field or a null leaves undecided, and any other type is an error.
"""

from decimal import Decimal

from services.policy.core.values import UNKNOWN, ConditionError, Context, Truth, parse_amount


def with_checks(facts: Context) -> Truth:
    """``amount > 5000 && !is_manager || requires_board``."""
    amount = facts.get("amount")
    kind = type(amount)
    over = amount > 5000 if kind is int or kind is Decimal else _is_over(amount)  # type: ignore[operator]  # a number
    first: Truth = False
    if over is not False:
        is_manager = facts.get("is_manager")
        if is_manager is False:
            first = over
        elif is_manager is not True:
            first = _refuse_undecided(is_manager)
        if first is True:
            return True
    requires_board = facts.get("requires_board")
    if requires_board is True:
        return True
    return first if requires_board is False else _refuse_undecided(requires_board)


def _is_over(amount: object) -> Truth:
    if isinstance(amount, str) and (spelled := parse_amount(amount)):
        return spelled.number > 5000
    return _refuse_undecided(amount)


def _refuse_undecided(value: object) -> Truth:
    if value is None:
        return UNKNOWN
    raise ConditionError(f"cannot be decided: {type(value).__name__}", 0)
