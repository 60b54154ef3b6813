"""The journal of one task as it stands in Redis: steps that are stored together, and texts that stand there by name."""

from collections.abc import Iterable, Mapping, Sequence

from services.executor.adapters.shared_texts import SharedTexts
from services.executor.ports.turns import JournalEntry
from shared.infra.journal_rows import OWN_TEXT, Row, StoredStep, pack_row, read_rows, split


class LostText(Exception):
    """The journal names a text that is not stored any more: what the task was given cannot be known."""


class TaskJournal:
    """Knows which texts the journal names, as far as this turn has read or stored it."""

    def __init__(self, shared: SharedTexts, tenant: str) -> None:
        self._shared = shared
        self._tenant = tenant
        self._named: dict[str, str] = {}  # texts by name
        self._own: set[str] = set()  # names of texts that the journal holds itself

    async def read(self, rows: Iterable[Row]) -> tuple[JournalEntry, ...]:
        """The steps of a stream's rows, oldest first; one that was stored twice counts as it was stored first.

        Raises ``LostText``.
        """
        found = read_rows(rows)
        await self._learn_texts(found)
        steps: dict[str, JournalEntry] = {}
        try:
            for step in found:
                if step.kind != OWN_TEXT:
                    steps.setdefault(step.key, JournalEntry(step.key, step.kind, step.data(self._named)))
        except KeyError as missing:
            raise LostText(f"the journal names the text {missing}, which is not stored any more") from missing
        return tuple(steps.values())

    async def pack(self, entries: Sequence[JournalEntry]) -> str:
        """The row that stores these steps; the texts that it names are stored before."""
        names = await self._shared.store(self._tenant, (text for entry in entries for text in entry.shared))
        self._named.update({name: text for text, name in names.items()})
        return pack_row([_step(entry, names) for entry in entries])

    def pack_with_texts(self, entries: Sequence[JournalEntry]) -> str:
        """The same for a task that will wait, nobody knows how long: with its own copy of each text that it names."""
        new = {text: name for name, text in self._named.items() if name not in self._own}
        texts = [StoredStep(name, OWN_TEXT, (text,)) for text, name in new.items()]
        return pack_row([*(_step(entry, {}) for entry in entries), *texts])

    async def _learn_texts(self, steps: Sequence[StoredStep]) -> None:
        own = {step.key: step.data({}) for step in steps if step.kind == OWN_TEXT}
        self._own.update(own)
        names = {name for step in steps for name in step.names}
        self._named.update(own)
        self._named.update(await self._shared.read(self._tenant, names - self._named.keys()))


def _step(entry: JournalEntry, names: Mapping[str, str]) -> StoredStep:
    known = {text: names[text] for text in entry.shared if text in names}
    return StoredStep(entry.key, entry.kind, split(entry.data_json, known))
