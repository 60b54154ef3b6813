"""The process templates, as data, and the one that a task is carried out as before its first reply names it."""

import tomllib
from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import NamedTuple, TypeAlias

from pydantic import JsonValue, TypeAdapter

from services.executor.core.states.template import Template
from services.executor.core.states.validity import BadTemplate, refuse_bad
from shared.domain.words import FsmState

Processes: TypeAlias = Mapping[str, Template]


_FOLDER = files(__package__) / "processes"
_PLACE: TypeAdapter[int] = TypeAdapter(int)
READ_ONLY = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.COMPLETE)


class _Read(NamedTuple):
    place: int
    template: Template


def built_in_templates() -> tuple[Template, ...]:
    """All templates, in the order of their ``place``: with it, ties between keywords are decided."""
    texts = (entry.read_text("utf-8") for entry in _FOLDER.iterdir() if entry.name.endswith(".toml"))
    return in_order(_read(text) for text in texts)


def from_text(text: str) -> Template:
    """The template that a file describes; ``BadTemplate`` names what is wrong with it."""
    return _read(text).template


def in_order(found: Iterable[_Read]) -> tuple[Template, ...]:
    ordered = sorted(found, key=lambda read: (read.place, read.template.process_type))
    return tuple(read.template for read in ordered)


def _read(text: str) -> _Read:
    try:
        given = tomllib.loads(text)
        place = _PLACE.validate_python(given.pop("place", 0))
        template = Template.model_validate(given)
    except ValueError as error:
        raise BadTemplate(f"no process can be read from this file: {error}") from error
    _refuse_unknown(given)
    refuse_bad(template)
    return _Read(place, template)


def _refuse_unknown(given: Iterable[str]) -> None:
    """A misspelt name would silently switch off what it was to say."""
    unknown = sorted(set(given) - set(Template.model_fields))
    if unknown:
        raise BadTemplate(f"nobody reads {', '.join(unknown)}")


TEMPLATES: Mapping[str, Template] = {template.process_type: template for template in built_in_templates()}


GENERAL = TEMPLATES["general"]


class Chosen(NamedTuple):
    """``settled``: the task's process is known whatever a model says of it."""

    template: Template
    why: str
    settled: bool = True

    @property
    def process_type(self) -> str:
        return self.template.process_type

    def describe(self) -> dict[str, JsonValue]:
        """As clients and the outcome see it."""
        return {"by": "the request" if self.settled else "model", "why": self.why}


UNDECIDED = Chosen(GENERAL, why="nothing was said yet", settled=False)
