"""A document: its template filled from a task's data, as structured JSON and as Markdown."""

import re
import tomllib
from collections.abc import Mapping
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.executor.core.reflect.document_material import Material, fill_source
from services.executor.core.reflect.unverified_numbers import has_unverified
from shared.contracts.base import Contract
from shared.contracts.task import Artifact
from shared.domain.exact_json import Json, JsonObject, dumps


class Section(Contract):
    """One section. ``filled_from``: sources of the task's own data; ``write``: what a model is asked for where they
    give nothing; ``text``: what always stands there. With none of them it has to come from outside.
    """

    name: str
    filled_from: tuple[str, ...] = ()
    write: str = ""
    text: str = ""

    @property
    def heading(self) -> str:
        return self.name.replace("_", " ").capitalize()

    @property
    def marker(self) -> str:
        """What stands in the place of a section that is missing."""
        return f"[{self.name.replace('_', ' ').upper()} \N{EM DASH} REQUIRED]"


class DocumentTemplate(Contract):
    """``asked``: the words with which a task asks for it. ``processes``: kinds of process that always leave one."""

    type: str
    title: str
    asked: tuple[str, ...]
    processes: tuple[str, ...] = ()
    sections: tuple[Section, ...]


@cache
def templates() -> Mapping[str, DocumentTemplate]:
    """Each template under its type, in the order of their names."""
    folder = files(__package__) / "templates"
    found = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".toml"))
    return {name.removesuffix(".toml"): _template(name, (folder / name).read_text("utf-8")) for name in found}


def _template(name: str, text: str) -> DocumentTemplate:
    given = tomllib.loads(text)
    sections = [{**section, "filled_from": section.get("from", ())} for section in given["sections"]]
    return DocumentTemplate.model_validate({**given, "type": name.removesuffix(".toml"), "sections": sections})


_PRODUCE = (
    "write|draft|prepare|create|generate|produce|compile|compose|build|make|assemble|provide|deliver"
    "|put together|give (?:me|us)|(?:i|we) (?:need|want)"
)
_SPACE, _WHITE = re.escape(" "), r"\s+"
_NOT = r"(?:do not|don['\u2019]t|never|without|no need to|not to|not)\s+(?:\w+\s+){0,2}$"
# Between the verb and the document may stand what describes it, and nothing that leads to something else.
_BETWEEN = r"(?:,?\s+(?!(?:about|on|to|of|for|from|in|with|into|after|before|and|that|which)\b)[\w'\u2019-]+){0,5}?\s+"
_AND = r"s?(?:\s*,\s*(?:and\s+)?|\s+and\s+)(?:(?:an?|the|our)\s+)?"  # between two documents that one verb asks for


def asked_documents(task: str) -> tuple[str, ...]:
    """The types of document that the task wants to be written, in the order of their templates.

    A document that is only spoken of ("send the post-mortem to Bob") is not asked for.
    """
    return tuple(name for name in templates() if any(_is_wanted(match, task) for match in _asking(name).finditer(task)))


def asking_words(task: str) -> tuple[str, ...]:
    """The words of a task that ask for documents, as they stand there."""
    found = [match for name in asked_documents(task) for match in _asking(name).finditer(task)]
    return tuple(dict.fromkeys(match[0] for match in found if _is_wanted(match, task)))


@cache
def _asking(name: str) -> re.Pattern[str]:
    every = _either(tuple(phrase for one in templates().values() for phrase in one.asked))
    words = _either(templates()[name].asked)
    return re.compile(rf"\b(?:{_PRODUCE}){_BETWEEN}(?:{every}{_AND})*{words}s?\b(?!-)", re.I)


def _either(phrases: tuple[str, ...]) -> str:
    """Any of the phrases, the longest first, however they are spaced."""
    longest = sorted(phrases, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(phrase).replace(_SPACE, _WHITE) for phrase in longest)})"


def _is_wanted(match: re.Match[str], task: str) -> bool:
    return re.search(_NOT, task[: match.start()], re.I) is None


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


def own_documents(process_type: str) -> tuple[str, ...]:
    """The documents that a process leaves without being asked."""
    return tuple(name for name, template in templates().items() if process_type in template.processes)


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
