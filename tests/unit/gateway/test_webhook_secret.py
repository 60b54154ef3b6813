"""Signatures by Standard Webhooks, with a secret of each tenant's own."""

from datetime import UTC, datetime

import pytest
from standardwebhooks import Webhook, WebhookVerificationError

from services.gateway.__main__ import main
from services.gateway.features.webhooks.secrets import delivery_id, read_secrets, sign_body
from services.gateway.features.webhooks.settings import PushSettings
from shared.infra.archive_open import new_key
from shared.infra.sealed import CannotOpen, Seal
from tests.each_row import each_row
from tests.refusals import refusal_of

OLD, NEW = "whsec_" + "b2xk" * 8, "bmV3" * 8


@pytest.mark.promise("push.signed")
def test_a_receiver_verifies_with_its_tenants_secret_and_with_no_other() -> None:
    secrets = read_secrets(NEW)
    headers = sign_body("m1", '{"a":1}', secrets.secrets_of("acme"), datetime.now(UTC))
    assert Webhook(secrets.secrets_of("acme")[0]).verify(b'{"a":1}', headers) == {"a": 1}
    for forged, body in ((secrets.secrets_of("other")[0], b'{"a":1}'), (secrets.secrets_of("acme")[0], b'{"a":2}')):
        with pytest.raises(WebhookVerificationError):
            Webhook(forged).verify(body, headers)


@pytest.mark.promise("push.signed")
def test_after_a_change_of_secret_receivers_with_the_old_one_still_verify() -> None:
    both, before = read_secrets(f"{NEW}, {OLD}"), read_secrets(OLD)
    headers = sign_body("m1", "{}", both.secrets_of("acme"), datetime.now(UTC))
    for secrets in (both, before, read_secrets(NEW)):
        assert Webhook(secrets.secrets_of("acme")[0]).verify(b"{}", headers) == {}


@pytest.mark.promise("push.secrets")
def test_what_was_kept_is_opened_after_a_change_of_secret() -> None:
    kept = Seal(read_secrets(OLD).sealing_keys()).close("t0k")
    assert Seal(read_secrets(f"{NEW},{OLD}").sealing_keys()).open(kept) == "t0k"
    with pytest.raises(CannotOpen):
        Seal(read_secrets(NEW).sealing_keys()).open(kept)


@each_row("text", ["whsec_short", "not base64 at all, whatever its length may be", "ä" * 40])
def test_what_is_no_secret_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="base64"):
        read_secrets(text)


def test_none_and_a_fernet_key_are_read() -> None:
    assert read_secrets("").masters == ()
    assert len(read_secrets(new_key()).masters[0]) == 32


def test_a_delivery_has_one_id() -> None:
    assert delivery_id("a", "b") == delivery_id("a", "b") != delivery_id("ab", "")


@pytest.mark.promise("push.off")
@each_row(
    ("given", "names"),
    [
        ({"A2A_PUSH": "on"}, "WEBHOOK_SECRET"),
        ({"A2A_PUSH": "perhaps"}, "A2A_PUSH"),
        ({"WEBHOOK_SECRET": "hush"}, "WEBHOOK_SECRET"),
        ({"WEBHOOK_ALLOWED_HOSTS": "http://a.example/"}, "WEBHOOK_ALLOWED_HOSTS"),
        ({"PUSH_TIMEOUT": "0"}, "PUSH_TIMEOUT"),
    ],
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
