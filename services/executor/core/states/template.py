"""A kind of process, as data."""

from typing import Literal

from services.executor.core.states.figures import Figure, Route
from shared.contracts.base import Contract
from shared.contracts.policy import Rule
from shared.domain.words import FsmState


class Template(Contract):
    """A kind of process, as data. A task keeps the template that it began with.

    ``instructions``: what a model is told besides in a state. ``outputs``: what an answer has to speak of.
    ``figures``: what the executor computes itself. ``rules``: policy of the process; it adds to the tenant's.
    ``must_know``: fields that its rules decide by (``a|b``: one of them); a change about which none was read asks.
    ``whole_lists``: a list that could not be read to its end is no source for a figure, and a plan on it asks a person.
    ``routes``: the way of each row by its age, which stands in the field that ``routed`` names.
    ``approvers``: how many distinct people an approval of it takes.
    ``escalates``: a rule that escalates ends it in ESCALATE, with its work done; elsewhere it waits for a person.
    ``two_persons_about``: words of the task or its facts for which two different people have to approve.
    ``confirmations``: each is an approval of its own, in this order, on the same plan.
    ``sequence``: a change goes out only once the one before it is verified.
    ``notice_to``: whoever has to be told of a change. ``quiet_hours``: notices wait until the tenant's are over.
    ``synthesized``: a model made it up, for a kind of task that no file describes.
    """

    process_type: str
    states: tuple[FsmState, ...]
    keywords: tuple[str, ...] = ()
    risk: Literal["low", "medium", "high"] = "low"
    instructions: dict[FsmState, str] = {}
    outputs: tuple[str, ...] = ()
    figures: tuple[Figure, ...] = ()
    rules: tuple[Rule, ...] = ()
    must_know: tuple[str, ...] = ()
    whole_lists: bool = False
    routed: str = ""
    routes: tuple[Route, ...] = ()
    approvers: int = 1
    escalates: bool = False
    two_persons_about: tuple[str, ...] = ()
    confirmations: tuple[str, ...] = ()
    sequence: bool = False
    notice_to: str = ""
    quiet_hours: bool = False
    synthesized: bool = False
