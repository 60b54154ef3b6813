"""What tasks have left, as an operator reads it and has it forgotten: it is in no learned key, and stays away."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from typing import cast

import pytest
from redis.asyncio import Redis
from typer.testing import CliRunner

from cli.main import app
from services.learner.adapters.redis_forgetting import REQUESTS_KEPT
from services.learner.adapters.redis_knowledge import RedisFactRepository, RedisKnowledge
from services.learner.ports.memory import KnownFacts
from services.learner.workers.fact_worker import FactWorker, TenantBudgets
from shared.contracts.knowledge import KnownEntity
from shared.contracts.learning_files import ForgetRequest, ForgetScope, ForgetState
from shared.contracts.outcome import PredictionOutcome, ThresholdKind
from shared.contracts.tenant import DEFAULT_TENANT
from shared.infra import keys
from shared.infra.daily_spend import RedisSpend
from shared.infra.tenant_records import RedisTenantRecords
from tests.integration.gateway_stage import Stage, stage
from tests.integration.learner_stage import leave
from tests.integration.memory_stage import TERMS, MemoryStage, an_outcome_of

_OPERATOR = {"metadata": {"principal": {"id": "olga", "roles": ["operator"]}}}
_PARTS = ("cases", "facts", "entities", "accuracy")


async def _filled(redis: Redis, tenant: str = DEFAULT_TENANT) -> MemoryStage:
    memory = MemoryStage(redis)
    limit = PredictionOutcome(kind=ThresholdKind.POLICY_LIMIT, name="amount", sign=">", predicted="5", held=True)
    await memory.takes_in(an_outcome_of("Pay Initech Ltd for INV-7", 1, tenant, thresholds=(limit,)))
    await memory.learns()
    return memory


async def _command(play: Stage, *words: str, said: str | None = None) -> tuple[int, str]:
    """The command's exit code and words, from a thread: it has a loop of its own."""
    command = ["learn", "forget", *words, "--as", "olga", "--url", play.url]
    done = await asyncio.to_thread(CliRunner().invoke, app, command, said)
    return done.exit_code, done.output


@pytest.mark.promise("memory.read")
async def test_an_operator_reads_what_tasks_have_left(play: Stage, redis: Redis) -> None:
    await _filled(redis)
    await _filled(redis, "other")
    told = {part: (await play.client.post(f"/memory/{part}", json=_OPERATOR)).json()[part] for part in _PARTS}
    finding = (await play.client.post("/memory/facts", json=_OPERATOR)).json()["finding"]
    (case,), (fact,), entities, (accuracy,) = (told[part] for part in _PARTS)
    assert case["task_id"] == fact["task_id"] == f"{DEFAULT_TENANT}-1"
    assert (fact["text"], fact["holds"], fact["superseded_at"]) == (TERMS.text, True, None)
    assert {(one["kind"], one["value"], one["seen"]) for one in entities} == {
        ("vendor", "Initech Ltd", 1),
        ("reference", "INV-7", 1),
    }
    assert (accuracy["process_type"], accuracy["kind"], accuracy["attempts"]) == ("expense_approval", "policy_limit", 1)
    assert finding["fact_input_tokens"] == 100


async def test_what_is_to_be_forgotten_must_be_said(play: Stage) -> None:
    for field, body in (
        ("scope", {}),
        ("scope", {"scope": "all"}),
        ("subject", {"scope": "entity"}),
        ("subject", {"scope": "tenant", "subject": "Initech"}),
        ("subject", {"scope": "session", "subject": 7}),
    ):
        answer = await play.client.post("/memory/forget", json={**_OPERATOR, **body})
        assert (answer.status_code, answer.json()["error"].split(":")[0]) == (400, field)
    unknown = await play.client.post("/memory/forget/none/show", json=_OPERATOR)
    assert unknown.status_code == 404


@pytest.mark.promise("forget.command")
async def test_the_command_waits_for_a_learner_and_says_what_left_and_what_stays(redis: Redis, redis_url: str) -> None:
    memory = await _filled(redis)
    async with stage(redis, redis_url) as play, asyncio.TaskGroup() as group:
        running = group.create_task(_command(play, "--entity", "Initech", "--yes", "--json"))
        while not memory.forgetter.finished_count:
            await memory.forgetter.carry_out_next(datetime.now(UTC))
            await asyncio.sleep(0.01)
        code, said = await running
        again = group.create_task(_command(play, "--entity", "Initech", "--yes"))
        while memory.forgetter.finished_count < 2:
            await memory.forgetter.carry_out_next(datetime.now(UTC))
            await asyncio.sleep(0.01)
        table = await again
    told = json.loads(said.splitlines()[-1])
    assert (code, told["state"]) == (0, "done")
    assert told["removed"] == {"cases": 1, "facts": 1, "entities": 1}
    assert "audit trail" in told["left"]["tasks"]
    assert (table[0], "Nothing of it was remembered" in table[1], "stays" in table[1]) == (0, True, True)


@pytest.mark.promise("forget.command")
async def test_nothing_is_forgotten_before_somebody_says_yes_to_one_thing(play: Stage, redis: Redis) -> None:
    memory, one_of = await _filled(redis), "Say one of --entity, --session and --tenant"
    for sentence, *words in (
        ("Say --yes", "--entity", "Initech"),
        (one_of,),
        (one_of, "--entity", "Initech", "--tenant", "--yes"),
    ):
        code, said = await _command(play, *words)
        assert (code, sentence in said) == (1, True)
    assert await memory.memories.list_forget_requests(DEFAULT_TENANT) == []


_TEXT = "Pay invoice INV-7 of Initech Ltd"
_WITHOUT_ZONE = datetime(2026, 1, 1)  # as a row that another system wrote may have it


@pytest.mark.promise("knowledge.paid_once")
async def test_no_model_is_asked_again_and_again_for_facts_that_cannot_be_kept(redis: Redis) -> None:
    """The list that facts go to is none any more: the task is read once, and done without."""
    stage = MemoryStage(redis)
    names = keys.learned_keys("acme")
    await redis.set(names.knowledge, "spoiled")
    await stage.takes_in(an_outcome_of(_TEXT))
    assert len(stage.facts.asked) == 1
    assert not await redis.exists(names.fact_todos, keys.OPEN_FACT_SEARCHES)
    assert (await redis.hmget(names.memory, ["facts_given_up"])) == ["1"]  # type: ignore[misc]  # redis-py


@pytest.mark.promise("knowledge.paid_once")
async def test_whatever_breaks_over_a_tasks_facts_breaks_once(redis: Redis) -> None:
    class Breaks(RedisFactRepository):
        async def read_facts(self, tenant: str) -> KnownFacts:
            raise TypeError(tenant)

    stage = MemoryStage(redis)
    worker = FactWorker(Breaks(redis), stage.facts, TenantBudgets(RedisSpend(redis), RedisTenantRecords(redis)))
    await leave(redis, [an_outcome_of(_TEXT)])
    await stage.remembers()
    while await worker.search_next_tasks(datetime.now(UTC)):
        pass
    assert (len(stage.facts.asked), worker.counts.failed) == (1, 1)
    assert not await redis.exists(keys.OPEN_FACT_SEARCHES)


@pytest.mark.promise("memory.beside")
async def test_a_row_that_cannot_be_reckoned_with_holds_up_nobody_else(redis: Redis) -> None:
    """An entity whose first time has no zone compares with no other time."""
    stage = MemoryStage(redis)
    spoiled = KnownEntity(
        kind="vendor", value="Initech Ltd", seen=1, first_seen=_WITHOUT_ZONE, last_seen=datetime.now(UTC)
    )
    entities = keys.learned_keys("acme").entities
    await cast("object", redis.hset(entities, "vendor:initech", spoiled.model_dump_json()))  # type: ignore[misc]
    await leave(redis, [an_outcome_of(_TEXT, 1), an_outcome_of(_TEXT, 2, "other")])
    await stage.remembers()
    assert (await stage.entities("other"))["Initech Ltd"] == 1
    assert stage.rememberer.counts.passed == 1


@pytest.mark.promise("knowledge.fair")
async def test_facts_are_found_in_the_order_in_which_tasks_ended(redis: Redis) -> None:
    """Not in that of tenants' names: the first in the alphabet would be the only one whose facts are found."""
    lore, book = RedisKnowledge(redis), RedisFactRepository(redis)
    await lore.queue_searches("zeta", ["1"])
    await redis.zincrby(
        keys.OPEN_FACT_SEARCHES, -10, keys.pack_member(keys.FactSearchMember("zeta", "1"))
    )  # ten milliseconds before
    await lore.queue_searches("acme", ["1"])
    await lore.queue_searches("zeta", ["1"])
    assert await book.claim_tasks_to_search(2, 60.0) == [("zeta", "1"), ("acme", "1")]


@pytest.mark.promise("forget.late")
async def test_what_came_before_a_request_is_told_by_one_clock(redis: Redis) -> None:
    """The gateway's clock is behind: an outcome that waits to be learned is of before the request all the same."""
    stage = MemoryStage(redis)
    await leave(redis, [an_outcome_of(_TEXT)])
    asked = ForgetRequest(
        request_id="r-late",
        tenant="acme",
        scope=ForgetScope.ENTITY,
        subject="Initech",
        asked_by="olga",
        asked_at=datetime(2026, 1, 1, tzinfo=UTC),
    )
    await stage.memories.submit_forget_request(asked)
    assert (await stage.goes_on(asked)).state is ForgetState.WORKING


@pytest.mark.promise("forget.bounded")
async def test_of_requests_that_are_done_the_newest_are_kept(redis: Redis) -> None:
    stage = MemoryStage(redis)
    name = keys.learned_keys("acme").forgets
    begun = datetime(2026, 1, 1, tzinfo=UTC)
    for number in range(REQUESTS_KEPT + 5):
        request = ForgetRequest(
            request_id=f"r-{number:03}",
            tenant="acme",
            scope=ForgetScope.ENTITY,
            subject="",
            asked_by="olga",
            asked_at=begun + timedelta(minutes=number),
            state=ForgetState.DONE if number != 1 else ForgetState.WORKING,
        )
        await cast("object", redis.hset(name, request.request_id, request.model_dump_json()))  # type: ignore[misc]
    await stage.forget(ForgetScope.ENTITY, "Initech")
    kept = sorted(await redis.hkeys(name))  # type: ignore[misc]
    assert len(kept) == REQUESTS_KEPT + 1
    assert kept[:2] == ["r-001", "r-006"]
    assert "r-entity" in kept


_ABOUT_INITECH = "Pay invoice INV-7 of Initech Ltd with the help of Globex Ltd"
_ABOUT_GLOBEX = "Ask Globex Ltd about INV-9"
_OF_GLOBEX = TERMS.model_copy(
    update={"subject": "Globex Ltd", "value": "net 60", "text": "Globex Ltd pays within 60 days."}
)


async def _filled_of(redis: Redis) -> MemoryStage:
    """One task of each of two sessions, about Initech and Globex, and about Globex alone."""
    stage = MemoryStage(redis, lambda said: [TERMS] if "Initech" in str(said["task"]) else [_OF_GLOBEX])
    await leave(redis, [an_outcome_of(_ABOUT_INITECH, 1, session="s1"), an_outcome_of(_ABOUT_GLOBEX, 2, session="s2")])
    await _caught_up(stage)
    return stage


async def _caught_up(stage: MemoryStage) -> None:
    await stage.learns()
    await stage.remembers()
    await stage.finds_facts()


async def _kept(redis: Redis, tenant: str = "acme") -> str:
    """Everything that is stored of a tenant's learning, but requests to forget."""
    names = keys.learned_keys(tenant)
    lists = [await cast("list[str]", redis.lrange(name, 0, -1)) for name in (names.cases, names.knowledge)]  # type: ignore[misc]
    hashes = [await redis.hgetall(name) for name in (names.entities, names.entity_links, names.fact_todos)]  # type: ignore[misc]
    return f"{lists} {hashes} {await redis.zrange(names.entity_ages, 0, -1)}"


@pytest.mark.promise("forget.gone")
@pytest.mark.parametrize("written", ["Initech", "initech ltd", "Initech Ltd."])
async def test_an_entity_is_forgotten_however_it_is_written(redis: Redis, written: str) -> None:
    stage = await _filled_of(redis)
    request = await stage.forget(ForgetScope.ENTITY, written)
    assert (request.state, request.subject) == (ForgetState.DONE, "")
    assert request.removed == {"cases": 1, "facts": 1, "entities": 1}
    assert "initech" not in (await _kept(redis)).lower()
    assert await stage.entities() == {"Globex Ltd": 2, "INV-7": 1, "INV-9": 1}


@pytest.mark.promise("forget.gone")
async def test_a_session_is_forgotten_and_what_others_taught_stays(redis: Redis) -> None:
    stage = await _filled_of(redis)
    session = keys.session_keys("acme", "s1")
    await redis.hset(session.session, mapping={"owner": "casey", "state": "{}"})  # type: ignore[misc]  # redis-py
    request = await stage.forget(ForgetScope.SESSION, "s1")
    assert request.removed == {"cases": 1, "facts": 1, "entities": 2, "entities_less": 1, "conversations": 1}
    assert await stage.entities() == {"Globex Ltd": 1, "INV-9": 1}
    assert await stage.texts() == [_OF_GLOBEX.text]
    assert "s1" not in await _kept(redis)
    assert await redis.hgetall(session.session) == {"owner": "casey"}  # type: ignore[misc]  # redis-py


@pytest.mark.promise("forget.gone")
@pytest.mark.parametrize("session", ["s1", "s2"])
async def test_a_contradicting_fact_of_another_session_quotes_the_forgotten_one_no_more(
    redis: Redis, session: str
) -> None:
    later = TERMS.model_copy(update={"value": "net 90", "text": "Initech Ltd pays within 90 days."})
    told = {"s1": TERMS, "s2": later}
    stage = MemoryStage(redis, lambda said: [later if "late" in str(said["task"]) else TERMS])
    outcomes = [an_outcome_of("Pay Initech Ltd", 1), an_outcome_of("Pay Initech Ltd late", 2, session="s2")]
    await stage.takes_in(*outcomes)
    await stage.forget(ForgetScope.SESSION, session)
    (fact,) = (await stage.memories.read_memory("acme")).facts
    assert fact.text != told[session].text
    assert (fact.is_current, fact.replaces, fact.superseded_by) == (True, "", "")


async def test_a_session_that_is_being_worked_on_keeps_its_own_memory_and_that_is_said(redis: Redis) -> None:
    stage = await _filled_of(redis)
    session = keys.session_keys("acme", "s1")
    await redis.hset(session.session, "state", "{}")  # type: ignore[misc]  # redis-py
    await redis.sadd(session.open, "t9")  # type: ignore[misc]  # redis-py
    request = await stage.forget(ForgetScope.SESSION, "s1")
    assert "conversation" in request.left
    assert "conversations" not in request.removed


@pytest.mark.promise("forget.gone")
async def test_a_tenant_is_forgotten_and_no_other(redis: Redis) -> None:
    stage = await _filled_of(redis)
    await leave(redis, [an_outcome_of(_ABOUT_GLOBEX, 1, "other")])
    await _caught_up(stage)
    before = await _kept(redis, "other")
    request = await stage.forget(ForgetScope.TENANT)
    assert request.removed == {"cases": 2, "facts": 2, "entities": 4, "arms": 2}
    left = {name.rpartition(":")[2] for name in await redis.keys("pa:{t:acme}*")}
    assert left == {"applied", "remembered", "memory", "forgets"}
    assert await _kept(redis, "other") == before
    assert (await stage.memories.read_memory("acme")).facts == ()


@pytest.mark.promise("forget.late")
@pytest.mark.parametrize("scope", [ForgetScope.ENTITY, ForgetScope.SESSION, ForgetScope.TENANT])
async def test_an_outcome_under_way_brings_nothing_back(redis: Redis, scope: ForgetScope) -> None:
    """The request is not done before what was there when it was made has been learned, and is gone again."""
    stage = await _filled_of(redis)
    await leave(redis, [an_outcome_of(_ABOUT_INITECH, 3, session="s1")])
    subject = {ForgetScope.ENTITY: "Initech", ForgetScope.SESSION: "s1"}.get(scope, "")
    request = await stage.forget(scope, subject)
    assert request.state is ForgetState.WORKING
    await _caught_up(stage)
    assert "Initech" in await _kept(redis)
    await redis.zadd(
        keys.OPEN_FORGET_REQUESTS, {keys.pack_member(keys.ForgetRequestMember("acme", request.request_id)): 0}
    )
    request = await stage.goes_on(request)
    assert request.state is ForgetState.DONE
    assert "Initech" not in await _kept(redis)
    assert await redis.zcard(keys.OPEN_FORGET_REQUESTS) == 0


@pytest.mark.promise("forget.late")
async def test_facts_that_were_being_found_are_not_stored_any_more(redis: Redis) -> None:
    """The model is asked, and answers, while somebody has all of it forgotten."""
    stage = MemoryStage(redis)
    await leave(redis, [an_outcome_of(_ABOUT_INITECH)])
    await stage.remembers()
    await stage.learns()
    await stage.forget(ForgetScope.ENTITY, "Initech")
    await stage.finds_facts()
    assert (stage.facts.asked, await stage.texts()) == ([], [])


@pytest.mark.promise("forget.gone")
async def test_forgetting_twice_removes_nothing_more(redis: Redis) -> None:
    stage = await _filled_of(redis)
    await stage.forget(ForgetScope.ENTITY, "Initech")
    before = await _kept(redis)
    await redis.delete(keys.learned_keys("acme").forgets)
    request = await stage.forget(ForgetScope.ENTITY, "Initech")
    assert (request.state, request.removed) == (ForgetState.DONE, {})
    assert await _kept(redis) == before
