"""The prompts: system texts (files in ``texts/``), the order of a message's sections, schemas of structured outputs."""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.states.machine import STATES_IN_ORDER
from shared.domain.exact_json import Json
from shared.domain.sections import render_sections
from shared.domain.words import EscalationLevel, RuleAction

_TEXT_FOLDER = files(__package__) / "texts"


class Prompts(NamedTuple):
    """The fixed texts that are sent to models, each from the file of its name in ``texts/``.

    ``rules`` is the system text of a conversation; ``coverage`` and ``artifact`` are each a system text alone. What
    begins with ``moa_`` or ``efficiency_`` is added to the end of a request's messages. Any other one follows ``role``.
    """

    role: str
    rules: str
    coverage: str
    artifact: str
    summarize: str
    translate: str
    moa_doubting: str
    moa_merge: str
    new_process: str
    efficiency_mild: str
    efficiency_strict: str
    efficiency_emergency: str
    improve: str
    document: str
    stand_in: str
    tool_gap: str
    make_tool: str
    tool_cases: str


@cache
def load_prompts() -> Prompts:
    return Prompts(*((_TEXT_FOLDER / f"{name}.md").read_text("utf-8").strip() for name in Prompts._fields))


STABLE_SECTIONS = ("read_tools",)  # the same for many tasks, and the longest there is
SECTION_ORDER = (
    *STABLE_SECTIONS,
    *"""
    source tools process_type process_types task files now history primer knowledge entities policy_advice constraints
    thresholds documents answer_format parts calls calculators tool_spec facts values drafts writes document answer
    missing unmet so_far outcomes correction efficiency
    """.split(),
)


def render_in_order(sections: Mapping[str, Json]) -> str:
    """The sections that ``SECTION_ORDER`` names, in that order, as ``render_sections`` writes them."""
    return render_sections({name: sections[name] for name in SECTION_ORDER if name in sections})


Schema = dict[str, JsonValue]


def _object_schema(**properties: JsonValue) -> Schema:
    return {"type": "object", "properties": properties, "required": list(properties), "additionalProperties": False}


def _array_schema(items: JsonValue) -> Schema:
    return {"type": "array", "items": items}


def _nullable(schema: Schema) -> Schema:
    return {"anyOf": [schema, {"type": "null"}]}


def _enum(*choices: str) -> Schema:
    return {"type": "string", "enum": list(choices)}


_TEXT_SCHEMA: Schema = {"type": "string"}
STAND_IN_SCHEMA = _object_schema(tool=_nullable(_TEXT_SCHEMA), arguments_json=_TEXT_SCHEMA, why=_TEXT_SCHEMA)
COVERAGE_SCHEMA = _object_schema(
    agrees={"type": "boolean"}, problems=_array_schema(_object_schema(part={"type": "integer"}, why=_TEXT_SCHEMA))
)
TOOL_GAP_SCHEMA = _object_schema(
    gaps=_array_schema(
        _object_schema(
            name=_TEXT_SCHEMA,
            purpose=_TEXT_SCHEMA,
            arguments=_array_schema(_TEXT_SCHEMA),
            result=_enum("money", "ratio"),
        )
    ),
)
MADE_FUNCTION_SCHEMA = _object_schema(code=_TEXT_SCHEMA, cannot=_TEXT_SCHEMA)
MADE_CASES_SCHEMA = _object_schema(
    cases=_array_schema(_object_schema(inputs=_array_schema(_TEXT_SCHEMA), expected=_TEXT_SCHEMA)), cannot=_TEXT_SCHEMA
)
_LEVEL_NAMES = tuple(level.word for level in EscalationLevel)
TRANSLATION_SCHEMA = _object_schema(
    rules=_array_schema(
        _object_schema(
            quote=_TEXT_SCHEMA,
            kind=_enum("condition", "never", "at_most", "only_after", "only_when", "only_after_confirmation"),
            tool=_TEXT_SCHEMA,
            limit=_nullable({"type": "integer"}),
            after=_array_schema(_TEXT_SCHEMA),
            condition=_TEXT_SCHEMA,
            action=_enum("", *RuleAction),
            level=_enum("", *_LEVEL_NAMES),
            reason=_TEXT_SCHEMA,
        )
    )
)
PROCESS_SCHEMA = _object_schema(
    states=_array_schema(_enum(*STATES_IN_ORDER)),
    risk=_enum("low", "medium", "high"),
    approval_wanted={"type": "boolean"},
    instructions=_array_schema(_object_schema(state=_enum(*STATES_IN_ORDER), text=_TEXT_SCHEMA)),
    outputs=_array_schema(_TEXT_SCHEMA),
)
DOCUMENT_SCHEMA = _object_schema(sections=_array_schema(_object_schema(name=_TEXT_SCHEMA, text=_TEXT_SCHEMA)))
