"""What was learned of tasks like this one, as sections of prompts; and what the strategies were worth."""

from datetime import datetime

from services.executor.core.session.journal import Journal
from services.executor.ports.learned import Experience, Learned
from shared.contracts.case import CaseEntry
from shared.contracts.knowledge import KnownEntity, KnownFact
from shared.domain.cases import CaseOutcome, prune_log, relevant
from shared.domain.exact_json import Json, JsonObject
from shared.domain.keywords import keywords
from shared.domain.known import known_entities, known_facts
from shared.ports.store import StoreUnavailable

# How a past case is to be read: one that failed is never an example.
_USE = {CaseOutcome.SUCCESS: "follow", CaseOutcome.PARTIAL: "improve on", CaseOutcome.FAILURE: "avoid"}


async def recall(learned: Learned, tenant: str, process_type: str, journal: Journal) -> Experience:
    """The tenant's experience; none, and a note that says so, if it cannot be had: no task fails for want of it."""
    try:
        return await learned.recall(tenant, process_type)
    except StoreUnavailable as error:
        journal.tell("note", problem=f"no primer was available: {error}")
        return Experience()


async def note_tools(learned: Learned, tenant: str, names: frozenset[str], journal: Journal) -> None:
    """Let the tenant's statistics know these tools; no task fails for want of that either."""
    try:
        await learned.note_tools(tenant, names)
    except StoreUnavailable as error:
        journal.tell("note", problem=f"the tools found were not counted: {error}")


def primer(experience: Experience, task: str, journal: Journal, told: Json = None) -> list[Json]:
    """The three past cases that are most about this task, as data for the prompts, with a note of which they are.

    ``told``: those that were told of before.
    """
    found = primer_cases(experience.cases, task, journal.now)
    if found and [_describe_case(case) for case in found] != told:
        journal.tell("note", primer=[{"case": case.case_id, "use": _USE[case.outcome]} for case in found])
    return [_describe_case(case) for case in found]


def primer_cases(cases: tuple[CaseEntry, ...], task: str, now: datetime) -> list[CaseEntry]:
    """The top relevant ones of those that are not rotten."""
    return relevant(prune_log(cases, now), keywords(task))


def _describe_case(case: CaseEntry) -> Json:
    return {
        "use": _USE[case.outcome],
        "task": case.summary,
        "process": case.domain,
        "strategy": case.strategy.value,
        "quality": f"{case.quality:.2f}",
        "worked": list(case.worked),
        "failed": list(case.failed),
    }


def learned_sections(
    experience: Experience, task: str, process_type: str, journal: Journal, told: Json = None
) -> dict[str, Json]:
    """The top cases, facts and entities of those that are about this task. ``told``: the cases of a prompt before."""
    facts = select_experience(experience, task, process_type, journal.now)
    return {
        "primer": primer(experience, task, journal, told),
        "knowledge": [_fact(fact) for fact in facts.knowledge],
        "entities": [_entity(entity) for entity in facts.entities],
    }


def select_experience(experience: Experience, task: str, process_type: str, now: datetime) -> Experience:
    """The experience with only the facts and entities that this task is shown."""
    facts = known_facts(experience.knowledge, task, keywords(task), process_type)
    return experience._replace(knowledge=tuple(facts), entities=tuple(known_entities(experience.entities, task, now)))


def _fact(fact: KnownFact) -> Json:
    """With how old and how sure it is; what it replaced, so that nobody takes the older value for a second one."""
    said: JsonObject = {"fact": fact.text, "process": fact.domain, "as_of": fact.at.date().isoformat()}
    sure: JsonObject = {"confidence": f"{fact.confidence:.2f}"}
    return {**said, **sure, **({"no_longer_true": fact.replaces} if fact.replaces else {})}


def _entity(entity: KnownEntity) -> Json:
    return {"kind": entity.kind, "value": entity.value, "seen": entity.seen}
