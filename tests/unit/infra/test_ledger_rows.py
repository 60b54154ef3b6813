"""An entry of the write ledger is read as it was stored, by this revision and by those after it."""

from datetime import UTC, datetime

import pytest

from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall
from shared.domain.words import ToolClass, WriteStatus
from shared.infra.ledger_rows import pack_entry, read_entry

_ENTRY = LedgerEntry(
    key="t:h:c1",
    call=PlannedCall(
        call_id="c1",
        connection_id="company",
        tool="approve_claim",
        tool_class=ToolClass.CHANGE,
        arguments_json='{"claim":"CLM-1"}',
    ),
    arguments_json='{"claim":"CLM-1"}',
    plan_hash="h",
    status=WriteStatus.SENDING,
    sending_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
    note="Müller",
)


def test_what_is_packed_is_read() -> None:
    assert read_entry(f"sending\n{pack_entry(_ENTRY)}") == _ENTRY


def test_equal_entries_are_packed_alike() -> None:
    """A step whose reply was lost is told from another's by what stands there."""
    assert pack_entry(_ENTRY.model_copy()) == pack_entry(_ENTRY)


@pytest.mark.promise("upgrade.opened")
def test_an_entry_of_an_older_revision_is_read() -> None:
    assert read_entry(f"sending\n{_ENTRY.stored_json()}") == _ENTRY


@pytest.mark.promise("upgrade.opened")
def test_an_entry_that_was_packed_before_is_read() -> None:
    """It was packed with the shapes as they were at first: to change that file spoils every ledger."""
    packed = (
        "eLuKPCHag0VwiVWGFSQ+iYtmUDGYmFeJiGZokgFFc2YuSXEO1gF2p7OPr64hKOBwhC0WlahBnEFUGBuZ6RoY6hoYhRgYWxmYWBmYRiHygu"
        "/hPTk5wFqoFgCf11qE"
    )
    assert read_entry(f"sending\n{packed}") == _ENTRY


def test_a_row_that_is_none_is_said() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        read_entry("sending\nspoilt==")
