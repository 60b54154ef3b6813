"""A stage whose task has begun as a process of a certain kind, whatever its words say: a task keeps its template."""

from services.executor.core.checkpoints import Checkpoints
from services.executor.core.dossier import Progress
from services.executor.core.fsm.template import Template
from services.executor.core.journal import Journal
from services.executor.ports.turns import TurnStore
from shared.contracts.task import Turn
from shared.domain.exact_json import JsonObject
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import json_reply
from tests.unit.executor.stage import CALL, TASK, Stage

NOTICE: JsonObject = {
    "call_id": "n1",
    "connection": "office",
    "tool": "notify_person",
    "arguments_json": '{"text":"Claim C-1 is approved."}',
    "origins": [],
    "read_back": None,
    "on_failure": "stop",
}


async def begin(store: TurnStore, template: Template) -> None:
    """Leave what a worker leaves that has classified the task and then died."""
    journal = Journal(store, (), (await store.pulse()).now, 60)
    progress = Progress(template=template, path=template.states, visited=template.states[:1])
    await Checkpoints(journal, ()).save(progress)


async def begun_as(template: Template, *calls: JsonObject, text: str = TASK) -> Stage:
    """``calls`` are what its plan proposes: one change and a notice of it by default."""
    stage = Stage(text)
    stage.scripts["write_plan"] = json_reply({"calls": [*(calls or (CALL, NOTICE))], "why_none": None})
    await begin(stage.turns, template)
    return stage


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
