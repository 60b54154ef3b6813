"""What is to be removed where an entity, a session or a tenant is to be forgotten."""

import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from services.learner.core.memory.entities import find_entities, strip_legal_form
from services.learner.core.memory.facts import contradicts
from services.learner.ports.memory import TaskToSearchForFacts
from shared.contracts.knowledge import CaseEntry, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest, ForgetScope


class StoredMemory(NamedTuple):
    """All that is stored of a tenant: the rows of each Redis list with what they contain, and entities by their hash
    field.
    """

    version: str
    cases: tuple[tuple[str, CaseEntry], ...] = ()
    facts: tuple[tuple[str, KnownFact], ...] = ()
    entities: Mapping[str, KnownEntity] = {}
    links: Mapping[str, EntityLinks] = {}
    todos: Mapping[str, TaskToSearchForFacts] = {}


class Removal(NamedTuple):
    """Rows, fields and ids to remove, and what to change. ``reduced_entities``: entities that stay, but were named by
    fewer tasks; ``reduced_facts``: by stored row, facts that stay, without the quotes of removed ones.
    """

    cases: tuple[str, ...] = ()
    facts: tuple[str, ...] = ()
    todos: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    reduced_entities: Mapping[str, KnownEntity] = {}
    links: Mapping[str, EntityLinks] = {}
    reduced_facts: Mapping[str, KnownFact] = {}

    @property
    def counts_by_kind(self) -> dict[str, int]:
        sizes = {"cases": len(self.cases), "facts": len(self.facts), "entities": len(self.entities)}
        sizes["entities_less"] = len(self.reduced_entities)
        return {name: size for name, size in sizes.items() if size}


def plan_removal(request: ForgetRequest, memory: StoredMemory) -> Removal:
    """Decides what to remove of a session or an entity. (For a tenant all keys are removed, without such a plan.)"""
    if request.scope is ForgetScope.SESSION:
        return _plan_session_removal(request.subject, memory)
    return _plan_entity_removal(request.subject, memory)


def _plan_session_removal(session_id: str, memory: StoredMemory) -> Removal:
    removed_fields: list[str] = []
    reduced_entities: dict[str, KnownEntity] = {}
    links: dict[str, EntityLinks] = {}
    for field, entity in memory.entities.items():
        entity_links = memory.links.get(field, EntityLinks())
        tasks_to_keep = tuple(task for task in entity_links.tasks if task.session_id != session_id)
        task_count = len(entity_links.tasks) - len(tasks_to_keep)
        if task_count and (task_count >= entity.seen or not tasks_to_keep):
            removed_fields.append(field)
        elif task_count:
            reduced_entities[field] = entity.model_copy(update={"seen": entity.seen - task_count})
            links[field] = entity_links.model_copy(update={"tasks": tasks_to_keep})
    kept_facts = {row: fact for row, fact in memory.facts if fact.session_id != session_id}
    reduced_facts = {
        row: _remove_quotes_of_removed_facts(fact, kept_facts.values()) for row, fact in kept_facts.items()
    }
    return Removal(
        cases=tuple(row for row, case in memory.cases if case.session_id == session_id),
        facts=tuple(row for row, fact in memory.facts if fact.session_id == session_id),
        todos=tuple(event for event, todo in memory.todos.items() if todo.session_id == session_id),
        entities=tuple(removed_fields),
        reduced_entities=reduced_entities,
        links=_list_changed_links(removed_fields, {**memory.links, **links}, frozenset(links)),
        reduced_facts={row: fact for row, fact in reduced_facts.items() if fact != kept_facts[row]},
    )


def _remove_quotes_of_removed_facts(fact: KnownFact, kept_facts: Collection[KnownFact]) -> KnownFact:
    """Removes from a fact that stays what it quotes of facts that are removed. A fact that was superseded by a removed
    one is current again, unless a newer kept fact contradicts it.
    """
    kept_texts = {"", *(kept_fact.text for kept_fact in kept_facts)}
    changes: dict[str, object] = {} if fact.replaces in kept_texts else {"replaces": ""}
    if fact.superseded_by not in kept_texts:
        rivals = (rival for rival in kept_facts if rival.at > fact.at and contradicts(rival, fact))
        newest_rival = max(rivals, key=lambda rival: rival.at, default=None)
        changes["superseded_by"] = newest_rival.text if newest_rival else ""
        changes["superseded_at"] = newest_rival.at if newest_rival else None
    return fact.model_copy(update=changes) if changes else fact


def _plan_entity_removal(subject: str, memory: StoredMemory) -> Removal:
    names_subject = _make_subject_test(subject, memory)

    def find_rows_naming_subject(rows_with_texts: Iterable[tuple[str, tuple[str, ...]]]) -> tuple[str, ...]:
        return tuple(row for row, texts in rows_with_texts if any(map(names_subject, texts)))

    removed_fields = find_rows_naming_subject(
        (field, (entity.value, *entity.names)) for field, entity in memory.entities.items()
    )
    return Removal(
        cases=find_rows_naming_subject((row, (case.summary, *case.worked, *case.failed)) for row, case in memory.cases),
        facts=find_rows_naming_subject(
            (row, (fact.text, fact.subject, fact.value, fact.replaces, fact.superseded_by, *fact.entities))
            for row, fact in memory.facts
        ),
        todos=find_rows_naming_subject(
            (event, (todo.task, todo.answer, *todo.values.values(), *todo.entities))
            for event, todo in memory.todos.items()
        ),
        entities=removed_fields,
        links=_list_changed_links(removed_fields, memory.links),
    )


def _list_changed_links(
    removed_fields: Iterable[str], links: Mapping[str, EntityLinks], changed_fields: frozenset[str] = frozenset()
) -> Mapping[str, EntityLinks]:
    """The changed links (``together``: entities named by the same tasks) of entities that stay: those that had a link
    to a removed entity, or are in ``changed_fields``.
    """
    removed_set = frozenset(removed_fields)
    links_to_change: dict[str, EntityLinks] = {}
    for field, entity_links in links.items():
        together = tuple(field_name for field_name in entity_links.together if field_name not in removed_set)
        if field not in removed_set and (field in changed_fields or together != entity_links.together):
            links_to_change[field] = entity_links.model_copy(update={"together": together})
    return links_to_change


def _make_subject_test(subject: str, memory: StoredMemory) -> Callable[[str], bool]:
    """A function that tells whether a text contains the subject, in any known spelling, as whole words."""
    subject_fields = {entity.field for entity in find_entities(subject)}
    bare_subject = strip_legal_form(subject).casefold()
    names = {subject.casefold(), bare_subject}
    for field, entity in memory.entities.items():
        spellings = {name.casefold() for name in (entity.value, *entity.names)}
        if field in subject_fields or field.partition(":")[2] in names or spellings & names:
            names |= spellings
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(name)}(?!\w)" for name in sorted(names, key=len, reverse=True)))
    return lambda text: pattern.search(text.casefold()) is not None
