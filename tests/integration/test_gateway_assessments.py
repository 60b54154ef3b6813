"""Assessments at a gateway, kept and taken part in: who may, who sees them, how much, and what pages tell of them."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import httpx
import pytest
from cryptography.fernet import Fernet
from redis.asyncio import Redis

from cli.assess.command import upload_assessment
from cli.console import CommandError
from cli.stack.registry import RunningStack, register_stack
from services.gateway.edge.errors import InvalidField, NotFound
from services.gateway.features.assessments import AssessmentRepository, KeptAssessment
from services.gateway.features.console.sessions import derive_form_token
from services.gateway.features.identity.model import Caller
from services.gateway.features.participation import (
    BegunByAnotherCaller,
    OpenAssessment,
    OpenAssessments,
    UndecryptableKey,
)
from services.gateway.parts.worlds import find_world
from services.gateway.settings import GatewaySettings
from services.gateway.worlds.tool_calls import BridgedWorld
from shared.contracts.assessment.results import Assessment, build_assessment_summary
from shared.contracts.learning_files import ForgetScope
from shared.contracts.task import Principal
from shared.infra.keys import ASSESSMENT_SECONDS, assessment_keys, participant_key, participation_key
from shared.infra.starting import CannotStart, read_settings
from tests.http_client import open_http
from tests.integration.gateway_stage import Locked, Stage
from tests.integration.memory_stage import MemoryStage
from tests.integration.test_state_bad_rows import kind_of
from tests.kept_assessments import a_run, an_assessment

PLACE = "/console/learning/assessments"
ANN = Caller("acme", Principal(id="ann"))  # unverified, who sees all of the tenant's


class Scene(NamedTuple):
    play: Stage
    tokens: dict[str, str]

    async def keep(self, who: str, assessment: Assessment) -> httpx.Response:
        body = {"assessment": assessment.model_dump(mode="json")}
        return await self.play.client.post("/assessments", json=body, headers=self.key(who))

    async def get(self, who: str, path: str) -> httpx.Response:
        return await self.play.client.get(path, headers=self.key(who))

    def key(self, who: str) -> dict[str, str]:
        return {"X-API-Key": self.tokens[who]}


@pytest.fixture
async def scene(locked: Locked) -> Scene:
    dana = await locked.key("dana", roles=["approver"], levels=["manager"])
    casey, eve = [await locked.key(name) for name in ("casey", "eve")]
    return Scene(locked.play, {"olga": locked.operator, "casey": casey, "eve": eve, "dana": dana})


@pytest.mark.promise("console.assessments")
async def test_a_kept_assessment_is_read_back_by_whoever_kept_it_and_by_operators(scene: Scene) -> None:
    made = await scene.keep("casey", an_assessment())
    where = f"/assessments/{made.json()['assessment_id']}"

    read = {who: await scene.get(who, where) for who in scene.tokens}
    lists = {who: len((await scene.get(who, "/assessments")).json()["assessments"]) for who in scene.tokens}

    assert made.status_code == 201
    assert {who: one.status_code for who, one in read.items()} == {"casey": 200, "olga": 200, "eve": 404, "dana": 404}
    assert read["casey"].json()["assessment"] == an_assessment().model_dump(mode="json")
    assert lists == {"casey": 1, "olga": 1, "eve": 0, "dana": 0}


@pytest.mark.promise("console.assessments")
async def test_the_command_hands_one_over_and_is_told_its_page(
    scene: Scene, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without a URL the gateway is that of the stack that runs here."""
    monkeypatch.setenv("PURPLE_API_KEY", scene.tokens["casey"])
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with register_stack(RunningStack(scene.play.url, tmp_path)):
        page = await upload_assessment("", an_assessment())
    assert page == await upload_assessment(scene.play.url, an_assessment())
    monkeypatch.setenv("PURPLE_API_KEY", scene.tokens["dana"])

    with pytest.raises(CommandError, match="may not keep assessments"):
        await upload_assessment(scene.play.url, an_assessment())

    async with _signed_in(scene, "casey") as casey:
        shown = await casey.get(page)
    assert (shown.status_code, "Watch run 1" in shown.text) == (200, True)


@pytest.mark.promise("console.assessments")
async def test_what_is_kept_twice_is_kept_once(scene: Scene) -> None:
    first, again = [await scene.keep("casey", an_assessment()) for _ in range(2)]

    assert first.json() == again.json()
    assert len((await scene.get("casey", "/assessments")).json()["assessments"]) == 1


@pytest.mark.promise("console.assessments")
async def test_an_approver_may_not_keep_one_and_what_is_none_is_refused_by_its_field(scene: Scene) -> None:
    barred = await scene.keep("dana", an_assessment())
    wrong = await scene.play.client.post("/assessments", json={"assessment": {"name": "x"}}, headers=scene.key("casey"))

    assert (barred.status_code, "may not keep" in barred.json()["error"]) == (403, True)
    assert (wrong.status_code, wrong.json()["error"].split(":")[0]) == (400, "assessment.scenario")


@pytest.mark.promise("console.assessments")
@pytest.mark.parametrize("began", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
async def test_a_date_that_no_page_could_show_is_refused(scene: Scene, began: str) -> None:
    body = {"assessment": {**an_assessment().model_dump(mode="json"), "began": began}}

    answer = await scene.play.client.post("/assessments", json=body, headers=scene.key("casey"))

    assert (answer.status_code, "began" in answer.text) == (400, True)


@pytest.mark.promise("console.assessments")
async def test_a_date_without_a_zone_spoils_no_page(scene: Scene) -> None:
    """It is UTC; other agents' tools write such dates."""
    body = {"assessment": {**an_assessment().model_dump(mode="json"), "began": "2026-03-02T09:00:00"}}
    made = await scene.play.client.post("/assessments", json=body, headers=scene.key("casey"))
    async with _signed_in(scene, "casey") as casey:
        pages = [(await casey.get(path)).status_code for path in (PLACE, f"{PLACE}/{made.json()['assessment_id']}")]

    assert (made.status_code, pages) == (201, [200, 200])


@pytest.mark.promise("console.replay")
async def test_a_run_of_very_many_turns_is_shown_in_part_and_one_of_more_is_refused(scene: Scene) -> None:
    most, more = [an_assessment(runs=[a_run(turns_taken=9_999)]), an_assessment("other").model_dump(mode="json")]
    more["runs"][0]["results"]["turns_taken"] = 1_000_000
    made = await scene.keep("casey", most)
    refused = await scene.play.client.post("/assessments", json={"assessment": more}, headers=scene.key("casey"))
    async with _signed_in(scene, "casey") as casey:
        page = (await casey.get(f"{PLACE}/{made.json()['assessment_id']}/runs/1?turn=5000")).text

    assert refused.status_code == 400
    assert '<h2 id="turn-title">Turn 5000</h2>' in page
    assert ("Turn 4900" in page, "Turn 5100" in page, "Turn 9999" in page) == (True, True, False)


@pytest.mark.promise("console.assessments")
async def test_names_and_secrets_in_an_agents_address_are_not_kept(scene: Scene) -> None:
    secret = "http://ann:hunter2@agent.example:9010/a2a?key=hunter2"
    run = a_run(participant=secret, updates=[{"participant_url": secret}])

    made = await scene.keep("casey", an_assessment(agent=secret, runs=[run]))

    read = await scene.get("casey", f"/assessments/{made.json()['assessment_id']}")
    assert "hunter2" not in read.text
    assert read.json()["assessment"]["agent"] == "http://agent.example:9010/a2a"


@pytest.mark.promise("console.assessments")
async def test_a_tenant_keeps_so_many_for_so_long_and_none_that_is_too_large(redis: Redis) -> None:
    """The oldest leave; each key of it stands in the table and lives no longer than said."""
    store = AssessmentRepository(redis, most_kept=3)
    for number in range(5):
        one = an_assessment(f"n{number}")
        await store.write_assessment("acme", KeptAssessment(build_assessment_summary(f"id{number}", "casey", one), one))
    digits = "".join(f"{number * 7919:x}" for number in range(250_000))
    huge = an_assessment(agent="x", runs=[a_run(updates=[{"text": digits}])])

    with pytest.raises(InvalidField, match="too large"):
        await store.write_assessment("acme", KeptAssessment(build_assessment_summary("huge", "casey", huge), huge))

    assert [card.assessment_id for card in await store.list_summaries(ANN)] == ["id4", "id3", "id2"]
    with pytest.raises(NotFound):
        await store.get_assessment("id0", ANN)
    assert await store.list_summaries(ANN._replace(tenant="globex")) == ()
    for name in assessment_keys("acme"):
        assert kind_of(name).lifetime == "short"
        assert 0 < await redis.ttl(name) <= ASSESSMENT_SECONDS


@pytest.mark.promise("console.assessments")
async def test_what_another_version_wrote_is_left_out(redis: Redis) -> None:
    store, one = AssessmentRepository(redis), an_assessment()
    await store.write_assessment("acme", KeptAssessment(build_assessment_summary("good", "casey", one), one))
    await store.write_assessment("acme", KeptAssessment(build_assessment_summary("odd", "casey", one), one))
    await redis.hset(assessment_keys("acme").cards, "odd", "{}")  # type: ignore[misc]  # redis-py
    await redis.hset(assessment_keys("acme").bodies, "good", "!")  # type: ignore[misc]  # redis-py

    assert [card.assessment_id for card in await store.list_summaries(ANN)] == ["good"]
    for name in ("odd", "good"):
        with pytest.raises(NotFound):
            await store.get_assessment(name, ANN)


@asynccontextmanager
async def _signed_in(scene: Scene, who: str) -> AsyncIterator[httpx.AsyncClient]:
    async with open_http(base_url=scene.play.url, timeout=20, trust_env=False) as client:
        await client.get("/console/sign-in")
        form = derive_form_token(client.cookies["purple_console_form"])
        await client.post("/console/sign-in", data={"form": form, "key": scene.tokens[who]})
        yield client


@pytest.mark.promise("console.replay")
async def test_the_replay_tells_world_actions_and_time_of_each_turn(scene: Scene) -> None:
    """Server-rendered: every step is a page of its own; a turn that is not there is the nearest one."""
    made = await scene.keep("casey", an_assessment())
    place = f"{PLACE}/{made.json()['assessment_id']}/runs/1?turn="
    async with _signed_in(scene, "casey") as casey:
        start, first, last, beyond = [(await casey.get(f"{place}{turn}")).text for turn in (0, 1, 2, 99)]

    assert "The agent has not begun yet" in start
    for words in ("Re: Friday?", "Changed by the agent", "Changed by others", "+2", "<del>inbox</del>", "<ins>archive"):
        assert words in first, words
    for words in ("Ben Adler answered", "3 things happened", "2 further changes are not shown", "Email: query"):
        assert words in first, words
    for words in ("no such message", "Refused", "Failed", "no answer within 5 s", "Unjudged", "The invoice is in"):
        assert words in last, words
    assert 'rel="next"' in first
    assert 'rel="next"' not in last
    assert '<h2 id="turn-title">Turn 2</h2>' in beyond


@pytest.mark.promise("console.replay")
async def test_the_replay_tells_what_the_user_asks_for_and_what_the_agent_said(scene: Scene) -> None:
    made = await scene.keep("casey", an_assessment())
    place = f"{PLACE}/{made.json()['assessment_id']}/runs/1?turn="
    async with _signed_in(scene, "casey") as casey:
        start, first, last = [(await casey.get(f"{place}{turn}")).text for turn in (0, 1, 2)]

    assert "What the user asks for" in start
    assert "File the &lt;b&gt;invoice&lt;/b&gt;." in start
    assert "It is filed." in first
    assert "What the agent said" not in last  # it gave no answer


@pytest.mark.promise("console.replay")
async def test_results_of_an_assessor_that_tells_no_worlds_are_replayed_by_their_actions(scene: Scene) -> None:
    made = await scene.keep("casey", an_assessment(runs=[a_run(world=[], updates=[])]))
    async with _signed_in(scene, "casey") as casey:
        page = (await casey.get(f"{PLACE}/{made.json()['assessment_id']}/runs/1?turn=1")).text

    assert "did not tell how the world stood" in page
    assert "Email: send" in page


@pytest.mark.promise("console.assessments")
async def test_assessments_are_listed_and_whoever_sees_one_may_remove_it(scene: Scene) -> None:
    worse, _ = [(await scene.keep("casey", an_assessment(score=score))).json() for score in (25, 40)]
    kept = f"{PLACE}/{worse['assessment_id']}"
    async with _signed_in(scene, "casey") as casey:
        listed = (await casey.get(PLACE)).text
        form = derive_form_token(casey.cookies["purple_console"])
        gone = await casey.post(f"{kept}/remove", data={"form": form})
        after = await casey.get(kept)

    assert "pass^1 100 %" in listed
    assert "Not passed" in listed
    assert (gone.status_code, after.status_code) == (303, 404)
    assert "There is no assessment" in after.text


OLD, NEW = Fernet.generate_key().decode(), Fernet.generate_key().decode()
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


def _beginning(assessment: str = "a1", caller: str = "green", session: str = "s1") -> OpenAssessment:
    who = {"assessment": assessment, "session_id": session, "caller": caller}
    return OpenAssessment(**who, ues_url="http://127.0.0.1:8080", since=NOON, first=NOON)


@pytest.mark.promise("participant.key_sealed")
async def test_what_an_older_key_sealed_is_opened_until_that_key_is_dropped(redis: Redis) -> None:
    begun = await OpenAssessments(redis, [OLD]).begin_assessment("acme", _beginning(), "the-key")

    assert OpenAssessments(redis, [NEW, OLD]).decrypt_key(begun) == "the-key"
    with pytest.raises(UndecryptableKey, match="ASSESSMENT_KEY"):
        OpenAssessments(redis, [NEW]).decrypt_key(begun)


@pytest.mark.promise("participant.key_sealed")
def test_a_key_that_is_none_stops_the_start_and_is_not_told() -> None:
    with pytest.raises(CannotStart, match="ASSESSMENT_KEY cannot be used") as refused:
        read_settings(GatewaySettings, redis_url="redis://x", profile="embedded", assessment_key=f"{OLD},guess-me")

    assert "guess-me" not in str(refused.value)


@pytest.mark.promise("participant.walls")
async def test_the_latest_is_the_callers_own_and_of_its_tenant(redis: Redis) -> None:
    kept = OpenAssessments(redis, [NEW])
    await kept.begin_assessment("acme", _beginning(), "the-key")
    latest = await kept.begin_assessment("acme", _beginning("a2", session="s2"), "the-key")

    assert await kept.find_latest_assessment("acme", "green") == latest
    assert await kept.find_latest_assessment("acme", "other") is None
    assert await kept.find_latest_assessment("other", "green") is None
    assert await kept.find_assessment("other", "s1") is None
    with pytest.raises(BegunByAnotherCaller):
        await kept.begin_assessment("acme", _beginning("a3", "other"), "the-key")


@pytest.mark.promise("participant.takes_over")
async def test_a_turn_has_the_key_of_its_own_assessment_alone(redis: Redis) -> None:
    """Also where the next one of the session has the same address: its world is another's by then."""
    kept = OpenAssessments(redis, [NEW])
    url = (await kept.begin_assessment("acme", _beginning(), "the-key")).ues_url
    before = await find_world(kept, "acme", "s1", "a1")
    await kept.begin_assessment("acme", _beginning("a2"), "the-key")

    assert before == BridgedWorld(url, "the-key")
    assert await find_world(kept, "acme", "s1", "a1") is None
    assert await find_world(kept, "acme", "s1", "a2") == BridgedWorld(url, "the-key")
    assert await find_world(kept, "other", "s1", "a2") is None


@pytest.mark.promise("participant.takes_over")
async def test_what_another_took_the_place_of_changes_nothing_more(redis: Redis) -> None:
    """A turn that was under way, or an end that comes late, is not the new one's."""
    kept = OpenAssessments(redis, [NEW])
    first = await kept.begin_assessment("acme", _beginning(), "the-key")
    second = await kept.begin_assessment("acme", _beginning("a2"), "the-key")

    assert not await kept.begin_turn("acme", first, 7)
    await kept.delete_assessment("acme", first)
    assert await kept.find_assessment("acme", "s1") == second


@pytest.mark.promise("participant.turn")
async def test_a_beginning_that_is_sent_again_goes_on_and_each_turn_gives_it_another_day(redis: Redis) -> None:
    kept = OpenAssessments(redis, [NEW], seconds=100)
    first = await kept.begin_assessment("acme", _beginning(), "the-key")
    await redis.expire(participation_key("acme", "s1"), 5)
    await redis.expire(participant_key("acme", "green"), 5)

    assert await kept.begin_turn("acme", first, 2)
    assert await kept.begin_turn("acme", first, 1)
    again = await kept.begin_assessment("acme", _beginning(), "the-key")
    found = await kept.find_assessment("acme", "s1")
    assert found is not None
    assert (found.turns, found.assessment) == (2, again.assessment)
    assert min(await redis.ttl(participation_key("acme", "s1")), await redis.ttl(participant_key("acme", "green"))) > 90


@pytest.mark.promise("participant.ends")
async def test_a_session_that_is_forgotten_takes_its_assessment_with_it(redis: Redis) -> None:
    kept = OpenAssessments(redis, [NEW])
    await kept.begin_assessment("acme", _beginning(), "the-key")

    request = await MemoryStage(redis, lambda _: []).forget(ForgetScope.SESSION, "s1")

    assert request.removed == {"conversations": 1}
    assert await kept.find_assessment("acme", "s1") is None
    assert await redis.keys("*participation*") == []
