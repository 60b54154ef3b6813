"""What is to be forgotten is in no learned key any more, and nothing brings it back."""

from typing import cast

import pytest
from redis.asyncio import Redis

from services.learner.ports.memory import RawFact
from shared.contracts.learning_files import ForgetScope, ForgetState
from shared.infra import keys
from tests.integration.learner_stage import leave
from tests.integration.memory_stage import TERMS, MemoryStage, an_outcome_of

_ABOUT_INITECH = "Pay invoice INV-7 of Initech Ltd with the help of Globex Ltd"
_ABOUT_GLOBEX = "Ask Globex Ltd about INV-9"
_OF_GLOBEX = RawFact("Globex Ltd", "payment terms", "net 60", "Globex Ltd pays within 60 days.", 0.6)


async def _filled(redis: Redis) -> MemoryStage:
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
    stage = await _filled(redis)
    request = await stage.forget(ForgetScope.ENTITY, written)
    assert (request.state, request.subject) == (ForgetState.DONE, "")
    assert request.removed == {"cases": 1, "facts": 1, "entities": 1}
    assert "initech" not in (await _kept(redis)).lower()
    assert await stage.entities() == {"Globex Ltd": 2, "INV-7": 1, "INV-9": 1}


@pytest.mark.promise("forget.gone")
async def test_a_session_is_forgotten_and_what_others_taught_stays(redis: Redis) -> None:
    stage = await _filled(redis)
    session = keys.session_keys("acme", "s1")
    await redis.hset(session.session, mapping={"owner": "casey", "state": "{}"})  # type: ignore[misc]  # redis-py
    request = await stage.forget(ForgetScope.SESSION, "s1")
    assert request.removed == {"cases": 1, "facts": 1, "entities": 2, "entities_less": 1, "conversations": 1}
    assert await stage.entities() == {"Globex Ltd": 1, "INV-9": 1}
    assert await stage.texts() == [_OF_GLOBEX.text]
    assert "s1" not in await _kept(redis)
    assert await redis.hgetall(session.session) == {"owner": "casey"}  # type: ignore[misc]  # redis-py


async def test_a_session_that_is_being_worked_on_keeps_its_own_memory_and_that_is_said(redis: Redis) -> None:
    stage = await _filled(redis)
    session = keys.session_keys("acme", "s1")
    await redis.hset(session.session, "state", "{}")  # type: ignore[misc]  # redis-py
    await redis.sadd(session.open, "t9")  # type: ignore[misc]  # redis-py
    request = await stage.forget(ForgetScope.SESSION, "s1")
    assert "conversation" in request.left
    assert "conversations" not in request.removed


@pytest.mark.promise("forget.gone")
async def test_a_tenant_is_forgotten_and_no_other(redis: Redis) -> None:
    stage = await _filled(redis)
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
    stage = await _filled(redis)
    await leave(redis, [an_outcome_of(_ABOUT_INITECH, 3, session="s1")])
    subject = {ForgetScope.ENTITY: "Initech", ForgetScope.SESSION: "s1"}.get(scope, "")
    request = await stage.forget(scope, subject)
    assert request.state is ForgetState.WORKING
    await _caught_up(stage)
    assert "Initech" in await _kept(redis)
    await redis.zadd(keys.FORGETTING, {keys.pack(keys.ForgetMember("acme", request.request_id)): 0})
    request = await stage.goes_on(request)
    assert request.state is ForgetState.DONE
    assert "Initech" not in await _kept(redis)
    assert await redis.zcard(keys.FORGETTING) == 0


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
    stage = await _filled(redis)
    await stage.forget(ForgetScope.ENTITY, "Initech")
    before = await _kept(redis)
    await redis.delete(keys.learned_keys("acme").forgets)
    request = await stage.forget(ForgetScope.ENTITY, "Initech")
    assert (request.state, request.removed) == (ForgetState.DONE, {})
    assert await _kept(redis) == before
