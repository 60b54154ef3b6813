"""Dead letters through the gateway: an operator looks at them, begins anew, puts back, drops."""

import httpx
import pytest
from pydantic import JsonValue
from redis.asyncio import Redis

from services.executor.core.turn.attempt import letter
from services.executor.ports.sessions import Work
from shared.contracts.outcome import TaskOutcome
from shared.contracts.task import TaskRecord
from shared.domain.exact_json import JsonObject, loads_object
from shared.domain.words import TaskState
from shared.infra.keys import partition_keys_of
from shared.infra.lua import Scripts
from tests.doubles.redis_tasks import NOON, a_record, a_turn
from tests.e2e.commands import call_purple
from tests.http_client import open_http
from tests.integration.gateway_stage import PATIENCE, at, gateway, stage
from tests.integration.state_stage import an_outcome

OPERATOR = {"principal": {"id": "olga", "roles": ["operator"]}}
PLACE = partition_keys_of("default", "s1")


def _record(tenant: str = "default") -> TaskRecord:
    return a_record("s1").model_copy(update={"tenant": tenant})


async def _dead_turn(redis: Redis, record: TaskRecord, stream: str = PLACE.dead_turns, **told: JsonValue) -> str:
    ended = record.model_copy(update={"reason": "it stopped 5 times", "updated_at": NOON, "metadata": told})
    dead = letter(Work(a_turn(record), record, 6, last_error="OSError: boom"), ended, 5)
    return f"turn-{_number(stream)}-{await redis.xadd(stream, {'letter': dead.model_dump_json()})}"


async def _dead_outcome(redis: Redis, told: str) -> str:
    fields = ("id", "e:1", "o", told, "error", "no such arm", "tries", "4")
    return f"outcome-{_number(PLACE.dead)}-{await Scripts(redis).command('XADD', PLACE.dead, '*', *fields)}"


def _number(stream: str) -> int:
    return int(stream.partition("{p")[2].partition("}")[0])


async def _post(client: httpx.AsyncClient, path: str, **body: object) -> tuple[int, JsonObject]:
    response = await client.post(f"/dlq/{path}", json={"metadata": OPERATOR, **body})
    return response.status_code, loads_object(response.text)


async def _ask(url: str, path: str, **body: object) -> tuple[int, JsonObject]:
    async with open_http(base_url=url, timeout=PATIENCE, trust_env=False) as client:
        return await _post(client, path, **body)


@pytest.mark.promise("dlq.operator")
async def test_an_operator_lists_dead_letters_and_reads_one(redis: Redis, redis_url: str) -> None:
    record = _record()
    turn, outcome = await _dead_turn(redis, record), await _dead_outcome(redis, an_outcome(record).model_dump_json())
    async with gateway(redis_url) as url:
        _, listed = await _ask(url, "list")
        _, shown = await _ask(url, f"{turn}/show")
    letters = listed["letters"]
    assert isinstance(letters, list)
    assert {str(at(one, "id")) for one in letters} == {turn, outcome}
    found = [shown["task_id"], shown["error"], shown["tries"], at(shown, "content.request.text")]
    assert found == [record.task_id, "OSError: boom", 5, record.request.text]


@pytest.mark.promise("dlq.requeue_turn")
async def test_a_dead_turn_is_begun_anew_as_a_linked_task_of_its_session(redis: Redis, redis_url: str) -> None:
    record = _record()
    name = await _dead_turn(redis, record)
    async with stage(redis, redis_url) as scene:
        status, done = await _post(scene.client, f"{name}/requeue")
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
        first = await _post(scene.client, f"{name}/requeue")
        await redis.delete(PLACE.dead_turns)
        await redis.xadd(PLACE.dead_turns, fields, id=entry_id)
        second = await _post(scene.client, f"{name}/requeue")
        await scene.worker.has_begun(1)
    assert first == second
    assert len(scene.worker.works) == 1


@pytest.mark.promise("dlq.repeats_no_write")
async def test_a_task_that_made_writes_is_begun_anew_only_if_the_operator_insists(redis: Redis, redis_url: str) -> None:
    """Beginning anew means a new plan: what the dead task wrote would be written a second time."""
    write: dict[str, JsonValue] = {"tool": "create_refund", "arguments": {"order_id": "ORD-1"}, "status": "verified"}
    name = await _dead_turn(redis, _record(), writes=[write, {**write, "tool": "pay", "status": "unsent"}])
    async with gateway(redis_url) as url:
        status, refused = await _ask(url, f"{name}/requeue")
        insisted, _ = await _ask(url, f"{name}/requeue", again=True)
    assert (status, insisted) == (409, 200)
    assert "create_refund" in str(refused["error"])
    assert "pay" not in str(refused["error"])


@pytest.mark.promise("dlq.requeue_outcome")
async def test_a_dead_outcome_goes_back_to_the_learner_once(redis: Redis, redis_url: str) -> None:
    told = an_outcome(_record().model_copy(update={"state": TaskState.COMPLETED}))
    name = await _dead_outcome(redis, told.model_dump_json())
    async with gateway(redis_url) as url:
        answers = [(await _ask(url, f"{name}/requeue"))[0] for _ in range(2)]
    outcomes = [row for _, row in await redis.xrange(PLACE.outcomes)]
    assert answers == [200, 404]
    assert [TaskOutcome.model_validate_json(row["o"]) for row in outcomes] == [told]
    assert [set(row) for row in outcomes] == [{"id", "o"}]


@pytest.mark.promise("dlq.requeue_outcome")
async def test_all_dead_outcomes_go_back_at_one_word_and_what_cannot_be_read_stays(
    redis: Redis, redis_url: str
) -> None:
    """Of the operator's own tenant; dead turns are no outcomes."""
    ended = {"state": TaskState.COMPLETED}
    mine, others = _record().model_copy(update=ended), _record("globex").model_copy(update=ended)
    for record in (mine, others):
        await _dead_outcome(redis, an_outcome(record).model_dump_json())
    await _dead_outcome(redis, "{broken")
    await _dead_turn(redis, mine)
    async with gateway(redis_url) as url:
        done = await call_purple("dlq", "requeue", "--outcomes", "--url", url, "--json")
    assert loads_object(done.out) == {"requeued_outcomes": 1, "unreadable": 1}
    assert (await redis.xlen(PLACE.outcomes), await redis.xlen(PLACE.dead), await redis.xlen(PLACE.dead_turns)) == (
        1,
        2,
        1,
    )


async def test_a_letter_is_dropped_for_good(redis: Redis, redis_url: str) -> None:
    name = await _dead_turn(redis, _record())
    async with gateway(redis_url) as url:
        answers = [(await _ask(url, f"{name}/drop"))[0] for _ in range(2)]
    assert (answers, await redis.xlen(PLACE.dead_turns)) == ([200, 404], 0)


async def test_an_outcome_that_cannot_be_read_is_listed_without_its_content(redis: Redis, redis_url: str) -> None:
    name = await _dead_outcome(redis, '{"secret": 1')
    async with gateway(redis_url) as url:
        _, shown = await _ask(url, f"{name}/show")
    assert (shown["error"], shown["content"]) == ("no such arm", None)


@pytest.mark.promise("dlq.operator")
async def test_another_tenants_crowd_hides_no_letter(redis: Redis, redis_url: str) -> None:
    """One stream holds the letters of many tenants."""
    names = [await _dead_turn(redis, _record()) for _ in range(3)]
    for _ in range(5):
        await _dead_turn(redis, _record("other"))
    async with gateway(redis_url) as url:
        _, two = await _ask(url, "list", limit=2)
        _, all_of_them = await _ask(url, "list", limit=4)
    assert _names(two) == names[:0:-1]
    assert _names(all_of_them) == names[::-1]


def _names(listed: JsonObject) -> list[object]:
    letters = listed["letters"]
    assert isinstance(letters, list)
    return [at(letter, "id") for letter in letters]


async def test_a_name_that_is_no_letters_is_not_found(redis_url: str) -> None:
    names = ["turn-1-1-1", "turn-99999-1-1", "turn-64-1-1", "x", "outcome--1", "turn-1-1-*", f"turn-1-{'9' * 20}-1"]
    async with gateway(redis_url) as url:
        assert [(await _ask(url, f"{name}/show"))[0] for name in names] == [404] * len(names)


async def test_a_limit_that_makes_no_sense_is_refused(redis_url: str) -> None:
    async with gateway(redis_url) as url:
        for limit in (0, 1001, "ten", 1.5):
            status, said = await _ask(url, "list", limit=limit)
            assert (status, "limit" in str(said["error"])) == (400, True), limit
