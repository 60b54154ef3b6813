"""What a model is asked about a task's process, and what its answer may be."""

import re
from collections.abc import Sequence
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, Field

from services.executor.core.fsm.chosen import Processes
from services.executor.core.fsm.templates import GENERAL
from shared.domain.exact_json import Json

LEAST_CONFIDENCE = 0.5  # an answer of which the model itself is less sure does not count
_TASK_SHOWN, _TURN_SHOWN = 1_500, 300  # characters
_TURNS_SHOWN, _KEPT_SHOWN = 2, 100
_NAME = re.compile(r"[a-z]{2,20}(?:_[a-z]{2,20}){0,4}")
_NO_NAMES = frozenset({"unknown", "other", "none", "custom", "new", "special", "process", "task", "any"})


class Answer(BaseModel):
    """The classifier's structured answer."""

    model_config = ConfigDict(extra="forbid")

    process_type: str = Field(max_length=200)
    confidence: float = Field(ge=0, le=1)
    why: str = ""


class Label(NamedTuple):
    """A usable answer: the name of a template, or of a process that none covers."""

    process_type: str
    confidence: float
    why: str


class NoLabel(ValueError):
    """The answer names no process; the message says why."""


def sections(task: str, processes: Processes, kept: Sequence[str] = (), history: Json = None) -> dict[str, Json]:
    """The beginning of the task, the kinds that there are, and the beginning of what was said last in the session.

    ``kept``: kinds that were synthesized before, so that the same kind gets the same name again.
    """
    kinds: list[Json] = [
        {"process_type": template.process_type, "words": list(template.keywords)} for template in processes.values()
    ]
    kinds += [{"process_type": name, "words": []} for name in kept[:_KEPT_SHOWN]]
    turns = history[-_TURNS_SHOWN:] if isinstance(history, list) else []
    said: list[Json] = [{"text": str(turn.get("text"))[:_TURN_SHOWN]} for turn in turns if isinstance(turn, dict)]
    return {"task": task[:_TASK_SHOWN], "processes": kinds, "history": said}


def label(answer: Answer, processes: Processes) -> Label:
    """The label of an answer, spelt as the templates are; raises ``NoLabel`` for one that cannot be used."""
    name = re.sub(r"[\s-]+", "_", answer.process_type.strip().lower())
    if answer.confidence < LEAST_CONFIDENCE:
        raise NoLabel(f"the model was not sure ({answer.confidence:.2f})")
    if name not in processes and name != GENERAL.process_type and not is_new_name(name):
        raise NoLabel("the model's answer is no name of a process")
    why = " ".join(answer.why.split())[:200]
    return Label(name, answer.confidence, why)


def is_new_name(name: str) -> bool:
    """Whether a process that no file describes can have that name."""
    return bool(_NAME.fullmatch(name)) and name not in _NO_NAMES
