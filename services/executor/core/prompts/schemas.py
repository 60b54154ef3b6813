"""The structured outputs asked of a model: one JSON Schema for each state that has one.

Objects are closed and every property is required, as structured output demands; free-form JSON travels as text.
"""

from pydantic import JsonValue

from shared.domain.words import Level, RuleAction

Schema = dict[str, JsonValue]


def _object(**properties: JsonValue) -> Schema:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _array(items: JsonValue) -> Schema:
    return {"type": "array", "items": items}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _enum(*words: str) -> Schema:
    return {"type": "string", "enum": list(words)}


TEXT: Schema = {"type": "string"}


STAND_IN = _object(tool=_nullable(TEXT), arguments_json=TEXT, why=TEXT)

COVERAGE = _object(agrees={"type": "boolean"}, problems=_array(_object(part={"type": "integer"}, why=TEXT)))

TOOL_GAP = _object(
    gaps=_array(_object(name=TEXT, purpose=TEXT, arguments=_array(TEXT), result=_enum("money", "ratio"))),
)

MADE_FUNCTION = _object(code=TEXT, cannot=TEXT)

MADE_CASES = _object(cases=_array(_object(inputs=_array(TEXT), expected=TEXT)), cannot=TEXT)

LEVELS = tuple(level.word for level in Level)

TRANSLATION = _object(
    rules=_array(
        _object(
            quote=TEXT,
            kind=_enum("condition", "never", "at_most", "only_after", "only_when", "only_after_confirmation"),
            tool=TEXT,
            limit=_nullable({"type": "integer"}),
            after=_array(TEXT),
            condition=TEXT,
            action=_enum("", *RuleAction),
            level=_enum("", *LEVELS),
            reason=TEXT,
        )
    )
)

STATES = ("DECOMPOSE", "ASSESS", "COMPUTE", "POLICY_CHECK", "APPROVAL_GATE", "MUTATE", "SCHEDULE_NOTIFY", "COMPLETE")

PROCESS = _object(
    states=_array(_enum(*STATES)),
    risk=_enum("low", "medium", "high"),
    approval_wanted={"type": "boolean"},
    instructions=_array(_object(state=_enum(*STATES), text=TEXT)),
    outputs=_array(TEXT),
)


DOCUMENT = _object(sections=_array(_object(name=TEXT, text=TEXT)))
