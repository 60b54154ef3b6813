"""Assessments that this worker takes part in, as they are kept in Redis."""

from datetime import UTC, datetime

import pytest
from cryptography.fernet import Fernet
from redis.asyncio import Redis

from services.gateway.features.participation.service import BegunByOther, NoKey, Participation
from services.gateway.features.participation.store import RedisParticipations
from services.gateway.parts.worlds import find_world
from services.gateway.settings import GatewaySettings
from services.gateway.worlds.calls import BridgedWorld
from shared.contracts.learning_files import ForgetScope
from shared.infra.keys import participant_key, participation_key
from shared.infra.starting import CannotStart, read_settings
from tests.integration.memory_stage import MemoryStage

OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _beginning(assessment: str = "a1", caller: str = "green", session: str = "s1") -> Participation:
    return Participation(
        assessment=assessment,
        session_id=session,
        caller=caller,
        ues_url="http://127.0.0.1:8080",
        since=NOON,
        first=NOON,
    )


@pytest.mark.promise("participant.key_sealed")
async def test_what_an_older_key_sealed_is_opened_until_that_key_is_dropped(redis: Redis) -> None:
    begun = await RedisParticipations(redis, [OLD]).begin("acme", _beginning(), "the-key")

    assert RedisParticipations(redis, [NEW, OLD]).key_of(begun) == "the-key"
    with pytest.raises(NoKey, match="ASSESSMENT_KEY"):
        RedisParticipations(redis, [NEW]).key_of(begun)


@pytest.mark.promise("participant.key_sealed")
def test_a_key_that_is_none_stops_the_start_and_is_not_told() -> None:
    with pytest.raises(CannotStart, match="ASSESSMENT_KEY cannot be used") as refused:
        read_settings(GatewaySettings, redis_url="redis://x", profile="embedded", assessment_key=f"{OLD},guess-me")

    assert "guess-me" not in str(refused.value)


@pytest.mark.promise("participant.walls")
async def test_the_latest_is_the_callers_own_and_of_its_tenant(redis: Redis) -> None:
    kept = RedisParticipations(redis, [NEW])
    await kept.begin("acme", _beginning(), "the-key")
    latest = await kept.begin("acme", _beginning("a2", session="s2"), "the-key")

    assert await kept.latest("acme", "green") == latest
    assert await kept.latest("acme", "other") is None
    assert await kept.latest("other", "green") is None
    assert await kept.find("other", "s1") is None
    with pytest.raises(BegunByOther):
        await kept.begin("acme", _beginning("a3", "other"), "the-key")


@pytest.mark.promise("participant.takes_over")
async def test_a_turn_has_the_key_of_its_own_assessment_alone(redis: Redis) -> None:
    """Also where the next one of the session has the same address: its world is another's by then."""
    kept = RedisParticipations(redis, [NEW])
    url = (await kept.begin("acme", _beginning(), "the-key")).ues_url
    before = await find_world(kept, "acme", "s1", "a1")
    await kept.begin("acme", _beginning("a2"), "the-key")

    assert before == BridgedWorld(url, "the-key")
    assert await find_world(kept, "acme", "s1", "a1") is None
    assert await find_world(kept, "acme", "s1", "a2") == BridgedWorld(url, "the-key")
    assert await find_world(kept, "other", "s1", "a2") is None


@pytest.mark.promise("participant.takes_over")
async def test_what_another_took_the_place_of_changes_nothing_more(redis: Redis) -> None:
    """A turn that was under way, or an end that comes late, is not the new one's."""
    kept = RedisParticipations(redis, [NEW])
    first = await kept.begin("acme", _beginning(), "the-key")
    second = await kept.begin("acme", _beginning("a2"), "the-key")

    assert not await kept.renew("acme", first, 7)
    await kept.drop("acme", first)
    assert await kept.find("acme", "s1") == second


@pytest.mark.promise("participant.turn")
async def test_a_beginning_that_is_sent_again_goes_on_and_each_turn_gives_it_another_day(redis: Redis) -> None:
    kept = RedisParticipations(redis, [NEW], seconds=100)
    first = await kept.begin("acme", _beginning(), "the-key")
    await redis.expire(participation_key("acme", "s1"), 5)
    await redis.expire(participant_key("acme", "green"), 5)

    assert await kept.renew("acme", first, 2)
    assert await kept.renew("acme", first, 1)
    again = await kept.begin("acme", _beginning(), "the-key")
    found = await kept.find("acme", "s1")
    assert found is not None
    assert (found.turns, found.assessment) == (2, again.assessment)
    assert min(await redis.ttl(participation_key("acme", "s1")), await redis.ttl(participant_key("acme", "green"))) > 90


@pytest.mark.promise("participant.ends")
async def test_a_session_that_is_forgotten_takes_its_assessment_with_it(redis: Redis) -> None:
    kept = RedisParticipations(redis, [NEW])
    await kept.begin("acme", _beginning(), "the-key")

    request = await MemoryStage(redis, lambda _: []).forget(ForgetScope.SESSION, "s1")

    assert request.removed == {"conversations": 1}
    assert await kept.find("acme", "s1") is None
    assert await redis.keys("*participation*") == []
