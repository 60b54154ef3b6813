"""New cases into a log that has cases already: each once, and if there are too many, the better ones."""

import heapq
from collections.abc import Iterable, Sequence

from services.learner.ports.outcomes import Shelved
from shared.contracts.case import CaseEntry
from shared.domain.cases import CASES_KEPT


def as_shelved(case: CaseEntry) -> Shelved:
    return Shelved(case.stored_json(), case)


def merge_cases(log: Sequence[Shelved], new: Iterable[CaseEntry], most: int = CASES_KEPT) -> list[Shelved]:
    """The log with the new cases, newest first; what was there keeps its order and its text.

    A new case takes the place of one of the same id if it says something else or was learned later. Over ``most``,
    those of least quality go, of equal ones the older; entries that cannot be read go first of all.
    """
    known = {entry.case.case_id: entry.case for entry in log if entry.case}
    latest = {case.case_id: case for case in new}
    wanted = {name: case for name, case in latest.items() if not _same(known.get(name), case)}
    kept = [entry for entry in log if entry.case and entry.case.case_id not in wanted]
    unread = [entry for entry in log if not entry.case]
    fresh = sorted(map(as_shelved, wanted.values()), key=_age)
    best = _best(list(heapq.merge(kept, fresh, key=_age)), most)
    return [*best, *unread[: most - len(best)]]


def _best(entries: list[Shelved], most: int) -> list[Shelved]:
    if len(entries) <= most:
        return entries
    places = sorted(range(len(entries)), key=lambda place: (-_quality(entries[place]), place))
    return [entries[place] for place in sorted(places[:most])]


def _same(known: CaseEntry | None, new: CaseEntry) -> bool:
    """Whether what is known says the same and was learned no earlier."""
    if known is None or new.at > known.at:
        return False
    return known.model_copy(update={"at": new.at, "session_id": new.session_id}) == new


def _age(entry: Shelved) -> float:
    return -entry.case.at.timestamp() if entry.case else 0.0


def _quality(entry: Shelved) -> float:
    return entry.case.quality if entry.case else 0.0
