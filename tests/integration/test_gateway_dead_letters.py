"""Dead letters and made tools through the gateway: who sees them, what is shown, what a removal leaves."""

from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest
from pydantic import JsonValue
from redis.asyncio import Redis

from services.executor.adapters.made_tools import RedisMadeTools, TenantsWithToolMakingSwitch
from services.executor.adapters.stored_tenants import FileTenants
from services.executor.core.turn.session_run import build_dead_letter
from services.executor.ports.turns import TurnWork
from shared.contracts.made_tool import MadeTool, MadeToolTestCase
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import TenantRecord
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import TaskState
from shared.infra import keys
from shared.infra.keys import learned_keys, partition_keys_of
from shared.infra.lua import Scripts
from shared.infra.redis import connect
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.e2e.commands import call_purple
from tests.integration.gateway_stage import at, list_at, stage
from tests.integration.state_stage import an_outcome

OPERATOR = {"principal": {"id": "olga", "roles": ["operator"]}}
PLACE = partition_keys_of("default", "s1")


def _record(tenant: str = "default") -> TaskRecord:
    return a_record("s1").model_copy(update={"tenant": tenant})


async def _dead_turn(redis: Redis, record: TaskRecord, stream: str = PLACE.dead_turns, **told: JsonValue) -> str:
    return f"turn-{_number(stream)}-{await redis.xadd(stream, {'letter': _letter(record, **told)})}"


def _letter(record: TaskRecord, **told: JsonValue) -> str:
    ended = record.model_copy(update={"reason": "it stopped 5 times", "updated_at": NOON, "metadata": told})
    dead = build_dead_letter(TurnWork(a_turn(record), record, 6, last_error="OSError: boom"), ended, 5)
    return dead.model_dump_json()


async def _dead_outcome(redis: Redis, told: str) -> str:
    fields = ("id", "e:1", "o", told, "error", "no such arm", "tries", "4")
    return f"outcome-{_number(PLACE.dead)}-{await Scripts(redis).execute('XADD', PLACE.dead, '*', *fields)}"


def _number(stream: str) -> int:
    return int(stream.partition("{p")[2].partition("}")[0])


async def _ask(client: httpx.AsyncClient, path: str, **body: object) -> tuple[int, JsonObject]:
    response = await client.post(path, json={"metadata": OPERATOR, **body})
    return response.status_code, loads_object(response.text)


@pytest.mark.promise("dlq.operator")
async def test_an_operator_lists_dead_letters_and_reads_one(client: httpx.AsyncClient, redis: Redis) -> None:
    record = _record()
    turn, outcome = await _dead_turn(redis, record), await _dead_outcome(redis, an_outcome(record).model_dump_json())
    _, listed = await _ask(client, "/dlq/list")
    _, shown = await _ask(client, f"/dlq/{turn}/show")
    letters = list_at(listed, "letters")
    assert {str(at(one, "id")) for one in letters} == {turn, outcome}
    found = [shown["task_id"], shown["error"], shown["tries"], at(shown, "content.request.text")]
    assert found == [record.task_id, "OSError: boom", 5, record.request.text]


@pytest.mark.promise("dlq.requeue_turn")
async def test_a_dead_turn_is_begun_anew_as_a_linked_task_of_its_session(redis: Redis, redis_url: str) -> None:
    record = _record()
    name = await _dead_turn(redis, record)
    async with stage(redis, redis_url) as scene:
        status, done = await _ask(scene.client, f"/dlq/{name}/requeue")
        await scene.worker.has_begun(1)
        (work,) = scene.worker.works
    assert (status, done["task_id"], done["requeued_from"]) == (200, work.turn.task_id, record.task_id)
    assert work.record.session_id == record.session_id
    assert (work.turn.text, work.record.metadata["requeued_from"]) == (record.request.text, record.task_id)
    assert await redis.xlen(PLACE.dead_turns) == 0


@pytest.mark.promise("dlq.requeue_turn")
async def test_a_requeue_that_died_half_way_makes_one_task_when_repeated(redis: Redis, redis_url: str) -> None:
    """The letter is still there, its task was accepted already."""
    record = _record()
    name = await _dead_turn(redis, record)
    ((entry_id, fields),) = await redis.xrange(PLACE.dead_turns)
    async with stage(redis, redis_url) as scene:
        first = await _ask(scene.client, f"/dlq/{name}/requeue")
        await redis.delete(PLACE.dead_turns)
        await redis.xadd(PLACE.dead_turns, fields, id=entry_id)
        second = await _ask(scene.client, f"/dlq/{name}/requeue")
        await scene.worker.has_begun(1)
    assert first == second
    assert len(scene.worker.works) == 1


@pytest.mark.promise("dlq.repeats_no_write")
async def test_a_task_that_made_writes_is_begun_anew_only_if_the_operator_insists(
    client: httpx.AsyncClient, redis: Redis
) -> None:
    """Beginning anew means a new plan: what the dead task wrote would be written a second time."""
    write: dict[str, JsonValue] = {"tool": "create_refund", "arguments": {"order_id": "ORD-1"}, "status": "verified"}
    name = await _dead_turn(redis, _record(), writes=[write, {**write, "tool": "pay", "status": "unsent"}])
    status, refused = await _ask(client, f"/dlq/{name}/requeue")
    insisted, _ = await _ask(client, f"/dlq/{name}/requeue", again=True)
    assert (status, insisted) == (409, 200)
    assert "create_refund" in str(refused["error"])
    assert f"purple dlq requeue {name} --again" in str(refused["error"])
    assert "pay" not in str(refused["error"])


@pytest.mark.promise("dlq.requeue_outcome")
async def test_a_dead_outcome_goes_back_to_the_learner_once(client: httpx.AsyncClient, redis: Redis) -> None:
    told = an_outcome(_record().model_copy(update={"state": TaskState.COMPLETED}))
    name = await _dead_outcome(redis, told.model_dump_json())
    answers = [(await _ask(client, f"/dlq/{name}/requeue"))[0] for _ in range(2)]
    outcomes = [row for _, row in await redis.xrange(PLACE.outcomes)]
    assert answers == [200, 404]
    assert [TaskOutcome.model_validate_json(row["o"]) for row in outcomes] == [told]
    assert [(set(row), row["group"]) for row in outcomes] == [({"id", "o", "group"}, keys.OUTCOME_GROUP)]


@pytest.mark.promise("dlq.requeue_outcome")
async def test_all_dead_outcomes_go_back_at_one_word_and_what_cannot_be_read_stays(url: str, redis: Redis) -> None:
    """Of the operator's own tenant; dead turns are no outcomes."""
    ended = {"state": TaskState.COMPLETED}
    mine, others = _record().model_copy(update=ended), _record("globex").model_copy(update=ended)
    for record in (mine, others):
        await _dead_outcome(redis, an_outcome(record).model_dump_json())
    await _dead_outcome(redis, "{broken")
    await _dead_turn(redis, mine)
    done = await call_purple("dlq", "requeue", "--outcomes", "--url", url, "--json")
    assert loads_object(done.out) == {"requeued_outcomes": 1, "unreadable": 1}
    left = [await redis.xlen(stream) for stream in (PLACE.outcomes, PLACE.dead, PLACE.dead_turns)]
    assert left == [1, 2, 1]


async def test_a_letter_is_dropped_for_good(client: httpx.AsyncClient, redis: Redis) -> None:
    name = await _dead_turn(redis, _record())
    answers = [(await _ask(client, f"/dlq/{name}/drop"))[0] for _ in range(2)]
    assert (answers, await redis.xlen(PLACE.dead_turns)) == ([200, 404], 0)


async def test_an_outcome_that_cannot_be_read_is_listed_without_its_content(
    client: httpx.AsyncClient, redis: Redis
) -> None:
    name = await _dead_outcome(redis, '{"secret": 1')
    _, shown = await _ask(client, f"/dlq/{name}/show")
    assert (shown["error"], shown["content"]) == ("no such arm", None)


@pytest.mark.promise("dlq.operator")
async def test_another_tenants_crowd_hides_no_letter(client: httpx.AsyncClient, redis: Redis) -> None:
    """One stream holds the letters of many tenants."""
    names = [await _dead_turn(redis, _record()) for _ in range(3)]
    for _ in range(5):
        await _dead_turn(redis, _record("other"))
    _, two = await _ask(client, "/dlq/list", limit=2)
    _, all_of_them = await _ask(client, "/dlq/list", limit=4)
    assert _names(two) == names[:0:-1]
    assert _names(all_of_them) == names[::-1]


@pytest.mark.promise("dlq.operator")
async def test_the_newest_letters_come_first_from_however_full_streams(client: httpx.AsyncClient, redis: Redis) -> None:
    """One stream is read on many times before another's second letter is due, and some letters are another tenant's."""
    streams = (PLACE.dead_turns, partition_keys_of("default", "s2").dead_turns)
    written = [(f"{ms}-{ms % 3}", streams[ms % 50 == 0], "other" if ms % 7 == 0 else "default") for ms in range(1, 700)]
    letters = {tenant: _letter(_record(tenant)) for tenant in ("default", "other")}
    for entry_id, stream, tenant in written:
        await redis.xadd(stream, {"letter": letters[tenant]}, id=entry_id)
    names = [f"turn-{_number(stream)}-{name}" for name, stream, tenant in reversed(written) if tenant == "default"]
    for limit in (1, 99, 100, 250, 1000):
        assert _names((await _ask(client, "/dlq/list", limit=limit))[1]) == names[:limit], limit


@pytest.mark.promise("upkeep.goes_on")
async def test_a_dead_turn_that_cannot_be_read_is_listed_and_dropped_but_not_begun_anew(
    client: httpx.AsyncClient, redis: Redis
) -> None:
    name = f"turn-{_number(PLACE.dead_turns)}-{await redis.xadd(PLACE.dead_turns, {'letter': '{}'})}"
    _, listed = await _ask(client, "/dlq/list")
    status, refused = await _ask(client, f"/dlq/{name}/requeue")
    dropped, _ = await _ask(client, f"/dlq/{name}/drop")
    assert (_names(listed), status, dropped) == ([name], 409, 200)
    assert "cannot be read" in str(refused["error"])


def _names(listed: JsonObject) -> list[object]:
    letters = list_at(listed, "letters")
    return [at(letter, "id") for letter in letters]


async def test_a_name_that_is_no_letters_is_not_found(client: httpx.AsyncClient) -> None:
    names = ["turn-1-1-1", "turn-99999-1-1", "turn-64-1-1", "x", "outcome--1", "turn-1-1-*", f"turn-1-{'9' * 20}-1"]
    assert [(await _ask(client, f"/dlq/{name}/show"))[0] for name in names] == [404] * len(names)


async def test_a_limit_that_makes_no_sense_is_refused(client: httpx.AsyncClient) -> None:
    for limit in (0, 1001, "ten", 1.5):
        status, said = await _ask(client, "/dlq/list", limit=limit)
        assert (status, "limit" in str(said["error"])) == (400, True), limit


TOOL = MadeTool(
    name="net_margin",
    purpose="net margin in percent",
    arguments=("revenue", "cost"),
    result="ratio",
    code="def net_margin(revenue, cost):\n    return _divided(revenue - cost, revenue) * 100",
    code_sha256="ab" * 32,
    cases=(MadeToolTestCase(inputs=("100", "60"), expected="40"),),
    made_at=datetime(2026, 1, 2, tzinfo=UTC),
    task_id="t1",
)


@pytest.mark.promise("upkeep.goes_on")
async def test_a_made_tool_of_a_newer_release_hides_no_other(client: httpx.AsyncClient, redis: Redis) -> None:
    await RedisMadeTools(redis).store_version("default", TOOL)
    await redis.hset(learned_keys("default").made, "newer:1", "{}")  # type: ignore[misc]  # redis-py
    status, listed = await _ask(client, "/tools/made/list")
    assert (status, len(list_at(listed, "tools"))) == (200, 1)


@pytest.mark.promise("made.removed")
async def test_an_operator_lists_reads_and_removes_a_made_tool(client: httpx.AsyncClient, redis: Redis) -> None:
    """What a removal leaves names version, hash, time and person, and holds no code."""
    kept = await RedisMadeTools(redis).store_version("default", TOOL)
    listed = await _ask(client, "/tools/made/list")
    shown = await _ask(client, "/tools/made/net_margin/show")
    removed = await _ask(client, "/tools/made/net_margin/remove")
    again = await _ask(client, "/tools/made/net_margin/remove")
    unknown = await _ask(client, "/tools/made/gross_margin/show")
    assert kept.version == 1
    assert at(listed[1], "tools.0.name") == "net_margin"
    assert "code" not in str(listed[1]).replace("code_sha256", "")
    assert at(shown[1], "versions.0.code") == TOOL.code
    assert at(shown[1], "versions.0.cases.0.expected") == "40"
    assert at(removed[1], "versions.0.removed_by") == "olga"
    assert at(removed[1], "versions.0.code") == ""
    assert at(removed[1], "versions.0.code_sha256") == TOOL.code_sha256
    assert again == removed
    assert unknown[0] == 404


@pytest.mark.promise("made.off")
async def test_an_operators_switch_goes_before_the_tenants_record(client: httpx.AsyncClient, redis: Redis) -> None:
    record = TenantRecord(id="default")
    tenants = TenantsWithToolMakingSwitch(FileTenants(record), redis)
    before = (await tenants.get("default")).made_tools
    on = await _ask(client, "/tenants/default/made-tools", on=True)
    switched = (await tenants.get("default")).made_tools
    off = await _ask(client, "/tenants/default/made-tools", on=False)
    wrong, _ = await _ask(client, "/tenants/default/made-tools", on="yes")
    foreign, _ = await _ask(client, "/tenants/globex/made-tools", on=True)
    assert (before, switched, (await tenants.get("default")).made_tools) == (False, True, False)
    assert (on[1]["made_tools"], off[1]["made_tools"]) == (True, False)
    assert (wrong, foreign) == (400, 404)


@pytest.mark.promise("made.off")
async def test_without_redis_nothing_is_switched_on(tmp_path: Path) -> None:
    """A switch that cannot be read may have been turned off."""
    gone = connect(f"unix://{tmp_path}/gone.sock")
    tenants = TenantsWithToolMakingSwitch(FileTenants(TenantRecord(id="default", made_tools=True)), gone)

    record = await tenants.get("default")

    await gone.aclose()
    assert not record.made_tools


@pytest.mark.promise("made.removed", "made.off")
async def test_the_command_line_switches_shows_and_removes(url: str, redis: Redis) -> None:
    await RedisMadeTools(redis).store_version("default", TOOL)
    switched = await call_purple("tenant", "made-tools", "default", "on", "--url", url, "--json")
    shown = await call_purple("tools", "made", "show", "net_margin", "--url", url)
    removed = await call_purple("tools", "made", "remove", "net_margin", "--url", url, "--json", "--as", "olga")
    assert loads_object(switched.out)["made_tools"] is True
    assert "def net_margin(revenue, cost)" in shown.out
    assert at(loads_object(removed.out), "versions.0.removed_by") == "olga"
