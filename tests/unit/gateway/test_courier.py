"""Which lines are claimed, and how long a failing one waits."""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from typing_extensions import override

from services.gateway.features.deliveries.news import (
    ClaimedDelivery,
    DeliveryQueue,
    DeliveryStep,
    DueDelivery,
    DuePage,
    HookWork,
    HttpPoster,
    News,
    ReceiverAnswer,
    SignedPostWork,
    Undelivered,
    UnreadableDelivery,
    Work,
)
from services.gateway.features.deliveries.service import (
    ClockAndChance,
    DeliveryRules,
    DeliveryService,
    choose_lines,
)
from services.gateway.features.webhooks.model import HookState, SignedPost
from services.gateway.features.webhooks.secrets import read_secrets
from tests.each_row import each_row

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
RULES = DeliveryRules(timeout=15, first_pause=5, longest_pause=60, tries=6)
CLAIM = ClaimedDelivery("acme:n1", "acme", "1")


class OneLine(DeliveryQueue):
    """A line with one notice; ``settled`` is what was made of it."""

    def __init__(self, told: HookState) -> None:
        self.work: Work = SignedPostWork(
            SignedPost(tenant="acme", delivery_id="n1", subject="an approval", url="https://hooks.example/", body="{}"),
            told,
        )
        self.settled: list[tuple[HookState, DeliveryStep, float]] = []

    @override
    async def look(self, most: int, each: int) -> DuePage:
        raise NotImplementedError

    @override
    async def claim(self, due: Sequence[DueDelivery], seconds: float) -> Sequence[ClaimedDelivery]:
        raise NotImplementedError

    @override
    async def read(self, claim: ClaimedDelivery) -> Work | None:
        return self.work

    @override
    async def settle(
        self, claim: ClaimedDelivery, work: Work, told: HookState, step: DeliveryStep, seconds: float
    ) -> str:
        self.settled.append((told, step, seconds))
        return ""


class Answering(HttpPoster):
    """Answers with a status, or not at all where that is a sentence."""

    def __init__(self, answer: int | str, retry_after: str = "") -> None:
        self._answer, self._retry_after = answer, retry_after
        self.headers: list[Mapping[str, str]] = []

    @override
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> ReceiverAnswer:
        self.headers.append(headers)
        if isinstance(self._answer, str):
            raise Undelivered(self._answer)
        return ReceiverAnswer(self._answer, self._retry_after)


def _write_nothing(_work: HookWork, _news: News) -> str:
    raise NotImplementedError


def _courier(lines: DeliveryQueue, post: HttpPoster, luck: float = 1.0) -> DeliveryService:
    edge = ClockAndChance(lambda: NOON, lambda: luck)
    return DeliveryService(lines, post, _write_nothing, read_secrets("bmV3" * 8), edge, RULES)


@pytest.mark.promise("push.retried")
@each_row(("tries", "luck", "seconds"), [(0, 1.0, 5), (1, 1.0, 10), (2, 0.0, 10), (4, 1.0, 60)])
async def test_pauses_double_up_to_the_longest_and_are_spread(tries: int, luck: float, seconds: float) -> None:
    lines = OneLine(HookState(tries=tries))
    await _courier(lines, Answering(500), luck).carry(CLAIM)
    assert [(told.tries, step, pause) for told, step, pause in lines.settled] == [
        (tries + 1, DeliveryStep.RETRY, seconds)
    ]


@pytest.mark.promise("push.retry_after")
@each_row(
    ("said", "seconds"),
    [
        ("30", 30),
        ("Mon, 05 Jan 2026 12:00:40 GMT", 40),
        ("3600", 60),  # never longer than the longest pause
        ("2", 5),  # nor sooner than it would be tried anyhow
        ("Mon, 05 Jan 2026 11:00:00 GMT", 5),
        ("soon", 5),
    ],
)
async def test_a_receiver_is_left_alone_for_as_long_as_it_asks(said: str, seconds: float) -> None:
    lines = OneLine(HookState())
    await _courier(lines, Answering(429, said)).carry(CLAIM)
    assert [(step, pause) for _, step, pause in lines.settled] == [(DeliveryStep.RETRY, seconds)]


@pytest.mark.promise("push.disabled")
@each_row(("tries", "step"), [(0, DeliveryStep.RETRY), (5, DeliveryStep.OFF)])
async def test_what_no_key_opens_is_a_failure_like_others(tries: int, step: DeliveryStep) -> None:
    """Another replica may have the key already; but nothing is tried for ever."""
    lines, post = OneLine(HookState(tries=tries)), Answering(200)
    lines.work = UnreadableDelivery(HookState(tries=tries), "t1", "c1")
    await _courier(lines, post).carry(CLAIM)
    (told, made, _), *none = lines.settled
    assert (told.tries, made, none, post.headers) == (tries + 1, step, [], [])
    assert "WEBHOOK_SECRET" in told.error


@pytest.mark.promise("push.disabled")
@each_row(("tries", "answer"), [(0, 410), (5, 500), (5, "no answer")])
async def test_it_is_given_up_when_the_receiver_is_gone_or_has_failed_too_often(tries: int, answer: int | str) -> None:
    lines = OneLine(HookState(tries=tries))
    await _courier(lines, Answering(answer)).carry(CLAIM)
    assert [(told.disabled, step) for told, step, _ in lines.settled] == [(True, DeliveryStep.OFF)]


async def test_a_failure_of_our_own_counts_as_one_of_the_line() -> None:
    lines = OneLine(HookState(tries=5))
    await _courier(lines, Answering(200)).count_own_failure(CLAIM)
    assert [(told.tries, step) for told, step, _ in lines.settled] == [(6, DeliveryStep.OFF)]


@pytest.mark.promise("push.fair")
@given(
    st.lists(st.sampled_from("abc"), max_size=60),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 4), max_size=3),
)
def test_no_tenant_takes_more_than_its_share(tenants: list[str], busy: dict[str, int]) -> None:
    """And nothing waits while there is a place that it may have."""
    rules = DeliveryRules(slots=10, per_tenant=4)
    due = [DueDelivery(f"{tenant}:{number}", tenant, str(number)) for number, tenant in enumerate(tenants)]
    taken = choose_lines(due, Counter(busy), rules)
    counts = Counter(busy) + Counter(one.tenant for one in taken)
    assert taken == sorted(taken, key=lambda one: int(one.score))
    assert all(counts[tenant] <= rules.per_tenant for tenant in {one.tenant for one in taken})
    left = {one.tenant for one in due if one not in taken}
    assert counts.total() >= rules.slots or all(counts[tenant] >= rules.per_tenant for tenant in left)
