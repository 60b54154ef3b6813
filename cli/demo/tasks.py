"""What a task of the demo is: what is said, by whom, and exactly what must be true afterwards."""

from dataclasses import dataclass

from cli.demo.books import BookChange
from cli.gateway.messages import Speaker

CLAIMANT = Speaker("casey")
MANAGER = Speaker("dana", ("approver",), ("manager",))


@dataclass(frozen=True)
class DemoTurn:
    """One turn, and where the task must stand after it. Nothing may be written before the last turn."""

    text: str
    then: str
    by: Speaker = CLAIMANT


@dataclass(frozen=True)
class ListOf:
    """The answer must be the ids of these rows, as an exact JSON list."""

    table: str
    column: str
    value: str


@dataclass(frozen=True)
class DemoTask:
    """``writes``: the tools of every write that the company must have counted, in order, its ``notices`` among them:
    those are sent, and no read can show them. ``tells``: what the task's live story must have said.
    """

    name: str
    shows: str
    turns: tuple[DemoTurn, ...]
    changes: tuple[BookChange, ...] = ()
    writes: tuple[str, ...] = ()
    notices: tuple[str, ...] = ()
    answer: ListOf | None = None
    process_type: str = ""  # empty: whichever
    passes: tuple[str, ...] = ()  # states that it must have walked through
    avoids: tuple[str, ...] = ()  # states that it must not have reached
    faults: str = ""  # how the company misbehaves meanwhile
    tells: tuple[tuple[str, str], ...] = ()  # entries of some event's data; empty: whatever it is
    escalated: bool = False
