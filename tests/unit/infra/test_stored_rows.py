"""Entries of the write ledger and rows of a journal are read as they were stored, by this revision and later."""

from base64 import b64decode
from datetime import UTC, datetime

import pytest
from hypothesis import given, strategies as st

from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall
from shared.domain.words import ToolClass, WriteStatus
from shared.infra.compression import DECODING_ERRORS, DictionaryCompressor
from shared.infra.journal_rows import (
    ROW_FIELD,
    StoredStep,
    name_shared_text,
    pack_steps,
    parse_steps,
    split_shared_texts,
)
from shared.infra.ledger_rows import pack_ledger_entry, parse_ledger_entry
from shared.infra.stored_outcomes import unpack_outcome
from tests.each_row import each_row

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


def _as_read(base_64: str) -> str:
    """Bytes as a client reads them, of what stands here in base 64."""
    return b64decode(base_64).decode(errors=DECODING_ERRORS)


@pytest.mark.promise("upgrade.opened")
def test_what_is_packed_is_read_equal_entries_are_packed_alike_and_those_of_an_older_revision_are_read() -> None:
    """A step whose reply was lost is told from another's by what stands there."""
    assert parse_ledger_entry(f"sending\n{pack_ledger_entry(_ENTRY).decode(errors=DECODING_ERRORS)}") == _ENTRY
    assert pack_ledger_entry(_ENTRY.model_copy()) == pack_ledger_entry(_ENTRY)
    assert parse_ledger_entry(f"sending\n{_ENTRY.stored_json()}") == _ENTRY


@pytest.mark.promise("upgrade.opened")
def test_an_entry_that_was_packed_before_is_read() -> None:
    """It was packed with the shapes as they were at first: to change that file spoils every ledger."""
    packed = (
        "eLuKPCHag0VwiVWGFSQ+iYtmUDGYmFeJiGZokgFFc2YuSXEO1gF2p7OPr64hKOBwhC0WlahBnEFUGBuZ6RoY6hoYhRgYWxmYWBmYRiHygu"
        "/hPTk5wFqoFgCf11qE"
    )
    assert parse_ledger_entry(f"sending\n{_as_read(packed)}") == _ENTRY


def test_a_row_that_is_none_is_said_and_no_steps_are_no_row() -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        parse_ledger_entry("sending\nspoilt==")
    with pytest.raises(ValueError, match="cannot be read"):
        parse_steps([("7-1", {ROW_FIELD: "spoilt"})])
    assert pack_steps([]) == b""


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)


@pytest.mark.promise("journal.texts_once")
@given(st.lists(st.tuples(TEXT, TEXT, TEXT), max_size=4), st.lists(TEXT.filter(bool), max_size=3, unique=True))
def test_what_is_packed_is_read_of_journal_rows(steps: list[tuple[str, str, str]], shared: list[str]) -> None:
    """Also where the texts overlap, stand in the data more than once, or not at all."""
    names = {text: name_shared_text(text) for text in shared}
    packed = [StoredStep(key, kind, split_shared_texts(data + "".join(shared), names)) for key, kind, data in steps]
    read = parse_steps([("7-1", {ROW_FIELD: pack_steps(packed).decode(errors=DECODING_ERRORS)})] if packed else [])
    texts = {name: text for text, name in names.items()}
    assert [(one.key, one.kind, one.join_data(texts), one.at_ms) for one in read] == [
        (key, kind, data + "".join(shared), 7) for key, kind, data in steps
    ]


@pytest.mark.promise("upgrade.opened")
@each_row(
    ("fields", "steps"),
    ({"key": "k", "kind": "note", "data": '{"said":"Müller"}'}, [("k", '{"said":"Müller"}')]),
    (
        {"y": _as_read("eLvaP3YNi45WykapM4oToeHie3gPMDMXgQYmgFGYCAVKsVRu3cYCAOX8K5Q=")},
        [("k", '{"said":"Müller"}aaaaaaaa'), ("talk:1:tool:0", '{"content":{},"is_error":false,"renamed":{}}')],
    ),
)
def test_rows_of_an_earlier_revision_are_read(fields: dict[str, str], steps: list[tuple[str, str]]) -> None:
    """The last was packed with the shapes of steps as they were at first: to change that file spoils every journal."""
    read = parse_steps([("7-1", fields)])
    assert [(one.key, one.join_data({"aaaaaaaa": "aaaaaaaa"})) for one in read] == steps


@pytest.mark.promise("upgrade.opened")
def test_an_outcome_without_its_lines_is_left_to_whoever_reads_outcomes() -> None:
    stored = DictionaryCompressor("outcome_shapes.txt").pack("no outcome").decode(errors=DECODING_ERRORS)
    assert unpack_outcome(stored) == (None, stored)
