"""What a task asks for, as its first reply says it: quotes of the user's own words, and in doubt something to do."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.conversation.understanding import (
    CannotUnderstand,
    read_understanding,
    understand_tool,
    whole_task,
)
from services.executor.core.dossier.values import PartOfTask, parts_to_do
from services.executor.core.states.synthesis import process_name
from services.executor.core.states.template import TEMPLATES
from shared.domain.exact_json import Json, JsonObject

TASK = "List the open orders, and cancel order O-7.\nThen tell  Ann “it is done”"
EARLIER = "Refund C-1 only if Bob agrees"


def said(*parts: tuple[str, str], process: str = "general") -> JsonObject:
    quoted: list[Json] = [{"quote": quote, "kind": kind} for quote, kind in parts]
    return {"parts": quoted, "process": process, "answer_form": "prose"}


@pytest.mark.promise("prime.classify")
def test_each_part_keeps_its_place_and_says_whether_it_acts() -> None:
    given_parts = said(("list the open orders", "find out"), ("Cancel order O-7", "do"), ("tell Ann", "do"))
    found = read_understanding(given_parts, (TASK,))

    assert [(part.number, part.kind) for part in found.parts] == [(1, "find out"), (2, "do"), (3, "do")]
    assert [part.number for part in parts_to_do(found.parts)] == [2, 3]
    assert found.problems == ()


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


@pytest.mark.promise("prime.classify")
@given(task=st.text(min_size=1, max_size=80))
def test_without_an_understanding_the_whole_task_is_to_be_done(task: str) -> None:
    assert parts_to_do(whole_task(task).parts) == (PartOfTask(number=1, quote=task, kind="do"),)


@pytest.mark.promise("prime.classify")
@given(task=st.text(min_size=1, max_size=80).filter(lambda text: any(letter.isalnum() for letter in text)))
def test_a_task_that_is_quoted_whole_is_a_part(task: str) -> None:
    found = read_understanding(said((task, "find out")), (task,))
    assert [part.quote for part in found.parts] == [task]


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


@pytest.mark.promise("prime.classify")
def test_every_process_is_offered_by_name() -> None:
    described = understand_tool(TEMPLATES).description
    assert all(name in described for name in TEMPLATES)


@pytest.mark.promise("prime.classify")
@pytest.mark.parametrize("name", TEMPLATES)
def test_a_process_is_known_however_its_name_is_spaced(name: str) -> None:
    assert process_name(f" {name.upper().replace('_', ' ')} ") == name


@pytest.mark.parametrize("name", ["", "unknown", "other", "a", "drop; table", "ééé", "x" * 200])
def test_what_is_no_name_names_no_process(name: str) -> None:
    assert process_name(name) == ""
