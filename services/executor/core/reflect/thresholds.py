"""What was predicted before a run acted and what it proved to be, by values and verified writes, never by words.

A policy's limit and the outcome part where its rule did not do what the value says, and where a server refuses for a
limit of its own a write that the policy's limit let through.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from services.executor.core.dossier.dossier import Dossier, Progress
from services.executor.core.dossier.threshold_kinds import kind_of
from services.executor.core.dossier.values import NamedValue
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import Verdict
from shared.contracts.threshold import Threshold, ThresholdKind, ThresholdOutcome
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import WriteStatus

_OWN_LIMIT = re.compile(
    r"\b(?:limits?|thresholds?|maximum|ceiling|cap|exceed\w*|too (?:high|large|much|big)|(?:over|above|beyond) the)\b",
    re.I,
)
_HOLDS: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    ">": lambda actual, limit: actual > limit,
    ">=": lambda actual, limit: actual >= limit,
    "<": lambda actual, limit: actual < limit,
    "<=": lambda actual, limit: actual <= limit,
}


def threshold_outcomes(progress: Progress, writes: Sequence[LedgerEntry]) -> tuple[ThresholdOutcome, ...]:
    """The limits known in PRIME, then the variances and credits that the executor computed from the facts."""
    proved = [entry for entry in writes if entry.status is WriteStatus.VERIFIED and entry.compensates is None]
    refused = [
        entry for entry in writes if entry.status is WriteStatus.REFUSED and _OWN_LIMIT.search(entry.refusal or "")
    ]
    limits = (
        _refusal_against(limit, progress.dossier, refused) or _limit(limit, progress.dossier, proved)
        for limit in progress.thresholds
    )
    return (*limits, *(_figure(value, proved) for value in _predicted_values(progress.dossier)))


def _refusal_against(limit: Threshold, dossier: Dossier, refused: Sequence[LedgerEntry]) -> ThresholdOutcome | None:
    """A limit that let a value through which the tool's own server refused as beyond a limit; None if none did."""
    limited = _number(limit.value)
    about = [entry for entry in refused if limit.tool in ("", entry.call.tool)]
    actual = (
        _one([*_arguments(about, limit.name)] or [*_values_in_records(dossier, about, limit.name)])
        if limit.rule_id
        else None
    )
    if actual is None or limited is None or _HOLDS[limit.sign](actual, limited):
        return None
    return ThresholdOutcome(
        kind=limit.kind,
        name=limit.name,
        sign=limit.sign,
        predicted=limit.value,
        actual=f"{actual:f}",
        held=False,
        source=limit.source,
    )


def _values_in_records(dossier: Dossier, about: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    """The field's values in the records that these writes name by an argument of theirs."""
    named = {
        given for entry in about for given in loads_object(entry.arguments_json).values() if isinstance(given, str)
    }
    for fact in dossier.facts:
        for record in _records(fact.result) if fact.ok else ():
            number = _number(record.get(name))
            if number is not None and any(isinstance(value, str) and value in named for value in record.values()):
                yield number


def _records(value: Json) -> Iterator[JsonObject]:
    if isinstance(value, dict):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _records(inner)


def _limit(limit: Threshold, dossier: Dossier, proved: Sequence[LedgerEntry]) -> ThresholdOutcome:
    actual = _compared_value(limit, dossier, proved)
    return ThresholdOutcome(
        kind=limit.kind,
        name=limit.name,
        sign=limit.sign,
        predicted=limit.value,
        actual=None if actual is None else f"{actual:f}",
        held=None if actual is None else _did_what_it_said(limit, actual, dossier.verdict),
        source=limit.source,
    )


def _compared_value(limit: Threshold, dossier: Dossier, proved: Sequence[LedgerEntry]) -> Decimal | None:
    """The process's own figure of that name; else, of a limit that decides its rule, what was written or named."""
    own = [value for value in dossier.values if limit.name and value.figure == limit.name]
    figures = [value.number for value in own if value.number is not None]
    if figures or not limit.rule_id:
        return _one(figures)
    about = [entry for entry in proved if limit.tool in ("", entry.call.tool)]
    if limit.tool and not about:
        return None
    named = [value.number for value in dossier.values if value.number is not None and value.name == limit.name]
    return _one([*_arguments(about, limit.name)] or named or [*_values_in_records(dossier, about, limit.name)])


def _did_what_it_said(limit: Threshold, actual: Decimal, verdict: Verdict | None) -> bool | None:
    """Whether the rule triggered exactly if the value was beyond the limit; only a binding verdict tells."""
    limited = _number(limit.value)
    if not limit.rule_id or verdict is None or not verdict.binding or limited is None:
        return None
    rules = [rule for rule in verdict.triggered_rules if not rule.indeterminate]
    triggered = any((rule.rule_id, rule.policy_id) == (limit.rule_id, limit.policy_id) for rule in rules)
    return _HOLDS[limit.sign](actual, limited) is triggered


def _predicted_values(dossier: Dossier) -> Iterator[NamedValue]:
    figures = (value for value in dossier.values if value.figure)
    return (value for value in figures if kind_of(value.figure) is not ThresholdKind.POLICY_LIMIT)


def _figure(value: NamedValue, proved: Sequence[LedgerEntry]) -> ThresholdOutcome:
    """Its actual value is what a verified write was given for it.

    It is traced to the figure, or stands under its name, or is the one number of a tool that is named after it.
    """
    found = (
        [*_traced_numbers(proved, value.name)]
        or [*_arguments(proved, value.figure)]
        or [*_by_tool(proved, value.figure)]
    )
    actual = _one(found)
    return ThresholdOutcome(
        kind=kind_of(value.figure),
        name=value.name,
        sign="",
        predicted=value.value,
        actual=None if actual is None else f"{actual:f}",
        held=None if actual is None else actual == Decimal(value.value),
        source=f"{value.operation} of {', '.join(operand.path or operand.ref for operand in value.operands)}",
    )


def _traced_numbers(proved: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    for entry in proved:
        names = {o.argument for o in entry.call.origins if o.source == "value" and o.ref == name}
        yield from _numbers(entry, names)


def _arguments(proved: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    for entry in proved:
        yield from _numbers(entry, {name})


def _by_tool(proved: Sequence[LedgerEntry], name: str) -> Iterator[Decimal]:
    words = set(name.split("_"))
    for entry in proved:
        numbers = [*_numbers(entry, set(loads_object(entry.arguments_json)))]
        if words <= set(entry.call.tool.split("_")) and len(numbers) == 1:
            yield from numbers


def _numbers(entry: LedgerEntry, names: set[str]) -> Iterator[Decimal]:
    given = loads_object(entry.arguments_json)
    found = (_number(given.get(name)) for name in sorted(names))
    return (number for number in found if number is not None)


def _number(value: Json) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | Decimal | str):
        return None
    try:
        number = Decimal(value)
    except InvalidOperation:
        return None
    return number if number.is_finite() else None


def _one(values: Sequence[Decimal]) -> Decimal | None:
    """The value, if all are the same."""
    return values[0] if values and len(set(values)) == 1 else None
