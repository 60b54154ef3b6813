"""What is remembered of tasks like this one: a primer for the prompts, and what the strategies were worth."""

from datetime import datetime

from services.executor.core.session.journal import Journal
from services.executor.ports.learned import Experience, Learned
from shared.contracts.case import CaseEntry
from shared.domain.cases import CaseOutcome, prune_log, relevant
from shared.domain.exact_json import Json
from shared.domain.keywords import keywords
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
