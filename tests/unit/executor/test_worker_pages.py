"""Long lists in the middle of a task: read to their end in journaled steps, and seen by the model in part."""

import pytest

from services.executor.core.tools.listing import ListBounds
from services.executor.core.tools.shorten import MOST_PROMPT_CHARACTERS
from services.executor.ports.tools import ToolAnswer
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject, loads
from shared.domain.words import TaskState, ToolClass
from tests.doubles.paged_lists import PagedList
from tests.doubles.scripted_talk import of_conversation, results_in
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import Stage, keeps_silent, the_fact


def listing_stage(count: int, shape: str = "page_total") -> tuple[Stage, PagedList]:
    rows: list[Json] = [{"id": f"C-{number}", "amount": number, "memo": "x" * 60} for number in range(1, count + 1)]
    paged, stage = PagedList(rows, shape, 10, 10), Stage()
    stage.servers.add("list_claims", paged, input_schema=paged.schema)
    stage.talk.rounds[0] = [("list_claims", {})]
    proved_by(stage, CatalogueEntry(read_back="get_claim"))
    return stage, paged


def proved_by(stage: Stage, entry: CatalogueEntry) -> None:
    stage.set_catalogue(approve_claim=entry)


def prompts(stage: Stage) -> list[str]:
    """What each request of the conversation says, from the one on that has the first results."""
    return [str(request.messages) for request in of_conversation(stage.model.requests)[1:]]


@pytest.mark.promise("pages.read")
@each_row("shape", ["page_total", "offset_has_more", "cursor", "link"])
async def test_a_list_in_parts_is_one_fact_with_all_its_rows(shape: str) -> None:
    stage, paged = listing_stage(35, shape)
    await stage.ends(TaskState.COMPLETED)
    assert len(stage.servers.called("list_claims")) == 4
    assert paged.rows in (the_fact(stage).result, *getattr(the_fact(stage).result, "values", list)())
    assert the_fact(stage).note == "All 35 rows, from 4 pages."
    assert (await replayed(stage)).is_same


@pytest.mark.promise("pages.read")
@each_row("dies_at", range(1, 30, 3))
async def test_a_killed_run_goes_on_with_the_page_that_is_missing(dies_at: int) -> None:
    """No page is read twice but the one that was not stored yet, and the fact is what it would have been."""
    undisturbed, _ = listing_stage(35)
    await undisturbed.run()
    stage, _ = listing_stage(35)
    await stage.survives(dies_at)
    assert the_fact(stage) == the_fact(undisturbed)
    assert len(stage.servers.called("list_claims")) <= 5


@pytest.mark.promise("pages.says_what_is_missing")
async def test_a_ceiling_and_a_page_that_is_refused_stand_in_the_fact_and_before_the_model() -> None:
    stage, _ = listing_stage(100)
    stage.limits = stage.limits._replace(lists=ListBounds(pages=3))
    await stage.run()
    assert "NOT all rows: 30 rows from 3 pages" in the_fact(stage).note
    assert all("LIST_PAGES" in prompt for prompt in prompts(stage))
    refused, paged = listing_stage(35)
    busy = ToolAnswer("too many requests", is_error=True)
    shown = paged.schema
    refused.servers.add(
        "list_claims", lambda given: busy if given.get("page") == 3 else paged(given), input_schema=shown
    )
    await refused.run()
    assert the_fact(refused).ok
    assert all(word in the_fact(refused).note for word in ("page 3 could not be read", "too many requests"))


@pytest.mark.promise("pages.read")
async def test_a_model_sees_the_beginning_of_a_long_list_and_is_told_so() -> None:
    stage, _ = listing_stage(900)
    await stage.run()
    assert len(the_fact(stage).result_json) > 3 * MOST_PROMPT_CHARACTERS
    assert len(prompts(stage)) == 2
    for prompt in prompts(stage):
        assert "900 rows in items, the first " in prompt
        assert "look shows the rest" in prompt
        assert "C-900" not in prompt


@pytest.mark.promise("pages.read")
async def test_a_model_may_see_only_the_rows_it_asks_for_and_all_are_kept() -> None:
    stage, paged = listing_stage(35)
    where: Json = [{"field": "amount", "is": ">", "value": "33"}]
    stage.talk.rounds.insert(1, [("look", {"ref": "r1", "where": where, "fields": ["id"]})])
    await stage.run()
    (looked,) = [result.content for result in results_in(stage.model.requests[-1]) if "C-35" in result.content][-1:]
    assert loads(looked)
    assert "C-33" not in looked
    assert (the_fact(stage).tool, len(stage.servers.called("list_claims"))) == ("list_claims", 4)
    assert the_fact(stage).result == {"items": paged.rows, "limit": 10, "page": 1, "total": 35}
    assert (await replayed(stage)).is_same


@pytest.mark.promise("I1.gate_in_every_state")
@each_row("tool", ["approve_claim", "use_tool", "no_such_tool"])
async def test_what_may_not_be_called_may_not_be_called_by_way_of_a_search_for_tools(tool: str) -> None:
    """Where there are too many tools to show, a call comes wrapped: it is what it wraps, in every respect."""
    stage = Stage()
    for number in range(100):
        stage.servers.add(f"get_thing_{number}", lambda _: {}, description="d" * 2_000)
    stage.only_asks()
    inner: JsonObject = {"claim_id": "C-1"}
    stage.talk.rounds = [[("use_tool", {"tool": tool, "arguments": inner})]] * 2
    await stage.run()
    assert {tool.name for tool in stage.model.requests[0].tools} >= {"use_tool", "find_tools"}
    assert stage.claims.applied == []
    assert stage.servers.calls == []


def proved_by_a_list(rows: int, shape: str = "page_total") -> Stage:
    """The write's read-back lists all claims in pages of ten; the claim that is approved stands on the last one."""
    stage = Stage()
    others: list[Json] = [{"id": f"X-{number}", "amount": "120.50", "status": "approved"} for number in range(rows)]
    paged = PagedList([*others, dict(stage.claims.rows["C-1"])], shape, 10, 10)

    def refresh(_: int) -> None:
        paged.rows[-1] = dict(stage.claims.rows["C-1"])

    paged.on_page = refresh
    stage.servers.add("list_claims", paged, input_schema=paged.schema)
    stage.cannot_read()
    proved_by(stage, CatalogueEntry(read_back="list_claims", expect={"status": "approved"}))
    return stage


@pytest.mark.promise("pages.proof")
@each_row("shape", ["page_total", "offset_has_more", "cursor", "next_page"])
async def test_a_proof_on_the_last_page_of_a_list_is_found(shape: str) -> None:
    stage = proved_by_a_list(35, shape)
    record = await stage.run()
    assert (record.state, stage.statuses) == (TaskState.COMPLETED, ["verified"])


@pytest.mark.promise("pages.proof")
async def test_a_list_that_cannot_be_read_whole_proves_nothing_and_a_lost_write_is_looked_for_on_every_page() -> None:
    """Neither that the write took hold nor that it did not: it is unverified, and said so."""
    stage, lost = proved_by_a_list(35), proved_by_a_list(35)
    stage.limits = stage.limits._replace(lists=ListBounds(pages=2))
    await stage.run()
    assert (stage.statuses, stage.claims.applied) == (["unverified"], ["C-1"])

    def loses(given: JsonObject) -> Json:
        lost.claims.approve(given)
        return keeps_silent(given)

    lost.servers.add("approve_claim", loses, ToolClass.CHANGE)
    await lost.run()
    assert (lost.statuses, lost.claims.applied) == (["verified"], ["C-1"])
