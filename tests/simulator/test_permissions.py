"""Every endpoint against every kind of key."""

import re
from collections.abc import Mapping
from typing import NamedTuple

import pytest
from fastapi import FastAPI

from services.assessor.core.permissions import USER_PERMISSIONS
from tests.simulator.contract_table import TABLE
from tests.simulator.stage import Stage, open_stage

pytestmark = pytest.mark.promise("simulator.permissions")

OPEN = {"/", "/health", "/ready"}
ADMINS = {"/worlds", "/worlds/{world_id}", "/world"}
# What an assessed agent may do, as the assessor grants it.
PURPLE = frozenset(
    """
    email:state email:query email:send email:read email:unread email:star email:unstar email:archive email:delete
    email:label email:unlabel email:move sms:state sms:query sms:send sms:read sms:unread sms:delete sms:react
    calendar:state calendar:query calendar:create calendar:update calendar:delete calendar:respond
    chat:state chat:query chat:send time:read
    """.split()
)
_REQUIRED = re.compile(r"^Permission denied\. Required permission: (\S+)$")


class Endpoint(NamedTuple):
    method: str
    path: str

    @property
    def address(self) -> str:
        return re.sub(r"\{\w+\}", "nothing", self.path)


def endpoints(app: FastAPI) -> list[Endpoint]:
    described: Mapping[str, Mapping[str, object]] = app.openapi()["paths"]
    return [Endpoint(method.upper(), path) for path, methods in described.items() for method in methods]


async def refusals(stage: Stage, secret: str) -> dict[Endpoint, str | None]:
    """What each endpoint says is missing, if anything is."""
    found: dict[Endpoint, str | None] = {}
    for endpoint in endpoints(stage.routes):
        response = await stage.call(endpoint.method, endpoint.address, key=secret)
        found[endpoint] = str(response.json()["detail"]) if response.status_code == 403 else None
    return found


async def test_every_endpoint_wants_a_permission_that_is_known(full: Stage) -> None:
    """Or is open to anybody, or the admin's alone."""
    nobody = await full.key("nothing:at:all")

    said = await refusals(full, nobody.secret)

    assert {endpoint.path for endpoint, refusal in said.items() if refusal is None} == OPEN
    assert {endpoint.path for endpoint, refusal in said.items() if refusal and "admin" in refusal} == ADMINS
    wanted = {found[1] for refusal in said.values() if refusal and (found := _REQUIRED.match(refusal))}
    assert wanted - {row.permission for row in TABLE} == {"webhooks:test"}  # ours beside the contract


def test_an_assessed_agent_is_granted_what_is_tried_here() -> None:
    assert frozenset(USER_PERMISSIONS) == PURPLE


async def test_an_assessed_agent_can_do_what_it_was_granted_and_nothing_else(full: Stage) -> None:
    nobody, purple = await full.key("nothing:at:all"), await full.key(*PURPLE)
    wanted = await refusals(full, nobody.secret)

    said = await refusals(full, purple.secret)

    for endpoint, refusal in said.items():
        needed = _REQUIRED.match(wanted[endpoint] or "")
        granted = endpoint.path in OPEN or (needed is not None and needed[1] in PURPLE)
        assert (refusal is None) == granted, endpoint


async def test_without_a_key_only_what_is_open_answers(full: Stage) -> None:
    for endpoint in endpoints(full.routes):
        response = await full.call(endpoint.method, endpoint.address, key="")
        assert (response.status_code == 401) == (endpoint.path not in OPEN), endpoint


async def test_a_key_with_every_permission_is_still_no_admin_of_other_worlds(stage: Stage) -> None:
    everything = await stage.key("*")

    await stage.post("/worlds", {"world_id": "mine"}, key=everything.secret, expect=403)
    await stage.get("/world", key=everything.secret, expect=403)


async def test_where_nobody_is_asked_everybody_is_the_admin() -> None:
    """A switch for development; settings allow it on loopback only."""
    async with open_stage(authentication=False) as stage:
        await stage.post("/simulation/start", {}, key="")
        made = await stage.post("/events/immediate", {"modality": "notes", "data": {"text": "x"}}, key="")
        assert made["agent_id"] == "ues_admin"
