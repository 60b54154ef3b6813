"""Policies out of a file: one document, a list of them, or a tenant's record."""

from pathlib import Path
from typing import NamedTuple

from pydantic import ValidationError

from shared.contracts.policy import Policy
from shared.contracts.policy_document import sorted_document, strange_fields
from shared.domain.exact_json import Json, JsonObject, loads


class UnreadableDocument(ValueError):
    """The file holds no policies; the message is a sentence that names it and the place."""


class WrittenPolicies(NamedTuple):
    """``unread``: the fields of the file's policies that nobody reads."""

    policies: tuple[Policy, ...]
    unread: tuple[str, ...]


def read_policies(file: Path) -> WrittenPolicies:
    """Raises ``UnreadableDocument``."""
    value = value_in(file)
    documents = value.get("policies", [value]) if isinstance(value, dict) else value
    if not isinstance(documents, list) or not documents:
        raise UnreadableDocument(f"{file} holds no policy: it is an object with rules, or a list of such objects")
    policies = tuple(_policy(file, document, number) for number, document in enumerate(documents, 1))
    unread = [name for document in documents if isinstance(document, dict) for name in strange_fields(document)]
    return WrittenPolicies(policies, tuple(unread))


def object_in(file: Path) -> JsonObject:
    """Raises ``UnreadableDocument``."""
    value = value_in(file)
    if not isinstance(value, dict):
        raise UnreadableDocument(f"{file} holds no JSON object")
    return value


def value_in(file: Path) -> Json:
    try:
        return loads(file.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise UnreadableDocument(f"{file} cannot be read: {error}") from None


def _policy(file: Path, document: Json, number: int) -> Policy:
    if not isinstance(document, dict):
        raise UnreadableDocument(f"{file}: policy {number} is no object")
    try:
        return Policy.model_validate({"id": file.stem, **sorted_document(document)})
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise UnreadableDocument(f"{file}: policy {number}: {where}: {first['msg']}") from None
