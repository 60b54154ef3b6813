"""The ceilings of a task: what is set aside before a model call, and what is settled after it (I11)."""

import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from services.executor.core.session.budget import (
    BudgetShare,
    BudgetSpent,
    CallCost,
    Ceilings,
    RequestSize,
    Reservation,
    Settlement,
    Tariff,
    TaskSpending,
    compute_highest_cost,
    compute_reply_cost,
    measure_request,
    parse_settlement,
)
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.session.values import DO, FIND_OUT, NamedValue, PartOfTask
from services.executor.core.turn.ends import choose_end_without_budget
from services.executor.ports.turns import JournalEntry
from shared.domain.model_price import Price
from shared.domain.words import FsmState, TaskState, WriteStatus
from shared.infra.model_prices import load_prices
from shared.ports.models import (
    Message,
    ModelReply,
    ModelRequest,
    OpaqueBlock,
    SingleRequestText,
    TextBlock,
    Tier,
    Usage,
)
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, entry, plan

pytestmark = pytest.mark.promise("budget.reserved_first")
PRICE = Price(input=3000, output=15000, cache_read=300, cache_write=3750)
SMALL = RequestSize(prefix=100, fresh=100)


@each_row(
    ("spent", "ceilings", "share", "why"),
    (0, Ceilings(tokens=150), BudgetShare.WHOLE, "TASK_TOKENS"),
    (7_000, Ceilings(tokens=9_500), BudgetShare.READING, "a quarter is kept"),
    (0, Ceilings(tokens=10**6, nanos=900_000), BudgetShare.WHOLE, "TASK_MONEY"),  # tokens are left, money is not
)
def test_a_call_that_does_not_fit_is_not_made_and_nothing_is_set_aside_for_it(
    spent: int, ceilings: Ceilings, share: BudgetShare, why: str
) -> None:
    """What reads may use three quarters; the plan of writes and the answer may use all."""
    spending = TaskSpending()
    spending.settle_reservation(Settlement("other", CallCost(spent, 0), "d"))
    with pytest.raises(BudgetSpent, match=why):
        spending.reserve_cost("k", SMALL, 1000, ceilings, PRICE, share)
    assert spending.counted_cost == CallCost(spent, 0)


def test_an_answer_is_shortened_to_what_is_left() -> None:
    """The request is paid for first; the rest of the budget is the longest answer."""
    reservation = TaskSpending().reserve_cost("k", SMALL, 1000, Ceilings(tokens=600), PRICE, BudgetShare.WHOLE)
    assert (reservation.max_tokens, reservation.amount.tokens) == (500, 600)
    spending = TaskSpending()
    spending.settle_reservation(Settlement("other", CallCost(7_000, 0), "d"))
    assert spending.reserve_cost("k", SMALL, 1000, Ceilings(tokens=10_000), PRICE, BudgetShare.WHOLE).max_tokens == 1000


@pytest.mark.promise("budget.doubtful_usage")
def test_a_reservation_stays_counted_until_a_stored_reply_settles_it_also_one_of_an_earlier_version() -> None:
    """Whoever died in the call may have been billed; the next attempt pays again, on top."""
    first = TaskSpending().reserve_cost("k", SMALL, 1000, Ceilings(), PRICE, BudgetShare.WHOLE)
    later = TaskSpending([first.entry])
    second = later.reserve_cost("k", SMALL, 1000, Ceilings(), PRICE, BudgetShare.WHOLE)
    later.settle_reservation(Settlement(second.name, CallCost(7, 7), "d"))
    assert second.name != first.name
    assert later.counted_cost == first.amount + CallCost(7, 7)
    reserved = TaskSpending().reserve_cost("k", SMALL, 1000, Ceilings(), PRICE, BudgetShare.WHOLE)
    reply = {"spent": Settlement(reserved.name, CallCost(40, 50), "2026-01-02").as_json()}
    spending = TaskSpending([reserved.entry, JournalEntry("k", "model", json.dumps(reply))])
    assert spending.counted_cost == CallCost(40, 50)
    stored = '{"spent": {"name": "reserve:1:k", "tokens": 40, "nanos": 50, "day": "2026-01-02"}}'
    assert parse_settlement(stored) == Settlement("reserve:1:k", CallCost(40, 50), "2026-01-02")


@each_row("ceilings", Ceilings(tokens=10_000), Ceilings(nanos=40_000_000))
def test_a_call_that_died_takes_from_the_whole_and_not_from_the_three_quarters_for_asking_again(
    ceilings: Ceilings,
) -> None:
    """A call of the same run, whose reply is still to come, does take from them."""

    def reserve(spending: TaskSpending) -> Reservation:
        return spending.reserve_cost("k", RequestSize(0, 3_000), 4_096, ceilings, PRICE, BudgetShare.PROPOSING)

    alive = TaskSpending()
    again = TaskSpending([reserve(alive).entry])
    assert reserve(again).max_tokens == 512
    assert again.counted_cost.tokens <= (ceilings.tokens or again.counted_cost.tokens)
    assert again.counted_cost.nanos <= (ceilings.nanos or again.counted_cost.nanos)
    with pytest.raises(BudgetSpent):
        reserve(alive)


def test_tokens_count_what_is_fresh_and_money_counts_everything() -> None:
    """Cached input is no fresh input; where nothing was cached, what we measure as fresh counts."""
    cached = ModelReply((), "end_turn", Usage(input=30, output=10, cache_read=100), "m")
    plain = ModelReply((), "end_turn", Usage(input=130, output=10), "m")
    assert compute_reply_cost(cached, SMALL, PRICE, 100) == (CallCost(40, 30 * 3000 + 10 * 15000 + 100 * 300), "")
    assert compute_reply_cost(plain, SMALL, PRICE, 100) == (CallCost(110, 130 * 3000 + 10 * 15000), "")


TURNS = st.lists(st.tuples(st.integers(1, 4_000), st.integers(1, 2_000)), min_size=1, max_size=12)


@pytest.mark.promise("budget.history_once")
@given(st.integers(0, 40_000), TURNS, st.sampled_from(["cached", "forgotten", "never cached"]))
def test_a_history_is_counted_once_however_its_endpoint_caches(
    prefix: int, turns: list[tuple[int, int]], caching: str
) -> None:
    """Each turn is (what is new in the request, what is replied), in characters; an endpoint counts exactly."""
    request, before = ModelRequest(Tier.LARGE, ("p" * prefix,), ()), None
    counted, known = 0, 0
    for asked, replied in turns:
        request = request._replace(messages=(*request.messages, Message("user", (TextBlock("a" * asked),))))
        reply = (TextBlock("r" * replied),)
        read = -(-(prefix + sum(_length(message) for message in request.messages)) // 4)
        output = -(-replied // 4)
        usage = {
            "cached": Usage(0, output, known, read - known),
            "forgotten": Usage(0, output, 0, read),
            "never cached": Usage(read, output),
        }[caching]
        size, known = measure_request(request, before), read
        counted += compute_reply_cost(ModelReply(reply, "tool_use", usage, "m"), size, PRICE, 4_096)[0].tokens
        before = request
        request = request._replace(messages=(*request.messages, Message("assistant", reply)))
    exactly = sum(asked + replied for asked, replied in turns) / 4
    assert exactly - 4 * len(turns) <= counted <= exactly + 4 * len(turns)


def _length(message: Message) -> int:
    return sum(len(block.text) for block in message.blocks if isinstance(block, TextBlock))


@pytest.mark.promise("budget.history_once")
def test_what_a_request_repeats_of_the_one_before_is_not_fresh() -> None:
    """Nor the reply between; a text of one request alone is no part of the history; another model's counts anew."""
    asked, more = Message("user", (TextBlock("a" * 400),)), Message("user", (TextBlock("b" * 80),))
    replied = Message("assistant", (OpaqueBlock("t" * 40, "m"), TextBlock("r" * 40)))
    passing = asked._replace(blocks=(*asked.blocks, SingleRequestText("be brief")))
    before = ModelRequest(Tier.LARGE, ("p" * 40,), (passing,))
    request = before._replace(messages=(asked, replied, more))
    assert measure_request(request, before) == RequestSize(prefix=10, fresh=20, repeated=120)
    assert measure_request(request, before._replace(tier=Tier.SMALL)) == RequestSize(prefix=10, fresh=140)
    assert measure_request(request._replace(messages=(more, replied, asked)), before) == RequestSize(
        prefix=10, fresh=140
    )


@pytest.mark.promise("budget.doubtful_usage")
@each_row(
    ("usage", "doubt"),
    (Usage(-5, 10), "negative"),
    (Usage(150, 10, cache_read=-1), "negative"),
    (Usage(0, 10), "no usage"),
    (Usage(1_000_000, 10), "of input"),
    (Usage(150, 1_000_000), "of output"),
)
def test_where_an_endpoints_usage_cannot_be_true_the_estimate_counts(usage: Usage, doubt: str) -> None:
    reply = ModelReply((TextBlock("x" * 40),), "end_turn", usage, "m")
    amount, why = compute_reply_cost(reply, SMALL, PRICE, 1_000)
    assert amount == compute_highest_cost(SMALL, 10, PRICE)
    assert doubt in why
    settled = json.dumps({"spent": Settlement("n", amount, "d", doubt=why).as_json()})
    assert parse_settlement(settled) == Settlement("n", amount, "d", doubt=why)


def test_an_unknown_model_costs_as_much_as_the_dearest() -> None:
    """And a tier that two models may serve costs as the dearer one."""
    tariff = Tariff({"cheap": Price(1, 2, 0, 1), "dear": PRICE}, {Tier.SMALL: ("cheap", "dear")})
    assert tariff.get_price("unheard-of") == PRICE
    assert tariff.get_tier_price(Tier.SMALL) == PRICE


@each_row(
    ("status", "state"),
    (WriteStatus.VERIFIED, TaskState.COMPLETED),
    (WriteStatus.SKIPPED, TaskState.FAILED),
    (WriteStatus.REFUSED, TaskState.FAILED),
    (WriteStatus.IN_DOUBT, TaskState.FAILED),
    (None, TaskState.FAILED),
)
def test_a_task_is_partial_only_if_no_planned_write_is_undone_or_open(
    status: WriteStatus | None, state: TaskState
) -> None:
    """``None``: the planned write was never begun. A failed task names what was planned and not done."""
    pay = call({}, tool="pay")
    frozen = plan(pay)
    progress = Progress(path=(), visited=(FsmState.COMPLETE,), dossier=Dossier(plan=frozen))
    writes = {"c1": entry(status, of=pay).model_copy(update={"plan_hash": frozen.hash})} if status else {}
    end = choose_end_without_budget(BudgetSpent("the budget is spent"), progress, writes)
    assert (end.state, end.is_partial) == (state, state is TaskState.COMPLETED)
    assert ("planned and not done: pay" in end.reason) is (state is TaskState.FAILED)


@each_row("figure", ["", "840"])
@each_row("left", [False, True])
def test_a_task_is_partial_only_if_it_has_something_to_tell_and_no_part_is_left_undone(figure: str, left: bool) -> None:
    part = PartOfTask(number=1, quote="the open claims", kind=DO if left else FIND_OUT)
    values = (NamedValue(name="total", operation="sum", operands=(), value=figure),) if figure else ()
    progress = Progress(path=(), visited=(FsmState.COMPUTE,), dossier=Dossier(parts=(part,), values=values))
    end = choose_end_without_budget(BudgetSpent("the budget is spent"), progress, {})
    assert end.is_partial is (bool(figure) and not left)
    assert ("not done: the open claims" in end.reason) is left


Call = tuple[int, int, int, bool]
calls = st.lists(
    st.tuples(st.integers(0, 400), st.integers(256, 900), st.integers(0, 2_000), st.booleans()), max_size=30
)


@given(calls, st.integers(0, 6_000), st.integers(0, 40_000_000))
def test_whatever_is_billed_and_wherever_it_dies_the_ceilings_hold(made: list[Call], tokens: int, nanos: int) -> None:
    """What is counted goes over a ceiling by no more than what the API billed over a call's own reservation.

    Each call is (its request's tokens, its max_tokens, the output billed, whether the process dies in it).
    """
    ceilings = Ceilings(tokens, nanos)
    entries: list[JournalEntry] = []
    spending, over = TaskSpending(), CallCost()
    for number, (messages, output, used, dies) in enumerate(made):
        size = RequestSize(50, messages)
        try:
            reservation = spending.reserve_cost(f"k{number}", size, output, ceilings, PRICE, BudgetShare.WHOLE)
        except BudgetSpent:
            continue
        entries.append(reservation.entry)
        if dies:
            spending = TaskSpending(entries)
            continue
        cost = compute_highest_cost(size, used, PRICE)
        settlement = Settlement(reservation.name, cost, "d")
        entries.append(JournalEntry(f"k{number}", "model", json.dumps({"spent": settlement.as_json()})))
        spending.settle_reservation(settlement)
        over += CallCost(max(0, cost.tokens - reservation.amount.tokens), max(0, cost.nanos - reservation.amount.nanos))
    assert TaskSpending(entries).counted_cost == spending.counted_cost
    assert spending.counted_cost.tokens <= tokens + over.tokens
    assert spending.counted_cost.nanos <= nanos + over.nanos


def test_a_price_below_a_nano_dollar_for_a_token_is_rounded_up(tmp_path: Path) -> None:
    """A call never costs less than its reservation counts."""
    file = tmp_path / "prices.json"
    price = {"input": "0.0005", "output": "0.0755", "cache_read": "0", "cache_write": "3"}
    file.write_text(json.dumps({"source": "x", "as_of": "2026-01-01", "models": {"small": price}}))
    assert load_prices(file)["small"] == Price(input=1, output=76, cache_read=0, cache_write=3_000)
