"""A tenant's record as people write it, parsed strictly: a misspelt field is an error."""

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from typing import NamedTuple, get_args

from pydantic import BaseModel, ValidationError

from shared.contracts.base import Contract
from shared.contracts.credential import parse_secret_reference, why_not_own_secret
from shared.contracts.policy import Policy
from shared.contracts.policy_document import list_unknown_fields, sort_rules_by_kind
from shared.contracts.tenant import CatalogueEntry, Connection, RecordKind, TenantRecord
from shared.domain.exact_json import Json, JsonObject, loads_object

_SERVER_URL_PATTERN = re.compile(r"https?://[^\s/?#@\\]+(/[^\s?#@\\]*)?")
_FIELDS_ADDED_BY_THE_READER: dict[type[BaseModel], set[str]] = {
    CatalogueEntry: {"found"}
}  # what `purple tools --write-catalogue` notes beside an entry


class FieldProblem(NamedTuple):
    """A fault of one field. ``field``: its path in the document, such as ``connections.0.url``."""

    field: str
    problem: str


class BadRecord(ValueError):
    """The document is not a tenant's record; ``problems`` names each field that is wrong."""

    def __init__(self, problems: Iterable[FieldProblem]) -> None:
        self.problems = tuple(problems)
        super().__init__("; ".join(f"{field}: {problem}" for field, problem in self.problems))


def parse_tenant_record(document: JsonObject) -> TenantRecord:
    """Parses a tenant's record, each policy's rules sorted by their kind. Raises ``BadRecord`` with all problems."""
    problems = [
        *_find_unknown_fields(document, TenantRecord, ""),
        *_find_repeated_ids(document),
        *_find_bad_urls(document),
    ]
    try:
        record = TenantRecord.model_validate(_sort_policy_rules(document))
    except ValidationError as error:
        raise BadRecord([*problems, *_list_field_problems(error)]) from None
    if problems:
        raise BadRecord(problems)
    return record


def parse_readable_policies(document: JsonObject) -> tuple[Policy, ...]:
    """The policies of a record that can be parsed, so that their rules are checked even if the record is invalid."""
    policies: list[Policy] = []
    for policy_json in _list_objects_under(_sort_policy_rules(document), "policies"):
        with suppress(ValidationError):  # ``parse_tenant_record`` names what is wrong with it
            policies.append(Policy.model_validate(policy_json))
    return tuple(policies)


def parse_record_of_tenant(document: JsonObject, tenant: str) -> TenantRecord:
    """Parses a record that the operators of ``tenant`` wrote, and marks the tenant as author of its connections.

    Raises ``BadRecord``, also for another tenant's id or secrets.
    """
    record = parse_tenant_record(document)
    problems = [] if record.id == tenant else [FieldProblem("id", f"must be {tenant!r}, whose record this is")]
    for index, connection in enumerate(record.connections):
        reason = why_not_own_secret(connection.credential.reference, tenant) if connection.credential else None
        if reason:
            problems.append(FieldProblem(f"connections.{index}.credential.from", reason))
    if problems := [*problems, *_find_foreign_notice_secrets(record, tenant)]:
        raise BadRecord(problems)
    owned = (connection.model_copy(update={"author_tenant": tenant}) for connection in record.connections)
    return record.model_copy(update={"connections": tuple(owned)})


def _find_foreign_notice_secrets(record: TenantRecord, tenant: str) -> Iterator[FieldProblem]:
    for index, target in enumerate(record.notices):
        for name, text in (("url", target.url), ("secret", target.secret)):
            if text.startswith("env:") and (reason := why_not_own_secret(parse_secret_reference(text), tenant)):
                yield FieldProblem(f"notices.{index}.{name}", reason)


def _sort_policy_rules(document: JsonObject) -> JsonObject:
    policies = document.get("policies")
    if not isinstance(policies, list):
        return document
    sorted_ = [sort_rules_by_kind(policy) if isinstance(policy, dict) else policy for policy in policies]
    return {**document, "policies": sorted_}


def _list_field_problems(error: ValidationError) -> Iterator[FieldProblem]:
    for detail in error.errors(include_url=False, include_input=False):
        path = ".".join(str(part) for part in detail["loc"]) or "the document"
        yield FieldProblem(path, detail["msg"].removeprefix("Value error, "))


def _find_unknown_fields(document: Json, model: type[BaseModel], prefix: str) -> Iterator[FieldProblem]:
    """Yields the fields that no reader knows, at any depth."""
    if not isinstance(document, dict):
        return
    if model is Policy:
        yield from (
            FieldProblem(prefix.rstrip("."), f"no policy has a field {name}") for name in list_unknown_fields(document)
        )
        return
    known_fields = {name: info for field, info in model.model_fields.items() for name in {field, info.alias or field}}
    ignored = _FIELDS_ADDED_BY_THE_READER.get(model, set())
    for name, value in document.items():
        if name not in known_fields or known_fields[name].exclude:
            if name not in ignored:
                yield FieldProblem(f"{prefix}{name}", "nobody reads this field")
        elif part_model := _find_model_in_annotation(known_fields[name].annotation):
            for part_path, part in _list_model_documents(value, part_model, f"{prefix}{name}"):
                yield from _find_unknown_fields(part, part_model, f"{part_path}.")


def _find_model_in_annotation(annotation: object) -> type[BaseModel] | None:
    """The Pydantic model in a field's type, by itself or inside a container; None if there is none."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next(filter(None, map(_find_model_in_annotation, get_args(annotation))), None)


def _list_model_documents(value: Json, model: type[BaseModel], path: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, list):
        yield from ((f"{path}.{index}", part) for index, part in enumerate(value))
    elif isinstance(value, dict) and model in (CatalogueEntry, RecordKind):
        yield from ((f"{path}.{name}", part) for name, part in value.items())
    else:
        yield path, value


def _list_objects_under(document: JsonObject, name: str) -> list[JsonObject]:
    """The items of a list in the document; an item that is not an object becomes an empty one."""
    items = document.get(name)
    return [item if isinstance(item, dict) else {} for item in items] if isinstance(items, list) else []


def _find_repeated_ids(document: JsonObject) -> Iterator[FieldProblem]:
    """Yields the entries whose id an earlier entry of the same list has."""
    for name in ("connections", "policies", "prose_policies"):
        first_uses: dict[str, int] = {}
        for index, entry in enumerate(_list_objects_under(document, name)):
            entry_id = entry.get("id")
            if isinstance(entry_id, str) and first_uses.setdefault(entry_id, index) != index:
                yield FieldProblem(f"{name}.{index}.id", f"{entry_id!r} is another's already")


def _find_bad_urls(document: JsonObject) -> Iterator[FieldProblem]:
    for index, connection in enumerate(_list_objects_under(document, "connections")):
        url = connection.get("url")
        if isinstance(url, str) and url and not _SERVER_URL_PATTERN.fullmatch(url):
            problem = "must be an http or https URL without user, query or fragment"
            yield FieldProblem(f"connections.{index}.url", problem)


def complete_connections(connections: tuple[Connection, ...], tool_server: str) -> tuple[Connection, ...]:
    """The connections, with ``tool_server`` in place of each empty URL; those that still have none are left out.

    A tenant without connections gets one, ``default``, to ``tool_server`` if that is set.
    """
    if tool_server and not connections:
        return (Connection(id="default", url=tool_server),)
    if tool_server:
        default = {"url": tool_server}
        connections = tuple(entry if entry.url else entry.model_copy(update=default) for entry in connections)
    return tuple(connection for connection in connections if connection.url)


class TenantVersion(Contract):
    """One version of a tenant's record. ``document_json``: exactly as it was written.

    ``restored``: the version that this one repeats. ``withdrawn``: from here on the tenant has no stored record.
    """

    version: int
    at: datetime
    by: str
    comment: str = ""
    restored: int | None = None
    withdrawn: bool = False
    document_json: str

    @property
    def document(self) -> JsonObject:
        return loads_object(self.document_json)

    def parse_record(self, tenant: str) -> TenantRecord:
        """Parses the record. Raises ``BadRecord`` if this release cannot read it."""
        return parse_record_of_tenant({**self.document, "version": str(self.version)}, tenant)
