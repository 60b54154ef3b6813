"""`purple webhooks` and what it asks of the gateway."""

import asyncio
import json

import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner

from cli.main import app
from services.gateway.features.webhooks.secrets import read_secrets
from services.gateway.first_key import first_key
from tests.integration.gateway_stage import Stage, stage
from tests.integration.test_gateway_keys import LOCKED, _key
from tests.integration.test_webhook_failures import until_hook
from tests.integration.webhook_receiver import SECRET, SOON, receiving


async def _said(play: Stage, *words: str) -> tuple[int, str]:
    """The command's exit code and words, from a thread: it has a loop of its own."""
    done = await asyncio.to_thread(CliRunner().invoke, app, ["webhooks", *words, "--url", play.url])
    return done.exit_code, done.output


def _object_in(output: str) -> dict[str, list[dict[str, str]]]:
    """The JSON of the output: a log line of the gateway in this process may stand before it."""
    found: dict[str, list[dict[str, str]]] = json.loads(output[output.index("{") :])
    return found


@pytest.mark.promise("push.disabled")
async def test_it_shows_how_a_tasks_webhooks_fare_and_what_fails(redis: Redis, redis_url: str) -> None:
    async with receiving(410) as receiver, stage(redis, redis_url, **SOON) as play:
        params = {"id": "T1", "message": {"parts": [{"text": "hello"}]}, "pushNotification": {"url": receiver.url}}
        await play.rpc("tasks/send", params)
        await until_hook(play, state="disabled")
        code, shown = await _said(play, "list", "T1", "--json")
        _, failing = await _said(play, "failing", "--json")
        table = await _said(play, "list", "T1")
    assert code == table[0] == 0
    assert [(one["state"], one["error"]) for one in _object_in(shown)["webhooks"]] == [("disabled", "it answered 410")]
    assert [one["subject"] for one in _object_in(failing)["failing"]] == ["T1"]
    assert "disabled" in table[1]


@pytest.mark.promise("push.signed")
async def test_an_operator_is_told_the_secret_of_the_own_tenant_and_nobody_else(redis: Redis, redis_url: str) -> None:
    operator = (await first_key(redis_url, "acme", "olga", again=False)).token
    async with stage(redis, redis_url, **LOCKED, **SOON) as play:
        casey = await _key(play, operator, "casey")
        answers = [
            await play.client.post("/webhooks/secret", headers={"Authorization": f"Bearer {token}"})
            for token in (operator, casey)
        ]
    assert [answer.status_code for answer in answers] == [200, 403]
    assert answers[0].json() == {"tenant": "acme", "secrets": [*read_secrets(SECRET).secrets_of("acme")]}
