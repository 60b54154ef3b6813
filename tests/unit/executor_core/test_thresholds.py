"""Limits known before a task acts, each with its source, and what they proved to be."""

import pytest
from hypothesis import given, strategies as st

from services.executor.core.prime.known import describe_thresholds, find_thresholds
from services.executor.core.reflect.outcome import list_prediction_outcomes
from services.executor.core.session.dossier import Progress
from shared.contracts.ledger import LedgerEntry
from shared.contracts.outcome import Threshold, ThresholdKind
from shared.contracts.plan import ArgumentOrigin
from shared.contracts.policy import Policy, Rule, TriggeredRule
from shared.domain.exact_json import JsonObject
from shared.domain.words import FsmState, RuleAction, WriteStatus
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, dossier, entry, fact, from_fact, value, verdict

PATH = (FsmState.DECOMPOSE, FsmState.COMPLETE)


def _rules(*conditions: str) -> Policy:
    rules = tuple(
        Rule(id=f"R{number}", condition=condition, action="require_approval", level="manager")
        for number, condition in enumerate(conditions, 1)
    )
    return Policy(id="house", rules=rules)


def _limits(*conditions: str) -> list[tuple[str, str, str, bool]]:
    found = find_thresholds((_rules(*conditions),), {})
    return [(one.name, one.sign, one.value, bool(one.rule_id)) for one in found]


def _said(text: str) -> list[str]:
    return [f"{one.sign} {one.value}" for one in find_thresholds((), {"policy": text})]


@pytest.mark.promise("prime.thresholds")
@each_row(
    ("condition", "found"),
    ("amount > 5000", [("amount", ">", "5000", True)]),
    ("5000.50 <= total", [("total", ">=", "5000.50", True)]),
    (
        "figures.variance_percent > 2 && amount > 500",
        [("variance_percent", ">", "2", False), ("amount", ">", "500", False)],
    ),
    ('tool == "pay" && amount > 3 && days > 4', [("amount", ">", "3", False), ("days", ">", "4", False)]),
    ("amount > limit * 2", []),
    ("count(items) > 3", []),
    ('status == "open"', []),
)
def test_a_limit_is_a_comparison_of_a_field_with_a_number(
    condition: str, found: list[tuple[str, str, str, bool]]
) -> None:
    """Of a field alone, not of what is computed with it; one that is its rule's whole condition decides the rule."""
    assert _limits(condition) == found


@pytest.mark.promise("prime.thresholds")
@each_row(
    ("text", "found"),
    ("Claims over $5,000 need a manager.", ["> 5000"]),
    ("Up to 2.5% is fine. At least 3 quotes.", ["<= 2.5%", ">= 3"]),
    ("capped at 10k; more than 1,234,567.89", ["<= 10000", "> 1234567.89"]),
    ("Pay the invoice of $45,000; the cap is 25 percent.", []),
    ("Approve claim C-1 of 120.50 under SLA-14, over A-100 and over 1,23.", []),
)
def test_a_number_in_a_text_is_a_limit_only_where_its_sentence_says_so(text: str, found: list[str]) -> None:
    """The largest amount is no base and a share is no cap: nothing is guessed, and nothing applied to anything."""
    assert _said(text) == found


@pytest.mark.promise("prime.thresholds")
def test_each_limit_is_shown_with_its_source_and_kind_and_a_rule_that_only_reports_limits_nothing() -> None:
    found = find_thresholds((_rules("figures.sla_credit > 10000"),), {"policy": "Variance up to 2% is fine."})
    source = "rule R1 of house: figures.sla_credit > 10000 -> require_approval manager"
    assert describe_thresholds(found, {}) == [
        {"kind": "sla_credit", "about": "sla_credit", "limit": "> 10000", "source": source},
        {"kind": "variance", "about": "", "limit": "<= 2%", "source": "policy: Variance up to 2% is fine"},
    ]
    reports = Rule(id="R1", condition="amount > 5", action="block", report_only=True)
    assert find_thresholds((Policy(id="house", rules=(reports,)),), {}) == ()


@given(conditions=st.lists(st.text(max_size=60), max_size=4), text=st.text(max_size=200))
def test_whatever_rules_and_texts_say_it_is_read(conditions: list[str], text: str) -> None:
    for one in find_thresholds((_rules(*conditions),), {"task": text}):
        assert one.value
        assert one.source


# --- what they proved to be

LIMIT = Threshold(
    kind=ThresholdKind.POLICY_LIMIT, name="amount", sign=">", value="500", source="s", rule_id="R1", policy_id="house"
)


def _write(arguments: JsonObject, status: WriteStatus = WriteStatus.VERIFIED, *origins: ArgumentOrigin) -> LedgerEntry:
    planned = call(arguments).model_copy(update={"origins": origins})
    return entry(status).model_copy(update={"call": planned, "arguments_json": planned.arguments_json})


def _outcomes(progress: Progress, *writes: LedgerEntry) -> list[tuple[str, str | None, bool | None]]:
    return [(one.predicted, one.actual, one.held) for one in list_prediction_outcomes(progress, writes)]


def _progress(*limits: Threshold, triggered: bool = False, **known: object) -> Progress:
    rule = TriggeredRule(
        rule_id="R1", policy_id="house", action=RuleAction.REQUIRE_APPROVAL, level="manager", reason="much"
    )
    said = verdict(triggered_rules=(rule,) if triggered else ())
    stands = dossier().model_copy(update={"verdict": said, **known})
    return Progress(path=PATH, visited=PATH, thresholds=limits, dossier=stands)


@pytest.mark.promise("outcome.thresholds")
@each_row(
    ("amount", "triggered", "held"),
    [("700", True, True), ("700", False, False), ("500", False, True), ("3", True, False)],
)
def test_a_limit_held_if_its_rule_did_what_it_said(amount: str, triggered: bool, held: bool) -> None:
    named = (value("amount", "sum", amount),)
    assert _outcomes(_progress(LIMIT, triggered=triggered, values=named)) == [("500", amount, held)]


@pytest.mark.promise("outcome.thresholds")
def test_a_limit_proves_nothing_where_it_decides_no_rule_or_is_on_the_calls_of_another_tool() -> None:
    """Nor does one that no verdict was made on."""
    alone = LIMIT.model_copy(update={"rule_id": "", "policy_id": ""})
    named = (value("amount", "sum", "700"),)
    assert _outcomes(_progress(alone, values=named)) == [("500", None, None)]
    figure = (named[0].model_copy(update={"figure": "amount"}),)
    assert _outcomes(_progress(alone, values=figure)) == [("500", "700", None)]
    assert _outcomes(_progress(LIMIT, values=named, verdict=None)) == [("500", "700", None)]
    named = (value("amount", "sum", "700"),)
    of_tool = LIMIT.model_copy(update={"tool": "approve_claim"})
    of_another = LIMIT.model_copy(update={"tool": "pay_claim"})
    assert _outcomes(_progress(of_tool, triggered=True, values=named), _write({})) == [("500", "700", True)]
    assert _outcomes(_progress(of_another, values=named), _write({"amount": 700})) == [("500", None, None)]


@pytest.mark.promise("outcome.thresholds")
@each_row(
    ("writes", "outcome"),
    ([({"amount": 700}, WriteStatus.VERIFIED)], ("500", "700", True)),
    ([({"amount": True, "note": "over 500: 700"}, WriteStatus.VERIFIED)], ("500", None, None)),
)
def test_what_is_held_against_a_limit_comes_from_verified_writes_alone(
    writes: list[tuple[JsonObject, WriteStatus]], outcome: tuple[str, str | None, bool | None]
) -> None:
    """Of a write that nobody could prove nothing is learned, nor where two writes say different things."""
    assert _outcomes(_progress(LIMIT, triggered=True), *(_write(*one) for one in writes)) == [outcome]


REFUSAL = "the amount exceeds the approval limit of 300"


@pytest.mark.promise("accuracy.parted")
@each_row(
    ("amount", "refusal", "outcome"),
    (400, REFUSAL, ("500", "400", False)),
    (400, "400 is over the daily maximum", ("500", "400", False)),
    (400, "the claim is closed", ("500", None, None)),
    (700, REFUSAL, ("500", None, None)),  # the policy's own limit said so
)
def test_a_write_that_the_server_refuses_for_a_limit_of_its_own_contradicts_the_policys(
    amount: int, refusal: str, outcome: tuple[str, str | None, bool | None]
) -> None:
    refused = _write({"amount": amount}, WriteStatus.REFUSED).model_copy(update={"refusal": refusal})
    assert _outcomes(_progress(LIMIT), refused) == [outcome]


@pytest.mark.promise("accuracy.parted")
@each_row(("amount", "triggered", "held"), [("700", False, False), ("700", True, True), ("3", False, True)])
def test_the_record_that_a_verified_write_names_is_held_against_a_limit(
    amount: str, triggered: bool, held: bool
) -> None:
    """The write itself says no amount; the record that it approves does."""
    facts = (fact({"id": "C-1", "amount": amount}), fact({"id": "C-2", "amount": "9"}, "f2"))
    progress = _progress(LIMIT, triggered=triggered, facts=facts)
    assert _outcomes(progress, _write({"claim_id": "C-1"})) == [("500", amount, held)]
    assert _outcomes(progress, _write({"claim_id": "C-9"})) == [("500", None, None)]


@pytest.mark.promise("outcome.thresholds")
def test_a_computed_credit_is_compared_with_what_was_written_for_it() -> None:
    """The write that is traced to the figure, whatever its argument is called; else the argument of its name."""
    credit = value("sla_credit", "sla_credit", "6000", from_fact("fee")).model_copy(update={"figure": "sla_credit"})
    other = value("budget_after", "difference", "1").model_copy(update={"figure": "budget_after"})
    progress = _progress(values=(credit, other))
    traced = ArgumentOrigin(argument="cents", source="value", ref="sla_credit")
    assert _outcomes(progress, _write({"cents": 6000, "sla_credit": 1}, WriteStatus.VERIFIED, traced)) == [
        ("6000", "6000", True)
    ]
    assert _outcomes(progress, _write({"sla_credit": "45000"})) == [("6000", "45000", False)]
    assert _outcomes(progress) == [("6000", None, None)]
