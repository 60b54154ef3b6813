"""A policy as people write it: one list of rules of every kind, told apart by their fields."""

from collections.abc import Iterator, Mapping

from shared.contracts.policy import Policy, PolicyContract, Rule, TextRule, ToolRule
from shared.domain.exact_json import Json, JsonObject

_RULES: Mapping[str, type[PolicyContract]] = {
    "rules": Rule,
    "tool_rules": ToolRule,
    "toolRules": ToolRule,
    "text_rules": TextRule,
    "textRules": TextRule,
}
_PLACES = {"kind": "tool_rules", "type": "text_rules"}


def sorted_document(document: JsonObject) -> JsonObject:
    """The document as a ``Policy`` reads it: rules with ``kind`` are about tools, with ``type`` about the text.

    ``default_action`` (seed 001) is the texts' default. What is no rule at all stays where it was, to be refused there.
    """
    rules = document.get("rules")
    if not isinstance(rules, list):
        return document
    sorted_ = {**document, "rules": [rule for rule in rules if _place(rule) == "rules"]}
    for place, camel in (("tool_rules", "toolRules"), ("text_rules", "textRules")):
        if found := [rule for rule in rules if _place(rule) == place]:
            sorted_[place] = [*_listed(sorted_.pop(camel, None)), *_listed(sorted_.get(place)), *found]
    for name in ("default_action", "defaultAction"):
        if name in document and "text_default" not in document and "textDefault" not in document:
            sorted_["text_default"] = sorted_.pop(name)
    return sorted_


def strange_fields(document: JsonObject) -> tuple[str, ...]:
    """The fields of a policy that nobody reads: a misspelt one would silently not hold."""
    written = sorted_document(document)
    found = [*_unread(written, Policy, str(document.get("id", "policy")))]
    for name, shape in _RULES.items():
        rules = written.get(name)
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict):
                found += _unread(rule, shape, str(rule.get("id", name)))
    return tuple(found)


def _unread(written: JsonObject, shape: type[PolicyContract], where: str) -> Iterator[str]:
    known = {name for field, info in shape.model_fields.items() for name in (field, info.alias)}
    return (f"{where}.{name}" for name in written if name not in known)


def _place(rule: Json) -> str:
    return (
        next((place for field, place in _PLACES.items() if field in rule), "rules")
        if isinstance(rule, dict)
        else "rules"
    )


def _listed(value: Json) -> Iterator[Json]:
    yield from value if isinstance(value, list) else [] if value is None else [value]
