"""Webhooks: what is read of them, where they may not lead, their signatures, and how long a failing one waits."""

from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st
from standardwebhooks import Webhook, WebhookVerificationError
from typing_extensions import override

from services.gateway.__main__ import main
from services.gateway.edge.errors import InvalidField
from services.gateway.features.deliveries import model as deliveries
from services.gateway.features.deliveries.service import DeliveryService, choose_due_deliveries
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.webhooks.model import (
    DeliveryProgress,
    SignedPost,
    TaskWebhook,
    build_legacy_webhook_view,
    build_webhook_view_1_0,
    parse_webhook,
    require_valid_headers,
)
from services.gateway.features.webhooks.settings import PushSettings, parse_master_secrets, sign_body
from shared.domain.exact_json import JsonObject
from shared.domain.words import A2aVersion
from shared.infra.secret_cipher import CannotDecrypt, SecretCipher
from tests.each_row import each_row
from tests.refusals import refusal_of

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
RULES = PushSettings(webhook_secret="bmV3" * 8, push_longest_pause=60, push_tries=6)
CLAIM = deliveries.QueuedDelivery("acme:n1", "acme", "1")


class OneLine(RedisDeliveryQueue):
    """A line with one notice; ``settled`` is what was made of it."""

    def __init__(self, progress: DeliveryProgress) -> None:
        self.work: deliveries.DeliveryWork = deliveries.SignedPostWork(
            SignedPost(tenant="acme", delivery_id="n1", subject="an approval", url="https://hooks.example/", body="{}"),
            progress,
        )
        self.settled: list[tuple[DeliveryProgress, deliveries.StepAfterDelivery, float]] = []

    @override
    async def read_claimed(self, claim: deliveries.QueuedDelivery) -> deliveries.DeliveryWork | None:
        return self.work

    @override
    async def store_result(
        self,
        claim: deliveries.QueuedDelivery,
        work: deliveries.DeliveryWork,
        progress: DeliveryProgress,
        step: deliveries.StepAfterDelivery,
        seconds: float,
    ) -> str:
        self.settled.append((progress, step, seconds))
        return ""


class Answering(deliveries.HttpPoster):
    """Answers with a status, or not at all where that is a sentence."""

    def __init__(self, answer: int | str, retry_after: str = "") -> None:
        self._answer, self._read_retry_after = answer, retry_after
        self.headers: list[Mapping[str, str]] = []

    @override
    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> deliveries.ReceiverAnswer:
        self.headers.append(headers)
        if isinstance(self._answer, str):
            raise deliveries.NoReceiverAnswer(self._answer)
        return deliveries.ReceiverAnswer(self._answer, self._read_retry_after)


def _write_nothing(_work: deliveries.WebhookWork, _news: deliveries.WebhookUpdate) -> str:
    raise NotImplementedError


def _courier(lines: OneLine, post: deliveries.HttpPoster, luck: float = 1.0) -> DeliveryService:
    return DeliveryService(lines, post, _write_nothing, RULES, lambda: NOON, lambda: luck)


@pytest.mark.promise("push.retried")
@each_row(("tries", "luck", "seconds"), [(0, 1.0, 5), (1, 1.0, 10), (2, 0.0, 10), (4, 1.0, 60)])
async def test_pauses_double_up_to_the_longest_and_are_spread(tries: int, luck: float, seconds: float) -> None:
    lines = OneLine(DeliveryProgress(tries=tries))
    await _courier(lines, Answering(500), luck).deliver_claimed(CLAIM)
    assert [(progress.tries, step, pause) for progress, step, pause in lines.settled] == [
        (tries + 1, deliveries.StepAfterDelivery.RETRY, seconds)
    ]


@pytest.mark.promise("push.retry_after")
@each_row(
    ("said", "seconds"),
    ("30", 30),
    ("Mon, 05 Jan 2026 12:00:40 GMT", 40),
    ("3600", 60),  # never longer than the longest pause
    ("Mon, 05 Jan 2026 11:00:00 GMT", 5),
    ("soon", 5),
)
async def test_a_receiver_is_left_alone_for_as_long_as_it_asks(said: str, seconds: float) -> None:
    lines = OneLine(DeliveryProgress())
    await _courier(lines, Answering(429, said)).deliver_claimed(CLAIM)
    assert [(step, pause) for _, step, pause in lines.settled] == [(deliveries.StepAfterDelivery.RETRY, seconds)]


@pytest.mark.promise("push.disabled")
@each_row(("tries", "step"), [(0, deliveries.StepAfterDelivery.RETRY), (5, deliveries.StepAfterDelivery.DISABLE)])
async def test_what_no_key_opens_is_a_failure_like_others(tries: int, step: deliveries.StepAfterDelivery) -> None:
    """Another replica may have the key already; but nothing is tried for ever."""
    lines, post = OneLine(DeliveryProgress(tries=tries)), Answering(200)
    lines.work = deliveries.UnreadableDelivery(DeliveryProgress(tries=tries), "t1", "c1")
    await _courier(lines, post).deliver_claimed(CLAIM)
    (progress, made, _), *none = lines.settled
    assert (progress.tries, made, none, post.headers) == (tries + 1, step, [], [])
    assert "WEBHOOK_SECRET" in progress.error


@pytest.mark.promise("push.disabled")
@each_row(("tries", "answer"), [(0, 410), (5, 500), (5, "no answer")])
async def test_it_is_given_up_when_the_receiver_is_gone_or_has_failed_too_often(tries: int, answer: int | str) -> None:
    lines = OneLine(DeliveryProgress(tries=tries))
    await _courier(lines, Answering(answer)).deliver_claimed(CLAIM)
    assert [(progress.disabled, step) for progress, step, _ in lines.settled] == [
        (True, deliveries.StepAfterDelivery.DISABLE)
    ]


async def test_a_failure_of_our_own_counts_as_one_of_the_line() -> None:
    lines = OneLine(DeliveryProgress(tries=5))
    await _courier(lines, Answering(200)).count_internal_failure(CLAIM)
    assert [(progress.tries, step) for progress, step, _ in lines.settled] == [
        (6, deliveries.StepAfterDelivery.DISABLE)
    ]


@pytest.mark.promise("push.fair")
@given(
    st.lists(st.sampled_from("abc"), max_size=60),
    st.dictionaries(st.sampled_from("abc"), st.integers(0, 4), max_size=3),
)
def test_no_tenant_takes_more_than_its_share(tenants: list[str], busy: dict[str, int]) -> None:
    """And nothing waits while there is a place that it may have."""
    rules = PushSettings(push_concurrency=16)
    due = [
        deliveries.QueuedDelivery(f"{tenant}:{number}", tenant, str(number)) for number, tenant in enumerate(tenants)
    ]
    taken = choose_due_deliveries(due, Counter(busy), rules)
    counts = Counter(busy) + Counter(one.tenant for one in taken)
    assert taken == sorted(taken, key=lambda one: int(one.token))
    assert all(counts[tenant] <= rules.deliveries_per_tenant for tenant in {one.tenant for one in taken})
    left = {one.tenant for one in due if one not in taken}
    assert counts.total() >= rules.push_concurrency or all(
        counts[tenant] >= rules.deliveries_per_tenant for tenant in left
    )


URL = "https://hooks.example/a"


def _read(change: JsonObject, dialect: A2aVersion = A2aVersion.LEGACY) -> TaskWebhook:
    return parse_webhook({"url": URL, **change}, "config", dialect)


@pytest.mark.promise("push.secrets")
def test_what_is_shown_has_no_secret_and_what_was_kept_is_opened_after_a_change_of_secret() -> None:
    webhook = _read({"token": "t0k", "authentication": {"schemes": ["Bearer"], "credentials": "s3cret"}})
    shown = f"{build_legacy_webhook_view(webhook)}{build_webhook_view_1_0(webhook, 'T1')}"
    assert "Bearer" in shown
    assert "t0k" not in shown
    assert "s3cret" not in shown
    kept = SecretCipher(parse_master_secrets(OLD).derive_sealing_keys()).encrypt("t0k")
    assert SecretCipher(parse_master_secrets(f"{NEW},{OLD}").derive_sealing_keys()).decrypt(kept) == "t0k"
    with pytest.raises(CannotDecrypt):
        SecretCipher(parse_master_secrets(NEW).derive_sealing_keys()).decrypt(kept)


@pytest.mark.promise("push.headers")
@each_row(
    ("change", "field"),
    ({"token": "a\r\nX-Evil: 1"}, "config.token"),
    ({"token": "tökèn"}, "config.token"),
    ({"token": "a" * 5000}, "config.token"),
    ({"authentication": {"schemes": ["Bearer"], "credentials": "x\r\nHost: evil"}}, "config.authentication.cred"),
    ({"authentication": {"schemes": ["Bearer x"], "credentials": "x"}}, "config.authentication.scheme"),
    ({"authentication": {"scheme": "Be\r\narer", "credentials": "x"}}, "config.authentication.scheme"),
    ({"url": ""}, "config.url"),
    ({"id": "a\nb"}, "config.id"),
)
def test_what_would_forge_a_header_is_refused_by_its_name_and_without_its_value(change: JsonObject, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        _read(change)
    assert refused.value.field.startswith(field)
    assert "evil" not in str(refused.value)


@pytest.mark.promise("push.headers")
@each_row("headers", [{"X Y": "a"}, {"X:": "a"}, {"X": "a\nb"}, {"X": "ä"}, {"": "a"}])
def test_headers_of_a_notice_are_as_safe(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidField):
        require_valid_headers(headers)


OLD, NEW = "whsec_" + "b2xk" * 8, "bmV3" * 8


@pytest.mark.promise("push.signed")
def test_a_receiver_verifies_with_its_tenants_secret_alone_and_with_the_old_one_after_a_change() -> None:
    secrets = parse_master_secrets(NEW)
    headers = sign_body("m1", '{"a":1}', secrets.derive_secrets("acme"), datetime.now(UTC))
    assert Webhook(secrets.derive_secrets("acme")[0]).verify(b'{"a":1}', headers) == {"a": 1}
    for forged, body in (
        (secrets.derive_secrets("other")[0], b'{"a":1}'),
        (secrets.derive_secrets("acme")[0], b'{"a":2}'),
    ):
        with pytest.raises(WebhookVerificationError):
            Webhook(forged).verify(body, headers)
    both, before = parse_master_secrets(f"{NEW}, {OLD}"), parse_master_secrets(OLD)
    headers = sign_body("m1", "{}", both.derive_secrets("acme"), datetime.now(UTC))
    for secrets in (both, before, parse_master_secrets(NEW)):
        assert Webhook(secrets.derive_secrets("acme")[0]).verify(b"{}", headers) == {}


@each_row("text", ["whsec_short", "not base64 at all, whatever its length may be", "ä" * 40])
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="base64"):
        parse_master_secrets(text)


@pytest.mark.promise("push.off")
@each_row(
    ("given", "names"),
    ({"A2A_PUSH": "on"}, "WEBHOOK_SECRET"),
    ({"WEBHOOK_SECRET": "hush"}, "WEBHOOK_SECRET"),
    ({"WEBHOOK_ALLOWED_HOSTS": "http://a.example/"}, "WEBHOOK_ALLOWED_HOSTS"),
)
def test_the_gateway_refuses_to_start_with_webhooks_that_cannot_be(given: dict[str, str], names: str) -> None:
    ended = refusal_of(lambda: main([]), {"REDIS_URL": "redis://localhost", "PROFILE": "embedded", **given})
    assert ended.code == 2
    assert names in ended.said
    assert "hush" not in ended.said
    assert ended.said.count("\n") == 1


def test_webhooks_are_offered_where_there_is_a_secret_and_nobody_says_no() -> None:
    offered = [
        PushSettings.model_validate(given).push_offered
        for given in ({}, {"webhook_secret": NEW}, {"webhook_secret": NEW, "a2a_push": "off"})
    ]
    assert offered == [False, True, False]
