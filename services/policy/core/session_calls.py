"""The calls before a call, in the session and the plan, and what people have confirmed."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

from services.policy.core.conditions import get_value_at_path
from services.policy.core.tool_rules import PreparedToolRule
from services.policy.core.values import Context, TypeClash, UnknownTruth, Value, are_equal
from shared.contracts.allowance import counts_against_limit
from shared.contracts.policy import CallContext, CallOutcome, Confirmation, ContextValue, PastCall
from shared.domain.words import EscalationLevel

FieldPaths: TypeAlias = tuple[tuple[str, ...], ...]


class EarlierCall(NamedTuple):
    """One call before the judged one, in the session or in the same plan. For a planned one ``outcome`` is None and
    ``call_id`` is set.
    """

    tool: str
    fields: Context
    outcome: CallOutcome | None
    call_id: str | None = None


def list_earlier_calls(history: Iterable[PastCall]) -> list[EarlierCall]:
    return [EarlierCall(call.tool, call.fields, call.outcome) for call in history]


def split_single_values(per: FieldPaths, context: Context) -> tuple[dict[str, ContextValue], tuple[str, ...]]:
    """The call's values of the fields that a rule's ``per`` names, and the names of those fields whose value is
    missing, null, a list or an object.
    """
    values = {".".join(path): get_value_at_path(context, path) for path in per}
    known_values = {name: value for name, value in values.items() if not isinstance(value, UnknownTruth)}
    single_values = {name: value for name, value in known_values.items() if _is_single_value(value)}
    return single_values, tuple(name for name in values if name not in single_values)


def count_calls_against_limit(prepared: PreparedToolRule, earlier: Iterable[EarlierCall], context: Context) -> int:
    """How many earlier calls count against the rule's limit, also those that lack a field of ``per``."""
    count = 0
    for call in earlier:
        is_counted = call.outcome is None or counts_against_limit(call.outcome, prepared.successes_only)
        if is_counted and prepared.matches(call.tool):
            count += _have_equal_fields(prepared.per, call.fields, context, for_limit=True)
    return count


def find_calls_meeting_precondition(
    prepared: PreparedToolRule, earlier: Iterable[EarlierCall], context: Context
) -> Sequence[EarlierCall]:
    """The earlier calls that meet the rule's precondition, or will once they have succeeded."""
    return [
        call
        for call in earlier
        if call.tool in prepared.rule.after
        and call.outcome in (None, CallOutcome.SUCCEEDED)
        and _have_equal_fields(prepared.per, call.fields, context, for_limit=False)
    ]


def _have_equal_fields(per: FieldPaths, fields: Context, context: Context, *, for_limit: bool) -> bool:
    """Whether an earlier call, with ``fields``, has the same values as the judged call, with ``context``, in the fields
    ``per``.

    For a limit it also agrees if it lacks a field, or if texts differ only in case and outer space: a server may treat
    ``ip-1`` and ``IP-1`` alike.
    """
    for path in per:
        value, call_value = get_value_at_path(fields, path), get_value_at_path(context, path)
        if not _is_single_value(value):
            agrees = for_limit
        else:
            agrees = _are_equal(value, call_value) or (for_limit and _fold_text(value) == _fold_text(call_value))
        if not agrees:
            return False
    return True


def _fold_text(value: Value) -> Value:
    return value.strip().casefold() if isinstance(value, str) else value


def _is_single_value(value: Value) -> bool:
    return not (value is None or isinstance(value, UnknownTruth | list | dict))


def _are_equal(value: Value, other: Value) -> bool:
    """Whether two values are equal as ``==`` in conditions; lists and objects never are."""
    try:
        return are_equal(value, other) is True
    except TypeClash:
        return False


def is_confirmed(
    call: CallContext, context: Context, level: EscalationLevel | None, confirmations: Iterable[Confirmation]
) -> bool:
    """Whether some confirmation (``confirmations``) covers this call and comes from that level or above."""
    for yes in confirmations:
        is_of_call = yes.tool == call.tool and yes.call_id in (None, call.call_id)
        agree = all(name in context and _are_equal(context[name], value) for name, value in yes.fields.items())
        if is_of_call and agree and comes_from_level_or_above(yes, level):
            return True
    return False


def comes_from_level_or_above(confirmation: Confirmation, level: EscalationLevel | None) -> bool:
    """Whether a confirmation comes from that level or above; False for an unknown level."""
    if level is None:
        return True
    try:
        return confirmation.level is not None and EscalationLevel.parse(confirmation.level) >= level
    except ValueError:
        return False
