"""Checkpoints in the journal: at each state only what changed since the one before."""

from collections.abc import Iterable, Mapping, Sequence

from pydantic import JsonValue

from services.executor.core.dossier.dossier import Progress
from services.executor.core.session.journal import CHECKPOINT, Journal
from services.executor.ports.turns import JournalEntry
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object, plain


class Checkpoints:
    """Stores where a run stands; what an earlier checkpoint of the task holds is not stored again."""

    def __init__(self, journal: Journal, entries: Iterable[JournalEntry]) -> None:
        self._journal = journal
        self._stored = _overlaid(entries)

    @property
    def latest(self) -> Progress | None:
        """The progress as it was saved last; None before the first."""
        return _progress(self._stored) if self._stored else None

    def save(
        self,
        progress: Progress,
        label: str = "entered",
        beside: tuple[JournalEntry, ...] = (),
        verdicts: Sequence[Mapping[str, JsonValue]] = (),
    ) -> None:
        """Store the progress once for each label of this visit of the state, and tell who watches.

        ``beside``: what is stored with it, or not at all. ``verdicts`` are told with the state that they belong to.
        """
        fields = _fields(progress)
        changed = {name: value for name, value in fields.items() if not self._holds(name, value)}
        if label == "entered":
            self._journal.tell("state", state=progress.state.value, process_type=progress.process_type)
        for verdict in verdicts:
            self._journal.tell("verdict", **verdict)
        self._journal.add_together(JournalEntry(f"{progress.step}:{label}", CHECKPOINT, dumps(changed)), *beside)
        self._stored = fields

    def _holds(self, name: str, value: Json) -> bool:
        """Compared as text: to Python, 1 and true are the same."""
        return name in self._stored and dumps(self._stored[name]) == dumps(value)


def latest(entries: Iterable[JournalEntry]) -> Progress | None:
    """The progress as of the last checkpoint, all changes laid over each other; None before the first."""
    fields = _overlaid(entries)
    return _progress(fields) if fields else None


def _overlaid(entries: Iterable[JournalEntry]) -> JsonObject:
    fields: JsonObject = {}
    for entry in entries:
        if entry.kind == CHECKPOINT:
            fields.update(loads_object(entry.data_json))
    return fields


def _fields(progress: Progress) -> JsonObject:
    """The progress as flat fields, the dossier's prefixed, so that an unchanged list of facts is stored once.

    Exact: Pydantic's own JSON would make a text of each ``Decimal``.
    """
    dated = progress.model_dump(mode="json", include={"confirmed"})  # what has times; it holds no figure
    flat = {**progress.model_dump(exclude={"dossier", "confirmed"}), **dated}
    dossier = progress.dossier.model_dump()
    named = {**flat, **{f"dossier.{name}": value for name, value in dossier.items()}}
    return {name: plain(value) for name, value in named.items()}


def _progress(fields: Mapping[str, Json]) -> Progress:
    dossier = {name.removeprefix("dossier."): value for name, value in fields.items() if name.startswith("dossier.")}
    flat = {name: value for name, value in fields.items() if not name.startswith("dossier.")}
    return Progress.model_validate({**flat, "dossier": dossier})
