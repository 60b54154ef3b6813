"""Stages on which one strategy is the only one there is, with what a model says in its steps."""

from services.executor.ports.models import ModelReply, ModelRequest
from shared.domain.exact_json import Json, JsonObject, dumps
from shared.domain.words import Strategy
from tests.doubles.memory_turns import Died
from tests.doubles.scripted_model import Script, in_order, json_reply, state_of
from tests.unit.executor.stage import TASK, Stage

READ_CLAIM: JsonObject = {"id": "s1", "need": "the claim", "tool": "get_claim", "arguments_json": '{"claim_id":"C-1"}'}
FOUND: JsonObject = {"values": [], "findings": "C-1 is open and may be approved."}


def five_phase(text: str = TASK) -> Stage:
    """One that plans the read of the claim and concludes that it may be approved."""
    stage = _only(Strategy.FIVE_PHASE, text)
    stage.scripts["plan"] = read_plan(READ_CLAIM)
    stage.scripts["conclude"] = json_reply(FOUND)
    return stage


def moa(text: str = TASK) -> Stage:
    """One whose two drafts agree."""
    stage = _only(Strategy.MOA, text)
    stage.scripts["conclude"] = json_reply(FOUND)
    return stage


def _only(strategy: Strategy, text: str) -> Stage:
    stage = Stage(text)
    stage.limits = stage.limits._replace(strategies=(strategy,))
    return stage


def read(name: str, tool: str, **arguments: Json) -> JsonObject:
    return {"id": name, "need": f"what {tool} shows", "tool": tool, "arguments_json": dumps(arguments)}


def read_plan(*reads: JsonObject, look_again: bool = False) -> ModelReply:
    return json_reply({"reads": list(reads), "look_again": look_again, "answer_format": "prose"})


def asked_in(stage: Stage, state: str) -> list[ModelRequest]:
    """What the model was asked in a state, in order."""
    return [request for request in stage.model.requests if state_of(request) == state]


def said_to(request: ModelRequest) -> str:
    """The user's message of a request, and its system text."""
    texts = [getattr(block, "text", "") for message in request.messages for block in message.blocks]
    return "\n".join((*request.system, *texts))


def in_order_of(*replies: ModelReply) -> Script:
    return in_order(replies)


async def survived(stage: Stage, die_before: int) -> None:
    """The first turn to its end, by a second worker if the first one dies before that step of the store."""
    stage.turns.die_before = die_before
    try:
        await stage.run()
    except Died:
        stage.turns.die_before = None
        await stage.run(attempts=2)
