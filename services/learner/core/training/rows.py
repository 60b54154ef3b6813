"""Training rows as they are stored: JSON, one object a line or one array; what cannot be read is named."""

import json
from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import Annotated, NamedTuple

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, JsonValue, ValidationError

TRAINING_PREFIX = "agentbench-training-data/"
MOST_ROWS = 10_000  # of one object
_BEST_SCORE = 100.0
_REASON = 200  # characters


class TrainingType(StrEnum):
    POSITIVE = "positive"
    NEGATIVE_CORRECTED = "negative_corrected"  # a run that failed; its messages may show what would have been right


class BadRow(NamedTuple):
    """A row that is left out: where it stands, and what is wrong with it, without repeating it."""

    place: str
    reason: str


def _text(value: object) -> object:
    return value if isinstance(value, str) else "" if value is None else str(value)


Text = Annotated[str, BeforeValidator(_text)]


class _RowPart(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)


class Metadata(_RowPart):
    """``overall_score`` is from 0 to 1 or from 0 to 100: see ``Rows.scale``."""

    overall_score: float = Field(ge=0, le=_BEST_SCORE, allow_inf_nan=False)
    training_type: TrainingType
    task_id: Text = ""
    scenario: Text = ""
    failure_cause: Text = ""
    tool_count: int | None = Field(default=None, ge=0)


class TrainingMessage(_RowPart):
    """``content`` is a text, or blocks as in the Messages API."""

    role: str
    content: str | list[dict[str, JsonValue]]

    @property
    def text(self) -> str:
        if isinstance(self.content, str):
            return self.content
        return "\n".join(str(block["text"]) for block in self.content if isinstance(block.get("text"), str))

    @property
    def tools(self) -> tuple[str, ...]:
        """The names of the tools that it uses, in order."""
        blocks = () if isinstance(self.content, str) else self.content
        return tuple(str(block.get("name")) for block in blocks if block.get("type") == "tool_use")


class TrainingRow(_RowPart):
    messages: tuple[TrainingMessage, ...]
    metadata: Metadata

    @property
    def request(self) -> str:
        """What the task asked for: the first thing that a user said."""
        return next((one.text for one in self.messages if one.role == "user" and one.text.strip()), "").strip()

    @property
    def tools(self) -> tuple[str, ...]:
        return tuple(name for message in self.messages for name in message.tools)


class Rows(NamedTuple):
    """The rows of one object. ``scale``: the best score that they could have."""

    good: Sequence[TrainingRow]
    bad: Sequence[BadRow]
    scale: float


def read_rows(name: str, content: bytes) -> Rows:
    """The rows of an object of that name. Never raises: what is no row is a bad one."""
    return read_rows_of(_read_places(name, content))


def read_rows_of(entries: Iterable[tuple[str, object]]) -> Rows:
    """The rows among these, each with its place. A text says why there is none."""
    good: list[TrainingRow] = []
    bad: list[BadRow] = []
    for number, (place, found) in enumerate(entries):
        if number >= MOST_ROWS:
            bad.append(BadRow(place, f"there are more than {MOST_ROWS} rows; this one and all after it are left out"))
            break
        row = found if isinstance(found, str) else _row(found)
        if isinstance(row, str):
            bad.append(BadRow(place, row[:_REASON]))
        else:
            good.append(row)
    return Rows(good, bad, _BEST_SCORE if any(row.metadata.overall_score > 1 for row in good) else 1.0)


def _row(found: object) -> TrainingRow | str:
    try:
        row = TrainingRow.model_validate(found)
    except ValidationError as error:
        return why(error)
    return row if row.request else "messages: no user says anything"


def why(error: ValidationError) -> str:
    """The first thing that is wrong, by its field, without its value."""
    wrong = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in wrong["loc"]) or "the row"
    return f"{where}: {wrong['msg']}"


def _read_places(name: str, content: bytes) -> Iterator[tuple[str, object]]:
    """Each row's place and its JSON, or why it has none (a text)."""
    if name.endswith(".jsonl"):
        for number, line in enumerate(content.split(b"\n"), 1):
            if line.strip():
                yield f"line {number}", _json(line)
        return
    whole = _json(content)
    if isinstance(whole, list):
        yield from ((f"row {number}", one) for number, one in enumerate(whole, 1))
    else:
        yield "the object", whole


def _json(content: bytes) -> object:
    """A text says what is wrong; no row is a text."""
    try:
        found: object = json.loads(content)
    except (ValueError, RecursionError) as error:
        return f"no JSON: {type(error).__name__}"
    return "no JSON object" if isinstance(found, str) else found
