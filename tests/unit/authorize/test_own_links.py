"""A record that a call names beside its own does not stand in for what the called record leads to: both are judged."""

import pytest

from services.executor.core.plan.named_reads import find_missing_reads
from services.executor.core.session.values import Fact
from shared.contracts.policy import Policy, Rule
from shared.domain.exact_json import JsonObject
from shared.domain.words import ToolClass
from tests.each_row import each_row
from tests.unit.authorize.verdicts import change, is_let_through, read, verdict
from tests.unit.executor.stage import schema
from tests.unit.executor_core.makers import plan, tool, tools

pytestmark = pytest.mark.promise("policy.binding")

_BOOKING = read("get_booking", {"booking_id": "B-7", "guest_id": "G-2", "status": "confirmed"}, "f1")
_FREE: JsonObject = {"guest_id": "G-1", "vip": False}
_BY_KIND = Rule(id="vip", condition='tool == "cancel_booking" && guest.vip == true', action="block")
_BARE = Rule(id="vip", condition='tool == "cancel_booking" && vip == true', action="block")


def _guest(number: int, *, vip: bool) -> Fact:
    return read("get_guest", {"guest_id": f"G-{number}", "vip": vip}, f"g{number}", guest_id=f"G-{number}")


@each_row("more", {"reason": "G-1"}, {"guest_id": "G-1"}, {"notes": ["G-1"]}, {"changes": {"x": "G-1"}})
@pytest.mark.parametrize("rule", [_BY_KIND, _BARE])
def test_what_the_called_record_leads_to_is_judged_beside_what_the_call_names(rule: Rule, more: JsonObject) -> None:
    calls = [change("cancel_booking", {"booking_id": "B-7", **more})]
    assert verdict([rule], calls, [_BOOKING, _guest(2, vip=True), _guest(1, vip=False)]).blocked
    assert verdict([rule], calls, [_BOOKING, _guest(2, vip=False), _guest(1, vip=True)]).blocked
    for rows in ([_FREE], [_FREE, {"guest_id": "G-2", "vip": True}]):
        assert not is_let_through(verdict([rule], calls, [_BOOKING, read("find_guests", [*rows], "f2")]), calls)
    both = verdict([rule], calls, [_BOOKING, _guest(2, vip=False), _guest(1, vip=False)])
    assert is_let_through(both, calls)


@pytest.mark.parametrize("rule", [_BY_KIND, _BARE])
def test_the_called_records_own_link_is_read_although_the_call_names_another(rule: Rule) -> None:
    call = change("cancel_booking", {"booking_id": "B-7", "reason": "G-1"})
    readers = (tool(f"get_{kind}", ToolClass.READ, schema(f"{kind}_id")) for kind in ("guest", "booking"))
    box = tools(tool(call.tool, ToolClass.CHANGE), *readers)
    [wanted] = find_missing_reads(
        plan(call), box, (_BOOKING, _guest(1, vip=False)), (Policy(id="house", rules=(rule,)),)
    )
    assert (wanted.tool.name, wanted.arguments) == ("get_guest", {"guest_id": "G-2"})


def test_what_two_steps_lead_to_is_judged_too() -> None:
    """The order of a contract of a customer, beside another customer in a remark."""
    order = read("get_order", {"order_id": "O-1", "contract_id": "K-1"}, "f1")
    contract = read("get_contract", {"contract_id": "K-1", "customer_id": "C-2"}, "f2")
    customers = [
        read("get_customer", {"customer_id": f"C-{one}", "locked": one == 2}, f"c{one}", customer_id=f"C-{one}")
        for one in (1, 2)
    ]
    rule = Rule(id="locked", condition='tool == "release_order" && customer.locked == true', action="block")
    calls = [change("release_order", {"order_id": "O-1", "remark": "C-1"})]
    assert verdict([rule], calls, [order, contract, *customers]).blocked


def test_a_number_under_a_plural_is_a_count_unless_a_record_has_it() -> None:
    """``rooms: 5`` releases five rooms; ``rooms: [5]`` names one."""
    rule = Rule(id="held", condition='tool == "release_rooms" && held == true', action="block")
    contract = read("get_contract", {"contract_no": "GC-1", "held": False}, "f1")
    counted = [change("release_rooms", {"contract_no": "GC-1", "rooms": 5})]
    assert is_let_through(verdict([rule], counted, [contract]), counted)
    named = [change("release_rooms", {"contract_no": "GC-1", "rooms": [5]})]
    assert not is_let_through(verdict([rule], named, [contract]), named)
    room = read("get_room", {"room_id": 5, "held": True}, "f2", room_id=5)
    assert verdict([rule], counted, [contract, room]).blocked
