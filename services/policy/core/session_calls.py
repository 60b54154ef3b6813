"""What came before a call: what the session has made, what the plan makes earlier, and what people have confirmed."""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeAlias

from services.policy.core.conditions import value_at
from services.policy.core.tool_rules import ReadyToolRule
from services.policy.core.values import Context, TypeClash, UnknownTruth, equal
from shared.contracts.allowance import counts
from shared.contracts.policy import CallOutcome, Confirmation, ContextValue, PastCall
from shared.domain.words import Level

Paths: TypeAlias = tuple[tuple[str, ...], ...]


class Earlier(NamedTuple):
    """One earlier call. ``outcome`` is None and ``call_id`` set while it is only planned."""

    tool: str
    fields: Context
    outcome: CallOutcome | None
    call_id: str | None = None


class Before(NamedTuple):
    """What came before a call."""

    calls: Sequence[Earlier]
    confirmations: Sequence[Confirmation]


def past(history: Iterable[PastCall]) -> list[Earlier]:
    return [Earlier(call.tool, call.fields, call.outcome) for call in history]


def missing_of(per: Paths, context: Context) -> tuple[str, ...]:
    """The fields by which calls are told apart that have no single value in this call."""
    return tuple(".".join(path) for path in per if not _is_known(value_at(context, path)))


def count_used(ready: ReadyToolRule, earlier: Iterable[Earlier], context: Context) -> int:
    """How many calls count against the rule's limit; one that lacks a field by which calls are told apart counts."""
    return sum(
        1
        for call in earlier
        if ready.matches(call.tool)
        and (call.outcome is None or counts(call.outcome, ready.successes_only))
        and _agree(ready.per, call.fields, context, if_missing=True)
    )


def preconditions(ready: ReadyToolRule, earlier: Iterable[Earlier], context: Context) -> Iterator[Earlier]:
    """The earlier calls that open the way, or will once they have succeeded."""
    for call in earlier:
        fits = call.tool in ready.rule.after and call.outcome in (None, CallOutcome.SUCCEEDED)
        if fits and _agree(ready.per, call.fields, context, if_missing=False):
            yield call


def same(left: ContextValue, right: ContextValue) -> bool:
    """Equal as ``==`` in conditions; lists and objects agree with nothing."""
    try:
        return equal(left, right) is True
    except TypeClash:
        return False


def _agree(per: Paths, fields: Context, context: Context, *, if_missing: bool) -> bool:
    for path in per:
        value, wanted = value_at(fields, path), value_at(context, path)
        if not _is_known(value):
            if not if_missing:
                return False
        elif isinstance(value, UnknownTruth) or isinstance(wanted, UnknownTruth) or not same(value, wanted):
            return False
    return True


def _is_known(value: object) -> bool:
    return not (value is None or isinstance(value, UnknownTruth | list | dict))


def is_confirmed(tool: str, call_id: str, context: Context, level: Level | None, given: Iterable[Confirmation]) -> bool:
    """Whether one of the confirmations covers this call and comes from somebody of that level or above."""
    return any(
        yes.tool == tool
        and yes.call_id in (None, call_id)
        and reaches(yes, level)
        and all(name in context and same(context[name], value) for name, value in yes.fields.items())
        for yes in given
    )


def reaches(given: Confirmation, level: Level | None) -> bool:
    """An unknown level is nobody's."""
    if level is None:
        return True
    try:
        return given.level is not None and Level.parse(given.level) >= level
    except ValueError:
        return False
