"""A call's arguments against its tool's JSON Schema, before anything is sent."""

from jsonschema import Draft202012Validator
from jsonschema.exceptions import SchemaError

from services.executor.core.tooling.toolbox import schema_of
from services.executor.ports import Tool
from shared.domain.exact_json import JsonObject, wire


def problems_with(arguments: JsonObject, tool: Tool) -> str | None:
    """What is wrong with the arguments, naming each field; None if they fit.

    A server whose schema is itself invalid gets the benefit of the doubt: it will judge the call.
    """
    schema = dict(schema_of(tool))
    try:
        Draft202012Validator.check_schema(schema)
    except SchemaError:
        return None
    errors = sorted(Draft202012Validator(schema).iter_errors(wire(arguments)), key=lambda error: error.json_path)
    return "; ".join(f"{error.json_path}: {error.message}" for error in errors) or None
