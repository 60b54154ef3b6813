"""What was learned, as the sections of a prompt: past cases, facts, and the things that tasks speak of."""

from datetime import datetime

from services.executor.core.prime.recall import primer
from services.executor.core.session.journal import Journal
from services.executor.ports.learned import Experience
from shared.contracts.knowledge import KnownEntity, KnownFact
from shared.domain.exact_json import Json, JsonObject
from shared.domain.keywords import keywords
from shared.domain.known import known_entities, known_facts


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
