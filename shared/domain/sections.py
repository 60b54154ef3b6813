"""Formats a prompt's data as named sections."""

from collections.abc import Mapping

from shared.domain.exact_json import Json, dumps


def render_sections(sections: Mapping[str, Json]) -> str:
    """Renders sections for a prompt, each non-empty one as ``<name>`` ... ``</name>``; closing tags in the data are
    escaped.
    """
    return "\n\n".join(
        _render_section(name, value) for name, value in sections.items() if value not in (None, "", [], {})
    )


def _render_section(name: str, value: Json) -> str:
    text = value if isinstance(value, str) else dumps(value)
    defused = text.replace("</", "<\\/")
    return f"<{name}>\n{defused}\n</{name}>"
