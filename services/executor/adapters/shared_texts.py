"""Texts that many tasks of a tenant share (tool lists, its record, its policies), each stored once in Redis."""

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import NamedTuple, TypeAlias

from redis.asyncio import Redis

from services.executor.ports.turns import JournalEntry
from shared.domain.lru_cache import WeightedCache
from shared.infra import keys
from shared.infra.journal_rows import (
    TEXT_KIND,
    StoredStep,
    StreamRow,
    name_shared_text,
    pack_steps,
    parse_steps,
    split_shared_texts,
)
from shared.infra.lua import Scripts

_COMMAND_SECONDS = 10.0  # as long as a turn has
SHORTEST_SHARED_TEXT = 256  # characters; anything shorter stands in each journal
_STORE_AGAIN_SECONDS = keys.ONE_DAY  # by the process's clock; far less than a text is kept
_MOST_NEW_TEXTS = 64  # of one tenant that this process stores in that time: a server's list may change with each task
_MOST_CHARACTERS_CACHED = 8_000_000  # characters of all tenants that this process holds

_DataLossTimes: TypeAlias = "tuple[datetime | None, ...]"


class _StoredText(NamedTuple):
    """A text that this process has stored, and when."""

    text: str
    stored_at: float


class SharedTexts:
    """Stores and reads texts that many tasks' journals have in common. May raise ``StoreUnavailable``.

    Each stays for ``keys.SHARED_TEXT_RETENTION_SECONDS`` after it was last stored. A process stores a text again after
    a day, and after Redis failed over, crashed or was restored.
    """

    def __init__(self, redis: Redis) -> None:
        self._scripts = Scripts(redis, _COMMAND_SECONDS)
        self._cached = WeightedCache[tuple[str, str], _StoredText](_MOST_CHARACTERS_CACHED)
        self._loss_times = self._get_data_loss_times()
        self._new_counts: Counter[str] = Counter()
        self._counted_since = 0.0

    async def store_texts(self, tenant: str, texts: Iterable[str]) -> Mapping[str, str]:
        """Stores texts; returns the names of the stored ones, by text. The caller writes the others out in full."""
        names: dict[str, str] = {}
        for text in dict.fromkeys(text for text in texts if len(text) >= SHORTEST_SHARED_TEXT):
            name = name_shared_text(text)
            if await self._store_text(tenant, name, text):
                names[text] = name
        return names

    async def read_texts(self, tenant: str, names: Collection[str]) -> Mapping[str, str]:
        """The texts by name, without those that have expired."""
        texts = {name: cached_text.text for name in names if (cached_text := self._cached.look_up((tenant, name)))}
        if missing := [name for name in names if name not in texts]:
            found = await self._scripts.execute_commands(
                *(("GET", keys.shared_text_key(tenant, name)) for name in missing)
            )
            texts |= {name: str(text) for name, text in zip(missing, found, strict=True) if text is not None}
        return texts

    async def _store_text(self, tenant: str, name: str, text: str) -> bool:
        now = asyncio.get_running_loop().time()
        self._reset_if_outdated(now)
        cached_text = self._cached.look_up((tenant, name))
        if cached_text is not None and now < cached_text.stored_at + _STORE_AGAIN_SECONDS:
            return True
        if self._new_counts[tenant] >= _MOST_NEW_TEXTS:
            return False
        await self._scripts.execute(
            "SET", keys.shared_text_key(tenant, name), text, "EX", keys.SHARED_TEXT_RETENTION_SECONDS
        )
        self._new_counts[tenant] += 1
        self._cached.put((tenant, name), _StoredText(text, now), len(text))
        return True

    def _reset_if_outdated(self, now: float) -> None:
        """Forgets what was stored if Redis was replaced, and resets the count of new texts each day."""
        if (loss_times := self._get_data_loss_times()) != self._loss_times:
            self._cached.clear()
            self._loss_times = loss_times
        if now >= self._counted_since + _STORE_AGAIN_SECONDS:
            self._new_counts.clear()
            self._counted_since = now

    def _get_data_loss_times(self) -> _DataLossTimes:
        lineage = self._scripts.lineage
        return lineage.failed_over_at, lineage.restored_at, lineage.crashed_at


class LostText(Exception):
    """The journal refers to a text that has expired, so the input of a step cannot be restored."""


class JournalRowCodec:
    """Packs and reads the journal rows of one task, and remembers the shared texts that they refer to."""

    def __init__(self, shared: SharedTexts, tenant: str) -> None:
        self._shared = shared
        self._tenant = tenant
        self._texts_by_name: dict[str, str] = {}  # texts by name
        self._own_names: set[str] = set()  # names of texts that the journal holds itself

    async def parse_rows(self, rows: Iterable[StreamRow]) -> tuple[JournalEntry, ...]:
        """The steps of the rows, oldest first; of a repeated key the first one counts. Raises ``LostText``."""
        stored_steps = parse_steps(rows)
        await self._collect_texts(stored_steps)
        steps: dict[str, JournalEntry] = {}
        try:
            for step in stored_steps:
                if step.kind != TEXT_KIND:
                    steps.setdefault(step.key, JournalEntry(step.key, step.kind, step.join_data(self._texts_by_name)))
        except KeyError as missing:
            raise LostText(f"the journal names the text {missing}, which is not stored any more") from missing
        return tuple(steps.values())

    async def pack_steps(self, entries: Sequence[JournalEntry]) -> bytes:
        """Stores the steps' shared texts; packs the steps as a row that names them, for the caller to store."""
        names = await self._shared.store_texts(self._tenant, (text for entry in entries for text in entry.shared))
        self._texts_by_name.update({name: text for text, name in names.items()})
        return pack_steps([_build_step(entry, names) for entry in entries])

    def pack_steps_with_texts(self, entries: Sequence[JournalEntry]) -> bytes:
        """Packs the steps as a row with all texts that the journal names, which outlives the shared texts."""
        missing_texts = {text: name for name, text in self._texts_by_name.items() if name not in self._own_names}
        texts = [StoredStep(name, TEXT_KIND, (text,)) for text, name in missing_texts.items()]
        return pack_steps([*(_build_step(entry, {}) for entry in entries), *texts])

    async def _collect_texts(self, steps: Sequence[StoredStep]) -> None:
        own_texts = {step.key: step.join_data({}) for step in steps if step.kind == TEXT_KIND}
        self._own_names.update(own_texts)
        names = {name for step in steps for name in step.shared_text_names}
        self._texts_by_name.update(own_texts)
        self._texts_by_name.update(await self._shared.read_texts(self._tenant, names - self._texts_by_name.keys()))


def _build_step(entry: JournalEntry, names: Mapping[str, str]) -> StoredStep:
    names_of_texts = {text: names[text] for text in entry.shared if text in names}
    return StoredStep(entry.key, entry.kind, split_shared_texts(entry.data_json, names_of_texts))
