"""``/keys``."""

from typing import cast

import pytest

from services.simulator.core.keys import permission_covers
from services.simulator.core.records import JsonObject
from tests.each_row import each_row
from tests.simulator.stage import Stage
from tests.simulator.writing import at

pytestmark = pytest.mark.promise("simulator.keys")


async def test_a_key_shows_its_secret_once(stage: Stage) -> None:
    body = {"name": "Purple", "permissions": ["email:send", "time:read"]}

    made = await stage.post("/keys", body, expect=201)
    info = await stage.get(f"/keys/{made['key_id']}")

    assert str(made["key_id"]).startswith("ues_")
    assert len(str(made["secret"])) == 64
    assert (made["name"], made["permissions"], made["created_by"]) == ("Purple", body["permissions"], "ues_admin")
    assert "secret" not in info
    assert (info["is_active"], info["revoked_at"], info["last_used_at"]) == (True, None, None)


async def test_a_key_works_until_it_is_revoked(stage: Stage) -> None:
    key = await stage.key("time:read")
    await stage.get("/simulator/time", key=key.secret)

    revoked = await stage.delete(f"/keys/{key.key_id}")
    refused = await stage.get("/simulator/time", key=key.secret, expect=401)

    assert (revoked["key_id"], revoked["name"]) == (key.key_id, "someone")
    assert refused["detail"] == "Invalid or revoked API key."
    await stage.delete(f"/keys/{key.key_id}", expect=409)
    await stage.delete("/keys/ues_none", expect=404)
    await stage.delete("/keys/ues_admin", expect=400)


async def test_a_key_may_expire(stage: Stage) -> None:
    made = await stage.post("/keys", {"name": "short", "permissions": ["time:read"], "expires_at": at(60)}, expect=201)
    await stage.get("/simulator/time", key=str(made["secret"]))

    stage.surroundings.pass_seconds(60)

    await stage.get("/simulator/time", key=str(made["secret"]), expect=401)


async def test_a_key_may_be_used_so_often_a_minute(stage: Stage) -> None:
    body = {"name": "slow", "permissions": ["time:read"], "requests_per_minute": 2}
    made = await stage.post("/keys", body, expect=201)
    secret = str(made["secret"])

    for _ in range(2):
        await stage.get("/simulator/time", key=secret)
    refused = await stage.call("GET", "/simulator/time", key=secret)
    stage.surroundings.pass_seconds(60)

    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "60")
    await stage.get("/simulator/time", key=secret)
    await stage.post("/keys", {**body, "requests_per_minute": 0}, expect=422)


async def test_keys_are_listed_with_what_became_of_them(stage: Stage) -> None:
    used, revoked = await stage.key("time:read"), await stage.key("time:read")
    await stage.get("/simulator/time", key=used.secret)
    await stage.delete(f"/keys/{revoked.key_id}")

    listed = await stage.get("/keys")
    active = await stage.get("/keys?include_revoked=false")

    infos = {str(info["key_id"]): info for info in cast(list[JsonObject], listed["keys"])}
    assert (listed["total"], listed["active"], listed["revoked"]) == (3, 2, 1)
    assert infos[used.key_id]["last_used_at"] == "2026-03-01T09:00:00Z"
    assert infos[revoked.key_id]["is_active"] is False
    assert revoked.key_id not in str(active["keys"])


@pytest.mark.promise("simulator.permissions")
@pytest.mark.parametrize("wanted", ["*", "email:*", "email:send", "keys:*", "time"])
async def test_a_key_grants_no_more_than_it_has(stage: Stage, wanted: str) -> None:
    maker = await stage.key("keys:create", "sms:*")
    before = await stage.get("/keys")

    answer = await stage.post("/keys", {"name": "x", "permissions": [wanted]}, key=maker.secret, expect=403)

    assert answer["detail"] == f"Permission denied. Required permission: {wanted}"
    assert (await stage.get("/keys"))["total"] == before["total"]


@pytest.mark.promise("simulator.permissions")
@each_row(
    ("held", "wanted", "covered"),
    ("*", "anything:at:all", True),
    ("email:send", "email:send", True),
    ("email:*", "email:send", True),
    ("calendar:*", "calendar:calendars:list", True),
    ("calendar:calendars:*", "calendar:create", False),
    ("email:send", "email:*", False),
    ("email:*", "emailing:send", False),
    ("email", "email:send", False),
    ("", "email:send", False),
)
def test_a_permission_covers_itself_and_what_its_star_stands_for(held: str, wanted: str, covered: bool) -> None:
    assert permission_covers(held, wanted) is covered
