"""What those who watch are told of a tool's arguments."""

import pytest

from services.executor.core.reads.one_call import format_arguments
from shared.domain.redaction import redact_text
from tests.each_row import each_row

_IBAN = "DE89370400440532013000"


@pytest.mark.promise("privacy.told_arguments")
@each_row("before", range(150, 200, 7))
def test_no_part_of_a_marked_number_is_told_where_arguments_are_cut(before: int) -> None:
    asked = redact_text(format_arguments({"note": "x" * before, "account": _IBAN}, {}))
    assert len(asked) <= 200
    assert "DE89" not in asked


@pytest.mark.promise("privacy.told_arguments")
def test_a_secret_is_told_by_its_fields_name_however_it_is_written() -> None:
    asked = redact_text(format_arguments({"login": {"secret": 'a"b c'}, "id": 7}, {}))
    assert "b c" not in asked
