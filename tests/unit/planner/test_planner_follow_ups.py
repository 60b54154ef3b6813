"""What a request takes from the session's earlier ones: the one thing that was spoken of, or the request itself."""

import pytest

from shared.domain.exact_json import Json
from tests.each_row import each_row
from tests.unit.planner.planner_requests import calls, fact, planned, tool

_KITES: list[Json] = [
    fact(f"f{number}", "get_kite", {"kite_id": f"KIT-{number}"}, {"id": f"KIT-{number}", "state": "open", "fee": "12"})
    for number in (7, 8, 9)
]
_WRITERS: list[Json] = [
    tool("approve_kite", kite_id="string"),
    tool("reject_kite", kite_id="string", reason="string"),
    tool("notify_pilot", pilot_id="string", message="string"),
]


def _session(*turns: tuple[str, str]) -> list[Json]:
    return [{"role": role, "text": text} for role, text in turns]


def _after(task: str, *turns: tuple[str, str]) -> tuple[list[tuple[str, str]], str]:
    """The tools that are proposed, each with its kite, and the answer, after these turns of the session."""
    plan = planned(task, _KITES, _WRITERS, history=_session(*turns))
    return [(name, str(given.get("kite_id"))) for name, given in calls(plan)], plan.text


_ASKED = ("user", "What is the state of kite KIT-7?"), ("agent", "The state of KIT-7 is open.")


@pytest.mark.promise("planner.follows_up")
@each_row(
    ("task", "turns"),
    ("Approve it.", _ASKED),
    ("Please approve that kite.", _ASKED),
    ("Then approve this one, too.", _ASKED),
    ("Approve it if it is open.", _ASKED),
    ("If it is open, approve it.", _ASKED),
    ("Genehmige ihn.", _ASKED),
    ("Approuve-la.", _ASKED),
    ("Approve it.", [("user", "Which kite is the dearest?"), ("agent", "KIT-7 (fee 12).")]),
    ("Approve it.", [("user", "And KIT-7?"), ("agent", "It is open.")]),
    ("Approve it.", [*_ASKED, ("user", "Approve it.")]),  # the task itself, after a question about its plan
    ("And the same for KIT-7.", [("user", "Approve KIT-8."), ("agent", "KIT-8 is approved.")]),
    ("KIT-7 too, please", [("user", "Approve KIT-8."), ("question", "Approve?"), ("user", "yes"), ("agent", "Done.")]),
    ("and KIT-7", [("user", "Approve KIT-9."), ("agent", "Done."), ("user", "the same for KIT-8"), ("agent", "Done.")]),
    ("Und dasselbe für KIT-7.", [("user", "Genehmige KIT-8."), ("agent", "KIT-8 is approved.")]),
    ("Et la même chose pour KIT-7.", [("user", "Approuve KIT-8."), ("agent", "KIT-8 is approved.")]),
)
def test_a_follow_up_means_the_one_thing_that_was_spoken_of_or_the_same_request(
    task: str, turns: list[tuple[str, str]]
) -> None:
    assert _after(task, *turns)[0] == [("approve_kite", "KIT-7")]


@pytest.mark.promise("planner.follows_up")
def test_the_same_for_several_things_has_the_reason_of_the_request_before() -> None:
    turns = _session(("user", "Reject KIT-7 because it is torn."), ("agent", "KIT-7 is rejected."))
    plan = planned("and the same for KIT-8 and KIT-9", _KITES, _WRITERS, history=turns)
    assert calls(plan) == [("reject_kite", {"kite_id": one, "reason": "it is torn"}) for one in ("KIT-8", "KIT-9")]


@pytest.mark.promise("planner.follows_up")
@each_row(
    ("task", "turns", "named"),
    ("Approve it.", [("user", "What is the state of KIT-7 and KIT-8?"), ("agent", "Open.")], "KIT-7 or KIT-8"),
    ("Approve it.", [("user", "Which are open?"), ("agent", "KIT-7, KIT-8.")], "KIT-7 or KIT-8"),
    ("Approve it.", [("user", "Show all but KIT-7."), ("agent", "KIT-8, KIT-9.")], "KIT-7 or KIT-8 or KIT-9"),
    ("the same for KIT-9", [("user", "Approve KIT-7 and notify PIL-2."), ("agent", "Done.")], "KIT-7 and PIL-2"),
    ("the same for KIT-9", [("user", "Which are open?"), ("agent", "KIT-7.")], "about no one thing"),
    ("the same for PIL-2", [("user", "Approve KIT-7."), ("agent", "Done.")], "PIL-2 is of another kind"),
)
def test_a_follow_up_that_may_mean_several_things_is_refused_and_says_which(
    task: str, turns: list[tuple[str, str]], named: str
) -> None:
    proposed, answer = _after(task, *turns)
    assert (proposed, named in answer) == ([], True), answer


@pytest.mark.promise("planner.follows_up")
@each_row(
    ("task", "proposed"),
    ("Approve KIT-8 if it is open.", [("approve_kite", "KIT-8")]),  # the task names its own thing
    ("Approve the kite of Ann Lee because it is light.", []),  # the pronoun has a noun before it
    ("Notify the pilot of it.", []),
    ("If it is grounded, approve it.", []),
    ("If it is raining, approve every kite.", []),
    ("It is urgent: approve every torn kite.", []),
    ("Approve them.", []),
    ("Approve the torn kite.", []),
    ("Approve the transfer and close it.", []),  # its noun stands in the request, though it is a verb, too
    ("What about KIT-8?", []),
)
def test_what_has_its_own_thing_or_none_takes_nothing_from_before(task: str, proposed: list[tuple[str, str]]) -> None:
    assert _after(task, *_ASKED)[0] == proposed


@pytest.mark.promise("planner.follows_up")
@each_row(("task", "answer"), ("What is its fee?", "The fee of KIT-7 is 12."), ("And KIT-8?", "The state of KIT-8 is"))
def test_a_question_may_follow_up_too(task: str, answer: str) -> None:
    assert answer in _after(task, *_ASKED)[1]


@pytest.mark.promise("planner.follows_up")
def test_a_pronoun_of_a_question_behind_another_means_what_that_one_asks_for() -> None:
    """And not the thing of the request before."""
    assert "KIT-7" not in _after("Which kite is the dearest, and who filed it?", *_ASKED)[1]


@pytest.mark.promise("planner.follows_up")
@each_row("task", ["What about KIT-8?", "And KIT-8?"])
def test_a_question_behind_an_order_writes_nothing(task: str) -> None:
    proposed, answer = _after(task, ("user", "Approve KIT-7."), ("agent", "KIT-7 is approved."))
    assert (proposed, answer) == ([], "fee 12, id KIT-8, state open.")


@pytest.mark.promise("planner.follows_up")
def test_a_thing_of_another_kind_is_not_what_a_follow_up_orders() -> None:
    order = tool("approve_order", order_id="string")
    plan = planned("Approve this order.", _KITES, [*_WRITERS, order], history=_session(*_ASKED))
    assert calls(plan) == []
