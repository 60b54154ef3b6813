"""Pages of the tenant's memory for operators: searchable cases, facts and entities."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Generic, NamedTuple, TypeVar

from services.gateway.features.console.views.formatting import Badge, count_with_noun, humanize_name
from services.gateway.features.console.views.tasks import format_nanos_as_dollars
from services.gateway.features.memory import LinkedEntity
from shared.contracts.knowledge import CaseEntry, KnownFact, PredictionAccuracy
from shared.domain.cases import CaseOutcome
from shared.domain.estimates import PredictionTrust, judge_prediction_trust

PAGE_SIZE = 25
OUTCOME_BADGES = {
    CaseOutcome.SUCCESS: Badge("Success", "good"),
    CaseOutcome.PARTIAL: Badge("In part", "warn"),
    CaseOutcome.FAILURE: Badge("Failure", "bad"),
}
_TRUST_BADGES = {
    PredictionTrust.NONE: Badge("Too few", "mute"),
    PredictionTrust.TRUST: Badge("Trusted", "good"),
    PredictionTrust.VERIFY: Badge("To verify", "warn"),
    PredictionTrust.DRIFT: Badge("Drifts", "bad"),
}
Row = TypeVar("Row")


class MemoryQuery(NamedTuple):
    """A search in a tenant's memory. ``words``: all must occur; ``kind``: empty for any; ``page``: from 1."""

    words: str = ""
    kind: str = ""
    page: int = 1


class MemoryKindFilter(NamedTuple):
    """A kind that the page offers as a filter: ``kind``: as in the query; ``text``: its title."""

    kind: str
    text: str
    row_count: int


class MemoryRowsPage(NamedTuple, Generic[Row]):
    """A page of results. ``total``: how many rows match; ``stored_count``: how many are stored.

    ``has_more``: whether a page follows.
    """

    rows: Sequence[Row]
    total: int
    stored_count: int
    kinds: tuple[MemoryKindFilter, ...]
    query: MemoryQuery
    has_more: bool


def build_cases_page(entries: Sequence[CaseEntry], query: MemoryQuery) -> MemoryRowsPage[CaseEntry]:
    """The page of cases that match the query; the kind of a case is its outcome."""
    words = {outcome.value: OUTCOME_BADGES[outcome].text for outcome in CaseOutcome}
    return _build_page(
        entries,
        query,
        lambda case: case.outcome.value,
        lambda case: (
            *(case.summary, case.domain, case.strategy.value, case.task_id),
            *(*case.keywords, *case.worked, *case.failed),
        ),
        words,
    )


def build_facts_page(facts: Sequence[KnownFact], query: MemoryQuery) -> MemoryRowsPage[KnownFact]:
    """The page of facts that match the query; the kind of a fact is its process type."""
    return _build_page(
        facts,
        query,
        lambda fact: fact.domain,
        lambda fact: (fact.text, fact.domain, fact.task_id, *fact.entities, *fact.keywords),
    )


def build_entities_page(linked_entities: Sequence[LinkedEntity], query: MemoryQuery) -> MemoryRowsPage[LinkedEntity]:
    """The page of entities that match the query; the kind of an entity is what it is, such as a supplier.

    Entities named together with one are shown as they are written, not by their normalised keys.
    """
    page = _build_page(
        linked_entities,
        query,
        lambda row: row.entity.kind,
        lambda row: (
            *(row.entity.kind, row.entity.value),
            *(*row.links.together, *(task.task_id for task in row.links.tasks)),
        ),
    )
    names = {f"{row.entity.kind}:{row.entity.value}".casefold(): row.entity.value for row in linked_entities}
    return page._replace(rows=[_name_linked_entities(row, names) for row in page.rows])


def _name_linked_entities(linked: LinkedEntity, names: Mapping[str, str]) -> LinkedEntity:
    together = tuple(names.get(name.casefold()) or name.partition(":")[2] or name for name in linked.links.together[:6])
    return linked._replace(links=linked.links.model_copy(update={"together": together}))


def fact_note(fact: KnownFact) -> str:
    """A note that the fact is superseded, or which fact it replaced; empty if neither."""
    if fact.superseded_at is not None:
        return "a newer one says otherwise"
    return f"before: {fact.replaces}" if fact.replaces else ""


def describe_finding_cost(finding: Mapping[str, int]) -> str:
    """A sentence on what extracting facts from tasks has cost so far; empty if no task was searched."""
    tasks, calls = finding.get("fact_tasks", 0), finding.get("fact_calls", 0)
    if not tasks:
        return ""
    input_tokens = finding.get("fact_input_tokens", 0)
    output_tokens = finding.get("fact_output_tokens", 0)
    price = f", {format_nanos_as_dollars(finding['fact_nanos'])}" if finding.get("fact_nanos") else ""
    facts_found = count_with_noun(finding.get("facts_found", 0), "fact")
    effort = f"{count_with_noun(calls, 'model call')}, {input_tokens:,} tokens read, {output_tokens:,} written{price}"
    return f"{count_with_noun(tasks, 'task')} read for facts, {facts_found} found: {effort}."


def trust_badge(row: PredictionAccuracy) -> Badge:
    return _TRUST_BADGES[judge_prediction_trust(row.attempts, row.matches, row.window)]


def _build_page(
    rows: Sequence[Row],
    query: MemoryQuery,
    kind_of: Callable[[Row], str],
    texts_of: Callable[[Row], Iterable[str]],
    titles: Mapping[str, str] = MappingProxyType({}),
) -> MemoryRowsPage[Row]:
    """The page of rows that match. ``titles``: of the kinds, in order; without any, the most frequent kind is first."""
    words = query.words.casefold().split()
    texts = ((row, " ".join(texts_of(row)).casefold()) for row in rows)
    matches = [row for row, text in texts if all(word in text for word in words)]
    counts = Counter(kind_of(row) for row in matches)
    order = list(titles) or [word for word, _ in counts.most_common()]
    kinds = tuple(
        MemoryKindFilter(kind, titles.get(kind) or humanize_name(kind), counts[kind]) for kind in order if counts[kind]
    )
    chosen = [row for row in matches if query.kind in ("", kind_of(row))]
    start = PAGE_SIZE * (query.page - 1)
    end = start + PAGE_SIZE
    return MemoryRowsPage(chosen[start:end], len(chosen), len(rows), kinds, query, len(chosen) > end)
