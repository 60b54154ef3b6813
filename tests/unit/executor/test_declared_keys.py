"""A company keys its equipment by a word of its own: rules about it can be decided once the tenant says which."""

import pytest

from shared.contracts.policy import Rule
from shared.contracts.tenant import RecordKind
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.each_row import each_row
from tests.unit.executor.stage import Stage, schema, use

pytestmark = pytest.mark.promise("policy.declared_keys")

HELD = Rule(id="HELD", condition='tool == "retire_asset" && held == true', action="block", reason="It is held")
ASSET = {"asset": RecordKind(keys=("asset_tag",))}


def _office(tag: str, *reads: tuple[str, JsonObject], declared: bool = True, verb: str = "Retire") -> Stage:
    """Of two pieces of equipment A-2 is held; a work order about either says that it is not."""
    stage = Stage(f"{verb} {tag}", [*reads], [use("retire_asset", asset_tag=tag)], answer=f"{tag} is retired.")
    rows: dict[str, dict[str, Json]] = {
        "A-1": {"asset_tag": "A-1", "held": False, "status": "in use"},
        "A-2": {"asset_tag": "A-2", "held": True, "status": "in use"},
        "A-3": {"asset_tag": "A-3", "held": False, "status": "in use"},
    }

    def retire(given: JsonObject) -> Json:
        stage.claims.applied.append(str(given["asset_tag"]))
        rows[str(given["asset_tag"])]["status"] = "retired"
        return {"ok": True}

    named = schema("asset_tag")
    stage.servers.add("get_asset", lambda given: {"asset": {**rows[str(given["asset_tag"])]}}, input_schema=named)
    stage.servers.add("list_assets", lambda _: {"assets": [{"asset_tag": one, "site": "HL"} for one in rows]})
    order: JsonObject = {"order_no": "W-7", "held": False, "status": "open"}
    stage.servers.add("get_work_order", lambda given: {**order, **given}, input_schema=schema("asset_tag"))
    stage.servers.add("retire_asset", retire, ToolClass.CHANGE, named)
    stage.change_tenant(records=ASSET if declared else {})
    return stage.judge_by(HELD)


LIST, FREE, FLAGGED = use("list_assets"), use("get_asset", asset_tag="A-1"), use("get_asset", asset_tag="A-2")


@each_row(
    "reads",
    (),
    (LIST,),
    (FREE,),
    (FLAGGED,),
    (FREE, FLAGGED),
    (LIST, FLAGGED, use("get_work_order", asset_tag="A-1"), use("get_work_order", asset_tag="A-2")),
)
async def test_a_rule_about_the_equipment_blocks_what_is_held_and_asks_nobody_about_the_rest(
    reads: tuple[tuple[str, JsonObject], ...],
) -> None:
    """Whatever the model has read, and of whichever."""
    await _office("A-1", *reads).ends(TaskState.COMPLETED, ["A-1"])
    await _office("A-2", *reads).ends(TaskState.REJECTED, [], why="It is held")


async def test_without_the_declaration_it_stays_undecided_and_nothing_is_written() -> None:
    await _office("A-1", FREE, declared=False).ends(TaskState.REJECTED, [], why="cannot be decided: held")


@each_row(
    ("task", "reads", "declared"),
    ("A-1 and A-3", (FREE, use("get_asset", asset_tag="A-3")), True),
    ("A-1 and A-3", (FREE,), False),
    ("A-1, A-2 and A-3", (), True),
)
async def test_a_listed_key_that_no_call_names_is_told(
    task: str, reads: tuple[tuple[str, JsonObject], ...], declared: bool
) -> None:
    """By its kind if it was read, else by its form: whoever forgets it from the start reads it nowhere."""
    stage = _office(task, *reads, declared=declared)
    stage.change_tenant(policies=())
    stage.talk.rounds[1:] = [[use("retire_asset", asset_tag="A-1")]]
    await stage.ends(TaskState.FAILED, ["A-1"], why="A-3")


async def test_a_new_key_of_a_record_is_no_record_that_is_missing() -> None:
    stage = _office("A-1", LIST, verb="Relabel 5 as")
    stage.talk.rounds[1:] = [[use("relabel_asset", asset_id=5, asset_tag="A-1")]]
    row: dict[str, Json] = {"id": 5, "asset_tag": "A-7", "held": False}
    stage.servers.add("list_assets", lambda _: [{**row}])
    stage.servers.add("get_asset", lambda _: {"found": False}, input_schema=schema("asset_tag"))
    stage.servers.add("relabel_asset", lambda given: row.update(given) or row, ToolClass.CHANGE)
    stage.change_tenant(policies=())
    await stage.run()
    assert row["asset_tag"] == "A-1", stage.turns.record.reason


async def test_a_value_of_one_key_is_no_other_key_of_the_same_kind() -> None:
    """The asset with serial number 6001 is held, and another one is tagged 6001: whatever was read decides nothing."""
    rows: list[dict[str, Json]] = [
        {"asset_tag": "77", "serial_no": "6001", "held": True},
        {"asset_tag": "6001", "serial_no": "12", "held": False},
    ]
    read = use("get_asset", asset_tag="6001")
    for reads in ((), (use("list_assets"),), (read,)):
        stage = Stage("Retire the asset 6001", [*reads], [use("retire_asset", serial_no="6001")])
        stage.servers.add(
            "get_asset", lambda given: _without(rows, "serial_no", given), input_schema=schema("asset_tag")
        )
        stage.servers.add(
            "list_assets", lambda _: [{"asset_tag": row["asset_tag"], "serial_no": row["serial_no"]} for row in rows]
        )
        stage.servers.add("retire_asset", lambda _: {"ok": True}, ToolClass.CHANGE, schema("serial_no"))
        stage.change_tenant(records={"asset": RecordKind(keys=("asset_tag", "serial_no"))})
        await stage.judge_by(HELD).ends(TaskState.REJECTED, [])
        assert stage.turns.writes == {}


def _without(rows: list[dict[str, Json]], key: str, given: JsonObject) -> Json:
    found = next((row for row in rows if row["asset_tag"] == given["asset_tag"]), None)
    return {name: value for name, value in found.items() if name != key} if found else {"found": False}
