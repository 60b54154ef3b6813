"""Facts, and tasks of which they are to be found, as they are stored; and errors that are about such data."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime

from pydantic import ValidationError

from services.learner.ports.memory import FactTodo, Spoiled
from shared.contracts.base import Contract
from shared.contracts.knowledge import KnownFact
from shared.ports.store import StoreUnavailable


class _Todo(Contract):
    tenant: str
    event_id: str
    task_id: str
    session_id: str
    process_type: str
    quality: float
    ended_at: datetime
    task: str
    answer: str
    values: dict[str, str] = {}
    entities: tuple[str, ...] = ()


def todo_row(todo: FactTodo) -> str:
    return _Todo.model_validate(todo._asdict()).stored_json()


def read_todo(row: str) -> FactTodo | None:
    """None where another version wrote it, which this one cannot read."""
    try:
        read = _Todo.model_validate_json(row)
    except ValidationError:
        return None
    return FactTodo(**{name: getattr(read, name) for name in FactTodo._fields})


def read_fact(row: str) -> KnownFact | None:
    try:
        return KnownFact.model_validate_json(row)
    except ValidationError:
        return None


_OF_THE_DATA = ("WRONGTYPE", "not an integer", "would overflow")


@contextmanager
def telling_spoiled() -> Iterator[None]:
    """``StoreUnavailable`` from inside is ``Spoiled`` where the server says so of its data."""
    try:
        yield
    except StoreUnavailable as error:
        if any(words in str(error) for words in _OF_THE_DATA):
            raise Spoiled(str(error)) from error
        raise
