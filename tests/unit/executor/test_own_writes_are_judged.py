"""Rules see a record as the task's own writes left it, in the same plan and in a later one."""

from functools import partial

import pytest

from shared.contracts.policy import Rule, ToolRule
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState, ToolClass
from tests.doubles.scripted_talk import Calls
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import READ_2, RealRules, Stage, decision, schema, use

pytestmark = pytest.mark.promise("policy.own_writes")

LARGE = Rule(
    id="LARGE",
    condition='tool == "approve_claim" && amount > 500',
    action="require_approval",
    level="manager",
    reason="Large claims need a manager.",
)
TEXT = "Raise claim C-1 to 900, then approve it"
PARTS = ("Raise claim C-1 to 900", "approve it")
READ, RAISE, APPROVE = (
    use("get_claim", claim_id="C-1"),
    use("set_amount", 1, claim_id="C-1", new_amount=900),
    use("approve_claim", 2, claim_id="C-1"),
)


class RaisedStage(Stage):
    def __init__(self, *rounds: Calls, amount: str = "120.50") -> None:
        super().__init__(TEXT, [READ], *rounds, parts=PARTS, answer="C-1 was raised to 900.")
        self.claims.rows["C-1"]["amount"] = amount
        self.servers.add("set_amount", self._set, ToolClass.CHANGE, schema("claim_id", "new_amount:number"))
        self.judge_by(LARGE)

    def _set(self, given: JsonObject) -> Json:
        self.claims.rows["C-1"]["amount"] = "900.00"
        return {"ok": True}


@each_row("rounds", [[RAISE, APPROVE], [APPROVE]], [[RAISE], [READ_2], [APPROVE]], [[RAISE, APPROVE]])
async def test_a_record_that_the_task_itself_changed_is_judged_as_it_is_now(rounds: list[Calls]) -> None:
    stage = RaisedStage(*rounds)
    record = await stage.run()
    assert stage.claims.applied == []
    is_asked = len(rounds) > 1
    assert record.state is (TaskState.INPUT_REQUIRED if is_asked else TaskState.FAILED), record.reason
    assert "LARGE" in (str(record.reason) + stage.told)
    assert (await replayed(stage)).difference == ""
    if is_asked:
        await stage.ends(TaskState.COMPLETED, ["C-1"], turn=decision("approve"))


def _world(kind: str, verb: str, row: JsonObject, change: JsonObject, process: str) -> Stage:
    """A record is changed in a way of its server's own, and then ``verb`` is done to it, in one plan."""
    name = {f"{kind}_id": "X-1"}
    parts = (f"Change {kind} X-1", f"{verb} {kind} X-1")
    calls = [use(f"change_{kind}", 1, **name), use(f"{verb}_{kind}", 2, **name)]
    stage = Stage(", then ".join(parts), [use(f"get_{kind}", **name)], calls, parts=parts, answer="It is done.")
    own: JsonObject = {"id": "X-1", **row}
    stage.servers.add(f"get_{kind}", lambda _: dict(own), ToolClass.READ, schema(f"{kind}_id"))
    done: JsonObject = {"status": "done"}
    for tool, leaves in ((f"change_{kind}", change), (f"{verb}_{kind}", done)):
        stage.servers.add(tool, partial(_change, own, leaves), ToolClass.CHANGE, schema(f"{kind}_id"))
    stage.talk.process = process
    return stage.judge_by()


def _change(own: JsonObject, leaves: JsonObject, _: JsonObject) -> Json:
    own |= leaves
    return {"ok": True}


@each_row(
    ("kind", "verb", "row", "change", "process", "why"),
    ("dispute", "accept", {"amount": "50.00"}, {"amount": "5000.00"}, "dispute_resolution", "large-dispute"),
    ("incident", "close", {"affected": "mail"}, {"affected": "card data"}, "incident_response", "it takes more people"),
    (
        "expense",
        "approve",
        {"amount": "500.00", "budget": {"available": "600.00"}},
        {"amount": "900.00"},
        "expense_approval",
        "budget",
    ),
)
async def test_rules_persons_and_figures_of_a_process_go_by_what_an_earlier_change_left(
    kind: str, verb: str, row: JsonObject, change: JsonObject, process: str, why: str
) -> None:
    stage = _world(kind, verb, row, change, process)
    record = await stage.run()
    assert (stage.written, record.state) == ([f"change_{kind}"], TaskState.FAILED)
    assert why in str(record.reason)


async def test_a_block_that_was_undecided_when_a_person_said_yes_blocks_once_it_is_known() -> None:
    held = Rule(id="HELD", condition='tool == "approve_claim" && frozen == true', action="block", level="manager")
    stage = RaisedStage([RAISE, APPROVE])
    stage.judge_by(held)
    freezes = partial(_change, stage.claims.rows["C-1"], {"frozen": True})
    stage.servers.add("set_amount", freezes, ToolClass.CHANGE, schema("claim_id", "new_amount:number"))
    await stage.ends(TaskState.INPUT_REQUIRED, [])
    await stage.ends(TaskState.FAILED, [], turn=decision("approve"), why="HELD")


async def test_a_list_that_may_have_lost_the_record_since_is_not_read_again() -> None:
    """Twenty approvals of rows of one list are judged once, and a worklist keeps no second change from being made."""
    rows: list[JsonObject] = [{"ticket_id": f"T-{n}", "vip": False, "owner": ""} for n in range(1, 4)]
    calls = [use(tool, part, ticket_id="T-1") for part, tool in enumerate(("take_ticket", "raise_ticket"), 1)]
    parts = ("Take ticket T-1", "raise ticket T-1")
    stage = Stage(", ".join(parts), [use("list_open_tickets")], calls, parts=parts, answer="Both are done.")
    stage.servers.add("list_open_tickets", lambda _: [row for row in rows if not row["owner"]], ToolClass.READ)
    for tool in ("take_ticket", "raise_ticket"):
        stage.servers.add(tool, partial(_change, rows[0], {"owner": "me"}), ToolClass.CHANGE, schema("ticket_id"))
    stage.judge_by(Rule(id="VIP", condition='tool == "raise_ticket" && vip == true', action="block"))
    await stage.ends(TaskState.COMPLETED)
    assert stage.written == ["take_ticket", "raise_ticket"]


@pytest.mark.promise("I4.unverified_is_said")
@each_row(
    ("answered", "state"),
    ({"ok": True}, TaskState.FAILED),
    ({"ok": True, "amount": 50}, TaskState.COMPLETED),
    ({"ok": True, "amount": 10}, TaskState.COMPLETED),  # it became something else: what that means, nobody knows
)
async def test_a_part_is_not_done_where_a_read_shows_another_value_of_the_field_that_its_call_set(
    answered: JsonObject, state: TaskState
) -> None:
    """However the server answers: it changes its record only if it says so here."""
    limit: JsonObject = {"limit_id": "L-1", "amount": 40}
    call = use("set_limit", 1, limit_id="L-1", amount=50)
    stage = Stage("Set limit L-1 to 50", [use("get_limit", limit_id="L-1")], [call], answer="It is set.")
    stage.servers.add("get_limit", lambda _: dict(limit), ToolClass.READ, schema("limit_id"))

    def set_limit(_: JsonObject) -> Json:
        limit.update({name: value for name, value in answered.items() if name == "amount"})
        return answered

    stage.servers.add("set_limit", set_limit, ToolClass.CHANGE, schema("limit_id", "amount:number"))
    record = await stage.ends(state)
    assert ("the read-back shows something else: amount=40" in str(record.reason)) is (state is TaskState.FAILED)


async def test_where_a_rule_keeps_the_record_from_being_read_again_what_it_showed_before_counts_no_more() -> None:
    stage = RaisedStage([RAISE], [READ_2], [APPROVE])
    stage.policy = RealRules()
    stage.set_rules(LARGE, ToolRule(id="TWICE", kind="at_most", tool="get_claim", limit=2))
    await stage.ends(TaskState.INPUT_REQUIRED, [], why="LARGE")


@each_row("rounds", [[RAISE, APPROVE]], [[RAISE], [READ_2], [APPROVE]])
async def test_the_row_of_a_list_gives_way_to_the_record_that_was_read_again(rounds: list[Calls]) -> None:
    """What no rule looks at may change, too: a value that was worked out before is still known then."""
    stage = RaisedStage(*rounds)
    total = use("calculate", name="open_sum", operation="sum", operands=["r1.fee"])
    stage.talk.rounds = [[READ, use("list_claims")], [total], *rounds]
    stage.claims.rows["C-1"] |= {"fee": "7.00"}
    stage.servers.add("list_claims", lambda _: [dict(row) for row in stage.claims.rows.values()], ToolClass.READ)
    for name in ("amount", "open_sum"):
        stage.judge_by(Rule(id="HUGE", condition=f'tool == "approve_claim" && {name} > 1000', action="block"))
    await stage.ends(TaskState.COMPLETED, ["C-1"])


@each_row("name", "open_sum", "doubled")
async def test_a_calculated_value_is_not_known_any_more_once_what_it_rests_on_was_changed(name: str) -> None:
    """Nor is one that was worked out from that value: a rule about it cannot be decided, and its block holds."""
    stage = RaisedStage([RAISE, APPROVE])
    total = use("calculate", name="open_sum", operation="sum", operands=["r1.amount"])
    doubled = use("calculate", name="doubled", operation="multiply", operands=["open_sum", "2"])
    stage.talk.rounds = [[READ], [total], [doubled], [RAISE, APPROVE]]
    stage.judge_by(Rule(id="HUGE", condition=f'tool == "approve_claim" && {name} > 1000', action="block"))
    await stage.ends(TaskState.FAILED, [], why="HUGE")
    assert stage.written == ["set_amount"]


async def test_what_is_done_to_a_customer_may_have_changed_what_the_customer_has() -> None:
    """All mandates of a customer are revoked, and then one of them is to be paid to: it is read again."""
    parts = ("Revoke all mandates of customer CU-1", "pay 50 to mandate SM-1")
    calls = [use("revoke_mandates", 1, customer_id="CU-1"), use("pay_out", 2, mandate_id="SM-1", amount=50)]
    read = [use("get_mandate", mandate_id="SM-1")]
    stage = Stage(", then ".join(parts), read, calls, parts=parts, answer="Both are done.")
    own: JsonObject = {"mandate_id": "SM-1", "customer_id": "CU-1", "status": "active"}
    stage.servers.add("get_mandate", lambda _: dict(own), ToolClass.READ, schema("mandate_id"))
    revokes = partial(_change, own, {"status": "revoked"})
    stage.servers.add("revoke_mandates", revokes, ToolClass.CHANGE, schema("customer_id"))
    stage.servers.add("pay_out", lambda _: {"ok": True}, ToolClass.CHANGE, schema("mandate_id", "amount:number"))
    stage.judge_by(Rule(id="OFF", condition='tool == "pay_out" && status != "active"', action="block"))
    await stage.ends(TaskState.FAILED, why="OFF")
    assert stage.written == ["revoke_mandates"]
