"""Notices: proved changes are told plainly, acknowledged ones with a frozen sentence, all others not at all."""

import pytest
from hypothesis import given, strategies as st

from services.executor.core.plan import notices
from services.executor.core.records.references import result_at, set_at_path
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import JsonObject
from shared.domain.words import ToolClass, WriteStatus
from tests.each_row import each_row
from tests.unit.executor_core.makers import call, entry, plan, tool, tools

TELL = tool("notify_customer", ToolClass.NOTIFY, {"type": "object", "properties": {"body": {"type": "string"}}})


def planned(call_id: str, part: int | None = None, tool_class: ToolClass = ToolClass.CHANGE) -> PlannedCall:
    if tool_class is ToolClass.CHANGE:
        return call({"id": 1}, call_id, tool_class, "change_address", part=part)
    return call({"to": "bo@x.example", "body": "It is done."}, call_id, tool_class, "notify_customer", part=part)


def frozen(*calls: PlannedCall) -> WritePlan:
    return notices.with_notice_sentences(plan(*calls), tools(TELL))


def ledger(**statuses: WriteStatus) -> dict[str, LedgerEntry]:
    return {call_id: entry(status, of=planned(call_id)) for call_id, status in statuses.items()}


NOTICE = planned("n1", tool_class=ToolClass.NOTIFY)


@pytest.mark.promise("notify.proved_only")
@each_row("status", sorted(set(WriteStatus) - {WriteStatus.VERIFIED, WriteStatus.UNVERIFIED}))
def test_no_notice_tells_of_a_change_that_failed_or_is_open(status: WriteStatus) -> None:
    whole = frozen(planned("c1"), NOTICE)
    going = notices.check_notice(whole.calls[1], whole, ledger(c1=status))
    assert (bool(going.why_not), going.sentence) == (True, "")
    assert "c1 change_address is" in going.why_not
    assert notices.check_notice(whole.calls[1], whole, {}).why_not


@pytest.mark.promise("notify.proved_only")
def test_a_notice_that_was_frozen_without_a_sentence_waits_for_proof_and_one_that_does_not_fit_is_not_frozen() -> None:
    whole = plan(planned("c1"), NOTICE)
    assert notices.check_notice(NOTICE, whole, ledger(c1=WriteStatus.UNVERIFIED)).why_not
    narrow = TELL._replace(input_schema={"properties": {"body": {"type": "string", "maxLength": 20}}})
    assert notices.with_notice_sentences(whole, tools(narrow)) == whole


@pytest.mark.promise("notify.own_part")
@each_row(
    ("change", "notice", "held"), [(1, 1, True), (1, 2, False), (None, 2, True), (1, None, True), (None, None, True)]
)
def test_only_a_change_of_its_own_part_holds_a_notice_back(change: int | None, notice: int | None, held: bool) -> None:
    whole = frozen(planned("c1", change), planned("c2", notice), planned("n1", notice, ToolClass.NOTIFY))
    made = ledger(c1=WriteStatus.REFUSED, c2=WriteStatus.VERIFIED)
    assert bool(notices.check_notice(whole.calls[2], whole, made).why_not) is held


@pytest.mark.promise("notify.own_part")
def test_a_notice_in_a_part_without_changes_tells_of_those_of_the_others() -> None:
    """ "Close the period. Tell Finance that it is closed." has the notice in a part of its own."""
    whole = frozen(planned("c1", 1), planned("n1", 2, ToolClass.NOTIFY))
    assert notices.check_notice(whole.calls[1], whole, ledger(c1=WriteStatus.REFUSED)).why_not


@pytest.mark.promise("notify.proved_only")
@each_row(
    ("arguments", "place"),
    ({"to": "a@b.c", "subject": "Your order", "body": "It is done."}, ("body",)),
    ({"recipient": "Bo Ek", "message": {"title": "On it", "text": "Done"}}, ("message", "text")),
    ({"customerMessage": "Done", "note": "x"}, ("customerMessage",)),
    ({"title": "Your order", "to": "Bo Ek"}, None),
    ({"intro": "It is done.", "outro": "Best wishes, us"}, None),
    ({"template_id": 7}, None),
)
def test_the_sentence_has_its_place_in_the_free_text(arguments: JsonObject, place: tuple[str, ...] | None) -> None:
    extended = notices.append_sentence_to_notice(arguments, tool("notify", ToolClass.NOTIFY), "x")
    text = result_at(arguments, ".".join(place)) if place else None
    assert extended == (set_at_path(arguments, place, f"{text}\n\nx") if place else None)


@given(body=st.text(min_size=1, max_size=40))
def test_a_text_keeps_its_words_when_the_sentence_is_added(body: str) -> None:
    arguments: JsonObject = {"message": {"body": body}, "to": 1}
    sentence = notices.build_unconfirmed_sentence(1)
    told = notices.append_sentence_to_notice(arguments, tool("notify", ToolClass.NOTIFY), sentence)
    assert told is not None
    message = told["message"]
    assert isinstance(message, dict)
    assert str(message["body"]).startswith(body.rstrip())
    assert str(message["body"]).endswith("was accepted by the system, but is not yet confirmed.")
    assert told["to"] == 1


@pytest.mark.promise("notify.proved_only")
def test_the_sentence_and_the_part_are_hashed_only_where_they_are_set() -> None:
    bare = plan(planned("c1"), NOTICE)
    assert bare.hash == "cd423f4055fdcca77a4355b52a201a80f91a446c7bfab4e066e0674053a37bf1"  # as of older plans
    assert frozen(planned("c1"), NOTICE).hash != bare.hash
    assert plan(planned("c1", 1), NOTICE).hash != bare.hash
