"""A policy as people write it: one list of rules of all kinds, which are distinguished by their fields."""

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

from pydantic import ValidationError

from shared.contracts.policy import Policy, PolicyContract, Rule, TextRule, ToolRule
from shared.domain.answer import split_code_fence
from shared.domain.exact_json import Json, JsonObject, loads

_RULE_MODELS: Mapping[str, type[PolicyContract]] = {
    "rules": Rule,
    "tool_rules": ToolRule,
    "toolRules": ToolRule,
    "text_rules": TextRule,
    "textRules": TextRule,
}
_RULE_LIST_BY_DISTINCTIVE_FIELD = {"kind": "tool_rules", "type": "text_rules"}
# What people write beside rules to describe them; it changes nothing, so nobody has to read it.
_DESCRIPTIVE_FIELDS = frozenset(
    """name title description summary comment comments note notes rationale author owner tags source url created_at
    updated_at effective_date metadata $schema""".split()
)
_EMPTY_VALUES: tuple[Json, ...] = (None, False, "", [], {})
_EMBEDDED_RULES_PATTERN = re.compile(r"[\"'](?:rules|(?:tool|text)_?rules)[\"']\s*:\s*[\[{]", re.I)
_YAML_RULES_PATTERN = re.compile(
    r"^(?:rules|(?:tool|text)_?rules|policies)[ \t]*:[ \t]*(?:\[|\n\s*-[ \t]+[\w\"']+[ \t]*:)", re.I | re.M
)


class BadPolicyDocument(ValueError):
    """The rules cannot be parsed. ``field``: the path of the faulty field; empty for the whole document."""

    def __init__(self, field: str, problem: str) -> None:
        self.field = field
        self.problem = problem
        super().__init__(f"{field}: {problem}" if field else problem)


class DocumentRules(NamedTuple):
    """The rules of a document, parsed. ``described``: the names of fields that only describe a rule and have no
    effect.
    """

    policy: Policy
    described: tuple[str, ...] = ()


def parse_rules_in_text(text: str) -> Json:
    """The JSON rules in a text, with or without a code fence; None if the text is plain words.

    Raises ``BadPolicyDocument`` for invalid JSON, and for rules in the middle of a text.
    """
    _, inside = split_code_fence(text)
    if not inside.startswith(("{", "[")):
        if _EMBEDDED_RULES_PATTERN.search(inside) or _YAML_RULES_PATTERN.search(inside):
            raise BadPolicyDocument("", "it has rules inside of another text; they must be a JSON object of their own")
        return None
    try:
        value = loads(inside)
    except ValueError as error:
        raise BadPolicyDocument("", f"it looks like JSON and is none: {error}") from error
    if not isinstance(value, dict | list):
        raise BadPolicyDocument("", "it must be an object")
    return value


def parse_rules(document: JsonObject | list[Json], policy_id: str) -> DocumentRules:
    """Parses the rules of a document. Raises ``BadPolicyDocument``, also for a field that would have no effect."""
    rule_document: JsonObject = {"rules": document} if isinstance(document, list) else document
    if not {*_RULE_MODELS} & {*rule_document}:
        raise BadPolicyDocument("", 'it has no "rules"')
    sorted_document = sort_rules_by_kind(rule_document)
    try:
        policy = Policy.model_validate({"id": policy_id, **sorted_document})
    except ValidationError as error:
        first_error = error.errors(include_url=False, include_input=False)[0]
        raise BadPolicyDocument(".".join(map(str, first_error["loc"])), first_error["msg"]) from error
    unread = list_unknown_fields(sorted_document)
    if ignored_fields := [name for name in unread if not _is_descriptive(name)]:
        raise BadPolicyDocument(ignored_fields[0], "nobody reads this field, and what it says would not hold")
    return DocumentRules(policy.model_copy(update={"id": policy_id}), unread)


def find_first_unknown_field(document: Json) -> str | None:
    """The first non-empty field of a policy that no reader knows, other than mere descriptions; None if none.

    Empty fields are accepted, because a newer sender may know more fields than this reader.
    """
    if not isinstance(document, dict):
        return None
    filled_fields = {name: value for name, value in document.items() if value not in _EMPTY_VALUES}
    for name in _RULE_MODELS:
        if isinstance(rules := filled_fields.get(name), list):
            filled_fields[name] = [_remove_empty_fields(rule) for rule in rules]
    return next((name for name in list_unknown_fields(filled_fields) if not _is_descriptive(name)), None)


def _remove_empty_fields(rule: Json) -> Json:
    if not isinstance(rule, dict):
        return rule
    return {name: value for name, value in rule.items() if value not in _EMPTY_VALUES}


def _is_descriptive(field: str) -> bool:
    return field.rpartition(".")[2].lower() in _DESCRIPTIVE_FIELDS


def sort_rules_by_kind(document: JsonObject) -> JsonObject:
    """The document in the form that ``Policy`` parses: rules with ``kind`` become tool rules, those with ``type`` text
    rules.

    ``default_action`` becomes the default for texts. Anything that is not a rule stays, and is refused when parsed.
    """
    rules = document.get("rules")
    if not isinstance(rules, list):
        return document
    sorted_ = {**document, "rules": [rule for rule in rules if _name_list_for_rule(rule) == "rules"]}
    for list_name, camel in (("tool_rules", "toolRules"), ("text_rules", "textRules")):
        if rules_of_kind := [rule for rule in rules if _name_list_for_rule(rule) == list_name]:
            earlier = [*_list_items_or_single(sorted_.pop(camel, None)), *_list_items_or_single(sorted_.get(list_name))]
            sorted_[list_name] = [*earlier, *rules_of_kind]
    for name in ("default_action", "defaultAction"):
        if name in document and "text_default" not in document and "textDefault" not in document:
            sorted_["text_default"] = sorted_.pop(name)
    return sorted_


def list_unknown_fields(document: JsonObject) -> tuple[str, ...]:
    """The fields of a policy that no reader knows, such as misspelt ones."""
    sorted_document = sort_rules_by_kind(document)
    unknown_fields = [*_find_unknown_fields(sorted_document, Policy, str(document.get("id", "policy")))]
    for name, model in _RULE_MODELS.items():
        rules = sorted_document.get(name)
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict):
                unknown_fields += _find_unknown_fields(rule, model, str(rule.get("id", name)))
    return tuple(unknown_fields)


def _find_unknown_fields(document: JsonObject, model: type[PolicyContract], prefix: str) -> Iterator[str]:
    known_names = {name for field, info in model.model_fields.items() for name in (field, info.alias)}
    return (f"{prefix}.{name}" for name in document if name not in known_names)


def _name_list_for_rule(rule: Json) -> str:
    fields = rule if isinstance(rule, dict) else {}
    return next((list_name for field, list_name in _RULE_LIST_BY_DISTINCTIVE_FIELD.items() if field in fields), "rules")


def _list_items_or_single(value: Json) -> Iterator[Json]:
    if value is not None:
        yield from value if isinstance(value, list) else [value]
