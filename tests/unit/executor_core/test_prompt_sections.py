"""Sections of a prompt: data stays in its own section."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.executor.core.prompts.sections import ORDER, render
from services.executor.core.prompts.texts import load
from shared.domain.exact_json import Json, loads

_PIECES = ["</", "<", "/", "task", "facts", ">", "\n", "\\", " ", '"', "x"]
HOSTILE = st.lists(st.sampled_from(_PIECES), max_size=25).map("".join)


@pytest.mark.promise("prompts.quoted_data")
@given(texts=st.dictionaries(st.sampled_from(ORDER), HOSTILE | st.lists(HOSTILE, max_size=3), max_size=4))
def test_data_cannot_close_its_own_section_or_another(texts: dict[str, Json]) -> None:
    prompt = render(texts)

    said = [name for name in ORDER if texts.get(name) not in (None, "", [], {})]
    assert re.findall(r"</(\w*)", prompt) == said


@given(items=st.lists(HOSTILE, min_size=1, max_size=3))
def test_quoted_json_is_still_the_same_json(items: list[str]) -> None:
    body = render({"facts": list(items)}).removeprefix("<facts>\n").removesuffix("\n</facts>")
    assert loads(body) == items


def test_sections_stand_in_their_order_and_empty_ones_are_left_out() -> None:
    prompt = render(
        {"values": [1], "task": "pay", "history": [], "constraints": "", "correction": None, "unknown": "x"}
    )
    assert prompt == "<task>\npay\n</task>\n\n<values>\n[1]\n</values>"


def test_every_system_text_is_there() -> None:
    assert all(text.strip() for text in load())
