"""What a task asks for, as its first reply says it: quotes of the user's own words, and in doubt something to do."""

import pytest

from services.executor.core.conversation.understanding import (
    CannotUnderstand,
    read_understanding,
)
from services.executor.core.session.values import PartOfTask
from shared.domain.exact_json import Json, JsonObject

TASK = "List the open orders, and cancel order O-7.\nThen tell  Ann “it is done”"
EARLIER = "Refund C-1 only if Bob agrees"


def said(*parts: tuple[str, str], process: str = "general") -> JsonObject:
    quoted: list[Json] = [{"quote": quote, "kind": kind} for quote, kind in parts]
    return {"parts": quoted, "process": process, "answer_form": "prose"}


@pytest.mark.promise("prime.classify")
@pytest.mark.parametrize("quote", ["delete all orders", "cancel order O-8", "", "...", "open orders cancel"])
def test_what_the_user_did_not_say_is_no_part_and_that_is_told(quote: str) -> None:
    found = read_understanding(said((quote, "do"), ("cancel order O-7", "do")), (TASK, EARLIER))

    assert [(part.number, part.quote) for part in found.parts] == [(1, "cancel order O-7")]
    (problem,) = found.problems
    assert repr(quote) in problem


@pytest.mark.promise("prime.classify")
def test_words_of_an_earlier_message_may_be_quoted() -> None:
    (part,) = read_understanding(said(("Refund C-1", "do")), ("Do it now", EARLIER)).parts
    assert part == PartOfTask(number=1, quote="Refund C-1", kind="do")


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"parts": "all of it"}, "parts"),
        ({"parts": [{"quote": "cancel order O-7", "kind": "maybe"}]}, "parts.0.kind"),
        ({"parts": [{"kind": "do"}]}, "parts.0.quote"),
        ({**said(), "answer_form": "a song"}, "answer_form"),
        ({**said(*[("cancel order O-7", "do")] * 41)}, "parts"),
    ],
)
def test_an_understanding_of_another_shape_is_refused_with_its_place(wrong: JsonObject, where: str) -> None:
    with pytest.raises(CannotUnderstand, match=rf"^{where}: "):
        read_understanding(wrong, (TASK,))
