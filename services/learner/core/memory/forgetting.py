"""Forgets an entity, a session or a tenant, until nothing from before the request can come back."""

import re
from collections import Counter
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import NamedTuple

import structlog

from services.learner.core.memory.entities import find_entities, name_without_legal_form
from services.learner.ports.memory import FactTodo, Forgetting
from shared.contracts.knowledge import CaseEntry, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest, ForgetScope, ForgetState


class StoredMemory(NamedTuple):
    """All that is stored of a tenant: list rows with their parsed contents, and entities by their fields."""

    version: str
    cases: tuple[tuple[str, CaseEntry], ...] = ()
    facts: tuple[tuple[str, KnownFact], ...] = ()
    entities: Mapping[str, KnownEntity] = {}
    links: Mapping[str, EntityLinks] = {}
    todos: Mapping[str, FactTodo] = {}


class Removal(NamedTuple):
    """Rows, fields and ids to remove. ``fewer``: entities that stay, but were named by fewer tasks."""

    cases: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    fewer: Mapping[str, KnownEntity] = {}
    links: Mapping[str, EntityLinks] = {}

    @property
    def counts(self) -> dict[str, int]:
        sizes = {"cases": self.cases, "facts": self.facts, "entities": self.entities, "entities_less": self.fewer}
        return {name: len(size) for name, size in sizes.items() if size}


def plan_removal(request: ForgetRequest, stored: StoredMemory) -> Removal:
    """What to remove for a session or an entity. For a tenant all keys are removed, and this is not needed."""
    if request.scope is ForgetScope.SESSION:
        return _removal_for_session(request.subject, stored)
    return _removal_for_entity(request.subject, stored)


def _removal_for_session(session_id: str, stored: StoredMemory) -> Removal:
    gone: list[str] = []
    fewer: dict[str, KnownEntity] = {}
    links: dict[str, EntityLinks] = {}
    for field, known in stored.entities.items():
        linked = stored.links.get(field, EntityLinks())
        others = tuple(task for task in linked.tasks if task.session_id != session_id)
        named = len(linked.tasks) - len(others)
        if named and (named >= known.seen or not others):
            gone.append(field)
        elif named:
            fewer[field] = known.model_copy(update={"seen": known.seen - named})
            links[field] = linked.model_copy(update={"tasks": others})
    return Removal(
        cases=tuple(row for row, case in stored.cases if case.session_id == session_id),
        facts=tuple(row for row, fact in stored.facts if fact.session_id == session_id),
        todos=tuple(event for event, todo in stored.todos.items() if todo.session_id == session_id),
        entities=tuple(gone),
        fewer=fewer,
        links=_changed_links(gone, {**stored.links, **links}, frozenset(links)),
    )


def _removal_for_entity(subject: str, stored: StoredMemory) -> Removal:
    is_it = _make_name_test(subject, stored)
    gone = [field for field, known in stored.entities.items() if any(map(is_it, (known.value, *known.names)))]
    told = [(row, (fact.text, fact.subject, fact.value, fact.replaces, fact.superseded_by, *fact.entities))
            for row, fact in stored.facts]  # fmt: skip
    shown = [(row, (case.summary, *case.worked, *case.failed)) for row, case in stored.cases]
    return Removal(
        cases=tuple(row for row, texts in shown if any(map(is_it, texts))),
        facts=tuple(row for row, texts in told if any(map(is_it, texts))),
        todos=tuple(
            event
            for event, todo in stored.todos.items()
            if any(map(is_it, (todo.task, todo.answer, *todo.values.values(), *todo.entities)))
        ),
        entities=tuple(gone),
        links=_changed_links(gone, stored.links),
    )


def _changed_links(
    gone: list[str], links: Mapping[str, EntityLinks], changed: frozenset[str] = frozenset()
) -> Mapping[str, EntityLinks]:
    """The changed links of entities that stay: those that named a removed entity, or are in ``changed``."""
    out = frozenset(gone)
    kept: dict[str, EntityLinks] = {}
    for field, linked in links.items():
        together = tuple(other for other in linked.together if other not in out)
        if field not in out and (field in changed or together != linked.together):
            kept[field] = linked.model_copy(update={"together": together})
    return kept


def _make_name_test(subject: str, stored: StoredMemory) -> Callable[[str], bool]:
    """A function that tells whether a text contains the subject, in any known spelling, as whole words."""
    wanted = {one.field for one in find_entities(subject)}
    bare = name_without_legal_form(subject).casefold()
    names = {subject.casefold(), bare}
    for field, known in stored.entities.items():
        written = {name.casefold() for name in (known.value, *known.names)}
        if field in wanted or field.partition(":")[2] in names or written & names:
            names |= written
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names, key=len, reverse=True)))
    return lambda text: pattern.search(text.casefold()) is not None


CLAIM_SECONDS = 30.0
_AGAIN_SECONDS = 0.5

log = structlog.get_logger()

_RECORDS = (
    "task records, journals and the audit trail of writes: business records; they leave Redis 7 days after their task "
    "ended, and an archive keeps them until it is emptied"
)
_FILES = "exports and training rows: where they were written; RL_CACHE_DIR until the learner writes it again"
_LETTERS = "outcomes that could not be learned, and come back if they are put back: purple dlq drops them"
_REMAINDERS_BY_SCOPE: Mapping[ForgetScope, Mapping[str, str]] = {
    ForgetScope.ENTITY: {
        "tasks": _RECORDS,
        "conversations": "what sessions remember of their own turns: forget the session too",
        "statistics": "counts and arms: they name nobody",
    },
    ForgetScope.SESSION: {"tasks": _RECORDS, "statistics": "counts and arms: they name nobody"},
    ForgetScope.TENANT: {
        "tasks": _RECORDS,
        "conversations": "what sessions remember of their own turns: forget each session too",
        "made_tools": "calculators that were made, and the switches: they are the operators'",
    },
}


class ForgetRequestWorker:
    """Carries out requests to forget. ``done``: how many it has finished."""

    def __init__(self, forgetting: Forgetting) -> None:
        self._forgetting = forgetting
        self.done = 0

    async def carry_out_waiting(self, now: datetime) -> int:
        """Carries out the waiting requests; returns how many there were."""
        requests = await self._forgetting.claim(1, CLAIM_SECONDS)
        for request in requests:
            await self._carry_out(request, now)
        return len(requests)

    async def _carry_out(self, request: ForgetRequest, now: datetime) -> None:
        """Removes what is stored; and again once no older outcome is left to learn, which might have brought something
        back.
        """
        is_under_way = await self._forgetting.has_older_outcomes(request)
        removed = Counter(request.removed)
        removed.update(await self._forgetting.remove_stored(request))
        state = ForgetState.WORKING if is_under_way else ForgetState.DONE
        left = {**_REMAINDERS_BY_SCOPE[request.scope], "files": _FILES, "dead_letters": _LETTERS}
        if removed.pop("session_busy", 0):
            left["conversation"] = (
                "the session's own memory: it is being worked on; ask again once its tasks have ended"
            )
        noted = request.model_copy(
            update={
                "state": state,
                "removed": dict(removed),
                "left": left,
                "changed_at": now,
                "subject": request.subject if is_under_way else "",
            }
        )
        is_noted = await self._forgetting.store_state(noted, _AGAIN_SECONDS if is_under_way else None)
        if is_noted and not is_under_way:
            self.done += 1
            log.info("forgotten", request=request.request_id, scope=request.scope.value, removed=dict(removed))
