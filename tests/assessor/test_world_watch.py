"""What a run's results tell of its world, turn by turn."""

from pathlib import Path
from time import perf_counter

import pytest

from services.assessor.core.world_watch import MOST_CHANGES, changes_between
from shared.contracts.assessment.messages import JsonObject
from tests.assessor.agents import Gold, reached
from tests.assessor.stage import staged

pytestmark = pytest.mark.promise("assessor.world_looks")


async def test_each_turn_tells_what_the_agent_and_what_others_changed(tmp_path: Path) -> None:
    """Gold answers Ben in the first turn; Ben's own answer comes while time goes on; the last turn changes nothing."""
    gold = Gold()
    async with staged(tmp_path) as stage, reached(gold.participant) as participant:
        results = await stage.assessed(participant)

    before, first, last = results.world
    assert [look.turn for look in results.world] == [0, 1, 2]
    assert before.changes == ()
    assert before.counts["email"]["total_email_count"] == 1
    said = [(change.by, change.kind, change.title) for change in first.changes if change.modality == "email"]
    assert ("participant", "added", "Re: Friday?") in said
    assert ("others", "added", "Re: Friday?") in said
    assert first.counts["email"]["total_email_count"] == 3
    assert (first.time - before.time).total_seconds() == 3600
    assert last.changes == ()


def test_a_changed_row_tells_its_fields_before_and_after_and_cuts_what_is_long() -> None:
    before: JsonObject = {"email": {"emails": {"a": {"subject": "Paper", "folder": "inbox", "body_text": "x"}}}}
    after: JsonObject = {"email": {"emails": {"a": {"subject": "Paper", "folder": "archive", "body_text": "y" * 900}}}}

    (change,), left_out = changes_between(before, after, "others", MOST_CHANGES)

    assert (change.title, change.kind, change.by) == ("Paper", "changed", "others")
    assert (change.before["folder"], change.after["folder"]) == ("inbox", "archive")
    assert len(str(change.after["body_text"])) < 200
    assert left_out == 0


def test_of_thousands_of_changed_rows_only_those_that_are_told_are_looked_at() -> None:
    def world(*, read: bool) -> JsonObject:
        return {"email": {"emails": {f"m{number}": {"subject": "Paper", "is_read": read} for number in range(8_000)}}}

    began = perf_counter()
    told, left_out = changes_between(world(read=False), world(read=True), "participant", 3)
    assert (len(told), left_out, perf_counter() - began < 5) == (3, 7_997, True)


@pytest.mark.long
async def test_a_turn_that_changes_everything_tells_so_many_and_counts_the_rest(tmp_path: Path) -> None:
    class Flood(Gold):
        async def turn(self, said: JsonObject) -> JsonObject:
            async with self.world() as ues:
                for number in range(MOST_CHANGES + 5):
                    await ues.chat.send("assistant", f"line {number}", "flood")
            return {"message_type": "early_completion"}

    flood = Flood()
    async with staged(tmp_path) as stage, reached(flood.participant) as participant:
        results = await stage.assessed(participant)

    last = results.world[-1]
    assert len(last.changes) == MOST_CHANGES
    assert last.left_out >= 5
