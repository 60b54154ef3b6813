"""What a file changes in what is stored: the same again changes nothing, and no record with more behind it is lost."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.learner.core.files.formats import Statistics
from services.learner.core.files.importer import (
    FileDecision,
    with_arms,
    with_cases,
    with_entities,
    with_known_facts,
    with_statistics,
)
from services.learner.core.training import as_stored_case
from services.learner.ports.files import ArmRecord, EntityRecord, FileTotals, StoredFile, Versions
from services.learner.ports.outcomes import StoredCase
from shared.contracts.knowledge import Accuracy, CaseEntry, KnownEntity, KnownFact
from shared.domain.bandit import Arm
from shared.domain.keywords import keywords
from shared.domain.known import ENTITIES_KEPT, FACTS_KEPT
from tests.doubles.redis_tasks import NOON
from tests.unit.learner.makers import a_case

NAMES = [("payroll", "fsm"), ("payroll", "moa"), ("general", "fsm")]
_ARMS = st.dictionaries(
    st.sampled_from(NAMES), st.integers(1, 9).flatmap(lambda n: st.integers(0, n).map(lambda q: Arm(n, q * 10_000)))
)
_CASES = st.lists(st.builds(lambda number, q: a_case(number, quality=q / 4), st.integers(0, 9), st.integers(0, 4)))
_ENTITIES = st.dictionaries(st.sampled_from("abcd"), st.integers(1, 5))
_FACTS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from("xy"), st.integers(1, 3), st.integers(0, 9)))
_ACCURACY = st.dictionaries(st.sampled_from("pq"), st.integers(1, 5).map(lambda n: Accuracy(attempts=n, matches=0)))


def _stored(
    cases: Sequence[StoredCase] = (),
    arms: Mapping[tuple[str, str], Arm] | None = None,
    events: int = 0,
    facts: Sequence[tuple[str, KnownFact]] = (),
    entities: Mapping[str, KnownEntity] | None = None,
    accuracy: Mapping[str, Accuracy] | None = None,
) -> StoredFile:
    return StoredFile(Versions("", "", "", ""), cases, arms or {}, events, facts, entities or {}, accuracy or {})


def _entity(name: str, seen: int) -> EntityRecord:
    return EntityRecord(f"vendor:{name}", KnownEntity(kind="vendor", value=name, seen=seen, last_seen=NOON))


def _fact(subject: str, attribute: str, value: int, hours: int) -> KnownFact:
    text = f"{attribute} of supplier {subject} stands at {value} days"
    told = {"subject": subject, "attribute": attribute, "value": str(value), "at": NOON + timedelta(hours=hours)}
    return KnownFact.model_validate(
        {"text": text, "domain": "general", "quality": 0.9, "keywords": keywords(text), **told}
    )


def _after_facts(stored: StoredFile, done: FileDecision) -> StoredFile:
    rows = done.brought.facts
    return stored if rows is None else _stored(facts=[(row, KnownFact.model_validate_json(row)) for row in rows])


@pytest.mark.promise("files.idempotent")
@given(_ARMS, _ARMS)
def test_of_an_arm_the_record_with_more_pulls_holds(
    here: Mapping[tuple[str, str], Arm], new: dict[tuple[str, str], Arm]
) -> None:
    done = with_arms(_stored(arms=here), [ArmRecord(name, arm) for name, arm in new.items()])
    after = {**here, **{record.name: record.arm for record in done.brought.arms}}
    assert {name: arm.n for name, arm in after.items()} == {
        name: max(here.get(name, Arm()).n, new.get(name, Arm()).n) for name in {*here, *new}
    }
    assert with_arms(_stored(arms=after), [ArmRecord(name, arm) for name, arm in new.items()]).taken == 0


@pytest.mark.promise("files.idempotent")
@given(_CASES, _CASES)
def test_cases_brought_twice_are_there_once(here: list[CaseEntry], new: list[CaseEntry]) -> None:
    log = [as_stored_case(case) for case in {case.case_id: case for case in here}.values()]
    done = with_cases(_stored(cases=log), new)
    texts = done.brought.cases or [entry.text for entry in log]
    after = [StoredCase(text, CaseEntry.model_validate_json(text)) for text in texts]
    assert len({entry.case.case_id for entry in after if entry.case}) == len(after)
    assert with_cases(_stored(cases=after), new).taken == 0


@pytest.mark.promise("files.idempotent")
@given(_FACTS, _FACTS)
def test_facts_brought_twice_are_taught_once(
    here: list[tuple[str, str, int, int]], new: list[tuple[str, str, int, int]]
) -> None:
    """Also those that contradict each other, in the file or what is stored."""
    stored = _stored()
    for told in (here, new, new):
        facts = sorted((_fact(*one) for one in told), key=lambda fact: fact.at, reverse=True)
        stored = _after_facts(stored, with_known_facts(stored, facts))
    again = with_known_facts(stored, sorted((_fact(*one) for one in new), key=lambda fact: fact.at, reverse=True))
    assert again.taken == 0


@given(_ENTITIES, _ENTITIES, _ACCURACY, _ACCURACY, st.integers(0, 9), st.integers(0, 9))
def test_of_entities_predictions_and_totals_the_record_with_more_holds(
    here: dict[str, int],
    new: dict[str, int],
    held: dict[str, Accuracy],
    brought: dict[str, Accuracy],
    events: int,
    others: int,
) -> None:
    records = {name: _entity(name, seen) for name, seen in here.items()}
    stored = _stored(
        entities={record.field: record.entity for record in records.values()}, accuracy=held, events=events
    )
    things = with_entities(stored, [_entity(name, seen) for name, seen in new.items()], NOON)
    totals = with_statistics(stored, Statistics(FileTotals({"events": others}), brought))
    assert {record.entity.value for record in things.brought.entities} == {
        name for name, seen in new.items() if seen > here.get(name, 0)
    }
    assert (totals.brought.totals is not None) == (others > events)
    assert set(totals.brought.accuracy) == {
        name for name, row in brought.items() if row.attempts > held.get(name, Accuracy()).attempts
    }


def test_what_has_no_room_is_left_out_and_counted() -> None:
    """The newest entities and facts stay."""
    many = [_entity(f"v{number}", 1) for number in range(ENTITIES_KEPT + 5)]
    old = EntityRecord("vendor:old", many[0].entity.model_copy(update={"last_seen": NOON - timedelta(days=30)}))
    done = with_entities(_stored(), [*many, old], NOON)
    assert (done.taken, done.left_out) == (ENTITIES_KEPT, 6)
    facts = [_fact(f"s{number}", "terms", number, -number) for number in range(FACTS_KEPT + 3)]
    taken = with_known_facts(_stored(), facts)
    assert (taken.taken, taken.left_out) == (FACTS_KEPT, 3)
