"""Stages on which one strategy is the only one there is."""

from shared.domain.words import Strategy
from shared.ports.models import ModelRequest
from tests.doubles.scripted_model import state_of
from tests.unit.executor.stage import TASK, Stage


def five_phase(text: str = TASK) -> Stage:
    return only(Strategy.FIVE_PHASE, text)


def moa(text: str = TASK) -> Stage:
    """One whose drafts agree."""
    return only(Strategy.MOA, text)


def only(strategy: Strategy, text: str = TASK) -> Stage:
    stage = Stage(text)
    stage.limits = stage.limits._replace(strategies=(strategy,))
    return stage


def asked_in(stage: Stage, state: str) -> list[ModelRequest]:
    """What the model was asked in a helper question, in order; without a name, in the conversation."""
    return [request for request in stage.model.requests if state_of(request) == state]


def said_to(request: ModelRequest) -> str:
    """All texts of a request's messages, and its system text."""
    texts = [getattr(block, "text", "") for message in request.messages for block in message.blocks]
    return "\n".join((*request.system, *texts))


def last_said_to(request: ModelRequest) -> str:
    """The texts of a request's last message: what is said for this once stands at its end."""
    return "\n".join(getattr(block, "text", "") for block in request.messages[-1].blocks)
