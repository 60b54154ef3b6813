"""A document as people read it."""

from collections.abc import Mapping
from datetime import datetime

from services.executor.core.reflect.document_templates import DocumentTemplate
from shared.domain.exact_json import Json, JsonObject, dumps


def markdown(template: DocumentTemplate, sections: Mapping[str, Json], created_at: datetime) -> str:
    """One heading a section: a text as a paragraph, lines as bullets, rows of the same fields as a table."""
    parts = [f"# {template.title}", f"_{created_at:%Y-%m-%d %H:%M} UTC_"]
    for section in template.sections:
        parts += [f"## {section.heading}", _block(sections[section.name])]
    return "\n\n".join(parts) + "\n"


def _block(value: Json) -> str:
    if not isinstance(value, list):
        return _text(value)
    rows = [item for item in value if isinstance(item, dict)]
    lines = [f"- {_text(item)}" for item in value if not isinstance(item, dict)]
    return "\n\n".join(filter(None, ("\n".join(lines), *map(_table, _alike(rows)))))


def _alike(rows: list[JsonObject]) -> list[list[JsonObject]]:
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
