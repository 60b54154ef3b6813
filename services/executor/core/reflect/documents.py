"""Documents (reports): a template filled with a task's data, as structured JSON and as Markdown."""

import re
import tomllib
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from decimal import Decimal
from functools import cache
from importlib.resources import files
from typing import NamedTuple, cast

from pydantic import Field, JsonValue

from services.executor.core.figures.dates import read_machine_moment
from services.executor.core.records.seen_records import find_records
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import Fact
from services.executor.core.tools.name_similarity import stems_of
from services.executor.core.tools.paging import read_list_page
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, is_empty_result, is_id_name
from shared.contracts.approval import Approval, ApprovalStatus
from shared.contracts.base import Contract
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.contracts.policy import Verdict
from shared.contracts.task import Artifact
from shared.domain.answer import is_json_list
from shared.domain.exact_json import Json, JsonObject, as_text, map_leaves
from shared.domain.words import ToolClass, describe_decider


class Section(Contract):
    """One section of a document. ``filled_from``: the task's data to fill it with; ``write``: the instruction for a
    model if there is no such data; ``text``: a fixed text. With none of these it is marked as missing.
    """

    name: str
    filled_from: tuple[str, ...] = Field((), validation_alias="from")
    write: str = ""
    text: str = ""

    @property
    def missing_marker(self) -> str:
        """The text that marks the section as missing."""
        return f"[{self.name.replace('_', ' ').upper()} \N{EM DASH} REQUIRED]"


class DocumentTemplate(Contract):
    """A type of document. ``asked``: phrases that ask for it. ``processes``: process types that always produce it."""

    title: str
    asked: tuple[str, ...]
    processes: tuple[str, ...] = ()
    sections: tuple[Section, ...]


@cache
def load_document_templates() -> Mapping[str, DocumentTemplate]:
    """The document templates by type, in alphabetical order."""
    entries = [entry for entry in (files(__package__) / "templates").iterdir() if entry.name.endswith(".toml")]
    fields_by_type = {entry.name.removesuffix(".toml"): tomllib.loads(entry.read_text("utf-8")) for entry in entries}
    return {name: DocumentTemplate.model_validate(fields) for name, fields in sorted(fields_by_type.items())}


_PRODUCTION_VERBS_REGEX = (
    "write|draft|prepare|create|generate|produce|compile|compose|build|make|assemble|provide|deliver"
    "|put together|give (?:me|us)|(?:i|we) (?:need|want)"
)
_ESCAPED_SPACE, _WHITE_SPACE = re.escape(" "), r"\s+"
_NEGATION_PATTERN = re.compile(
    r"(?:do not|don['\u2019]t|never|without|no need to|not to|not)\s+(?:\w+\s+){0,2}$", re.IGNORECASE
)
_LOOKBACK_FROM_REQUEST = 100  # characters before a request that are searched
# Between the verb and the document may stand words that describe it, but none that begins another phrase.
_ADJECTIVES_REGEX = (
    r"(?:,?\s+(?!(?:about|on|to|of|for|from|in|with|into|after|before|and|that|which)\b)[\w'\u2019-]+){0,5}?\s+"
)
# Between two documents that one verb asks for.
_CONJUNCTION_REGEX = r"s?(?:\s*,\s*(?:and\s+)?|\s+and\s+)(?:(?:an?|the|our)\s+)?"


def find_document_requests(task: str) -> Mapping[str, Sequence[str]]:
    """By type of document, the phrases in the task's text that ask for it, and are not negated; sorted by type."""
    matches = (
        (name, match) for name in load_document_templates() for match in _compile_request_pattern(name).finditer(task)
    )
    phrases_by_type: dict[str, list[str]] = {}
    for name, match in matches:
        if _NEGATION_PATTERN.search(task, max(0, match.start() - _LOOKBACK_FROM_REQUEST), match.start()) is None:
            phrases_by_type.setdefault(name, []).append(match[0])
    return phrases_by_type


@cache
def _compile_request_pattern(name: str) -> re.Pattern[str]:
    phrases = tuple(phrase for template in load_document_templates().values() for phrase in template.asked)
    other_documents = rf"(?:{_build_phrases_regex(phrases)}{_CONJUNCTION_REGEX})*"
    document = _build_phrases_regex(load_document_templates()[name].asked)
    return re.compile(rf"\b(?:{_PRODUCTION_VERBS_REGEX}){_ADJECTIVES_REGEX}{other_documents}{document}s?\b(?!-)", re.I)


def _build_phrases_regex(phrases: tuple[str, ...]) -> str:
    """A regular expression that matches any of the phrases, the longest first, with any white space between words."""
    longest = sorted(phrases, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(phrase).replace(_ESCAPED_SPACE, _WHITE_SPACE) for phrase in longest)})"


def list_documents_of_process(process_type: str) -> tuple[str, ...]:
    """The types of document that a process always produces."""
    return tuple(name for name, template in load_document_templates().items() if process_type in template.processes)


_UNVERIFIED_MARK = "[unverified: "


def mark_unverified(text: str, tokens: Sequence[str]) -> str:
    """The text with each token marked as ``[unverified: TOKEN]``; one that is not found is named at the end."""
    if not tokens:
        return text
    alternatives = "|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True))
    whole_token = rf"(?<![\w$€£¥])(?<!\d[.,:/])(?:{alternatives})(?![\w%€£¥]|[.,:/]\d)"
    marked_text = re.sub(whole_token, rf"{_UNVERIFIED_MARK}\g<0>]", text)
    marks = [f"{_UNVERIFIED_MARK}{token}]" for token in tokens]
    return " ".join([marked_text, *(mark for mark in marks if mark not in marked_text)])


_MOST_ROWS = 50


class DocumentMaterial(NamedTuple):
    """All data of a task that its documents may be filled with."""

    task: str
    progress: Progress
    writes: Sequence[LedgerEntry]
    answer: str = ""
    approval: Approval | None = None

    @property
    def dossier(self) -> Dossier:
        return self.progress.dossier

    @property
    def plan(self) -> WritePlan:
        return self.dossier.present_plan


def read_source_data(source: str, material: DocumentMaterial) -> Json:
    """The data of a source (a key of ``READ_BY_SOURCE``, or ``records: a b`` for records with these words).

    It may be empty.
    """
    kind, _, words = source.partition(":")
    if kind == "records":
        return _select_records(material, stems_of(words))
    return READ_BY_SOURCE[kind](material)


def _describe_planned_calls(material: DocumentMaterial) -> Json:
    """The planned calls; each that was made has its status and proof."""
    entries = {(entry.plan_hash, entry.call.call_id): entry for entry in material.writes}
    rows: list[Json] = []
    for call in material.plan.calls:
        entry = entries.get((material.plan.hash, call.call_id))
        row = _describe_call(call)
        rows.append({**row, "status": entry.status.value, "proof": entry.note} if entry else row)
    return rows


def _describe_call(call: PlannedCall) -> JsonObject:
    return {
        "call": call.call_id,
        "tool": call.tool,
        "arguments": call.arguments,
        "class": call.tool_class.value,
        "proved by": call.read_back.tool if call.read_back else None,
        "if it fails": call.on_failure,
        "taken back by": call.compensation.tool if call.compensation else None,
    }


def _describe_policy(material: DocumentMaterial) -> Json:
    verdict = material.dossier.verdict
    if verdict is None:
        return []
    rules = dict.fromkeys((*verdict.reasons, *(refusal.sentence for refusal in verdict.refusals)))
    return [_describe_status(verdict), *rules] if material.plan.calls or rules else []


def _describe_status(verdict: Verdict) -> str:
    if verdict.blocked:
        return "Blocked by policy."
    if verdict.escalate or verdict.requires_approval:
        return f"Needs the decision of {describe_decider(verdict.escalation_level)}."
    return "Passed." if verdict.passed else "Not passed."


def _describe_risk(material: DocumentMaterial) -> Json:
    """Sentences on the risks of the plan; empty if it has no calls."""
    calls = material.plan.calls
    if not calls:
        return []
    changes = [call for call in calls if call.tool_class is ToolClass.CHANGE]
    notices = len(calls) - len(changes)
    unproved = [call.call_id for call in changes if call.read_back is None]
    irreversible = [call.call_id for call in changes if call.compensation is None]
    return [
        f"Risk of the process {material.progress.process_type}: {material.progress.template.risk}.",
        f"Planned are {_format_count(len(changes), 'change')} and {_format_count(notices, 'notice')}.",
        *([f"No read can show whether these took hold: {', '.join(unproved)}."] if unproved else []),
        *([f"Nothing takes these back by itself: {', '.join(irreversible)}."] if irreversible else []),
    ]


def _format_count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _describe_who_decides(material: DocumentMaterial) -> Json:
    """Sentences on who decides or decided, and why; empty if nobody has to."""
    approval = material.approval
    if approval is None:
        note = material.dossier.approval_note
        return [note] if note else []
    deciders = f"{approval.needed} different approvers" if approval.needed > 1 else "an approver"
    level = f" at level {approval.level}" if approval.level else ""
    supersession = " The task ended, or went on, without it." if approval.status is ApprovalStatus.SUPERSEDED else ""
    sentences: list[Json] = [
        f"Status: {approval.status.value}.{supersession}",
        f"Decided by {deciders}{level}, not by {approval.requester_id}, before {approval.deadline:%Y-%m-%d %H:%M} UTC.",
        f"The plan's hash: {approval.plan_hash}",
        *(f"Asked because of: {reason}" for reason in approval.reasons),
    ]
    for decision in approval.decisions:
        verb = "Approved" if decision.approve else "Rejected"
        comment = f": {decision.comment}" if decision.comment else ""
        sentences.append(f"{verb} by {decision.by.id} at {decision.at:%Y-%m-%d %H:%M} UTC{comment}")
    return sentences


def _describe_read(fact: Fact) -> str:
    call = f"{fact.tool} {fact.arguments_json}"
    if not fact.ok:
        return f"{call}: it failed"
    page = read_list_page(fact.result)
    if page and page.rows:
        content = f"{len(page.rows)} rows"
    else:
        content = "nothing was found" if is_empty_result(fact.result) else "one record"
    return " ".join(filter(None, (f"{call}: {content}", fact.note)))


def _list_missing_information(material: DocumentMaterial) -> Json:
    """The reads that failed or found nothing, and the unknown fields that rules needed."""
    facts, verdict = material.dossier.facts, material.dossier.verdict
    sentences = [_describe_read(fact) for fact in facts if not fact.ok or is_empty_result(fact.result)]
    sentences += [f"not known: {field}" for field in (verdict.indeterminate if verdict else ())]
    return [*dict.fromkeys(sentences)]


def _list_dates(material: DocumentMaterial) -> Json:
    """Up to fifty dates that were read (with field and record) and times of sent writes, the earliest first."""
    rows = {
        (value, key, "" if seen_record.id is None else as_text(seen_record.id))
        for seen_record in find_records(material.dossier.facts, NO_RECORD_KEYS)
        for key, value in seen_record.record.items()
        if isinstance(value, str) and (moment := read_machine_moment(value, None)) and moment.day
    }
    sendings = {(e.sending_at.isoformat(), e.call.tool, e.call.call_id) for e in material.writes if e.sending_at}
    ordered = sorted(rows | sendings)[:_MOST_ROWS]
    return [{"when": time, "what": field.replace("_", " "), "of": record_id} for time, field, record_id in ordered]


def _select_records(material: DocumentMaterial, words: frozenset[str]) -> Json:
    """Up to fifty records that were read, with one of the ``words`` in the name of the read tool or of a field."""
    chosen: list[Json] = []
    for seen_record in find_records(material.dossier.facts, NO_RECORD_KEYS):
        flat = _flatten_record(seen_record.record)
        if flat not in chosen and any(stems_of(name) & words for name in (seen_record.fact.tool, *seen_record.record)):
            chosen.append(flat)
        if len(chosen) == _MOST_ROWS:
            break
    return chosen


def _flatten_record(record: JsonObject) -> JsonObject:
    """The scalar fields of a record, its ids first."""
    ordered = sorted(record, key=lambda key: (key.lower() != "id", not is_id_name(key)))
    return {key: record[key] for key in ordered if not isinstance(record[key], dict | list)}


READ_BY_SOURCE: Mapping[str, Callable[[DocumentMaterial], Json]] = {
    "request": lambda material: material.task,
    "answer": lambda material: "" if is_json_list(material.answer) else material.answer,
    "values": lambda material: [
        {"name": value.name, "value": value.value, "by": value.operation} for value in material.dossier.values
    ],
    "calls": _describe_planned_calls,
    "policy": _describe_policy,
    "risk": _describe_risk,
    "decision": _describe_who_decides,
    "reads": lambda material: [*map(_describe_read, material.dossier.facts)],
    "gaps": _list_missing_information,
    "dates": _list_dates,
}
MARKDOWN_MEDIA_TYPE = "text/markdown"


def _render_markdown(template: DocumentTemplate, sections: Mapping[str, Json], created_at: datetime) -> str:
    """The document as Markdown: a heading for each section; lists as bullets, rows with the same fields as a table."""
    parts = [f"# {template.title}", f"_{created_at:%Y-%m-%d %H:%M} UTC_"]
    for section in template.sections:
        parts += [f"## {section.name.replace('_', ' ').capitalize()}", _format_block(sections[section.name])]
    return "\n\n".join(parts) + "\n"


def list_unfilled_sections(kind: str, material: DocumentMaterial) -> tuple[Section, ...]:
    """The sections that no data fills and that a model is to write."""
    return tuple(
        section
        for section in load_document_templates()[kind].sections
        if section.write and not _read_section_data(section, material)
    )


def build_document(
    kind: str, material: DocumentMaterial, task_id: str, created_at: datetime, texts: Mapping[str, str] = {}
) -> Artifact:
    """The document as Markdown and data. ``texts``: what a model wrote, by ``type of document.section name``."""
    template = load_document_templates()[kind]
    drafts = {section.name: texts.get(f"{kind}.{section.name}", "") for section in template.sections}
    sections = {
        section.name: section.text
        or _read_section_data(section, material)
        or drafts[section.name]
        or section.missing_marker
        for section in template.sections
    }
    missing = [section.name for section in template.sections if sections[section.name] == section.missing_marker]
    unverified = [name for name, text in sections.items() if isinstance(text, str) and _UNVERIFIED_MARK in text]
    data: dict[str, Json] = {
        "type": kind,
        "created_at": created_at.isoformat(),
        "metadata": {
            "title": template.title,
            "task_id": task_id,
            "process_type": material.progress.process_type,
            "missing_sections": [*missing],
            "unverified_sections": [*unverified],
            "written_by_model": [name for name, draft in drafts.items() if draft],
        },
        "sections": {**sections},
        "complete": not missing,
    }
    text = _render_markdown(template, sections, created_at)
    # A decimal is a text, so that no JSON reader rounds it (I8).
    quoted_data = map_leaves(data, lambda value: str(value) if isinstance(value, Decimal) else value)
    return Artifact(
        name=kind, text=text, data=cast("dict[str, JsonValue]", quoted_data), media_type=MARKDOWN_MEDIA_TYPE
    )


def _format_block(value: Json) -> str:
    if not isinstance(value, list):
        return _format_value(value)
    rows = [item for item in value if isinstance(item, dict)]
    lines = [f"- {_format_value(item)}" for item in value if not isinstance(item, dict)]
    return "\n\n".join(filter(None, ("\n".join(lines), *map(_format_table, _group_rows_by_table(rows)))))


def _group_rows_by_table(rows: list[JsonObject]) -> list[list[JsonObject]]:
    """The rows in groups for tables: a row's field names contain those of the group's first row, or are among them."""
    kinds: list[list[JsonObject]] = []
    for row in rows:
        kind = next((kind for kind in kinds if row.keys() <= kind[0].keys() or kind[0].keys() <= row.keys()), None)
        if kind is None:
            kinds.append([row])
        else:
            kind.append(row)
    return kinds


def _format_table(rows: list[JsonObject]) -> str:
    columns = list(dict.fromkeys(key for row in rows for key in row))
    head = f"| {' | '.join(map(_format_cell, columns))} |\n|{'---|' * len(columns)}"
    body = [f"| {' | '.join(_format_cell(row.get(column)) for column in columns)} |" for row in rows]
    return "\n".join([head, *body])


def _format_cell(value: Json) -> str:
    """A value as one line that cannot break a Markdown table."""
    return " ".join(_format_value(value).split()).replace("|", "\\|")


def _format_value(value: Json) -> str:
    return "-" if value is None else as_text(value)


def _read_section_data(section: Section, material: DocumentMaterial) -> Json:
    """The data of the section's sources: of one source as it is, of several as one list; None if no source has any."""
    contents = [part for part in (read_source_data(source, material) for source in section.filled_from) if part]
    if len(contents) < 2:
        return contents[0] if contents else None
    return [item for part in contents for item in (part if isinstance(part, list) else [part])]
