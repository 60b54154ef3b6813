"""Which read proves a write: the operator's choice, or else the one that fits by schema; never a guessed name."""

import pytest

from services.executor.core.execute.catalogued_proof import as_catalogued
from services.executor.core.execute.partners import Partner, partner
from services.executor.core.tooling.toolbox import Toolbox
from services.executor.ports.tools import Tool
from shared.contracts.plan import PlannedCall, ReadBack
from shared.contracts.tenant import CatalogueEntry
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import ToolClass
from tests.unit.executor_core.makers import plan, tool, tools


def schema(*names: str) -> JsonObject:
    """The names are needed, but for those in brackets."""
    properties: dict[str, Json] = {name.strip("[]"): {"type": "string"} for name in names}
    return {"type": "object", "properties": properties, "required": [n for n in names if not n.startswith("[")]}


def read(name: str, *arguments: str) -> Tool:
    return tool(name, ToolClass.READ, schema(*arguments))


def write(name: str, *arguments: str, read_back: str | None = None) -> Tool:
    made = tool(name, ToolClass.CHANGE, schema(*arguments))
    return made._replace(catalogue=CatalogueEntry(read_back=read_back))


def asked(found: Partner | None, **given: Json) -> tuple[str, JsonObject | None] | None:
    return (found.reader.name, found.asked_with(given, "c1")) if found else None


@pytest.mark.promise("I4.partners")
@pytest.mark.parametrize(
    ("changing", "reading", "expected"),
    [
        (write("approve_claim", "claim_id"), read("get_claim", "claim_id"), ("get_claim", {"claim_id": "C-1"})),
        (write("approveClaim", "claimId"), read("get_claim", "claim_id"), ("get_claim", {"claim_id": "C-1"})),
        (write("pay_claim", "claim_id"), read("list_claims", "[claim_id]"), ("list_claims", {"claim_id": "C-1"})),
        (write("hand_over", "claim_id"), read("get_claim", "claim_id"), ("get_claim", {"claim_id": "C-1"})),
        (write("update_claim", "id"), read("get_claim", "id"), ("get_claim", {"id": "C-1"})),
        (write("open_claim", "title"), read("get_claim", "claim_id"), ("get_claim", {"claim_id": {"$ref": "c1.id"}})),
        (write("update_claim", "id"), read("get_vendor", "id"), None),
        (write("approve_claim", "claim_id"), read("get_claim", "claim_id", "branch"), None),
        (write("approve_claim", "claim_id"), read("get_claim_statistics"), None),
        (write("approve_claim", "claim_id"), write("reject_claim", "claim_id"), None),
    ],
)  # fmt: skip
def test_a_read_fits_that_can_be_asked_for_what_the_write_is_about(
    changing: Tool, reading: Tool, expected: tuple[str, JsonObject] | None
) -> None:
    given: dict[str, Json] = dict.fromkeys(("claim_id", "claimId", "id"), "C-1")
    assert asked(partner(changing, [changing, reading]), **given) == expected


@pytest.mark.promise("I4.partners")
def test_the_read_of_the_very_thing_goes_before_one_that_speaks_of_it_besides() -> None:
    besides = [read("get_claim_preview", "claim_id", "level"), read("list_claim_notes", "claim_id")]
    readers = [*besides, read("get_claim", "claim_id")]
    changing = write("raise_claim", "claim_id", "level")
    assert asked(partner(changing, readers), claim_id="C-1") == ("get_claim", {"claim_id": "C-1"})


@pytest.mark.promise("I4.partners")
def test_what_is_made_is_looked_up_by_the_id_that_the_write_answers_with() -> None:
    readers = [read("get_document", "document_id"), read("get_gap", "gap_id")]
    found = partner(write("record_gap", "document_id"), readers)
    assert asked(found, document_id="D-1") == ("get_gap", {"gap_id": {"$ref": "c1.id"}})


@pytest.mark.promise("I4.partners")
def test_neither_a_notice_nor_another_servers_read_has_a_part_in_it() -> None:
    elsewhere = read("get_claim", "claim_id")._replace(connection_id="branch")
    notice = tool("notify_claimant", ToolClass.NOTIFY, schema("claim_id"))
    assert partner(write("approve_claim", "claim_id"), [elsewhere]) is None
    assert partner(notice, [read("get_claim", "claim_id")]) is None


@pytest.mark.promise("tools.catalogue_pairs")
def test_the_read_that_the_catalogue_names_counts_alone() -> None:
    readers = [read("get_claim", "claim_id"), read("list_entries", "[claim_id]"), write("void_claim", "claim_id")]
    by_name = {name: partner(write("pay_claim", "claim_id", read_back=name), readers) for name in
               ("list_entries", "void_claim", "no_such_tool")}  # fmt: skip
    assert asked(by_name["list_entries"], claim_id="C-1") == ("list_entries", {"claim_id": "C-1"})
    assert (by_name["void_claim"], by_name["no_such_tool"]) == (None, None)


def _called(tool_name: str, read_back: ReadBack | None) -> PlannedCall:
    return PlannedCall(call_id="c1", connection_id="office", tool=tool_name, tool_class=ToolClass.CHANGE,
                       arguments_json='{"claim_id":"C-1"}', read_back=read_back)  # fmt: skip


def _office(read_back: str | None) -> Toolbox:
    return tools(write("pay_claim", "claim_id", read_back=read_back), read("get_claim", "claim_id"),
                 read("list_entries", "[claim_id]"))  # fmt: skip


_OWN = ReadBack(tool="get_claim", arguments_json='{"claim_id":"C-1"}', expect_json='{"status":"paid"}')


@pytest.mark.promise("tools.catalogue_pairs")
@pytest.mark.parametrize("proposed", [None, _OWN])
def test_a_plan_is_proved_by_the_read_that_the_catalogue_names(proposed: ReadBack | None) -> None:
    (call,) = as_catalogued(plan(_called("pay_claim", proposed)), _office("list_entries"), lambda _: None).calls
    assert call.read_back is not None
    assert (call.read_back.tool, loads_object(call.read_back.arguments_json)) == ("list_entries", {"claim_id": "C-1"})


@pytest.mark.promise("tools.catalogue_pairs")
@pytest.mark.parametrize(
    ("named", "barred"), [(None, None), ("get_claim", None), ("missing", None), ("list_entries", "a rule")]
)
def test_the_models_own_read_back_stays_where_the_catalogue_has_no_other_that_may_be_asked(
    named: str | None, barred: str | None
) -> None:
    planned = plan(_called("pay_claim", _OWN))
    assert as_catalogued(planned, _office(named), lambda _: barred) == planned


@pytest.mark.promise("tools.catalogue_pairs")
def test_the_call_that_takes_another_back_is_proved_likewise() -> None:
    call = _called("approve_claim", None).model_copy(update={"compensation": _called("pay_claim", None)})
    (found,) = as_catalogued(plan(call), _office("list_entries"), lambda _: None).calls
    assert found.compensation is not None
    assert found.compensation.read_back is not None
    assert found.compensation.read_back.tool == "list_entries"


@pytest.mark.promise("tools.catalogue_pairs")
def test_a_model_is_told_the_pair_before_it_plans() -> None:
    (listed,) = _office("list_entries").listing([ToolClass.CHANGE])
    (unpaired,) = _office(None).listing([ToolClass.CHANGE])
    assert isinstance(listed, dict)
    assert isinstance(unpaired, dict)
    assert listed["read_back"] == "list_entries"
    assert "read_back" not in unpaired
