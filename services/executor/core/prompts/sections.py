"""What stands in the user message of a state: quoted sections of data, in a fixed order."""

from collections.abc import Mapping

from shared.domain.exact_json import Json, dumps

STABLE = ("read_tools",)  # the same for many tasks, and the longest there is
ORDER = (
    *STABLE,
    "source",
    "tools",
    "process_type",
    "process_types",
    "task",
    "files",
    "now",
    "history",
    "primer",
    "knowledge",
    "entities",
    "policy_advice",
    "constraints",
    "thresholds",
    "documents",
    "answer_format",
    "parts",
    "calls",
    "calculators",
    "tool_spec",
    "facts",
    "values",
    "drafts",
    "writes",
    "document",
    "answer",
    "missing",
    "unmet",
    "so_far",
    "outcomes",
    "correction",
    "efficiency",
)


def render(sections: Mapping[str, Json]) -> str:
    """``<name>`` ... ``</name>`` for each section there is. Texts stand as they are, everything else as canonical JSON.

    A closing tag inside quoted text is defused, so that data cannot end its own section.
    """
    return "\n\n".join(_section(name, sections[name]) for name in ORDER if _has_content(sections.get(name)))


def _has_content(value: Json) -> bool:
    return value not in (None, "", [], {})


def _section(name: str, value: Json) -> str:
    text = value if isinstance(value, str) else dumps(value)
    defused = text.replace("</", "<\\/")
    return f"<{name}>\n{defused}\n</{name}>"
