"""What tasks left for later ones, as an operator browses it: cases, facts, entities, and predictions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Generic, NamedTuple, TypeVar

from services.gateway.features.console.views.tasks import dollars
from services.gateway.features.console.views.words import Badge, count_of, strategy_title, title_of
from services.gateway.features.memory.service import Thing
from shared.contracts.knowledge import Accuracy, CaseEntry, KnownFact
from shared.domain.cases import CaseOutcome
from shared.domain.estimates import Trust, recent, trust

SIZE = 25
_OUTCOMES = {
    CaseOutcome.SUCCESS: Badge("Success", "good"),
    CaseOutcome.PARTIAL: Badge("In part", "warn"),
    CaseOutcome.FAILURE: Badge("Failure", "bad"),
}
_TRUSTS = {
    Trust.NONE: Badge("Too few", "mute"),
    Trust.TRUST: Badge("Trusted", "good"),
    Trust.VERIFY: Badge("To verify", "warn"),
    Trust.DRIFT: Badge("Drifts", "bad"),
}
_TASKS_SHOWN = 3
Row = TypeVar("Row")


class MemoryQuery(NamedTuple):
    """A search: words that must all occur, a kind (empty: any), and a page from 1."""

    words: str = ""
    kind: str = ""
    page: int = 1


class KindChoice(NamedTuple):
    word: str
    text: str
    number: int


class MemoryPage(NamedTuple, Generic[Row]):
    """A page of results. ``total``: how many match; ``kept``: how many are stored."""

    rows: Sequence[Row]
    total: int
    kept: int
    kinds: tuple[KindChoice, ...]
    asked: MemoryQuery
    more: bool


class CaseRow(NamedTuple):
    text: str
    outcome: Badge
    quality: str
    process: str
    strategy: str
    task_id: str
    at: datetime
    worked: tuple[str, ...]
    failed: tuple[str, ...]


class FactRow(NamedTuple):
    """A fact. ``holds``: false if a newer one contradicts it; ``note``: what it replaces."""

    text: str
    process: str
    confidence: str
    seen: int
    entities: tuple[str, ...]
    task_id: str
    at: datetime
    holds: bool
    note: str


class EntityRow(NamedTuple):
    kind: str
    value: str
    seen: int
    last_seen: datetime
    together: tuple[str, ...]
    tasks: tuple[str, ...]


class AccuracyRow(NamedTuple):
    process: str
    kind: str
    held: str
    recent: str
    trust: Badge
    alerts: int


def read_page(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 5 and int(text) else 1


def cases(entries: Sequence[CaseEntry], asked: MemoryQuery) -> MemoryPage[CaseRow]:
    """The page of cases that ``asked`` wants; a case's kind, by which it may be filtered, is its outcome."""
    words = {one.value: _OUTCOMES[one].text for one in CaseOutcome}
    found = _find_page(entries, asked, lambda one: one.outcome.value, _said_of_case, words)
    return _map_rows(found, _case)


def facts(known: Sequence[KnownFact], asked: MemoryQuery) -> MemoryPage[FactRow]:
    """The page of known facts that ``asked`` wants; a fact's kind is the process type that it is about."""
    found = _find_page(known, asked, lambda one: one.domain, _said_of_fact, {})
    return _map_rows(found, _fact)


def entities(things: Sequence[Thing], asked: MemoryQuery) -> MemoryPage[EntityRow]:
    """The page of entities that ``asked`` wants; an entity's kind is what it is, such as a supplier."""
    found = _find_page(things, asked, lambda one: one.entity.kind, _said_of_thing, {})
    names = {f"{one.entity.kind}:{one.entity.value}".casefold(): one.entity.value for one in things}
    return _map_rows(found, lambda thing: _entity(thing, names))


def finding_words(finding: Mapping[str, int]) -> str:
    """A sentence on what finding facts has cost so far; empty if no task was searched."""
    tasks, calls = finding.get("fact_tasks", 0), finding.get("fact_calls", 0)
    if not tasks:
        return ""
    read, written = finding.get("fact_input_tokens", 0), finding.get("fact_output_tokens", 0)
    price = f", {dollars(finding['fact_nanos'])}" if finding.get("fact_nanos") else ""
    found = count_of(finding.get("facts_found", 0), "fact")
    took = f"{count_of(calls, 'model call')}, {read:,} tokens read, {written:,} written{price}"
    return f"{count_of(tasks, 'task')} read for facts, {found} found: {took}."


def accuracy_rows(known: Mapping[tuple[str, str], Accuracy]) -> tuple[AccuracyRow, ...]:
    return tuple(_accuracy(process, kind, row) for (process, kind), row in sorted(known.items()))


def _find_page(
    items: Sequence[Row],
    asked: MemoryQuery,
    kind_of: Callable[[Row], str],
    said_of: Callable[[Row], Iterable[str]],
    titles: Mapping[str, str],
) -> MemoryPage[Row]:
    wanted = asked.words.casefold().split()
    named = [one for one in items if all(word in " ".join(said_of(one)).casefold() for word in wanted)]
    counts = Counter(kind_of(one) for one in named)
    order = list(titles) or [word for word, _ in counts.most_common()]
    kinds = tuple(KindChoice(word, titles.get(word) or title_of(word), counts[word]) for word in order if counts[word])
    chosen = [one for one in named if asked.kind in ("", kind_of(one))]
    first = SIZE * (asked.page - 1)
    return MemoryPage(chosen[first : first + SIZE], len(chosen), len(items), kinds, asked, len(chosen) > first + SIZE)


Shown = TypeVar("Shown")


def _map_rows(found: MemoryPage[Row], row: Callable[[Row], Shown]) -> MemoryPage[Shown]:
    return MemoryPage([row(one) for one in found.rows], *found[1:])


def _case(entry: CaseEntry) -> CaseRow:
    return CaseRow(
        text=entry.summary,
        outcome=_OUTCOMES[entry.outcome],
        quality=f"{entry.quality:.2f}",
        process=title_of(entry.domain),
        strategy=strategy_title(entry.strategy.value),
        task_id=entry.task_id,
        at=entry.at,
        worked=entry.worked,
        failed=entry.failed,
    )


def _fact(fact: KnownFact) -> FactRow:
    gone = fact.superseded_at is not None
    note = f"before: {fact.replaces}" if fact.replaces else ""
    return FactRow(
        text=fact.text,
        process=title_of(fact.domain),
        confidence=f"{100 * fact.confidence:.0f} %",
        seen=fact.seen,
        entities=fact.entities,
        task_id=fact.task_id,
        at=fact.at,
        holds=not gone,
        note="a newer one says otherwise" if gone else note,
    )


def _entity(thing: Thing, names: Mapping[str, str]) -> EntityRow:
    """An entity's row. ``names``: how entities are written, by the key that links use."""
    entity, links = thing
    together = tuple(names.get(name.casefold()) or name.partition(":")[2] or name for name in links.together[:6])
    tasks = tuple(one.task_id for one in links.tasks[:_TASKS_SHOWN])
    return EntityRow(title_of(entity.kind), entity.value, entity.seen, entity.last_seen, together, tasks)


def _accuracy(process: str, kind: str, row: Accuracy) -> AccuracyRow:
    held, of = recent(row.window)
    badge = _TRUSTS[trust(row.attempts, row.matches, row.window)]
    said = f"{row.matches} of {row.attempts}"
    return AccuracyRow(title_of(process), title_of(kind), said, f"{held} of {of}", badge, row.drift_alerts)


def _said_of_case(entry: CaseEntry) -> Iterable[str]:
    return (
        entry.summary,
        entry.domain,
        entry.strategy.value,
        entry.task_id,
        *entry.keywords,
        *entry.worked,
        *entry.failed,
    )


def _said_of_fact(fact: KnownFact) -> Iterable[str]:
    return (fact.text, fact.domain, fact.task_id, *fact.entities, *fact.keywords)


def _said_of_thing(thing: Thing) -> Iterable[str]:
    return (thing.entity.kind, thing.entity.value, *thing.links.together, *(one.task_id for one in thing.links.tasks))
