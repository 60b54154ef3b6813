"""Records that a company keys by a word of its own are known by the keys that its tenant declares."""

import pytest

from services.executor.core.plan.named_reads import find_missing_reads
from services.executor.core.process.figures import compute_figures
from services.executor.core.records.binding import BoundFields, bind_fields, build_call_view
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import Figure, ProcessTemplate
from services.executor.core.tools.record_tree import NO_RECORD_KEYS, RecordKeys
from services.executor.core.tools.toolbox import build_record_keys
from shared.contracts.policy import Policy, Rule
from shared.contracts.tenant import RecordKind
from shared.domain.exact_json import JsonObject
from shared.domain.words import FsmState, ToolClass
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, read
from tests.unit.executor.stage import schema
from tests.unit.executor_core.makers import plan, tool, tools

pytestmark = pytest.mark.promise("policy.declared_keys")

KEYS = build_record_keys(
    {
        "asset": RecordKind(keys=("asset_tag", "tag_no")),
        "patient": RecordKind(keys=("mrn",), reads=("get_preop", "patient_card")),
        "item": RecordKind(keys=("barcode",)),
    },
    {},
)
FREE: JsonObject = {"asset_tag": "A-1", "held": False}


def _bound(
    *facts: Fact,
    given: JsonObject | None = None,
    tool: str = "retire_asset",
    keys: RecordKeys = KEYS,
    field: str = "held",
) -> BoundFields:
    """The field of a call, by default of one that is given the asset A-1."""
    return bind_fields(build_call_view(tool, given or {"asset_tag": "A-1"}, facts, keys), [field])


@each_row(
    "fact",
    read("get_asset", FREE),
    read("get_asset", {"held": False}, asset_tag="A-1"),
    read("get_asset", {"asset": {**FREE, "id": 77}}),
    read("find_assets", [FREE, {"asset_tag": "A-2", "held": True}]),
)
def test_a_record_is_known_by_its_declared_key_however_it_is_written(fact: Fact) -> None:
    assert _bound(fact).fields["held"] is False
    assert _bound(fact, field="asset.held").fields["asset"] == {"held": False}
    assert _bound(fact, given={"assetTags": ["A-1"]}).fields["held"] is False
    assert "held" not in _bound(fact, keys=NO_RECORD_KEYS).fields


@each_row(
    "fact",
    read("get_asset", {"asset_tag": "A-2", "held": False}),
    read("get_asset", {"asset_tag": "A-2", "held": False}, asset_tag="A-1"),  # its server gave another one
    read("get_work_order", {"order_no": "W-7", "asset_tag": "A-1", "held": False}),
    read("get_order", {"id": "A-1", "held": False}),
    read("get_patient", {"mrn": "A-1", "held": False}),
)
def test_no_other_record_is_taken_for_it(fact: Fact) -> None:
    """A neighbour, what only refers to it, an order of the same number, and what nothing calls an asset."""
    found = _bound(fact)
    assert "held" not in found.fields
    held = read("get_asset", {"asset_tag": "A-1", "held": True}, "f2", asset_tag="A-1")
    assert _bound(fact, held).fields["held"] is True


@each_row(
    ("given", "record"),
    ({"asset_tag": "6"}, {"id": 6, "asset_tag": "5"}),
    ({"asset_tag": "6"}, {"id": 6}),
    ({"asset_tag": "A-1"}, {"asset_tag": "A-2", "tag_no": "A-1"}),
    ({"asset_id": "A-1"}, {"asset_tag": "A-1", "id": "A-2"}),
)
def test_a_value_of_one_key_is_none_of_another_key_of_the_same_kind(given: JsonObject, record: JsonObject) -> None:
    assert "held" not in _bound(read("list_assets", [{**record, "held": False}]), given=given).fields
    right = {**record, **{key.removeprefix("asset_") if key == "asset_id" else key: one for key, one in given.items()}}
    assert _bound(read("list_assets", [{**right, "held": False}]), given=given).fields["held"] is False


def test_one_key_under_several_names_is_declared_as_a_list() -> None:
    """A ledger's ``berth_no`` leads to the berth that its own server calls by a ``berth_code``; a mark does not."""
    berths = RecordKind(keys=(("berth_code", "berth_no", "place"), "mooring_mark"), reads=("show_place",))
    keys, apart = (
        build_record_keys({"berth": one}, {})
        for one in (berths, RecordKind(keys=("berth_code", "berth_no", "place", "mooring_mark")))
    )
    berth = read("get_berth", {"berth": {"berth_code": 12, "held": False}}, "f2", berth_code=12)
    for name in ("berth_no", "place"):
        bill = read("get_bill", {"bill_id": 5, name: 12})
        calls: list[tuple[str, JsonObject]] = [("pay_bill", {"bill_id": 5}), ("free_berth", {name: 12})]
        for called, given in calls:
            assert _bound(bill, berth, given=given, tool=called, keys=keys).fields.get("held") is False
            assert "held" not in _bound(bill, berth, given=given, tool=called, keys=apart).fields
    marked = read("get_bill", {"bill_id": 5, "mooring_mark": 12})
    assert "held" not in _bound(marked, berth, given={"bill_id": 5}, tool="pay_bill", keys=keys).fields
    other = read("get_bill", {"bill_id": 5, "berth_no": 13})
    assert "held" not in _bound(other, berth, given={"bill_id": 5}, tool="pay_bill", keys=keys).fields


def test_a_leading_zero_makes_another_key_and_two_named_records_that_disagree_leave_it_open() -> None:
    card = read("patient_card", {"patient": {"mrn": "0048213", "held": False}})
    assert _bound(card, tool="admit_patient", given={"mrn": "0048213"}).fields["held"] is False
    assert "held" not in _bound(card, tool="admit_patient", given={"mrn": 48213}).fields
    rows = read("list_assets", [FREE, {"asset_tag": "A-2", "held": True}])
    assert "held" not in _bound(rows, given={"asset_tags": ["A-1", "A-2"]}).fields
    assert "held" not in _bound(rows, tool="close_order", given={"id": "A-1"}).fields


def test_a_declared_key_in_the_row_of_another_record_leads_to_the_record_that_it_names() -> None:
    """The order has no flag of its own, the asset that it names has, and the other one is nothing to it."""
    order = read("get_work_order", {"order_no": "W-7", "asset_tag": "A-1"})
    other = read("get_asset", {"asset_tag": "A-2", "held": True}, "f2", asset_tag="A-2")
    asset = read("get_asset", FREE, "f3", asset_tag="A-1")
    assert "held" not in _bound(order, other, tool="close_work_order", given={"order_no": "W-7"}).fields
    assert _bound(order, other, asset, tool="close_work_order", given={"order_no": "W-7"}).fields["held"] is False


def test_a_key_that_nothing_has_is_what_a_call_gives_to_the_record_that_it_names_besides() -> None:
    """One that may be another record's leaves the field open: nobody asked for it, or only for what belongs to it."""
    own = read("get_asset", {"id": 5, "asset_tag": "A-1", "held": False})
    none = read("get_asset", {"found": False}, "f2", asset_tag="A-9")
    given: JsonObject = {"asset_id": 5, "asset_tag": "A-9"}
    assert _bound(own, none, tool="update_asset", given=given).fields["held"] is False
    assert "held" not in _bound(none, tool="update_asset", given=given).fields
    for other in (none.model_copy(update={"tool": "list_orders"}), read("get_asset", [], "f2", asset_tag="A-8")):
        assert "held" not in _bound(own, other, tool="update_asset", given=given).fields


def test_a_number_that_one_kind_lacks_is_no_new_number_of_another_kind() -> None:
    own = read("get_order", {"id": 5, "held": False})
    given: JsonObject = {"order_id": 5, "order_no": "7"}
    vain_order = read("get_order", {"found": False}, "f2", order_no="7")
    vain_guest = read("get_guest", {"found": False}, "f2", guest_no="7")
    assert _bound(own, vain_order, tool="update_order", given=given).fields["held"] is False
    assert "held" not in _bound(own, vain_guest, tool="update_order", given=given).fields


def test_a_kind_whose_word_says_nothing_by_itself_says_what_it_is_declared_for() -> None:
    line: JsonObject = {"barcode": "B-1", "held": False}
    item = read("get_item", {"barcode": "B-1", "held": True}, "f2")
    assert _bound(item, tool="move_stock", given={"barcode": "B-1"}).fields["held"] is True
    lines = [read("get_order", {"order_id": 5, name: [line]}) for name in ("items", "line_items", "order_lines")]
    for shown in (*lines, read("get_order_item", {**line, "line_no": 3}, line_no=3), read("list_line_items", [line])):
        assert "held" not in _bound(shown, tool="move_stock", given={"barcode": "B-1"}).fields
        assert _bound(shown, item, tool="move_stock", given={"barcode": "B-1"}).fields["held"] is True


def test_what_is_declared_to_show_a_record_says_it_of_the_record_that_it_was_asked_for() -> None:
    """An assessment says of the patient whether he is fit; a stay leads to its own patient alone."""
    stay = read("get_stay", {"stay_id": 5511, "mrn": "0048213"})
    own = read("get_preop", {"preop": {"mrn": "0048213", "fit": True}}, "f2", mrn="0048213")
    other = read("get_preop", {"preop": {"mrn": "0070450", "fit": False}}, "f3", mrn="0070450")
    assert _bound(stay, own, other, tool="schedule_stay", field="fit", given={"stay_id": 5511}).fields["fit"] is True
    assert "fit" not in _bound(stay, other, tool="schedule_stay", field="fit", given={"stay_id": 5511}).fields
    bare = read("get_preop", {"fit": True}, "f4", mrn="0048213")
    assert _bound(stay, bare, tool="schedule_stay", field="fit", given={"stay_id": 5511}).fields["fit"] is True
    ids = build_record_keys({"patient": RecordKind(keys=("patient_id",), reads=("get_preop",))}, {})
    by_id = read("get_preop", {"preop": {"patient_id": 7, "fit": True}}, patient_id=7)
    assert _bound(by_id, tool="admit", keys=ids, field="fit", given={"patient_id": 7}).fields["fit"] is True
    with_own_id = read("get_preop", {"id": 3, "mrn": "0048213", "fit": True}, mrn="0048213")
    assert "fit" not in _bound(with_own_id, tool="admit", field="fit", given={"patient_id": 3}).fields
    beside: JsonObject = {"preop": {"mrn": "0048213", "fit": False}, "nurse": {"login": "x", "fit": True}}
    shown = read("get_preop", beside, "f5", mrn="0048213")
    assert _bound(shown, tool="admit_patient", field="fit", given={"mrn": "0048213"}).fields["fit"] is False


_READERS = (
    tool("get_asset", ToolClass.READ, schema("asset_tag")),
    tool("get_preop", ToolClass.READ, schema("mrn")),
    tool("get_stay", ToolClass.READ, schema("stay_id:integer")),
    tool("patient_card", ToolClass.READ, schema("mrn")),
)


@each_row(
    ("called", "given", "facts", "expected"),
    ("retire_asset", {"tag_no": "A-1"}, (), []),  # which tag that is, only a record with both could say
    ("retire_asset", {"asset_tag": "A-1"}, (read("get_order", {"id": "A-1"}),), [("get_asset", {"asset_tag": "A-1"})]),
    ("admit", {"mrn": "7"}, (read("patient_card", {"mrn": "7"}, mrn="7"),), [("get_preop", {"mrn": "7"})]),
    ("book", {"stay_id": 5}, (), [("get_stay", {"stay_id": 5})]),
    (
        "book",
        {"stay_id": 5},
        (read("get_stay", {"stay_id": 5, "mrn": "7"}, stay_id=5),),
        [("get_preop", {"mrn": "7"}), ("patient_card", {"mrn": "7"})],
    ),
)
def test_what_a_declared_key_names_and_nobody_read_is_read_with_all_that_is_declared_to_show_it(
    called: str, given: JsonObject, facts: tuple[Fact, ...], expected: list[tuple[str, JsonObject]]
) -> None:
    rule = Rule(id="fit", condition=f'tool == "{called}" && fit == false', action="block")
    box = tools(tool(called, ToolClass.CHANGE), *_READERS)._replace(keys=KEYS)
    found = find_missing_reads(plan(change(called, given)), box, facts, (Policy(id="house", rules=(rule,)),))
    assert [(one.tool.name, one.arguments) for one in found] == expected


def test_an_argument_called_as_a_declared_kind_names_its_record_by_any_of_its_keys() -> None:
    """A number may be anything; a word of two is no name of the kind, and what it names stays open."""
    held = read("get_asset", {"asset_tag": "A-1", "tag_no": "T-1", "held": True}, asset_tag="A-1")
    meant: list[JsonObject] = [{"asset": "A-1"}, {"asset": "T-1"}, {"document": "A-1"}]
    for given in meant:
        assert _bound(held, tool="post_note", given=given).fields["held"] is True
    others: list[JsonObject] = [{"asset": "A-9"}, {"into_asset": "A-1"}]
    for given in others:
        assert "held" not in _bound(held, tool="post_note", given=given).fields
    assert _bound(held, tool="post_note", given={"asset_tag": "A-1", "asset": 3}).fields["held"] is True


@pytest.mark.promise("process.figures")
def test_a_process_figure_finds_its_record_by_the_kind_of_its_declared_key() -> None:
    states = (FsmState.DECOMPOSE, FsmState.ASSESS, FsmState.MUTATE, FsmState.COMPLETE)
    figure = Figure(name="left", operation="difference", operands=("patient.balance", "patient.fee"))
    template = ProcessTemplate(process_type="some", states=states, figures=(figure,))
    case = read("fetch_case", {"mrn": "A77", "balance": 5, "fee": 2}, mrn="A77")
    keys = build_record_keys({"patient": RecordKind(keys=("mrn",), reads=("fetch_case",))}, {})
    assert [one.value for one in compute_figures(template, [case], "Bill A77", keys).values] == ["3"]
