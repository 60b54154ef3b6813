"""A stage whose task has begun as a process of a certain kind, whatever its words say: a task keeps its template."""

import json
from collections.abc import Mapping
from functools import partial

from services.executor.core.session.journal import Journal
from services.executor.core.states.machine import ProcessTemplate
from services.executor.ports.turns import TurnStore
from shared.contracts.task import Turn
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_talk import Call
from tests.unit.executor.stage import APPROVE, TASK, RealPolicy, Stage

NOTICE: tuple[str, JsonObject] = ("notify_person", {"text": "Claim C-1 is approved."})


async def begin(store: TurnStore, template: ProcessTemplate) -> None:
    """Leave what a worker leaves that has named the task's process and then died."""
    journal = Journal(store, (), (await store.get_stop_state()).now, 60)
    named = {"process_type": template.process_type, "by": "model", "template": template.model_dump(mode="json")}
    journal.add_entry("talk:process", "note", json.dumps(named))
    await journal.flush()


async def begun_as(template: ProcessTemplate, *calls: Call, text: str = TASK) -> Stage:
    """``calls`` are what its model proposes: one change and a notice of it by default."""
    stage = Stage(text)
    stage.talk.process = template.process_type
    stage.talk.rounds[1:] = [calls or (APPROVE, NOTICE)]
    await begin(stage.turns, template)
    return stage


async def judged(
    template: ProcessTemplate,
    text: str,
    reads: Mapping[str, Json],
    *calls: Call,
    strict: bool = False,
    trusts: bool = False,
) -> Stage:
    """The task after its run: the model read these, and makes these calls under the policy service's own rules."""
    stage = await begun_as(template, *calls, text=text)
    stage.policy = RealPolicy()
    stage.limits = stage.limits._replace(trusts_requests=trusts)
    stage.change_tenant(strict_processes=strict)
    for tool, shown in reads.items():
        stage.servers.add(tool, partial(_show, shown))
    for tool in {tool for tool, _ in calls}:
        stage.servers.add(tool, lambda _: {"ok": True}, ToolClass.CHANGE)
    stage.talk.rounds = [[(tool, {}) for tool in reads], calls, calls]  # again, where a notice is missed
    await stage.run()
    return stage


def _show(shown: Json, _given: JsonObject) -> Json:
    return shown


def made(stage: Stage) -> list[JsonObject]:
    """The arguments of the calls that changed something, in their order."""
    read = {tool for calls in stage.talk.rounds[:1] for tool, _ in calls}
    return [call.arguments for call in stage.servers.calls if call.tool not in read]


async def run_with_deaths(stage: Stage, turn: Turn) -> int:
    """The turn to its end, its process killed at every point, each attempt one stored thing later; how often it was."""
    for died in range(100):
        stage.turns.die_before = stage.turns.stored + died
        try:
            await stage.run(turn, attempts=died + 1)
        except Died:
            continue
        finally:
            stage.turns.die_before = None
        return died
    raise AssertionError("the turn does not end")
