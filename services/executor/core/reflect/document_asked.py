"""Which documents a task asks for in words."""

import re
from functools import cache

from services.executor.core.reflect.document_templates import templates

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
