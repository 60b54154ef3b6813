"""Sections of a prompt: data stays in its own section."""

import re

import pytest
from hypothesis import given, strategies as st

from services.executor.core.states.prompts import SECTION_ORDER, render_in_order
from shared.domain.exact_json import Json

_PIECES = ["</", "<", "/", "task", "facts", ">", "\n", "\\", " ", '"', "x"]
HOSTILE = st.lists(st.sampled_from(_PIECES), max_size=25).map("".join)


@pytest.mark.promise("prompts.quoted_data")
@given(texts=st.dictionaries(st.sampled_from(SECTION_ORDER), HOSTILE | st.lists(HOSTILE, max_size=3), max_size=4))
def test_data_cannot_close_its_own_section_or_another(texts: dict[str, Json]) -> None:
    prompt = render_in_order(texts)

    said = [name for name in SECTION_ORDER if texts.get(name) not in (None, "", [], {})]
    assert re.findall(r"</(\w*)", prompt) == said
