"""Every endpoint that existing clients rely on: it is there, wants its permission, and answers in its shape."""

import re
from collections.abc import Iterable
from typing import cast

import pytest
from pydantic import JsonValue
from starlette.routing import BaseRoute, Route, WebSocketRoute

from services.simulator.core.records import JsonObject
from tests.simulator.contract_table import TABLE, Row
from tests.simulator.stage import Stage
from tests.simulator.test_permissions import endpoints

pytestmark = pytest.mark.promise("simulator.contract")
_OWN = {  # ours beside the contract
    "GET /ready", "GET /calendar/reminders", "POST /email/draft", "POST /email/draft/send", "POST /email/forward",
    "POST /email/reply", "POST /email/reply-all", "POST /email/spam", "POST /email/not-spam", "GET /world",
    "PUT /world", "GET /worlds", "POST /worlds", "GET /worlds/{}", "DELETE /worlds/{}", "PUT /webhooks/{}",
    "POST /webhooks/{}/test",
}  # fmt: skip
_UNDESCRIBED = {"/openapi.json", "/docs", "/docs/oauth2-redirect", "/redoc", "/events/stream"}


async def test_each_endpoint_of_the_contract_answers_a_good_request_in_its_shape(full: Stage) -> None:
    """To a key that has its permission and no other."""
    kept: dict[str, JsonValue] = {}
    for row in TABLE:
        answer = await asked(full, row, kept)
        missing = set(row.fields.split()) - answer.keys()
        assert not missing, f"{row.endpoint} answers without {missing}: {answer}"
        assert answer.get("status") != "failed", f"{row.endpoint}: {answer}"
        if row.keeps:
            kept[row.keeps] = kept_of(answer[row.of])


async def test_each_endpoint_of_the_contract_refuses_a_key_that_has_every_other_permission(full: Stage) -> None:
    wanted = sorted({row.permission for row in TABLE if row.permission})
    for row in TABLE:
        if not row.permission:
            continue
        others = await full.key(*(name for name in wanted if name != row.permission))
        method, path = row.endpoint.split(" ")
        refused = await full.call(method, re.sub(r"\{\w+\}", "nothing", path), row.body, others.secret)
        assert refused.status_code == 403, row.endpoint
        assert refused.json()["detail"] == f"Permission denied. Required permission: {row.permission}"


async def test_no_endpoint_is_left_out_of_the_table(full: Stage) -> None:
    """The routes themselves are walked: whoever adds one says what it is for."""
    described = {f"{one.method} {one.path}" for one in endpoints(full.routes)}
    found = set(_ways(full.routes.routes))

    assert {re.sub(r"\{\w+\}", "{}", one) for one in described} == found
    assert found == {_shape(row.endpoint) for row in TABLE} | _OWN


async def asked(stage: Stage, row: Row, kept: dict[str, JsonValue]) -> JsonObject:
    method, path = row.endpoint.split(" ")
    key = await stage.key(row.permission) if row.permission else None
    filled = cast("JsonObject | None", _filled(row.body, kept))
    response = await stage.call(method, str(_filled(path, kept)), filled, key.secret if key else "")
    assert response.status_code == row.status, f"{row.endpoint}: {response.status_code} {response.text[:500]}"
    body = response.json()
    return cast(JsonObject, body) if isinstance(body, dict) else {}


def kept_of(value: JsonValue) -> JsonValue:
    """Of conversations by their id the first id; anything else as it is."""
    if isinstance(value, dict) and value and all("-" in name and len(name) > 30 for name in value):
        return next(iter(value))
    return value


def _filled(value: JsonValue, kept: dict[str, JsonValue]) -> JsonValue:
    if isinstance(value, dict):
        return {name: _filled(part, kept) for name, part in value.items()}
    if isinstance(value, list):
        return [_filled(part, kept) for part in value]
    if not isinstance(value, str):
        return value
    whole = re.fullmatch(r"\{(\w+)\}", value)
    return kept[whole[1]] if whole else re.sub(r"\{(\w+)\}", lambda found: str(kept[found[1]]), value)


def _shape(endpoint: str) -> str:
    """With all that may stand in its places left out."""
    path = re.sub(r"\{\w+\}", "{}", endpoint.partition("?")[0])
    return path.replace("/environment/modalities/email", "/environment/modalities/{}")


def _ways(routes: Iterable[BaseRoute]) -> Iterable[str]:
    for route in routes:
        inner = getattr(route, "original_router", None)
        if inner is not None:
            yield from _ways(inner.routes)
            continue
        assert isinstance(route, Route | WebSocketRoute), f"what kind of way is {route!r}?"
        if route.path not in _UNDESCRIBED:
            methods = route.methods if isinstance(route, Route) else {"WEBSOCKET"}
            yield from (f"{method} {re.sub(r'{[^}]+}', '{}', route.path)}" for method in (methods or set()) - {"HEAD"})
