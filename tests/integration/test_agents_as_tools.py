"""A remote A2A agent in a tenant's connections: its skills are tools, its questions are a person's to answer."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest
from google.protobuf.json_format import MessageToDict
from pydantic import JsonValue
from redis.asyncio import Redis
from typing_extensions import override

from services.executor.adapters.tool_servers import open_servers
from services.executor.core.session.context import Limits, Ports
from services.executor.core.states.prompts import load_prompts
from services.executor.core.turn.worker import Worker
from services.executor.ports.services import FileReadResult
from services.executor.ports.tools import AGENT_NEVER_GOT_MESSAGE, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.ledger import LedgerEntry
from shared.contracts.task import Principal, SentFile, TaskRecord, Turn, TurnKind
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.exact_json import JsonObject
from shared.domain.outgoing import AllowedAddresses
from shared.domain.words import TaskState, ToolClass
from shared.infra.task_store import TaskStore
from shared.ports.archive import ArchiveUnavailable
from tests.demanding import showing
from tests.doubles.memory_turns import Died
from tests.doubles.redis_tasks import a_turn
from tests.doubles.remote_agent import QUESTION, SKILL, RemoteAgent, card_at, remote_agent
from tests.doubles.sent_files import image_of
from tests.integration.state_stage import accepted, begin_next, sessions_of
from tests.integration.test_connections_with_credentials import kept
from tests.scripted_agent import scripted_agent
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, cancel, deadline, message
from tests.unit.executor.test_files import ToldFiles, first_text

_TASK = "Ship the goods of weight 2"
_SECONDS = 20.0
_PAGE = Path(__file__).parents[2] / "docs" / "connections.md"
GENERATIONS = pytest.mark.parametrize("version", ["1.0", "0.3"])
pytestmark = pytest.mark.promise("tools.agents")


class AgentStage(Stage):
    """The worker of other tests, whose tenant has a real agent as its only connection."""

    def __init__(self, servers: ToolServers, url: str, says: str, data: JsonObject | None = None) -> None:
        super().__init__(_TASK)
        self._real = servers
        self.talk.rounds = [[], [(SKILL, {"message": says, **({"data": data} if data else {})})]]
        self.talk.answer = "The goods are shipped."
        self.limits = Limits(tool_seconds=20.0, settle_margin_seconds=0.0)
        self.tenants.record = TenantRecord(id="acme", unruled_writes="allow", connections=(a_connection(url),))

    @property
    @override
    def worker(self) -> Worker:
        ports = Ports(self.model, self._real, self.policy, self.tenants, self.learned, self.daily)
        return Worker(ports._replace(files=self.files), self.limits, load_prompts())

    @property
    def write(self) -> LedgerEntry:
        (entry,) = self.turns.writes.values()
        return entry


def a_connection(url: str, **more: object) -> Connection:
    return Connection.model_validate({"id": "shipper", "url": url, "protocol": "a2a", **more})


@asynccontextmanager
async def _stage(
    agent: RemoteAgent, says: str, version: str = "1.0", data: JsonObject | None = None
) -> AsyncIterator[AgentStage]:
    async with remote_agent(agent, version) as url, open_servers(AllowedAddresses()) as servers:
        yield AgentStage(servers, url, says, data)


@GENERATIONS
async def test_each_skill_is_a_tool_that_changes_something_until_the_catalogue_says_otherwise(version: str) -> None:
    reads = {SKILL: CatalogueEntry(tool_class=ToolClass.READ)}
    async with remote_agent(RemoteAgent(), version) as url, open_servers(AllowedAddresses()) as servers:
        (tool,) = await servers.discover(a_connection(url))
        (read,) = await servers.discover(a_connection(url, catalogue=reads))
    assert (tool.name, tool.tool_class, tool.is_skill) == (SKILL, ToolClass.CHANGE, True)
    assert '"Shipping: Ships goods."' in tool.description
    assert read.tool_class is ToolClass.READ


@GENERATIONS
async def test_the_result_is_what_the_agents_task_made(version: str) -> None:
    agent = RemoteAgent()
    async with _stage(agent, "three parcels", version, {"weight": 2}) as stage:
        record = await stage.run()
    assert (record.state, record.reason) == (TaskState.COMPLETED, None)
    assert json.loads(stage.write.result_json or "") == {"text": "done: three parcels", "data": [{"parcels": 3}]}
    ((message_id, _, _, _),) = agent.heard
    assert (message_id, len(agent.data)) == (stage.write.key, 1)


async def test_a_session_keeps_its_context_and_no_other_session_or_tenant_shares_it() -> None:
    agent = RemoteAgent()
    async with remote_agent(agent) as url, open_servers(AllowedAddresses()) as servers:
        for tenant, session in (("acme", "one"), ("acme", "one"), ("acme", "two"), ("globex", "one")):
            stage = AgentStage(servers, url, "parcels")
            owner = {"tenant": tenant, "session_id": session}
            stage.turns.record = stage.turns.record.model_copy(update=owner)
            await stage.run()
    first, again, *others = [context for _, _, context, _ in agent.heard]
    assert first == again
    assert len({first, *others}) == 3


@GENERATIONS
async def test_a_question_of_the_agent_is_answered_by_the_requester_in_the_same_task(version: str) -> None:
    agent = RemoteAgent()
    async with _stage(agent, "ask me", version) as stage:
        asked = await stage.run()
        assert (asked.state, stage.statuses) == (TaskState.INPUT_REQUIRED, ["asked"])
        assert QUESTION in (asked.answer or "")
        record = await stage.run(message("by rail", "turn-2"))
    assert (record.state, record.reason) == (TaskState.COMPLETED, None)
    (_, _, context, task), (message_id, said, same_context, same_task) = agent.heard
    assert (said, same_context, same_task) == ("by rail", context, task)
    assert message_id == f"{stage.write.key}-1"
    assert "done: by rail" in (stage.write.result_json or "")
    assert (await replayed(stage)).is_same


@pytest.mark.promise("files.shown")
async def test_a_file_that_comes_with_the_answer_reaches_the_conversation() -> None:
    """Its task may be replayed from its journal like any other."""
    async with _stage(RemoteAgent(), "ask me") as stage:
        stage.talk.rounds.append([(SKILL, {"message": "three parcels"})])
        stage.files = ToldFiles(
            FileReadResult(name="waybill.txt", media_type="text/plain", text="by rail, platform nine")
        )
        await stage.run()
        sent = (SentFile(file_id="0", name="waybill.txt"),)
        record = await stage.run(message("see the waybill", "turn-2").model_copy(update={"files": sent}))
    assert (record.state, record.later_files) == (TaskState.COMPLETED, sent)
    shown = ["by rail, platform nine" in first_text(request) for request in stage.model.requests]
    assert (shown[0], shown[-1]) == (False, True)
    assert (await replayed(stage)).is_same


@GENERATIONS
async def test_files_and_data_of_an_answer_reach_the_agent(version: str) -> None:
    agent = RemoteAgent()
    parts: list[dict[str, JsonValue]] = [
        {"text": "by rail, as in"},
        {"data": {"platform": 9, "gate": None}},
        {"fileId": "0", "filename": "waybill.jpg", "mediaType": "image/jpeg"},
    ]
    async with _stage(agent, "ask me", version) as stage:
        stage.files = ToldFiles(FileReadResult(name="waybill.jpg"))
        await stage.run()
        sent = (SentFile(file_id="0", name="waybill.jpg"),)
        turn = message("by rail, as in", "turn-2").model_copy(update={"files": sent, "parts": tuple(parts)})
        record = await stage.run(turn)
        assert (await replayed(stage)).is_same
    assert record.state is TaskState.COMPLETED
    assert "by rail" in agent.heard[1][1]
    assert [MessageToDict(one) for one in agent.data] == [{"platform": 9, "gate": None}]
    assert agent.files == [("waybill.jpg", image_of())]


class FilesAway(ToldFiles):
    @override
    async def get_content(self, tenant: str, name: str) -> bytes | None:
        raise ArchiveUnavailable("the archive is down")


@pytest.mark.promise("tools.agents")
async def test_an_answer_does_not_go_out_without_its_file_while_the_archive_is_away() -> None:
    agent = RemoteAgent()
    async with _stage(agent, "ask me") as stage:
        stage.files = FilesAway(FileReadResult(name="waybill.jpg"))
        await stage.run()
        heard = len(agent.heard)
        turn = message("as in", "turn-2").model_copy(
            update={
                "files": (SentFile(file_id="0", name="waybill.jpg"),),
                "parts": ({"text": "as in"}, {"fileId": "0", "filename": "waybill.jpg"}),
            }
        )
        record = await stage.run(turn)
    assert (record.state, len(agent.heard)) == (TaskState.INPUT_REQUIRED, heard)  # an operator decides, as of any doubt
    assert "the archive is down" in str(record.metadata["writes"])


async def test_a_question_is_stored_and_another_executor_hands_on_the_answer(
    redis: Redis, task_store: TaskStore
) -> None:
    agent = RemoteAgent()
    async with _stage(agent, "ask me") as stage:
        record = await accepted(task_store, text=_TASK)
        asked = await _work_off(redis, task_store, stage, record, "one")
        word = a_turn(record, TurnKind.DECISION, "approve", by=Principal(id="stranger"))
        assert await task_store.signal("acme", "s1", word)
        refused = await _work_off(redis, task_store, stage, record, "two")
        await task_store.accept(record, a_turn(record, text="by rail"), dedupe=None)
        ended = await _work_off(redis, task_store, stage, record, "three")
    states = [one.state for one in (asked, refused, ended)]
    assert states == [TaskState.INPUT_REQUIRED, TaskState.INPUT_REQUIRED, TaskState.COMPLETED]
    assert [text for _, text, _, _ in agent.heard] == ["ask me", "by rail"]


async def test_the_turn_that_was_asked_in_is_no_answer_when_it_is_tried_again() -> None:
    agent = RemoteAgent()
    async with _stage(agent, "ask me") as stage:
        await stage.run()
        await stage.run(attempts=2)
        assert (stage.turns.record.state, len(agent.heard)) == (TaskState.INPUT_REQUIRED, 1)


@GENERATIONS
@pytest.mark.parametrize(
    ("says", "why"), [("fail", "lorry"), ("reject", "not my business"), ("auth", "authentication")]
)
async def test_an_agent_that_does_not_do_it_fails_the_call_with_its_reason(version: str, says: str, why: str) -> None:
    async with _stage(RemoteAgent(), says, version) as stage:
        record = await stage.run()
    assert (record.state, stage.statuses) == (TaskState.FAILED, ["refused"])
    assert why in (stage.write.note or "")


async def test_an_agent_that_takes_its_time_is_looked_at_again_and_the_task_rests_meanwhile() -> None:
    agent = RemoteAgent()
    async with _stage(agent, "slow parcels") as stage:
        stage.limits = stage.limits._replace(tool_seconds=0.5)
        resting = await stage.run()
        assert (resting.state, stage.statuses) == (TaskState.WORKING, ["sending"])
        agent.go_on.set()
        timer = stage.turns.ends[-1].timer
        assert timer is not None
        stage.turns.ahead = timedelta(seconds=5)
        record = await stage.run(_due(timer.subject))
    assert (record.state, len(agent.heard)) == (TaskState.COMPLETED, 1)


async def test_a_cancel_stops_the_agent_that_asks_is_at_work_or_has_not_heard_the_answer() -> None:
    for says, answers in (("ask me", False), ("slow parcels", False), ("ask me", True)):
        agent = RemoteAgent()
        async with _stage(agent, says) as stage:
            stage.limits = stage.limits._replace(tool_seconds=0.5)
            await stage.run()
            if answers:
                stage.turns.die_before = stage.turns.stored + 1
                with pytest.raises(Died):
                    await stage.run(message("by rail", "turn-2"))
                stage.turns.die_before = None
            record = await stage.run(cancel())
            agent.go_on.set()
        assert (record.state, stage.statuses, len(agent.stopped)) == (TaskState.CANCELED, ["in_doubt"], 1)


async def test_a_question_that_nobody_answers_ends_with_the_agent_stopped() -> None:
    """What it had done before it asked, nobody knows: an operator says so."""
    agent = RemoteAgent()
    async with _stage(agent, "ask me") as stage:
        await stage.run()
        timer = stage.turns.ends[-1].timer
        assert timer is not None
        stage.turns.ahead = timedelta(hours=25)
        record = await stage.run(_due(timer.subject))
    assert (record.state, stage.statuses, len(agent.stopped)) == (TaskState.INPUT_REQUIRED, ["in_doubt"], 1)


async def test_a_question_of_an_agent_that_is_no_connection_any_more_is_in_doubt_when_its_time_is_over() -> None:
    async with _stage(RemoteAgent(), "ask me") as stage:
        await stage.run()
        timer = stage.turns.ends[-1].timer
        assert timer is not None
        stage.tenants.record = stage.tenants.record.model_copy(update={"connections": ()})
        record = await stage.run(_due(timer.subject))
    assert (record.state, stage.statuses) == (TaskState.INPUT_REQUIRED, ["in_doubt"])


@pytest.mark.parametrize("was_taken", [True, False])
async def test_a_message_whose_answer_was_lost_is_found_again_and_else_sent_again(was_taken: bool) -> None:
    agent = RemoteAgent()
    async with _stage(agent, "parcels") as stage:
        stage.limits = stage.limits._replace(tool_seconds=1.0)
        agent.cut_next, agent.takes_cut = True, was_taken
        record = await stage.run()
    assert (record.state, len(agent.heard)) == (TaskState.COMPLETED, 1)
    assert "done: parcels" in (stage.write.result_json or "")


async def test_what_an_agent_of_the_older_generation_lost_is_in_doubt_and_not_sent_again() -> None:
    agent = RemoteAgent()
    async with _stage(agent, "parcels", "0.3") as stage:
        stage.limits = stage.limits._replace(tool_seconds=2.0)
        agent.cut_next = True
        record = await stage.run()
    assert (record.state, stage.statuses, len(agent.heard)) == (TaskState.INPUT_REQUIRED, ["in_doubt"], 1)


@pytest.mark.long
@GENERATIONS
async def test_a_process_that_dies_anywhere_gives_the_agent_no_message_twice(version: str) -> None:
    for step in range(1, 60):
        agent = RemoteAgent()
        async with _stage(agent, "ask me", version) as stage:
            stage.limits = stage.limits._replace(tool_seconds=0.3)
            stage.turns.die_before = step
            turn = None
            died = 0
            for _ in range(4):
                try:
                    record = await stage.run(turn, attempts=died + 1)
                except Died:
                    stage.turns.die_before, died = None, died + 1
                    continue
                if record.state is not TaskState.INPUT_REQUIRED or stage.statuses != ["asked"]:
                    break
                turn = message("by rail", "turn-2")
            ids = [message_id for message_id, _, _, _ in agent.heard]
        assert len(ids) == len(set(ids)) <= 2, step
        allowed = [TaskState.COMPLETED] if version == "1.0" else [TaskState.COMPLETED, TaskState.INPUT_REQUIRED]
        assert record.state in allowed, (step, record.reason, stage.write)
        if not died:
            return
    raise AssertionError("the task never went through without a death")


async def test_a_hostile_card_costs_a_bounded_amount_and_reaches_no_other_origin() -> None:
    cards = {
        "another origin": card_at("http://169.254.169.254", "1.0"),
        "a private address": card_at("http://10.0.0.1:9010", "1.0"),
    }
    for name, card in cards.items():
        agent = RemoteAgent()
        async with remote_agent(agent, card=card) as url, open_servers(AllowedAddresses()) as servers:
            await servers.discover(a_connection(url))
            with pytest.raises(ToolUnreachable, match="another origin"):
                await servers.call(a_connection(url), SKILL, {"message": name}, _SECONDS)
        assert agent.heard == []
    huge = card_at("http://x", "1.0", description="x" * 2_000_000)
    async with remote_agent(RemoteAgent(), card=huge) as url, open_servers(AllowedAddresses()) as servers:
        with pytest.raises(ToolSilent, match="larger than"):
            await servers.discover(a_connection(url))
    odd = card_at("http://x", "1.0", "../a b\n", 'say "yes" ' * 500)
    async with remote_agent(RemoteAgent(), card=odd) as url, open_servers(AllowedAddresses()) as servers:
        (tool,) = await servers.discover(a_connection(url))
    assert (tool.name, len(tool.description) < 1_300, tool.description.count('"')) == ("a_b", True, 2)


async def test_the_record_of_the_documentation_shows_the_agent_its_credential(tmp_path: Path) -> None:
    (told,) = [block for block in _PAGE.read_text("utf-8").split("```")[1::2] if '"a2a"' in block]
    agent, secrets = RemoteAgent(), kept(tmp_path / "secrets", "shipper-secret-1", "shipper-token")
    async with remote_agent(agent) as url, showing(secrets) as servers:
        example = TenantRecord.model_validate_json(told.removeprefix("json")).connections[0]
        connection = example.model_copy(update={"url": url})
        (tool,) = await servers.discover(connection)
        await servers.call(connection, tool.name, {"message": "parcels"}, _SECONDS)
    assert (tool.name, tool.catalogue.idempotency_field) == (SKILL, "message_id")
    assert {headers.get("authorization") for headers in agent.headers} == {"Bearer shipper-secret-1"}


async def test_another_gateway_of_ours_is_an_agent_like_any_other() -> None:
    async with scripted_agent() as agent, open_servers(AllowedAddresses()) as servers:
        connection = a_connection(agent.url)
        tool = (await servers.discover(connection))[0]
        sent: JsonObject = {"message": "hello", "message_id": "tck-artifact-text-1"}
        answer = await servers.call(connection, tool.name, sent, _SECONDS, "s")
        again = await servers.ask_outcome(connection, sent, _SECONDS, "s")
        never = await servers.ask_outcome(connection, {**sent, "message_id": "tck-nothing"}, _SECONDS, "s")
        asked = await servers.call(
            connection, tool.name, {"message": "hm", "message_id": "tck-input-required-1"}, _SECONDS, "s"
        )
    assert str(answer.content).startswith("a text of the scripted worker")
    assert (again, never) == (answer, AGENT_NEVER_GOT_MESSAGE)
    assert asked.unfinished is not None
    assert "what else" in asked.unfinished.question


async def _work_off(redis: Redis, store: TaskStore, stage: AgentStage, record: TaskRecord, owner: str) -> TaskRecord:
    """Every turn that waits in the session, by one executor that then lets the session go."""
    sessions = sessions_of(redis, owner)
    while (lease := await sessions.claim("acme", "s1")) is not None:
        taken = await begin_next(sessions, lease)
        await stage.worker.run(taken.work, taken.store)
    now = await store.get_record(record.tenant, record.task_id)
    assert now is not None
    return now


def _due(subject: str) -> Turn:
    turn = deadline("turn-due")
    return turn.model_copy(update={"data": {"subject": subject}})
