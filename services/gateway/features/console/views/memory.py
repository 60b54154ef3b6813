"""What tasks left for later ones, as an operator browses it: cases, facts, entities, and predictions."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Generic, NamedTuple, TypeVar

from services.gateway.features.console.views.tasks import dollars
from services.gateway.features.console.views.words import Badge, count_of, title_of
from services.gateway.features.memory.service import Thing
from shared.contracts.knowledge import Accuracy, CaseEntry, KnownFact
from shared.domain.cases import CaseOutcome
from shared.domain.estimates import Trust, judge_trust

SIZE = 25
OUTCOMES = {
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


def read_page(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and 0 < len(text) < 5 and int(text) else 1


def cases(entries: Sequence[CaseEntry], asked: MemoryQuery) -> MemoryPage[CaseEntry]:
    """The page of cases that ``asked`` wants; a case's kind, by which it may be filtered, is its outcome."""
    words = {one.value: OUTCOMES[one].text for one in CaseOutcome}
    return _find_page(entries, asked, lambda one: one.outcome.value, _said_of_case, words)


def facts(known: Sequence[KnownFact], asked: MemoryQuery) -> MemoryPage[KnownFact]:
    """The page of known facts that ``asked`` wants; a fact's kind is the process type that it is about."""
    return _find_page(known, asked, lambda one: one.domain, _said_of_fact, {})


def entities(things: Sequence[Thing], asked: MemoryQuery) -> MemoryPage[Thing]:
    """The page of entities that ``asked`` wants; an entity's kind is what it is, such as a supplier.

    What an entity stood with is named as it is written elsewhere.
    """
    found = _find_page(things, asked, lambda one: one.entity.kind, _said_of_thing, {})
    names = {f"{one.entity.kind}:{one.entity.value}".casefold(): one.entity.value for one in things}
    return found._replace(rows=[_with_names(thing, names) for thing in found.rows])


def _with_names(thing: Thing, names: Mapping[str, str]) -> Thing:
    together = tuple(names.get(name.casefold()) or name.partition(":")[2] or name for name in thing.links.together[:6])
    return thing._replace(links=thing.links.model_copy(update={"together": together}))


def fact_note(fact: KnownFact) -> str:
    """What contradicts the fact, or what it replaced; empty if neither is so."""
    if fact.superseded_at is not None:
        return "a newer one says otherwise"
    return f"before: {fact.replaces}" if fact.replaces else ""


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


def trust_badge(row: Accuracy) -> Badge:
    return _TRUSTS[judge_trust(row.attempts, row.matches, row.window)]


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
