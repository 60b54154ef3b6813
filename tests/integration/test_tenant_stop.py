"""A tenant on a real store: its record (compare and set, walls, history), its stop, and how it goes on."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import NamedTuple

import httpx
import pytest
from redis.asyncio import Redis

from services.executor.adapters.stored_tenants import FileTenants, StoredTenants
from services.executor.core.states.machine import TenantStopped
from services.executor.core.turn.session_run import RunnerLimits
from services.executor.ports.services import UnknownTenant
from services.executor.ports.turns import TurnRunner, TurnStore, TurnWork
from shared.contracts.task import TurnKind
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import TenantVersion
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.daily_spend import RedisSpend
from shared.infra.lua import Argument, Scripts
from shared.infra.task_store import TaskStore
from shared.infra.tenant_records import RedisTenantRecords, TenantStops
from shared.ports.daily_spend import Charge, DayCaps
from shared.ports.tasks import TenantIsStopped
from tests.doubles.redis_tasks import a_record, a_turn
from tests.http_client import rpc_body
from tests.integration.gateway_stage import at, gateway_client, list_at, stage
from tests.integration.state_stage import accepted, an_end, begin, running, sessions_of


class StoppedThrice(TurnRunner):
    """Its tenant is stopped as it begins, three times; it hears of it as it stores something."""

    def __init__(self, stops: TenantStops) -> None:
        self._stops = stops
        self.attempts: list[int] = []

    async def run(self, work: TurnWork, store: TurnStore) -> None:
        self.attempts.append(work.attempts)
        if len(self.attempts) <= 3:
            await self._stops.stop("acme", "repairs")
        stop_state = await store.append([])
        if stop_state.stopped is not None:
            raise TenantStopped(stop_state.stopped)
        await store.finish(an_end(work))


@pytest.mark.promise("tenant.stop")
async def test_a_stopped_tenant_takes_no_message_and_says_why(redis: Redis, task_store: TaskStore) -> None:
    """Nothing is stored of a refused message; another tenant is not touched."""
    await TenantStops(redis).stop("acme", "repairs")
    record = a_record("s1")
    with pytest.raises(TenantIsStopped, match="repairs"):
        await task_store.accept(record, a_turn(record), dedupe=None)
    assert await task_store.get_record("acme", record.task_id) is None
    other = a_record("s1").model_copy(update={"tenant": "globex"})
    assert (await task_store.accept(other, a_turn(other), dedupe=None)).is_new


@pytest.mark.promise("tenant.stop")
async def test_a_message_accepted_before_the_stop_is_found_when_resent(redis: Redis, task_store: TaskStore) -> None:
    """Whoever resends after a time-out is not told that the message was refused."""
    record = a_record("s1")
    turn = a_turn(record)
    await task_store.accept(record, turn, "m1")
    await TenantStops(redis).stop("acme", "repairs")
    assert not (await task_store.accept(record, turn, "m1")).is_new


@pytest.mark.promise("tenant.stop")
async def test_a_running_turn_hears_of_the_stop_and_of_its_end(redis: Redis, task_store: TaskStore) -> None:
    """Every answer of the store tells."""
    await accepted(task_store)
    stops, begun = TenantStops(redis), await begin(sessions_of(redis, "one"))
    await stops.stop("acme", "repairs")
    heard = [(await begun.store.get_stop_state()).stopped, (await begun.store.append([])).stopped]
    await stops.resume("acme")
    assert [*heard, (await begun.store.get_stop_state()).stopped] == ["repairs", "repairs", None]


@pytest.mark.promise("tenant.stop")
async def test_a_stopped_tenants_session_is_claimed_at_once_after_the_stop(redis: Redis, task_store: TaskStore) -> None:
    """The accepted turn waits; nobody polls it meanwhile."""
    await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await stops.stop("acme", "repairs")
    waiting, member = keys.partition_keys_of("acme", "s1").waiting, keys.pack_member(keys.SessionMember("acme", "s1"))
    refused = await one.claim("acme", "s1")
    put_off = await redis.zscore(waiting, member)
    await stops.resume("acme")
    again = await redis.zscore(waiting, member)
    assert refused is None
    assert put_off is not None
    assert again is not None
    assert put_off - again > 30_000
    assert await one.claim("acme", "s1") is not None


@pytest.mark.promise("tenant.stop")
@pytest.mark.parametrize("kind", [TurnKind.DECISION, TurnKind.RESOLUTION])
async def test_a_word_for_a_stopped_tenants_task_waits(redis: Redis, task_store: TaskStore, kind: TurnKind) -> None:
    """Nobody begins a turn for it, however often its session is looked at; when the tenant goes on it comes first."""
    record = await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await stops.stop("acme", "repairs")
    await task_store.signal("acme", "s1", a_turn(record, kind))
    told = await redis.xlen(keys.task_keys("acme", "s1", record.task_id).events)
    refused = [await one.claim("acme", "s1") for _ in range(3)]
    assert refused == [None, None, None]
    assert await redis.xlen(keys.task_keys("acme", "s1", record.task_id).events) == told
    await stops.resume("acme")
    assert (await begin(one)).work.turn.kind is kind


@pytest.mark.promise("tenant.stop")
async def test_a_cancel_passes_what_waits_for_its_stopped_tenant(redis: Redis, task_store: TaskStore) -> None:
    """It is begun although a decision came before it; then the session is put down again, with what waits in it."""
    record = await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await stops.stop("acme", "repairs")
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.DECISION))
    assert await one.claim("acme", "s1") is None
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.CANCEL))
    begun = await begin(one)
    assert begun.work.turn.kind is TurnKind.CANCEL
    await begun.store.finish(an_end(begun.work, TaskState.WORKING))
    assert await one.begin_next_turn(begun.lease) is None
    assert await one.claim("acme", "s1") is None
    await stops.resume("acme")
    assert (await begin(one)).work.turn.kind is TurnKind.DECISION


@pytest.mark.promise("tenant.stop")
async def test_a_turn_that_a_stop_interrupts_begins_again_after_it(redis: Redis, task_store: TaskStore) -> None:
    """A decision's turn that ran as the stop came: it goes back once, and stays there."""
    record = await accepted(task_store)
    stops, one = TenantStops(redis), sessions_of(redis, "one")
    await task_store.signal("acme", "s1", a_turn(record, TurnKind.DECISION))
    begun = await begin(one)
    await stops.stop("acme", "repairs")
    await one.abandon(begun.lease, handed_over=True)
    assert await one.claim("acme", "s1") is None
    waiting, member = keys.partition_keys_of("acme", "s1").waiting, keys.pack_member(keys.SessionMember("acme", "s1"))
    put_off = await redis.zscore(waiting, member)
    assert put_off is not None
    assert put_off > (await redis.time())[0] * 1000 + 30_000


@pytest.mark.promise("tenant.stop")
async def test_a_stop_that_was_spread_half_way_is_spread_by_whoever_looks_next(redis: Redis) -> None:
    """The row counts, whatever became of the process that wrote it; an older row told late changes nothing."""
    stops = TenantStops(redis)
    await stops.stop("acme", "repairs")
    copies = [keys.tenant_stop_key_in(number, "acme") for number in range(64)]
    old = await redis.get(copies[0])
    await redis.delete(*copies[32:])
    told = await TenantStops(redis).copy_missing_stops()
    assert (told, await redis.exists(*copies)) == (1, 64)
    await stops.resume("acme")
    arguments: list[Argument] = [str(old), keys.tenant_member_prefix("acme"), keys.LIFTED_STOP_SECONDS]
    late = await Scripts(redis).run("spread_stop", [copies[0], keys.partition_keys(0).waiting], arguments)
    assert late == 0
    assert await stops.get_reason("acme") is None


@pytest.mark.promise("tenant.stop")
async def test_a_turn_that_a_stop_sends_back_uses_up_no_attempt(redis: Redis, task_store: TaskStore) -> None:
    """However often its tenant is stopped."""
    await accepted(task_store)
    stops = TenantStops(redis)
    worker = StoppedThrice(stops)
    async with running(redis, worker, RunnerLimits(attempts=1)) as runner:
        for _ in range(4):
            assert await runner.offer("acme", "s1")
            await runner.idle.wait()
            await stops.resume("acme")
    assert worker.attempts == [1, 1, 1, 1]


OPERATOR: JsonObject = {"principal": {"id": "olga", "roles": ["operator"]}}
ERP: JsonObject = {
    "id": "erp",
    "url": "http://erp.internal/mcp",
    "credential": {"type": "bearer", "from": "env:TOOL_CREDENTIAL__DEFAULT__ERP"},
}
RECORD: JsonObject = {"id": "default", "time_zone": "Europe/Paris", "connections": [ERP]}


class Operator(NamedTuple):
    """Speaks with a gateway about one tenant's record."""

    client: httpx.AsyncClient
    tenant: str = "default"
    metadata: Json = OPERATOR

    async def put(self, record: Json, base: int | None = None, **more: Json) -> httpx.Response:
        body = dumps({"record": record, "metadata": self.metadata, **more})
        headers = {} if base is None else {"If-Match": f'"{base}"'}
        return await self.client.put(f"/tenants/{self.tenant}/record", content=body, headers=headers)

    async def ask(self, what: str, **body: Json) -> httpx.Response:
        return await self.client.post(f"/tenants/{self.tenant}/record/{what}", json={"metadata": self.metadata, **body})


@asynccontextmanager
async def operator(redis_url: str, **settings: object) -> AsyncIterator[Operator]:
    async with gateway_client(redis_url, **settings) as client:
        yield Operator(client)


@pytest.mark.promise("tenant.record_compare_and_set")
async def test_the_second_of_two_changes_to_one_version_is_told_of_the_first(redis_url: str) -> None:
    """The first to create it, then the first to change version 1; the loser learns which version holds."""
    async with operator(redis_url) as olga:
        blind = await olga.put({"id": "default"})
        first, late = await olga.put(RECORD, 0), await olga.put(RECORD, 0)
        shown = loads_object((await olga.ask("show")).text)
        changed = await olga.put({**RECORD, "time_zone": "UTC"}, 1)
        stale = await olga.put(shown["record"])
    assert [one.status_code for one in (blind, first, late, changed, stale)] == [428, 200, 412, 200, 412]
    assert (first.headers["etag"], stale.headers["etag"]) == ('"1"', '"2"')
    assert "version 2" in str(at(loads_object(stale.text), "error"))


@pytest.mark.promise("tenant.record_bad_fields")
async def test_each_bad_field_is_named_and_nothing_is_stored(redis_url: str) -> None:
    bad: JsonObject = {
        "time_zone": "Europe/Pari",
        "connections": [{**ERP, "credential": {"type": "bearer", "from": "sk-live-1"}}],
    }
    async with operator(redis_url) as olga:
        refused = await olga.put({**RECORD, **bad}, 0)
        nothing, none = await olga.ask("show"), await olga.put("no object", 0)
    fields = list_at(loads_object(refused.text), "fields")
    assert [one.status_code for one in (refused, nothing, none)] == [400, 404, 400]
    assert [at(one, "field") for one in fields] == ["time_zone", "connections.0.credential.from"]
    assert "sk-live-1" not in refused.text


@pytest.mark.promise("tenant.record_addresses")
async def test_an_address_that_nobody_would_call_is_refused_as_the_record_is_written(redis_url: str) -> None:
    """A server, a token endpoint and who is told; inside is where tool servers are, and stays open to them."""
    token = {"type": "oauth_client_credentials", "client_id": "c", "from": "env:TOOL_CREDENTIAL__DEFAULT__ERP"}
    record: JsonObject = {
        "id": "default",
        "connections": [
            {"id": "a", "url": "http://169.254.169.254/latest"},
            {"id": "b", "url": "http://10.0.0.7:9000/mcp"},
            {"id": "c", "url": "http://erp/", "credential": {**token, "token_url": "http://[fe80::1]/token"}},
            {"id": "d", "url": "http://2130706433/"},
        ],
        "notices": [{"url": "http://10.0.0.7/hook"}, {"url": "env:TOOL_CREDENTIAL__DEFAULT__HOOK"}],
    }
    async with operator(redis_url) as olga:
        refused, nothing = await olga.put(record, 0), await olga.ask("show")
    async with operator(redis_url, tools_allowed_hosts="169.254.169.254") as omar:
        opened = await omar.put({"id": "default", "connections": [{"id": "a", "url": "http://169.254.169.254/"}]}, 0)
    fields = [at(one, "field") for one in list_at(loads_object(refused.text), "fields")]
    assert [one.status_code for one in (refused, nothing, opened)] == [400, 404, 200]
    assert fields == ["connections.0.url", "connections.2.credential.token_url", "connections.3.url", "notices.0.url"]


@pytest.mark.promise("tenant.record_history")
async def test_who_changed_what_and_when_is_kept_and_can_be_taken_back(redis_url: str) -> None:
    async with operator(redis_url) as olga:
        await olga.put(RECORD, 0, comment="the ERP moves in")
        await olga._replace(metadata={"principal": {"id": "omar", "roles": ["operator"]}}).put(
            {**RECORD, "connections": []}, 1, comment="out again"
        )
        restored = await olga.ask("restore", version=1, comment="that was wrong")
        history = loads_object((await olga.ask("history")).text)
        earlier = loads_object((await olga.ask("show", version=2)).text)
    rows = [
        {name: at(row, name) for name in ("version", "by", "comment", "changed", "restored")}
        for row in list_at(history, "versions")
    ]
    assert rows == [
        {"version": 3, "by": "olga", "comment": "that was wrong", "changed": ["connections"], "restored": 1},
        {"version": 2, "by": "omar", "comment": "out again", "changed": ["connections"], "restored": None},
        {"version": 1, "by": "olga", "comment": "the ERP moves in", "changed": None, "restored": None},
    ]
    assert at(loads_object(restored.text), "record.connections.0.id") == "erp"
    assert at(earlier, "record.connections") == []


@pytest.mark.promise("tenant.record_withdrawn")
async def test_a_record_withdrawn_leaves_that_of_the_file_and_can_be_restored(redis_url: str, redis: Redis) -> None:
    tenants = StoredTenants(RedisTenantRecords(redis), FileTenants(TenantRecord(id="default", time_zone="Asia/Tokyo")))
    zones = []
    async with operator(redis_url) as olga:
        none = await olga.ask("withdraw")
        for act in ("put", "withdraw", "restore"):
            body: JsonObject = {"version": 1} if act == "restore" else {"comment": "one file for all"}
            done = await olga.put(RECORD, 0) if act == "put" else await olga.ask(act, **body)
            zones.append((done.status_code, (await tenants.get("default")).time_zone))
            if act == "withdraw":
                gone, anew = await olga.ask("show"), await olga.put(RECORD, 1)
                empty = await olga.ask("restore", version=2)
        history = loads_object((await olga.ask("history")).text)
    assert [one.status_code for one in (none, gone, anew, empty)] == [404, 404, 412, 404]
    assert zones == [(200, "Europe/Paris"), (200, "Asia/Tokyo"), (200, "Europe/Paris")]
    assert [at(row, "withdrawn") for row in list_at(history, "versions")] == [False, True, False]


@pytest.mark.promise("tenant.record_next_turn")
async def test_a_stored_version_that_cannot_be_read_is_no_crash(redis: Redis, redis_url: str) -> None:
    """Neither of an executor, whose tasks of that tenant fail, each with the reason, nor of the gateway."""
    tenants = StoredTenants(RedisTenantRecords(redis), FileTenants(TenantRecord(id="default")))
    async with operator(redis_url) as olga:
        await olga.put(RECORD, 0)
        await Scripts(redis).execute("HSET", keys.tenant_record_key("default"), "1", '{"version": "one"')
        with pytest.raises(UnknownTenant, match="version 1 of the record of tenant 'default' cannot be read"):
            await tenants.get("default")
        assert (await olga.ask("show")).status_code == 404
        assert (await olga.put(RECORD, 1)).status_code == 200
    assert (await tenants.get("default")).version == "2"


@pytest.mark.promise("tenant.record_next_turn")
async def test_a_changed_record_holds_at_once_and_a_begun_task_keeps_its_policies(redis_url: str, redis: Redis) -> None:
    """A tenant without a stored record has the file's; so does a task that was begun before there was one."""
    rule: JsonObject = {"id": "r", "condition": "amount > 1", "action": "block"}
    file = FileTenants(TenantRecord(id="default", unruled_writes="allow"))
    tenants = StoredTenants(RedisTenantRecords(redis), file, "http://tools")
    async with operator(redis_url) as olga:
        before = await tenants.get("default")
        keyed: JsonObject = {"policies": [{"id": "p", "rules": [rule]}], "records": {"asset": {"keys": ["asset_tag"]}}}
        await olga.put({**RECORD, **keyed}, 0)
        first = await tenants.get("default")
        await olga.put({"id": "default", "connections": [{"id": "here", "url": ""}]}, 1)
        second = await tenants.get("default")
    begun = await tenants.get_at_version("default", first.version)
    older = await tenants.get_at_version("default", before.version)
    for kept in ([len(one.policies), len(one.records)] for one in (first, begun)):
        assert kept == [1, 1]
    assert not any((*one.policies, *one.records) for one in (before, second, older))
    assert (older.unruled_writes, begun.unruled_writes) == ("allow", "approve")
    assert [one.connections[0].url for one in (first, second, begun)] == [
        "http://erp.internal/mcp",
        "http://tools",
        "http://tools",
    ]
    assert first.connections[0].author_tenant == "default"


@pytest.mark.promise("connections.request_endpoint")
async def test_a_request_may_name_the_endpoint_of_a_connection_and_no_other(redis: Redis, redis_url: str) -> None:
    """Outside of the embedded profile, and without a list of hosts; another tenant's record opens nothing."""
    erp = "http://erp.internal/mcp"
    async with stage(redis, redis_url, profile="production", authentication="off") as play:
        olga = Operator(play.client)
        before = await play.send("t1", "go", tools_endpoint=erp)
        await RedisTenantRecords(redis).add_version("globex", _globex(erp))
        foreign = await play.send("t1", "go", tools_endpoint=erp)
        await olga.put(RECORD, 0)
        own = await play.send("t1", "go", tools_endpoint=f"{erp}/")
        beside = await play.send("t2", "go", tools_endpoint="http://erp.internal/other")
    assert at(own, "result.status.state") == "completed"
    assert all("tools_endpoint" in str(at(one, "error.message")) for one in (before, foreign, beside))


@pytest.mark.promise("upkeep.goes_on")
async def test_a_version_of_a_newer_release_hides_no_other(redis: Redis) -> None:
    records, own = RedisTenantRecords(redis), _globex("http://erp.internal/mcp")
    await records.add_version("globex", own)
    await redis.hset(keys.tenant_record_key("globex"), "2", "{}")  # type: ignore[misc]  # redis-py
    assert await records.list_versions("globex") == [own]


def _globex(url: str) -> TenantVersion:
    document = dumps({"id": "globex", "connections": [{"id": "erp", "url": url}]})
    return TenantVersion(version=1, at=datetime.now(UTC), by="gina", document_json=document)


V1 = {"A2A-Version": "1.0"}


async def _post(
    client: httpx.AsyncClient, path: str, body: object, headers: dict[str, str] | None = None
) -> tuple[int, JsonObject]:
    response = await client.post(path, json=body, headers=headers)
    return response.status_code, loads_object(response.text)


async def _tenant(client: httpx.AsyncClient, action: str, **body: object) -> tuple[int, JsonObject]:
    return await _post(client, f"/tenants/default/{action}", {"metadata": OPERATOR, **body})


@pytest.mark.promise("tenant.stop")
async def test_a_stopped_tenants_clients_are_told_why_in_every_dialect(client: httpx.AsyncClient) -> None:
    """Refused at once, not kept waiting; after the stop the same message is accepted."""
    legacy = {"id": "t1", "message": {"parts": [{"text": "go"}]}}
    modern: dict[str, object] = {"message": {"messageId": "m1", "role": "ROLE_USER", "parts": [{"text": "go"}]}}
    modern |= {"configuration": {"returnImmediately": True}}
    stopped = await _tenant(client, "stop", reason="the ledger is repaired")
    old = await _post(client, "/", rpc_body("tasks/send", legacy))
    new = await _post(client, "/", rpc_body("SendMessage", modern), V1)
    solver = await _post(client, "/api/a2a/purple-agent", {"task_id": "s1", "task": "go"})
    resumed = await _tenant(client, "resume")
    after = await _post(client, "/", rpc_body("SendMessage", modern), V1)
    assert (stopped[1]["stopped"], resumed[1]["stopped"], old[0]) == (True, False, 503)
    said = [str(at(reply, "error.message")) for _, reply in (old, new)]
    assert all("the ledger is repaired" in sentence for sentence in said)
    assert solver[0] == 503
    assert "result" in after[1]


async def test_an_operator_sees_what_the_tenant_spent_and_what_is_set_aside(
    client: httpx.AsyncClient, redis: Redis
) -> None:
    """By day, tokens and exact dollars."""
    _, before = await _tenant(client, "show")
    day = datetime.now(UTC).date().isoformat()
    spend = RedisSpend(redis)
    await spend.settle_charges("default", day, [Charge("a", 120, 1_500_000)])
    await spend.reserve("default", day, Charge("b", 30, 250_000), DayCaps())
    _, after = await _tenant(client, "show")
    row = {"date": day, "tokens": 120, "model_calls": 1, "set_aside_tokens": 30}
    assert (before["spend"], after["sessions"]) == ([], {"waiting": 0, "running": 0})
    assert after["spend"] == [{**row, "dollars": "0.0015", "set_aside_dollars": "0.00025"}]
