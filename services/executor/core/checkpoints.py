"""Checkpoints in the journal: at each state only what changed since the one before."""

from collections.abc import Iterable, Mapping

from pydantic import JsonValue, TypeAdapter

from services.executor.core.dossier import Progress
from services.executor.core.journal import CHECKPOINT, Journal
from services.executor.ports import JournalEntry

_OBJECT = TypeAdapter(dict[str, JsonValue])


class Checkpoints:
    """Stores where a run stands; what an earlier checkpoint of the task holds is not stored again."""

    def __init__(self, journal: Journal, entries: Iterable[JournalEntry]) -> None:
        self._journal = journal
        self._stored = _overlaid(entries)

    async def save(self, progress: Progress, label: str = "entered") -> None:
        """Store the progress once for each label of this visit of the state, and tell who watches."""
        fields = _fields(progress)
        changed = {name: value for name, value in fields.items() if self._stored.get(name) != value}
        if label == "entered":
            self._journal.tell("state", state=progress.state.value, process_type=progress.process_type)
        await self._journal.add(f"{progress.step}:{label}", CHECKPOINT, _OBJECT.dump_json(changed).decode())
        self._stored = dict(fields)


def latest(entries: Iterable[JournalEntry]) -> Progress | None:
    """The progress as of the last checkpoint, all changes laid over each other; None before the first."""
    fields = _overlaid(entries)
    return _progress(fields) if fields else None


def _overlaid(entries: Iterable[JournalEntry]) -> dict[str, JsonValue]:
    fields: dict[str, JsonValue] = {}
    for entry in entries:
        if entry.kind == CHECKPOINT:
            fields.update(_OBJECT.validate_json(entry.data_json))
    return fields


def _fields(progress: Progress) -> Mapping[str, JsonValue]:
    """The progress as flat fields, the dossier's prefixed, so that an unchanged list of facts is stored once."""
    flat: dict[str, JsonValue] = progress.model_dump(mode="json", exclude={"dossier"})
    dossier: dict[str, JsonValue] = progress.dossier.model_dump(mode="json")
    return {**flat, **{f"dossier.{name}": value for name, value in dossier.items()}}


def _progress(fields: Mapping[str, JsonValue]) -> Progress:
    dossier = {name.removeprefix("dossier."): value for name, value in fields.items() if name.startswith("dossier.")}
    flat = {name: value for name, value in fields.items() if not name.startswith("dossier.")}
    return Progress.model_validate({**flat, "dossier": dossier})
