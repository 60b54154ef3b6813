"""The kinds of document that can be written, and which of them a task asks for."""

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from shared.contracts.base import Contract


class Section(Contract):
    """One section of a document. ``filled_from``: sources of the task's own data; ``write``: what a model is asked for
    where they give nothing; ``text``: what always stands there. With none of them it has to come from outside.
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
        """The text that marks the section as missing."""
        return f"[{self.name.replace('_', ' ').upper()} \N{EM DASH} REQUIRED]"


class DocumentTemplate(Contract):
    """A kind of document. ``asked``: the words with which a task asks for it. ``processes``: the process types that
    always leave one.
    """

    type: str
    title: str
    asked: tuple[str, ...]
    processes: tuple[str, ...] = ()
    sections: tuple[Section, ...]


@cache
def templates() -> Mapping[str, DocumentTemplate]:
    """The document templates by type, in alphabetical order."""
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


def asking_words(task: str) -> tuple[str, ...]:
    """The phrases of a task that ask for documents, as they are written there."""
    found = [match for name in asked_documents(task) for match in _asking(name).finditer(task)]
    return tuple(dict.fromkeys(match[0] for match in found if _is_wanted(match, task)))


@cache
def _asking(name: str) -> re.Pattern[str]:
    every = _either(tuple(phrase for one in templates().values() for phrase in one.asked))
    words = _either(templates()[name].asked)
    return re.compile(rf"\b(?:{_PRODUCE}){_BETWEEN}(?:{every}{_AND})*{words}s?\b(?!-)", re.I)


def _either(phrases: tuple[str, ...]) -> str:
    """A regular expression for any of the phrases, the longest first, with any white space between their words."""
    longest = sorted(phrases, key=len, reverse=True)
    return f"(?:{'|'.join(re.escape(phrase).replace(_SPACE, _WHITE) for phrase in longest)})"


def _is_wanted(match: re.Match[str], task: str) -> bool:
    return re.search(_NOT, task[: match.start()], re.I) is None


def own_documents(process_type: str) -> tuple[str, ...]:
    """The types of document that a process leaves without being asked."""
    return tuple(name for name, template in templates().items() if process_type in template.processes)


def asked_documents(task: str) -> tuple[str, ...]:
    """The types of document that the task wants to be written, in the order of their templates.

    A document that is only spoken of ("send the post-mortem to Bob") is not asked for.
    """
    return tuple(name for name in templates() if any(_is_wanted(match, task) for match in _asking(name).finditer(task)))
