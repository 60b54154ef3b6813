"""A call's arguments against its tool's JSON Schema, before anything is sent."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import cast

from jsonschema import Draft202012Validator, TypeChecker
from jsonschema.exceptions import SchemaError
from jsonschema.protocols import Validator
from jsonschema.validators import extend
from referencing.exceptions import Unresolvable
from referencing.jsonschema import EMPTY_REGISTRY

from services.executor.core.tools.toolbox import MOST_COMPILED
from services.executor.ports.tools import AGENT_TASK, CALL_ID, MESSAGE, PARTS, Tool
from shared.contracts.ledger import LedgerEntry
from shared.domain.exact_json import JsonObject, loads_object, plain
from shared.domain.identity_cache import IdentityCache

MOST_SENDINGS = 3  # of one write, the first included; then a person is asked
_DECIMAL = re.compile(r"Decimal\('([^']*)'\)")


def key_field(tool: Tool) -> str | None:
    """The argument in which the server takes our key: the operator's catalogue names it, and the tool has it."""
    name = tool.catalogue.idempotency_field
    return name if name and name in tool.parameters else None


def as_sent(entry: LedgerEntry, tool: Tool) -> JsonObject:
    """The arguments as they go out: the planned ones, and our key beside them.

    To a skill it is our name for the message; a person's answer goes in the place of the planned arguments, to the task
    that asked, under a name of its own.
    """
    arguments = loads_object(entry.arguments_json)
    if not tool.is_skill:
        return {**arguments, entry.idempotency_field: entry.key} if entry.idempotency_field else arguments
    agent = entry.agent
    if agent is None:
        return {**arguments, CALL_ID: entry.key}
    if agent.reply is None:
        return {**arguments, CALL_ID: entry.key, AGENT_TASK: agent.task}
    parts: JsonObject = {PARTS: [plain(part) for part in agent.reply_parts]} if agent.reply_parts else {}
    return {MESSAGE: agent.reply, **parts, CALL_ID: f"{entry.key}-{agent.replies}", AGENT_TASK: agent.task}


def problems_with(arguments: JsonObject, tool: Tool) -> str | None:
    """What is wrong with the arguments, naming each field; None if they fit. Numbers are compared exactly (I8).

    A server whose schema is itself invalid, endless or refers to what is not in it gets the benefit of the doubt: it
    will judge the call. Nothing that a schema refers to is ever fetched. Our own key is filled in as it goes out.
    """
    if (key := key_field(tool)) and key not in arguments:
        arguments = {**arguments, key: "key"}
    try:
        validator = _validator_of(tool)
        found = validator.iter_errors(cast("Mapping[str, str]", arguments)) if validator else ()
        errors = sorted(found, key=lambda error: (error.json_path, error.message))  # a replay knows another order
    except (Unresolvable, RecursionError):
        return None
    said = "; ".join(f"{error.json_path}: {error.message}" for error in errors)
    return _DECIMAL.sub(r"\1", said) or None


def _is_integer(_checker: TypeChecker, value: object) -> bool:
    if isinstance(value, Decimal):
        return value == value.to_integral_value()
    return isinstance(value, int) and not isinstance(value, bool)


_TYPES = Draft202012Validator.TYPE_CHECKER.redefine("integer", _is_integer)
_Exact = extend(Draft202012Validator, type_checker=_TYPES)  # type: ignore[no-untyped-call]  # the library types it not


def _compile_validator(tool: Tool) -> Validator | None:
    """None where the schema is itself invalid."""
    try:
        Draft202012Validator.check_schema(tool.input_schema)
    except (SchemaError, Unresolvable, RecursionError):
        return None
    return cast(Validator, _Exact(tool.input_schema, registry=EMPTY_REGISTRY))


_validator_of = IdentityCache(_compile_validator, MOST_COMPILED)
