"""Where an issuer's keys are fetched, and what is not believed to be keys."""

from collections.abc import Callable

import httpx
import pytest

from services.gateway.edge.errors import IssuerUnavailable
from services.gateway.features.identity.signing_keys import HttpJwks
from tests.each_row import each_row

ISSUER = "https://issuer.example/realm"
DISCOVERY = f"{ISSUER}/.well-known/openid-configuration"
KEYS = "https://keys.example/jwks"
Answer = Callable[[], httpx.Response]


def _json(value: object) -> Answer:
    return lambda: httpx.Response(200, json=value)


def _raises(error: Exception) -> Answer:
    def answer() -> httpx.Response:
        raise error

    return answer


def _client(answers: dict[str, Answer]) -> httpx.AsyncClient:
    def answered(request: httpx.Request) -> httpx.Response:
        return answers[str(request.url)]()

    return httpx.AsyncClient(transport=httpx.MockTransport(answered))


async def test_keys_are_where_the_issuer_says() -> None:
    found = {DISCOVERY: _json({"issuer": ISSUER, "jwks_uri": KEYS}), KEYS: _json({"keys": [{"kid": "a"}, "no key"]})}
    async with _client(found) as http:
        assert await HttpJwks(http, ISSUER).fetch() == [{"kid": "a"}]


async def test_or_where_the_operator_says() -> None:
    async with _client({KEYS: _json({"keys": []})}) as http:
        assert await HttpJwks(http, ISSUER, KEYS).fetch() == []


@pytest.mark.promise("identity.issuer_away")
@each_row(
    ("answers", "said"),
    [
        ({DISCOVERY: _json({"issuer": "https://evil.example", "jwks_uri": KEYS})}, "evil.example"),
        ({DISCOVERY: _json({"issuer": ISSUER, "jwks_uri": "http://keys.example/jwks"})}, "no https address"),
        ({DISCOVERY: _json({"issuer": ISSUER, "jwks_uri": 5})}, "no https address"),
        ({DISCOVERY: lambda: httpx.Response(302, headers={"Location": KEYS})}, "answered 302"),
        ({DISCOVERY: lambda: httpx.Response(500)}, "answered 500"),
        ({DISCOVERY: lambda: httpx.Response(200, text="<html>")}, "JSON object"),
        ({DISCOVERY: _json([])}, "JSON object"),
        ({DISCOVERY: lambda: httpx.Response(200, content=b"[" * 100_000)}, "JSON object"),
        ({DISCOVERY: lambda: httpx.Response(200, content=b"\xff")}, "JSON object"),
        ({DISCOVERY: lambda: httpx.Response(200, content=b" " * 600_000)}, "more than"),
        ({DISCOVERY: _raises(httpx.ReadTimeout("slow"))}, "does not answer: ReadTimeout"),
        ({DISCOVERY: _raises(OSError("no route"))}, "does not answer: OSError"),
    ],
)
async def test_what_is_no_description_or_key_set_is_said(answers: dict[str, Answer], said: str) -> None:
    async with _client(answers) as http:
        with pytest.raises(IssuerUnavailable, match=said):
            await HttpJwks(http, ISSUER).fetch()


@pytest.mark.promise("identity.issuer_away")
async def test_a_key_set_without_a_list_is_none() -> None:
    async with _client({KEYS: _json({"keys": {}})}) as http:
        with pytest.raises(IssuerUnavailable, match="no key set"):
            await HttpJwks(http, ISSUER, KEYS).fetch()
