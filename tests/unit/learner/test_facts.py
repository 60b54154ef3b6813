"""What is known after a task taught something."""

from collections.abc import Sequence
from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.learner.core.memory.facts import FACTS_OF_A_TASK, contradicts, facts_of, is_same, with_facts
from services.learner.ports.memory import FactTodo, KnownFacts, RawFact
from shared.contracts.knowledge import KnownFact
from shared.domain.known import FACTS_KEPT, known_facts
from tests.doubles.redis_tasks import NOON
from tests.each_row import each_row


def a_todo(number: int = 1) -> FactTodo:
    at = NOON + timedelta(hours=number)
    return FactTodo(
        tenant="acme",
        event_id=f"t{number}:1",
        task_id=f"t{number}",
        session_id="s1",
        process_type="procurement",
        quality=0.8,
        ended_at=at,
        task="",
        answer="",
    )


def raw(value: str = "net 30", attribute: str = "payment terms", subject: str = "Initech Ltd") -> RawFact:
    return RawFact(subject, attribute, value, f"{subject}: {attribute} are {value}.", 0.6)


def a_fact(value: str = "net 30", number: int = 1, **said: str) -> KnownFact:
    return facts_of([raw(value, **said)], a_todo(number))[0]


def taught(*rounds: Sequence[KnownFact]) -> tuple[KnownFact, ...]:
    """What is stored after tasks taught these facts in turn; rows stand as Redis would hold them."""
    rows: tuple[tuple[str, KnownFact], ...] = ()
    for new in rounds:
        change = with_facts(KnownFacts("0", rows), new)
        left = [row for row in rows if row[0] not in change.gone]
        come = [(fact.model_dump_json(), fact) for fact in reversed(change.come)]
        rows = (*come, *left)
    return tuple(fact for _, fact in rows)


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


@pytest.mark.promise("knowledge.once")
def test_a_fact_that_is_taught_again_is_known_once_and_surer() -> None:
    (fact,) = taught([a_fact()], [a_fact(number=2, subject="Initech")])
    assert (fact.seen, fact.task_id, fact.first_at) == (2, "t2", a_fact().at)
    assert 0.6 < fact.confidence < 1


@pytest.mark.promise("knowledge.once")
@each_row(
    ("one", "other", "same"),
    [
        (raw("EUR 1,000.00", "limit"), raw("€1.000,00", "limits"), True),
        (raw("2026-03-05", "deadline"), raw("5 March 2026", "deadline"), True),
        (raw("net 30"), raw("net 45"), False),
        (raw("10 %", "discount"), raw("10 %", "rate"), False),
        (raw(), raw(subject="Globex"), False),
    ],
)
def test_facts_are_the_same_by_what_they_say(one: RawFact, other: RawFact, same: bool) -> None:
    first, second = (facts_of([fact], a_todo())[0] for fact in (one, other))
    assert is_same(first, second) is is_same(second, first) is same


@pytest.mark.promise("knowledge.newer_holds")
def test_of_facts_that_contradict_each_other_the_newer_holds_and_says_what_it_replaces() -> None:
    newer, older = taught([a_fact("net 30")], [a_fact("net 45", 2)])
    assert (newer.value, newer.replaces, newer.holds) == ("net 45", older.text, True)
    assert (older.holds, older.superseded_by) == (False, newer.text)
    shown = known_facts([newer, older], "Pay Initech Ltd", (), "procurement")
    assert [fact.value for fact in shown] == ["net 45"]


@pytest.mark.promise("knowledge.newer_holds")
def test_one_that_comes_late_does_not_replace_what_was_said_after_it() -> None:
    facts = taught([a_fact("net 45", 2)], [a_fact("net 30", 1)])
    assert {fact.value: fact.holds for fact in facts} == {"net 45": True, "net 30": False}


@pytest.mark.promise("knowledge.newer_holds")
def test_what_is_true_again_holds_again() -> None:
    facts = taught([a_fact("net 30")], [a_fact("net 45", 2)], [a_fact("net 30", 3)])
    assert {fact.value: fact.holds for fact in facts} == {"net 45": False, "net 30": True}


@pytest.mark.promise("knowledge.capped")
def test_those_leave_first_that_hold_no_more_then_the_oldest() -> None:
    many = [a_fact(subject=f"Vendor {_letters(number)}", number=number) for number in range(FACTS_KEPT)]
    facts = taught([a_fact("net 45", 0)], many, [a_fact("net 60", FACTS_KEPT)])
    assert len(facts) == FACTS_KEPT
    assert all(fact.holds for fact in facts)
    assert "net 60" in {fact.value for fact in facts}


@pytest.mark.promise("knowledge.good_tasks")
def test_of_one_task_there_are_four_at_most() -> None:
    found = [raw(attribute=f"term {letter}") for letter in "abcdef"]
    assert len(facts_of(found, a_todo())) == FACTS_OF_A_TASK


@pytest.mark.promise("knowledge.unmarked")
def test_nothing_that_the_guard_marks_is_kept() -> None:
    secret = RawFact("Initech", "card", "4111", "Initech pays with card 4111 1111 1111 1111", 0.9)
    assert facts_of([secret, raw()], a_todo()) == facts_of([raw()], a_todo())


_FACTS = st.lists(
    st.builds(
        lambda value, attribute, subject, number: a_fact(value, number, attribute=attribute, subject=subject),
        st.sampled_from(["net 30", "net 45", "EUR 5", "5 EUR", "Dana Miller"]),
        st.sampled_from(["terms", "limit", "the contact"]),
        st.sampled_from(["Initech", "Initech Ltd", "Globex", ""]),
        st.integers(0, 5),
    ),
    max_size=12,
)


@given(_FACTS)
def test_whatever_is_taught_nothing_is_known_twice_and_one_value_holds(facts: list[KnownFact]) -> None:
    known = taught(*[[fact] for fact in facts])
    holding = [fact for fact in known if fact.holds]
    pairs = [(one, other) for place, one in enumerate(known) for other in known[place + 1 :]]
    assert not [pair for pair in pairs if is_same(*pair)]
    assert not [(one, other) for one in holding for other in holding if contradicts(one, other)]


@given(_FACTS)
def test_facts_of_one_task_or_of_many_give_the_same(facts: list[KnownFact]) -> None:
    """Rows are written by their differences; the result is that of writing all of them."""
    at_once, one_by_one = taught(facts), taught(*[[fact] for fact in facts])
    assert {fact.model_dump_json() for fact in at_once} == {fact.model_dump_json() for fact in one_by_one}
