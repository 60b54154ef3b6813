"""Short ways for the usual conditions: a plain field as a flag, against a literal number, against a literal text.

Each decides the usual values at once and leaves all else, a missing field too, to the general way it was given. The
operators are written out, since calling one costs as much as all the checks around it.
"""

from collections.abc import Callable
from decimal import Decimal
from typing import TypeAlias

from services.policy.core.values import Context, Truth

Decide: TypeAlias = Callable[[Context], Truth]
Number: TypeAlias = int | Decimal


def flag(name: str, general: Decide) -> Decide:
    def is_set(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        return value if value is True or value is False else general(context)

    return is_set


def no_flag(name: str, general: Decide) -> Decide:
    """``general`` decides the negation."""

    def is_not_set(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        if value is True:
            return False
        return True if value is False else general(context)

    return is_not_set


def same_text(name: str, text: str, general: Decide) -> Decide:
    def is_text(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        return value == text if type(value) is str else general(context)

    return is_text


def other_text(name: str, text: str, general: Decide) -> Decide:
    def is_other_text(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        return value != text if type(value) is str else general(context)

    return is_other_text


def _over(name: str, limit: Number, general: Decide) -> Decide:
    def over(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        kind = type(value)  # not isinstance: a boolean is no number
        if kind is int or kind is Decimal:
            return value > limit  # type: ignore[operator]  # the line above narrows it
        return general(context)

    return over


def _at_least(name: str, limit: Number, general: Decide) -> Decide:
    def at_least(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        kind = type(value)
        if kind is int or kind is Decimal:
            return value >= limit  # type: ignore[operator]  # the line above narrows it
        return general(context)

    return at_least


def _under(name: str, limit: Number, general: Decide) -> Decide:
    def under(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        kind = type(value)
        if kind is int or kind is Decimal:
            return value < limit  # type: ignore[operator]  # the line above narrows it
        return general(context)

    return under


def _at_most(name: str, limit: Number, general: Decide) -> Decide:
    def at_most(context: Context) -> Truth:
        try:
            value = context[name]
        except KeyError:
            return general(context)
        kind = type(value)
        if kind is int or kind is Decimal:
            return value <= limit  # type: ignore[operator]  # the line above narrows it
        return general(context)

    return at_most


AGAINST_NUMBER = {">": _over, ">=": _at_least, "<": _under, "<=": _at_most}
AGAINST_TEXT = {"==": same_text, "===": same_text, "!=": other_text, "!==": other_text}
