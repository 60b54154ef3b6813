"""Where nobody is asked for a key, a web page that somebody visits sends nothing in their name."""

import httpx
import pytest
from fastapi import FastAPI

from services.gateway.bootstrap import build
from services.gateway.settings import GatewaySettings
from shared.domain.exact_json import loads_object

pytestmark = pytest.mark.promise("identity.own_pages")
EVIL = "https://evil.example"
ANSWER = '{"decision": "approve", "metadata": {"principal": {"id": "mallory", "roles": ["approver"]}}}'
OPEN = {"redis_url": "redis://127.0.0.1:1", "profile": "embedded", "purple_agent_card_url": "http://127.0.0.1:9010/"}
KEYED = {"redis_url": "redis://127.0.0.1:1", "profile": "production", "authentication": "keys"}


def _asking(app: FastAPI) -> httpx.AsyncClient:
    return httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://127.0.0.1:9010")


def _app(settings: dict[str, str]) -> FastAPI:
    return build(GatewaySettings.model_validate(settings))


@pytest.mark.parametrize("path", ["/approvals/a1", "/", "/message:send", "/console/sign-in", "/tenants/default/stop"])
async def test_what_a_page_of_another_site_sends_is_refused_unread(path: str) -> None:
    """As a browser sends it without asking first: a plain text, or a form."""
    async with _asking(_app(OPEN)) as client:
        reply = await client.post(path, content=ANSWER, headers={"Origin": EVIL, "Content-Type": "text/plain"})
    assert reply.status_code == 403
    assert EVIL in str(loads_object(reply.text)["error"])


@pytest.mark.parametrize("headers", [{}, {"Origin": "http://127.0.0.1:9010"}])
async def test_programs_and_own_pages_are_heard(headers: dict[str, str]) -> None:
    """They get as far as the store, which is away here."""
    async with _asking(_app(OPEN)) as client:
        reply = await client.post("/approvals/a1", content=ANSWER, headers=headers)
    assert reply.status_code == 503


@pytest.mark.parametrize("path", ["/console/", "/approvals", "/tasks/t1", "/.well-known/agent-card.json", "/rl/status"])
async def test_what_a_page_reads_under_a_name_that_its_owner_leads_here_is_refused(path: str) -> None:
    """A page of evil.example, whose name then leads to this machine, reads it as its own: no ``Origin`` is sent."""
    async with _asking(_app(OPEN)) as client:
        reply = await client.get(path, headers={"Host": "evil.example:9010"})
    assert reply.status_code == 403
    assert "PURPLE_AGENT_CARD_URL" in str(loads_object(reply.text)["error"])


@pytest.mark.parametrize("path", ["/health", "/ready"])
async def test_probes_are_answered_by_whatever_name_they_ask(path: str) -> None:
    async with _asking(_app(OPEN)) as client:
        reply = await client.get(path, headers={"Host": "10.1.2.3.pods.example:9010"})
    assert reply.status_code != 403


@pytest.mark.parametrize("host", ["127.0.0.1:9010", "agent.acme.example", "gateway:9010"])
async def test_the_cards_host_and_names_of_this_machine_may_be_read(host: str) -> None:
    settings = {**OPEN, "purple_agent_card_url": "https://agent.acme.example/"}
    async with _asking(_app(settings)) as client:
        reply = await client.get("/.well-known/agent-card.json", headers={"Host": host})
    assert reply.status_code == 200


async def test_where_keys_are_asked_for_any_name_may_be_asked() -> None:
    """What can be read needs the key, which no page of another site has."""
    async with _asking(_app(KEYED)) as client:
        reply = await client.get("/.well-known/agent-card.json", headers={"Host": "evil.example"})
    assert reply.status_code == 200


async def test_where_keys_are_asked_for_a_page_has_none_and_is_told_so() -> None:
    async with _asking(_app(KEYED)) as client:
        reply = await client.post("/approvals/a1", content=ANSWER, headers={"Origin": EVIL})
    assert reply.status_code == 401
