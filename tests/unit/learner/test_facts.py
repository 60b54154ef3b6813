"""What one outcome teaches: facts, what a text names, and UCB1 as seed 000 writes it."""

import math
from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from itertools import pairwise

import pytest
from babel.dates import format_date
from babel.numbers import format_currency
from hypothesis import given, strategies as some, strategies as st

from services.learner.core.memory.entities import MOST_ENTITIES, EntityKind, find_entities, format_number
from services.learner.core.memory.facts import (
    MOST_FACTS_OF_TASK,
    choose_facts_to_keep,
    contradicts,
    merge_facts,
    says_the_same,
)
from services.learner.core.memory.forgetting import StoredMemory, plan_removal
from services.learner.core.memory.lesson import UnreadableOutcome, make_lesson, parse_outcome
from services.learner.ports.memory import KnownFacts, RawFact, TaskToSearchForFacts
from services.learner.ports.outcomes import StrategyUse
from shared.contracts.knowledge import KnownFact
from shared.contracts.learning_files import ForgetRequest, ForgetScope
from shared.contracts.outcome_digest import make_case_entry
from shared.contracts.relevance import FACTS_KEPT, select_relevant_facts
from shared.domain.bandit import REWARD_UNITS, Arm, choose_strategy, compute_ucb1_score
from shared.domain.cases import CaseOutcome
from shared.domain.quality import QualityFormula
from shared.domain.words import Strategy, TaskState
from tests.doubles.redis_tasks import NOON
from tests.each_row import each_row
from tests.integration.learner_stage import an_outcome
from tools.bench.learner.regret import ARMS, SCENES, RegretCourse, RegretScene, measure_regret, regret_bound


def a_todo(number: int = 1) -> TaskToSearchForFacts:
    at = NOON + timedelta(hours=number)
    return TaskToSearchForFacts(
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
    text = f"{subject}: {attribute} are {value}."
    return RawFact(subject=subject, attribute=attribute, value=value, text=text, confidence=0.6)


def a_fact(value: str = "net 30", number: int = 1, **said: str) -> KnownFact:
    return choose_facts_to_keep([raw(value, **said)], a_todo(number))[0]


def taught(*rounds: Sequence[KnownFact]) -> tuple[KnownFact, ...]:
    """What is stored after tasks taught these facts in turn; rows stand as Redis would hold them."""
    rows: tuple[tuple[str, KnownFact], ...] = ()
    for new in rounds:
        change = merge_facts(KnownFacts("0", rows), new)
        left = [row for row in rows if row[0] not in change.removed_rows]
        come = [(fact.model_dump_json(), fact) for fact in reversed(change.added_facts)]
        rows = (*come, *left)
    return tuple(fact for _, fact in rows)


def _letters(number: int) -> str:
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


@pytest.mark.promise("knowledge.once")
@each_row(
    ("one", "other", "same"),
    (raw("EUR 1,000.00", "limit"), raw("€1.000,00", "limits"), True),
    (raw("2026-03-05", "deadline"), raw("5 March 2026", "deadline"), True),
    (raw("net 30"), raw("net 45"), False),
    (raw("10 %", "discount"), raw("10 %", "rate"), False),
    (raw(), raw(subject="Globex"), False),
)
def test_facts_are_the_same_by_what_they_say(one: RawFact, other: RawFact, same: bool) -> None:
    first, second = (choose_facts_to_keep([fact], a_todo())[0] for fact in (one, other))
    assert says_the_same(first, second) is says_the_same(second, first) is same


@pytest.mark.promise("knowledge.newer_holds")
def test_of_facts_that_contradict_each_other_the_newer_holds_and_says_what_it_replaces() -> None:
    newer, older = taught([a_fact("net 30")], [a_fact("net 45", 2)])
    assert (newer.value, newer.replaces, newer.is_current) == ("net 45", older.text, True)
    assert (older.is_current, older.superseded_by) == (False, newer.text)
    shown = select_relevant_facts([newer, older], "Pay Initech Ltd", (), "procurement")
    assert [fact.value for fact in shown] == ["net 45"]


@pytest.mark.promise("forget.gone")
def test_a_fact_stays_replaced_where_a_newer_one_than_the_forgotten_contradicts_it() -> None:
    facts = taught(
        *([a_fact(f"net {number}", number).model_copy(update={"session_id": f"s{number}"})] for number in (1, 2, 3))
    )
    request = ForgetRequest(
        request_id="r", tenant="acme", scope=ForgetScope.SESSION, subject="s2", asked_by="o", asked_at=NOON
    )
    removal = plan_removal(request, StoredMemory("1", facts=tuple((fact.value, fact) for fact in facts)))
    newest, oldest = (removal.reduced_facts[value] for value in ("net 3", "net 1"))
    assert (removal.facts, newest.replaces, newest.is_current) == (("net 2",), "", True)
    assert (oldest.superseded_by, oldest.superseded_at) == (newest.text, newest.at)


@pytest.mark.promise("knowledge.newer_holds")
def test_what_comes_late_does_not_replace_what_was_said_after_it_and_what_is_true_again_holds_again() -> None:
    facts = taught([a_fact("net 45", 2)], [a_fact("net 30", 1)])
    assert {fact.value: fact.is_current for fact in facts} == {"net 45": True, "net 30": False}
    facts = taught([a_fact("net 30")], [a_fact("net 45", 2)], [a_fact("net 30", 3)])
    assert {fact.value: fact.is_current for fact in facts} == {"net 45": False, "net 30": True}


@pytest.mark.promise("knowledge.capped")
def test_those_leave_first_that_hold_no_more_then_the_oldest() -> None:
    many = [a_fact(subject=f"Vendor {_letters(number)}", number=number) for number in range(FACTS_KEPT)]
    facts = taught([a_fact("net 45", 0)], many, [a_fact("net 60", FACTS_KEPT)])
    assert len(facts) == FACTS_KEPT
    assert all(fact.is_current for fact in facts)
    assert "net 60" in {fact.value for fact in facts}


@pytest.mark.promise("knowledge.good_tasks", "knowledge.unmarked")
def test_of_one_task_four_facts_are_kept_at_most_and_nothing_that_the_guard_marks() -> None:
    found = [raw(attribute=f"term {letter}") for letter in "abcdef"]
    assert len(choose_facts_to_keep(found, a_todo())) == MOST_FACTS_OF_TASK
    secret = raw().model_copy(update={"text": "Initech pays with card 4111 1111 1111 1111"})
    assert choose_facts_to_keep([secret, raw()], a_todo()) == choose_facts_to_keep([raw()], a_todo())


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
    holding = [fact for fact in known if fact.is_current]
    pairs = [(one, other) for place, one in enumerate(known) for other in known[place + 1 :]]
    assert not [pair for pair in pairs if says_the_same(*pair)]
    assert not [(one, other) for one in holding for other in holding if contradicts(one, other)]


@given(_FACTS)
def test_facts_of_one_task_or_of_many_give_the_same(facts: list[KnownFact]) -> None:
    """Rows are written by their differences; the result is that of writing all of them."""
    at_once, one_by_one = taught(facts), taught(*[[fact] for fact in facts])
    assert {fact.model_dump_json() for fact in at_once} == {fact.model_dump_json() for fact in one_by_one}


_TEXT = (
    "Pay invoice INV-2024-001 from Initech Ltd. for €1.234,50 by 22.11.2026; contact Ms Jane Doe at "
    "Jane.Doe@initech.co.uk. The Enterprise Plan has a 5.5% discount."
)
_LOCALES = ("en_US", "de_DE", "fr_FR", "es_ES", "it_IT", "nl_NL", "sv_SE", "de_CH", "en_IN", "pl_PL", "pt_BR")
_CENTS = st.integers(0, 10**9)


def _found(text: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for one in find_entities(text):
        found.setdefault(one.kind.value, []).append(one.value)
    return found


@pytest.mark.promise("entities.found")
def test_a_sentence_of_business_gives_all_it_names() -> None:
    assert _found(_TEXT) == {
        "reference": ["INV-2024-001"],
        "vendor": ["Initech Ltd"],
        "amount": ["€1.234,50"],
        "date": ["2026-11-22"],
        "person": ["Jane Doe"],
        "email": ["jane.doe@initech.co.uk"],
        "product": ["Enterprise Plan"],
        "percentage": ["5.5%"],
    }


@pytest.mark.promise("entities.found")
@each_row(
    ("text", "kind", "value"),
    ("Upgrade Globex Corporation now", "vendor", "Globex Corporation"),
    ("Process purchase order PO-77 with Stark Industries", "vendor", "Stark Industries"),
    ("expense claim submitted by Dana Miller", "person", "Dana Miller"),
    ("tax id DE123456789 is theirs", "reference", "DE123456789"),
    ("a fee of 45 dollars", "amount", "45 dollars"),
    ("on March 5th, 2026", "date", "2026-03-05"),
    ("am 5. März 2026", "date", "2026-03-05"),
    ("03/04/2026 is one day or another", "date", "03/04/2026"),
)
def test_it_is_found(text: str, kind: str, value: str) -> None:
    assert value in _found(text)[kind]


@pytest.mark.promise("entities.found")
@each_row(
    "text",
    "Which expense claims are pending? Answer with a JSON list of their ids.",
    "ALL 3 invoices are checked, 1.2.3 EUR is no amount and 2026-02-30 no day",
    "Approve it. Please send the report to us.",
)
def test_what_names_nothing_gives_nothing(text: str) -> None:
    assert _found(text) == {}


@pytest.mark.promise("entities.many_countries")
@given(_CENTS, st.sampled_from(_LOCALES), st.sampled_from(["EUR", "USD", "GBP", "CHF", "INR", "PLN"]))
def test_an_amount_is_the_same_in_every_country(cents: int, locale: str, currency: str) -> None:
    """As Babel's data, which is Unicode's, say that it is written there."""
    written = format_currency(Decimal(cents) / 100, currency, locale=locale)
    (found,) = find_entities(f"they owe {written} since then")
    assert found.kind is EntityKind.AMOUNT
    assert found.common_form.split()[0] == format_number(Decimal(cents) / 100)


@pytest.mark.promise("entities.many_countries")
@given(st.dates(date(1950, 1, 1), date(2100, 1, 1)), st.sampled_from(["en_US", "en_GB", "de_DE", "fr_FR", "es_ES"]))
def test_a_day_is_the_same_in_every_country(day: date, locale: str) -> None:
    written = format_date(day, "long", locale=locale)
    assert [one.value for one in find_entities(f"due {written} at last")] == [day.isoformat()]


@given(st.text(max_size=400) | st.text("€$ ,.'0123456789ABZ-/@年月", max_size=200))
def test_any_text_gives_distinct_entities_that_stand_in_it(text: str) -> None:
    """Each once, no two from the same words, never more than the cap, and the same each time."""
    found = find_entities(text)
    assert len({one.field for one in found}) == len(found) <= MOST_ENTITIES
    spans = sorted((one.start, one.end) for one in found)
    assert all(first[1] <= second[0] for first, second in pairwise(spans))
    assert all(0 <= one.start < one.end <= len(text) for one in found)
    assert find_entities(text) == found


ALL = tuple(Strategy)
COUNTS = some.integers(min_value=1, max_value=10_000)


@pytest.mark.promise("bandit.ucb1")
@given(n=COUNTS, others=some.integers(min_value=0, max_value=10_000), mean=some.integers(0, REWARD_UNITS))
def test_the_score_is_the_formula_of_the_seed(n: int, others: int, mean: int) -> None:
    """Q + sqrt(2) * sqrt(ln(N) / n)."""
    arm = Arm(n, n * mean)
    expected = mean / REWARD_UNITS + math.sqrt(2) * math.sqrt(math.log(n + others) / n)
    assert compute_ucb1_score(arm, n + others) == pytest.approx(expected, rel=1e-12)


@pytest.mark.promise("bandit.cold_start")
def test_the_first_visit_is_fsms_then_what_was_never_tried_and_then_the_highest_score_of_what_can_be_chosen() -> None:
    assert choose_strategy({}, ALL).strategy is Strategy.FSM
    assert choose_strategy({Strategy.FIVE_PHASE: Arm()}, ALL).strategy is Strategy.FSM
    choice = choose_strategy({Strategy.FSM: Arm(5, 5 * REWARD_UNITS)}, ALL)
    assert (choice.strategy, choice.why) == (Strategy.FIVE_PHASE, "not tried yet")
    assert choice.scores[Strategy.FIVE_PHASE] is None
    even = Arm(10, 5 * REWARD_UNITS)
    assert choose_strategy(dict.fromkeys(ALL, even), ALL).strategy is Strategy.FSM
    assert (
        choose_strategy({**dict.fromkeys(ALL, even), Strategy.MOA: Arm(10, 9 * REWARD_UNITS)}, ALL).strategy
        is Strategy.MOA
    )
    arms = {Strategy.FSM: Arm(100, 0), Strategy.MOA: Arm(1, REWARD_UNITS)}
    assert choose_strategy(arms, (Strategy.FSM,)).strategy is Strategy.FSM


SEEDS = 200


def _grows_no_faster_than_its_bound(found: RegretCourse) -> None:
    assert (found.exceeds, found.outgrows) == ((), ())
    assert found.regret[-1] > 0


@pytest.mark.promise("bandit.regret")
@each_row("scene", SCENES)
def test_over_200_seeds_regret_grows_no_faster_than_the_bound(scene: RegretScene) -> None:
    """In the mean, at every mark and from each mark to the next."""
    _grows_no_faster_than_its_bound(measure_regret(scene, choices=250, seeds=SEEDS))


def test_the_bound_of_regret_is_the_theorems_equals_cost_nothing_and_a_regret_above_it_is_noticed() -> None:
    """One arm worse by 0.2 and one by 0.4, after 100 choices."""
    means = dict(zip(ARMS, (0.9, 0.7, 0.5), strict=True))
    expected = 8 * (math.log(100) / 0.2 + math.log(100) / 0.4) + (1 + math.pi**2 / 3) * 0.6
    assert regret_bound(means, 100) == pytest.approx(expected)
    found = measure_regret(RegretScene("equal", dict.fromkeys(ARMS, 0.5)), choices=50, seeds=2)
    assert found.regret[-1] == found.bound[-1] == 0
    linear = tuple(0.3 * choices for choices in (1_000, 10_000, 100_000))
    found = RegretCourse(SCENES[0], (1_000, 10_000, 100_000), linear, (1_208.0, 1_610.0, 2_012.0))
    assert found.exceeds == found.outgrows == (10_000, 100_000)


def test_a_case_has_what_the_seed_lists() -> None:
    """Summary, keywords, outcome, quality, what worked, what failed, tool count, domain."""
    outcome = an_outcome(
        state=TaskState.FAILED,
        quality=0.4,
        reason="the tool server office is silent",
        writes={"verified": 2, "in_doubt": 1},
        worked=("get_expense",),
        failed=("approve_expense",),
    )
    case = make_case_entry(outcome)
    assert (case.summary, case.domain, case.tool_count) == (outcome.summary, "expense_approval", 3)
    assert case.keywords == ("approv", "expens", "claim", "sale", "depart")
    assert (case.outcome, case.quality, case.at) == (CaseOutcome.FAILURE, 0.4, outcome.ended_at)
    assert case.worked == ("writes verified: 2", "policy passed", "get_expense")
    assert case.failed == ("the tool server office is silent", "writes in_doubt: 1", "approve_expense")


def test_a_lesson_stays_small_whatever_the_outcome_says() -> None:
    case = make_case_entry(
        an_outcome(summary="long " * 1000, reason="why " * 1000, failed=tuple(f"tool{n}" for n in range(500)))
    )
    assert len(case.summary) == 200
    assert len(case.failed) == 10
    assert len(case.failed[0]) == 200


@pytest.mark.promise("bandit.only_what_applied")
def test_a_case_names_the_strategy_that_did_the_work_and_one_that_did_not_apply_is_not_charged() -> None:
    fell_back = {"strategy_fell_back": "the task's budget has no room for it"}
    told = an_outcome(strategy=Strategy.MOA, strategy_applied=False, details=fell_back)
    assert make_case_entry(told).strategy is Strategy.FSM
    assert make_case_entry(an_outcome(strategy=Strategy.MOA)).strategy is Strategy.MOA
    assert make_lesson(an_outcome()).pull == StrategyUse("expense_approval", Strategy.FSM)
    assert make_lesson(an_outcome(strategy_applied=False)).pull is None


@pytest.mark.promise("quality.parts_kept")
@each_row("formula", list(QualityFormula))
def test_a_case_keeps_what_its_quality_is_the_sum_of(formula: QualityFormula) -> None:
    """By either formula; what is no part of a score is left out, whatever an event says."""
    said = {"formula": formula.value, "baseline": 0.5, "needs_met": 0.1, "failed": -0.4}
    case = make_case_entry(an_outcome(details={"quality_parts": {**said, "note": "long", "Odd name": 0.1, "much": 7}}))
    assert case.formula == formula
    assert case.parts == {"baseline": 0.5, "needs_met": 0.1, "failed": -0.4}


@pytest.mark.promise("learner.poison")
@pytest.mark.parametrize(
    ("event", "said"),
    [
        pytest.param("", "the event: Invalid JSON", id="empty"),
        pytest.param('{"event_id": "e"}', "tenant: Field required", id="half"),
        pytest.param(an_outcome(quality=7.0).model_dump_json(), "quality: not between 0 and 1", id="quality 7"),
        pytest.param(an_outcome(ended_at="2026-03-02T12:00:00").model_dump_json(), "ended_at", id="no time zone"),
        pytest.param(an_outcome(event_id="a\nb").model_dump_json(), "line break", id="an id of two lines"),
    ],
)
def test_a_text_that_is_no_outcome_is_refused_with_its_reason(event: str, said: str) -> None:
    with pytest.raises(UnreadableOutcome, match=said):
        parse_outcome(event)


def test_an_outcome_that_cannot_be_read_is_refused_without_its_words_and_a_later_versions_fields_are_ignored() -> None:
    spoiled = an_outcome(summary="my secret").model_dump_json().replace('"tool_calls":3', '"tool_calls":"hush"')
    with pytest.raises(UnreadableOutcome) as refusal:
        parse_outcome(spoiled)
    assert "hush" not in str(refusal.value)
    later = an_outcome().model_dump_json().replace('"v":1', '"v":2,"news":1')
    assert parse_outcome(later).event_id == "acme-1:1"


@pytest.mark.promise("learner.redacts")
def test_no_case_has_what_the_privacy_guard_marks_whoever_sent_the_event() -> None:
    """In the summary, its keywords, the reason and the names of tools."""
    card, secret = "4111 1111 1111 1111", "sk-live-abcdefghijklmnopqrstuvwx"
    case = make_case_entry(
        an_outcome(summary=f"Charge card {card}", reason=f"refused {secret}", worked=(f"tool {secret}",))
    )
    told = case.model_dump_json()
    assert (card in told, secret in told) == (False, False)
    assert "[card]" in case.summary


def test_a_figure_with_a_footnote_mark_is_merged_like_any_other_word() -> None:
    """``isdigit`` is true of a superscript, which is no number."""
    known = choose_facts_to_keep([raw(value="5,000¹", attribute="limit")], a_todo(1))
    new = choose_facts_to_keep([raw(value="6,000¹", attribute="limit")], a_todo(2))
    change = merge_facts(KnownFacts("1", (("row", known[0]),)), new)
    assert [fact.value for fact in change.added_facts if fact.is_current] == ["6,000¹"]
