"""Formats a prompt's data as named sections."""

from collections.abc import Mapping

from shared.domain.exact_json import Json, dumps


def render_sections(sections: Mapping[str, Json]) -> str:
    """Each non-empty section as ``<name>`` ... ``</name>``; closing tags in its data are escaped."""
    return "\n\n".join(_to_tag(name, value) for name, value in sections.items() if value not in (None, "", [], {}))


def _to_tag(name: str, value: Json) -> str:
    text = value if isinstance(value, str) else dumps(value)
    defused = text.replace("</", "<\\/")
    return f"<{name}>\n{defused}\n</{name}>"
