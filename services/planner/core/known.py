"""Fills figures that are known already: a value by the name that a clause uses, or a record's announced new value."""

from decimal import Decimal

from services.planner.core.binding import CallPlan, kind_of
from services.planner.core.figures import drop_zeros, in_major_units
from services.planner.core.intents import Intent
from services.planner.core.portions import WHOLE_PATTERN, find_amount
from services.planner.core.records import MINOR, read_figure
from services.planner.core.references import references_of
from services.planner.core.request import ToolSpec
from services.planner.core.situation import CERTAIN, LIKELY, ArgumentCandidate, Situation, list_records_meant
from services.planner.core.words import STOP, field_stems, parts, text_stems, text_words
from shared.domain.exact_json import Json, JsonObject


def fill_known(plan: CallPlan, intent: Intent, situation: Situation) -> CallPlan:
    """The plan with each missing figure for which the task's words or a record have a value under the field's name."""
    found: dict[str, ArgumentCandidate] = {}
    for name in plan.missing:
        if takes_figure(plan.tool, name):
            candidate = _find_named_value(plan.tool, name, intent, situation) or _find_new_value(plan, name, situation)
            found |= {name: candidate} if candidate else {}
    return plan.with_values(found)


def fill_whole(plan: CallPlan, situation: Situation) -> CallPlan:
    """The plan with the whole amount of its one thing in its one missing figure, where the tool does it ``in full``."""
    references = {*references_of(plan)}
    records = list_records_meant(references, situation) if len(references) == 1 else []
    amounts = [amount for record in records if (amount := find_amount(record, ""))]
    names = [name for name in plan.missing if takes_figure(plan.tool, name)]
    if len(names) != 1 or not amounts or not does_whole(plan.tool):
        return plan
    values = {in_major_units(*amount) for amount in amounts}
    record, field = amounts[-1]
    value = values.pop()
    if values or value is None:
        return plan
    candidate = ArgumentCandidate(as_field_type(value, plan.tool, names[0]), "result", record.ref(field), CERTAIN)
    return plan.with_values({names[0]: candidate})


def does_whole(tool: ToolSpec) -> bool:
    """Whether a tool does what it does ``in full``, as it says itself; a list of its telling words says ``full``."""
    words = text_words(tool.description)
    return bool(WHOLE_PATTERN.search(tool.description)) or ("full" in words and STOP.isdisjoint(words))


def _find_named_value(tool: ToolSpec, name: str, intent: Intent, situation: Situation) -> ArgumentCandidate | None:
    """The value whose name stands in the clause with all its words, the longest name first; None if there is none."""
    word_stems = text_stems(intent.clause)
    fitting = [value for value in situation.values if (own := field_stems(_value_name(value))) and own <= word_stems]
    fitting.sort(key=lambda value: -len(field_stems(_value_name(value))))
    amount = read_figure(fitting[0].get("value")) if fitting else None
    if amount is None:
        return None
    return ArgumentCandidate(as_field_type(amount, tool, name), "value", _value_name(fitting[0]), CERTAIN)


def _value_name(value: JsonObject) -> str:
    return str(value.get("name"))


def _find_new_value(plan: CallPlan, name: str, situation: Situation) -> ArgumentCandidate | None:
    """The figure of a record's field ``new_x`` for an argument ``x``.

    None unless such a record contains every identifier of the call.
    """
    references = {*references_of(plan)}
    for record in (one for one in situation.records if references and references <= one.values):
        for field, value in record.fields.items():
            amount = read_figure(value)
            if parts(field) == ("new", *parts(name)) and amount is not None:
                return ArgumentCandidate(as_field_type(amount, plan.tool, name), "result", record.ref(field), LIKELY)
    return None


def takes_figure(tool: ToolSpec, name: str) -> bool:
    """Whether a field holds a number, or an amount by its name."""
    is_number = kind_of(tool.properties[name]) in ("number", "integer")
    return is_number or bool(field_stems(name) & text_stems("amount total price cost value sum"))


def as_field_type(amount: Decimal, tool: ToolSpec, name: str) -> Json:
    """A computed figure in the type of its field, in minor units where the field counts these."""
    figure = drop_zeros(amount * (100 if MINOR.intersection(parts(name)) else 1))
    kind = kind_of(tool.properties[name])
    if kind == "string":
        return format(figure, "f")
    return int(figure) if kind == "integer" and figure == figure.to_integral_value() else figure
