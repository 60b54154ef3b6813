"""Whatever fails, dies, is canceled or decided: a task that ends tells of every write that took hold (I4).

A server that applies a call before it answers is honest here in what it shows: reads fail, answers are lost, come as
errors, or say of an own earlier application that it was done already. Operators say what the server's books show.
"""

from collections.abc import Sequence
from enum import StrEnum

import pytest
from hypothesis import example, given, strategies as st

from services.executor.core.session.ledger import list_open_doubts
from services.executor.core.turn.session_run import build_given_up_end, settle_open_writes_unread
from services.executor.ports.tools import ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import DOUBTFUL_STATUSES, ToolClass, WriteStatus
from tests.doubles.memory_turns import Died
from tests.examples import examples
from tests.unit.executor.stage import Stage, cancel, message
from tests.unit.executor.test_worker_doubts import word

_TOLD = {*DOUBTFUL_STATUSES, WriteStatus.VERIFIED, WriteStatus.UNVERIFIED, WriteStatus.SENT, WriteStatus.SENDING}
_TEXT: JsonObject = {"type": "string"}
_NAMED: JsonObject = {"type": "object", "properties": {"claim_id": _TEXT}, "required": ["claim_id"]}
_KEYED: JsonObject = {**_NAMED, "properties": {"claim_id": _TEXT, "once": _TEXT}}
_MOST_TURNS = 12


class WriteFault(StrEnum):
    """What becomes of one call of the write."""

    NONE = "answered"
    LOST_BEFORE = "lost on its way"
    LOST_AFTER = "applied, its answer lost"
    LATE = "lost, and applied with the next call or read"
    TIMED_OUT = "answered that its time ran out, and applied with the next call or read"
    UNREACHED = "not connected"
    REFUSED = "refused"
    FAILED_AFTER = "applied, and answered with an error"
    LIED = "answered, and not applied"


class ReadFault(StrEnum):
    NONE = "answered"
    SILENT = "silent"
    BUSY = "busy"
    UNREACHED = "not connected"


class Office:
    """The claims' server, which fails as it is told."""

    def __init__(self, stage: Stage, writes: Sequence[WriteFault], reads: Sequence[ReadFault]) -> None:
        self._stage, self._writes, self._reads = stage, list(writes), list(reads)
        self._keys: set[str] = set()
        self._late: list[JsonObject] = []

    def get(self, given: JsonObject) -> "Json | ToolAnswer":
        self._apply_late()
        match self._reads.pop(0) if self._reads else ReadFault.NONE:
            case ReadFault.SILENT:
                raise ToolSilent("cut off")
            case ReadFault.UNREACHED:
                raise ToolUnreachable("no connection")
            case ReadFault.BUSY:
                return ToolAnswer("Try again later.", is_error=True)
        return self._stage.claims.get(given)

    def approve(self, given: JsonObject) -> "Json | ToolAnswer":
        self._apply_late()
        match self._writes.pop(0) if self._writes else WriteFault.NONE:
            case WriteFault.LOST_BEFORE:
                raise ToolSilent("cut off")
            case WriteFault.LOST_AFTER:
                self._apply(given)
                raise ToolSilent("cut off")
            case WriteFault.LATE:
                self._late.append(given)
                raise ToolSilent("no answer in time")
            case WriteFault.TIMED_OUT:
                self._late.append(given)
                return ToolAnswer({"error": "The request to the ledger timed out."}, is_error=True)
            case WriteFault.UNREACHED:
                raise ToolUnreachable("no connection")
            case WriteFault.REFUSED:
                return ToolAnswer("The books are being closed.", is_error=True)
            case WriteFault.FAILED_AFTER:
                self._apply(given)
                return ToolAnswer("Internal error.", is_error=True)
            case WriteFault.LIED:
                return {"id": given["claim_id"], "status": "approved"}
        return self._apply(given)

    def _apply_late(self) -> None:
        while self._late:
            self._apply(self._late.pop())

    def _apply(self, given: JsonObject) -> "Json | ToolAnswer":
        """Once under one key; what is approved already is not approved again."""
        key = str(given.get("once", ""))
        row = self._stage.claims.rows[str(given["claim_id"])]
        if key in self._keys:
            return dict(row)
        if row["status"] == "approved":
            return ToolAnswer(f"Claim {given['claim_id']} is already approved.", is_error=True)
        self._keys |= {key} - {""}
        return self._stage.claims.approve(given)


_WRITES = st.lists(st.sampled_from(WriteFault), max_size=5)
_READS = st.lists(st.sampled_from([ReadFault.NONE, *ReadFault]), max_size=8)
_DEATHS = st.lists(st.integers(0, 6), max_size=4)  # after so many further writes to the store
_WORDS = st.lists(st.sampled_from(["retry", "retry", "skip", "cancel", "give up"]), max_size=4)


@pytest.mark.timeout(900)
@pytest.mark.promise("I4.unverified_is_said")
@examples(25, 3000)
@given(_WRITES, _READS, _DEATHS, _WORDS, st.booleans(), st.booleans())
@example([WriteFault.FAILED_AFTER], [ReadFault.NONE, ReadFault.SILENT], [], [], False, False)
@example([WriteFault.LATE], [ReadFault.NONE, ReadFault.BUSY, ReadFault.BUSY], [], ["retry", "retry"], False, False)
async def test_a_task_that_ends_tells_of_a_write_that_took_hold(
    writes: list[WriteFault], reads: list[ReadFault], deaths: list[int], words: list[str], keyed: bool, canceled: bool
) -> None:
    stage = Stage()
    stage.limits = stage.limits._replace(tool_seconds=0.01)
    office = Office(stage, writes, reads)
    stage.servers.add("get_claim", office.get, ToolClass.READ, _NAMED)
    stage.servers.add("approve_claim", office.approve, ToolClass.CHANGE, _KEYED if keyed else _NAMED)
    stage.set_catalogue(approve_claim=CatalogueEntry(idempotency_field="once"))
    record = await _play(stage, list(deaths), list(words), canceled)

    if record.state.is_terminal and stage.claims.applied:
        told = record.metadata["writes"]
        assert isinstance(told, list)
        assert any(isinstance(one, dict) and one["status"] in _TOLD for one in told), (told, record.answer)


async def _play(stage: Stage, deaths: list[int], words: list[str], canceled: bool) -> TaskRecord:
    """The task's turns until it ends, each begun again after a death."""
    turn = message(stage.turns.record.request.text)
    for number in range(_MOST_TURNS):
        attempts = 1
        while True:
            stage.turns.die_before = stage.turns.stored + deaths.pop(0) if deaths else None
            try:
                record = await stage.run(turn, attempts)
                break
            except Died:
                attempts += 1
                if canceled and attempts == 2:
                    stage.turns.cancel = cancel()
        stage.turns.die_before = None
        if record.state.is_terminal:
            return record
        if stage.turns.cancel is not None:
            turn, stage.turns.cancel = cancel(f"turn-c{number}"), None
            continue
        if not (doubts := list_open_doubts(stage.turns.writes.values())):
            return record
        said = words.pop(0) if words else "skip"
        if said == "give up":
            work = stage.turns.work(message("", f"turn-g{number}"), 6)
            await settle_open_writes_unread(work, stage.turns, "nobody could read")
            end = await build_given_up_end(work, stage.turns, 5)
            await stage.turns.finish(end)
            return stage.turns.record
        if said == "cancel":
            turn = cancel(f"turn-c{number}")
            continue
        turn = word(
            stage, "done" if stage.claims.applied else said, turn_id=f"turn-r{number}", doubt=doubts[0].doubt_id
        )
    return stage.turns.record
