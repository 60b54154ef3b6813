"""A document: its template filled from a task's data, as structured JSON and as Markdown."""

from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.reflect.document_material import Material, fill_source
from services.executor.core.reflect.document_templates import DocumentTemplate, Section, templates
from services.executor.core.reflect.unverified_numbers import has_unverified
from shared.contracts.task import Artifact
from shared.domain.exact_json import Json, JsonObject, dumps

MARKDOWN = "text/markdown"
NO_TEXTS: Mapping[str, str] = {}


class DocumentAbout(NamedTuple):
    """What stands in a document's metadata."""

    task_id: str
    created_at: datetime


def markdown(template: DocumentTemplate, sections: Mapping[str, Json], created_at: datetime) -> str:
    """One heading a section: a text as a paragraph, lines as bullets, rows of the same fields as a table."""
    parts = [f"# {template.title}", f"_{created_at:%Y-%m-%d %H:%M} UTC_"]
    for section in template.sections:
        parts += [f"## {section.heading}", _block(sections[section.name])]
    return "\n\n".join(parts) + "\n"


def open_sections(kind: str, material: Material) -> tuple[Section, ...]:
    """The sections of a document that a model is asked for: no data fills them."""
    return tuple(
        section for section in templates()[kind].sections if section.write and not _from_data(section, material)
    )


def document(kind: str, material: Material, about: DocumentAbout, texts: Mapping[str, str] = NO_TEXTS) -> Artifact:
    """The document as an artifact: Markdown as its text, ``{type, created_at, metadata, sections, complete}`` as data.

    ``texts``: sections that a model wrote, by name. A section that nothing fills is marked, and named in the metadata;
    so is one in which a figure is marked as unverified.
    """
    template = templates()[kind]
    sections = {section.name: _content(section, material, texts) for section in template.sections}
    missing = [section.name for section in template.sections if sections[section.name] == section.marker]
    data: dict[str, Json] = {
        "type": kind,
        "created_at": about.created_at.isoformat(),
        "metadata": {
            "title": template.title,
            "task_id": about.task_id,
            "process_type": material.progress.process_type,
            "missing_sections": [*missing],
            "unverified_sections": [name for name, content in sections.items() if has_unverified(content)],
            "written_by_model": [name for name in texts if texts[name].strip()],
        },
        "sections": {**sections},
        "complete": not missing,
    }
    text = markdown(template, sections, about.created_at)
    return Artifact(name=kind, text=text, data=cast("dict[str, JsonValue]", _exact(data)), media_type=MARKDOWN)


def _block(value: Json) -> str:
    if not isinstance(value, list):
        return _text(value)
    rows = [item for item in value if isinstance(item, dict)]
    lines = [f"- {_text(item)}" for item in value if not isinstance(item, dict)]
    return "\n\n".join(filter(None, ("\n".join(lines), *map(_table, _group_rows(rows)))))


def _group_rows(rows: list[JsonObject]) -> list[list[JsonObject]]:
    """The rows of each kind: those that have the same fields, or only more of them, stand in one table."""
    kinds: list[list[JsonObject]] = []
    for row in rows:
        kind = next((kind for kind in kinds if row.keys() <= kind[0].keys() or kind[0].keys() <= row.keys()), None)
        if kind is None:
            kinds.append([row])
        else:
            kind.append(row)
    return kinds


def _table(rows: list[JsonObject]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    head = f"| {' | '.join(map(_cell, columns))} |\n|{'---|' * len(columns)}"
    body = [f"| {' | '.join(_cell(row.get(column)) for column in columns)} |" for row in rows]
    return "\n".join([head, *body])


def _cell(value: Json) -> str:
    """One line, in which nothing ends the cell."""
    return " ".join(_text(value).split()).replace("|", "\\|")


def _text(value: Json) -> str:
    if value is None:
        return "-"
    return value if isinstance(value, str) else dumps(value)


def _exact(value: Json) -> Json:
    """With each decimal as its text: no reader makes a binary fraction of it (I8)."""
    match value:
        case Decimal():
            return str(value)
        case dict():
            return {key: _exact(item) for key, item in value.items()}
        case list():
            return [_exact(item) for item in value]
        case _:
            return value


def _content(section: Section, material: Material, texts: Mapping[str, str]) -> Json:
    return section.text or _from_data(section, material) or texts.get(section.name, "").strip() or section.marker


def _from_data(section: Section, material: Material) -> Json:
    """What the section's sources have, one after the other; a single one stands as it is."""
    found = [part for part in (fill_source(source, material) for source in section.filled_from) if part]
    if len(found) < 2:
        return found[0] if found else None
    return [item for part in found for item in (part if isinstance(part, list) else [part])]
