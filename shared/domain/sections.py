"""A prompt's data as named sections."""

from collections.abc import Mapping

from shared.domain.exact_json import Json, dumps


def render_sections(sections: Mapping[str, Json]) -> str:
    """Each section that has content as ``<name>`` ... ``</name>``, text or canonical JSON. What stands in one is data
    and cannot close it: closing tags in it are defused.
    """
    return "\n\n".join(_format(name, value) for name, value in sections.items() if value not in (None, "", [], {}))


def _format(name: str, value: Json) -> str:
    text = value if isinstance(value, str) else dumps(value)
    defused = text.replace("</", "<\\/")
    return f"<{name}>\n{defused}\n</{name}>"
