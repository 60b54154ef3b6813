"""Any other role: fills a schema with what the request gives; the other fields say that they need a model."""

from services.planner.core.request import Request, objects
from shared.domain.exact_json import Json, JsonObject, dumps

NEEDS_A_MODEL = "This needs a model; a rule-based planner answered."
_UNJUDGED_WORDS = frozenset({"score", "details"})


def fill_schema(request: Request) -> str:
    """JSON that fits the request's schema; without a schema, a text that says that a model is needed."""
    if request.schema is None:
        return NEEDS_A_MODEL
    return dumps(_fill_field("", request.schema, request))


def _fill_field(name: str, schema: JsonObject, request: Request) -> Json:
    if options := objects(schema.get("anyOf")):
        nullable = any(option.get("type") == "null" for option in options)
        return None if nullable else _fill_field(name, options[0], request)
    listed = schema.get("enum")
    if isinstance(listed, list) and listed:
        return _pick_choice(listed, request)
    match _schema_type(schema):
        case "object":
            return _fill_object(schema, request)
        case "array":
            return []
        case "integer" | "number":
            return 0
        case "boolean":
            return name == "unjudged"
        case "null":
            return None
        case _:
            return NEEDS_A_MODEL


def _schema_type(schema: JsonObject) -> str:
    field_type = schema.get("type", "string")
    return (
        "null"
        if isinstance(field_type, list) and "null" in field_type
        else str(field_type[0] if isinstance(field_type, list) else field_type)
    )


def _fill_object(schema: JsonObject, request: Request) -> JsonObject:
    fields = schema.get("properties")
    known_fields = fields if isinstance(fields, dict) else {}
    filled = {
        name: _fill_field(name, inner, request) for name, inner in known_fields.items() if isinstance(inner, dict)
    }
    return _fill_unjudged(filled, known_fields) if set(known_fields) >= _UNJUDGED_WORDS else filled


def _fill_unjudged(filled: JsonObject, known_fields: JsonObject) -> JsonObject:
    """A criterion that it cannot judge gets 0 and says so."""
    details = filled.get("details")
    inner = known_fields.get("details")
    as_text = isinstance(inner, dict) and inner.get("type") == "string"
    noted: Json = (
        dumps({"unjudged": True}) if as_text else {**(details if isinstance(details, dict) else {}), "unjudged": True}
    )
    return {**filled, "score": 0, "details": noted}


def _pick_choice(listed: list[Json], request: Request) -> Json:
    """The one choice that the request's text uses, else the one that claims least."""
    choices_said = [
        word for word in listed if isinstance(word, str) and word.lower() in f"{request.task} {request.said}".lower()
    ]
    modest = [word for word in listed if word in ("unknown", "none", "general", "other", "unjudged", "prose", "fail")]
    return choices_said[0] if len(choices_said) == 1 else modest[0] if modest else listed[0]
