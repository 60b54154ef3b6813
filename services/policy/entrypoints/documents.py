"""Policies out of a file: one document, a list of them, or a tenant's record."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from pydantic import ValidationError

from shared.contracts.policy import Policy, PolicyContract, Rule, TextRule, ToolRule
from shared.contracts.policy_document import sorted_document
from shared.domain.exact_json import Json, JsonObject, loads

_RULES: Mapping[str, type[PolicyContract]] = {
    "rules": Rule,
    "tool_rules": ToolRule,
    "toolRules": ToolRule,
    "text_rules": TextRule,
    "textRules": TextRule,
}


class Unreadable(ValueError):
    """The file holds no policies; the message is a sentence that names it and the place."""


def policies_in(file: Path) -> tuple[Policy, ...]:
    """Raises ``Unreadable``."""
    value = value_in(file)
    documents = value.get("policies", [value]) if isinstance(value, dict) else value
    if not isinstance(documents, list) or not documents:
        raise Unreadable(f"{file} holds no policy: it is an object with rules, or a list of such objects")
    return tuple(_policy(file, document, number) for number, document in enumerate(documents, 1))


def strange_fields(file: Path) -> tuple[str, ...]:
    """The fields of a file's policies that nobody reads: a misspelt one would silently not hold."""
    value = value_in(file)
    documents = value.get("policies", [value]) if isinstance(value, dict) else value
    listed = documents if isinstance(documents, list) else []
    return tuple(name for document in listed if isinstance(document, dict) for name in _strange(document))


def _strange(document: JsonObject) -> Iterator[str]:
    written = sorted_document(document)
    yield from _unread(written, Policy, str(document.get("id", "policy")))
    for name, shape in _RULES.items():
        rules = written.get(name)
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict):
                yield from _unread(rule, shape, str(rule.get("id", name)))


def _unread(written: JsonObject, shape: type[PolicyContract], where: str) -> Iterator[str]:
    known = {name for field, info in shape.model_fields.items() for name in (field, info.alias)}
    return (f"{where}.{name}" for name in written if name not in known)


def object_in(file: Path) -> JsonObject:
    """Raises ``Unreadable``."""
    value = value_in(file)
    if not isinstance(value, dict):
        raise Unreadable(f"{file} holds no JSON object")
    return value


def value_in(file: Path) -> Json:
    try:
        return loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Unreadable(f"{file} cannot be read: {error}") from None


def _policy(file: Path, document: Json, number: int) -> Policy:
    if not isinstance(document, dict):
        raise Unreadable(f"{file}: policy {number} is no object")
    try:
        return Policy.model_validate({"id": file.stem, **sorted_document(document)})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Unreadable(f"{file}: policy {number}: {where}: {first['msg']}") from None
