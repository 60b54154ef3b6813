"""Tools that a task's own text names in full although the server does not list them: some servers have such tools."""

import re
from collections.abc import Collection, Iterator

from services.executor.core.tools import verbs
from services.executor.core.tools.classes import classify
from services.executor.core.tools.near_names import words_of
from services.executor.ports.tools import Tool
from shared.contracts.tenant import CatalogueEntry, Connection

_NAME = re.compile(r"(?<![\w./-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w/-])")
_CALLED = re.compile(r"\b(?:call|run|invoke|tools?|functions?)\s+[`'\"]?$", re.IGNORECASE)
_USED = re.compile(r"\b(?:use|using)\s+[`'\"]?$", re.IGNORECASE)
_CALL = re.compile(r"[`'\"]?(?:\(|\s+(?:tool|function)\b)", re.IGNORECASE)
_FORBIDDEN = re.compile(r"\b(?:not|never|don't|without|avoid|instead of)\b[^.,;\n]{0,40}$", re.IGNORECASE)
_VERBS = verbs.READ | verbs.COMPUTE | verbs.NOTIFY | verbs.DELIVER | verbs.CHANGE
# Two words of which the second is one of these name a field sooner than a tool: ``update_date``, ``display_name``.
_FIELDS = frozenset("id ids name names date at by time number no code type status total amount count key".split())
_NO_ENTRY = CatalogueEntry()


def named_tools(text: str, connection: Connection, known: Collection[str]) -> tuple[Tool, ...]:
    """The tools that the text names and nobody knows, classified by their names; a forbidden one is left out."""
    names = dict.fromkeys(name for name in _names(text) if name not in known)
    return tuple(_tool(name, connection) for name in sorted(names))


def _names(text: str) -> Iterator[str]:
    for found in _NAME.finditer(text):
        before, after = text[: found.start()], text[found.end() :]
        called = _CALLED.search(before) or _CALL.match(after)
        meant = not _is_field(found[0]) and (_begins_with_verb(found[0]) or _USED.search(before))
        if (called or meant) and not _FORBIDDEN.search(before):
            yield found[0]


def _begins_with_verb(name: str) -> bool:
    """Whether a name is an order. Words that are nouns as often are not taken for verbs."""
    return words_of(name)[0] in _VERBS


def _is_field(name: str) -> bool:
    words = words_of(name)
    return len(words) == 2 and words[1] in _FIELDS


def _tool(name: str, connection: Connection) -> Tool:
    entry = connection.catalogue.get(name, _NO_ENTRY)
    classified = classify(name, None, entry)
    return Tool(
        connection_id=connection.id,
        name=name,
        description="Named by the task; the server does not list it.",
        input_schema={"type": "object"},
        tool_class=classified.tool_class,
        why_class=classified.why,
        catalogue=entry,
    )
