"""A whole turn of an assessment: the worker, the rule-based planner, and a simulator in a process of its own."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from typing_extensions import override

from services.assessor.adapters.ues_server import UESServerManager
from services.assessor.core.permissions import USER_PERMISSIONS
from services.executor.adapters.ues_tools import UesTools, WorldKeys
from services.executor.core.prompts.texts import load
from services.executor.core.session.context import Ports
from services.executor.core.turn.walk import walk
from services.executor.core.turn.worker import Worker
from shared.contracts.assessment.messages import DEFAULT_ASSESSMENT_INSTRUCTIONS
from shared.contracts.participation import AssessedTurn
from shared.contracts.task import TaskRecord
from shared.domain.outgoing import tools_reach
from shared.domain.words import TaskState
from shared.infra.guard import Guard
from shared.infra.ues.client import AsyncUESClient
from tests.integration.planner_server import model_at, planner_server
from tests.unit.executor.stage import Stage, message

USER = "user@example.com"


class OneKey(WorldKeys):
    def __init__(self, key: str) -> None:
        self._key = key

    @override
    async def key_to(self, tenant: str, session_id: str, url: str, assessment: str) -> str | None:
        return self._key


@asynccontextmanager
async def simulator() -> AsyncIterator[AsyncUESClient]:
    server = UESServerManager()
    await server.start()
    try:
        async with AsyncUESClient(server.base_url, api_key=server.admin_key) as proctor:
            await proctor.simulation.start(auto_advance=False)
            yield proctor
    finally:
        await server.stop()


@pytest.mark.promise("participant.whole_turn")
async def test_what_the_user_asks_for_in_the_chat_is_done_in_the_world() -> None:
    async with simulator() as proctor, planner_server() as url, model_at(url) as model:
        for sender, subject in (("post@shop.example", "Our newsletter"), ("ann.lee@corp.example", "Lunch?")):
            await proctor.email.receive(from_address=sender, to_addresses=[USER], subject=subject, body_text="Hello.")
        await proctor.chat.send("user", "Archive newsletters. Star mail from Ann Lee.", "user-assistant")
        key = await proctor.keys.create("the one measured", USER_PERMISSIONS)
        stage, guard = Stage(DEFAULT_ASSESSMENT_INSTRUCTIONS), Guard(tools_reach((), loopback=True))
        stage.turns.record = await _assessed(stage.turns.record, proctor)
        async with UesTools(OneKey(key.secret), guard) as tools:
            ports = Ports(model, tools, stage.policy, stage.tenants, stage.learned, stage.daily)
            worker = Worker(ports, stage.limits._replace(tool_seconds=5.0), load(), walk)
            await worker.run(stage.turns.work(message(DEFAULT_ASSESSMENT_INSTRUCTIONS)), stage.turns)

        mails = (await proctor.email.get_state()).emails.values()

    assert stage.turns.record.state is TaskState.COMPLETED
    assert {(mail.subject, mail.folder, mail.is_starred) for mail in mails} == {
        ("Our newsletter", "archive", False),
        ("Lunch?", "inbox", True),
    }
    assert stage.statuses == ["verified", "verified"]
    assert [one.data["message_type"] for one in stage.turns.record.artifacts if one.data] == ["early_completion"]


async def _assessed(record: TaskRecord, proctor: AsyncUESClient) -> TaskRecord:
    now = (await proctor.time.get_state()).current_time
    turn = AssessedTurn(ues_url=proctor.base_url, turn_number=1, current_time=now)
    return record.model_copy(update={"request": record.request.model_copy(update={"assessment": turn})})
