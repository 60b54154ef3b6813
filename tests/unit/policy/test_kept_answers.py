"""What rules mean stays what it was: requests of all kinds are answered to the character as they were kept."""

import pytest

from shared.domain.exact_json import loads_object
from tests.each_row import each_row
from tests.unit.policy.corpus import Asked, Kept, answers, kept

_PARTS = 4


def _differing(before: list[Kept], now: list[Kept]) -> list[tuple[Kept, Kept]]:
    pairs = zip(before, now, strict=True)
    return [(old, new) for old, new in pairs if (old.status, old.answer) != (new.status, new.answer)]


@pytest.mark.promise("policy.verdict", "policy.errors")
@each_row("part", range(_PARTS))
async def test_every_kept_request_is_answered_as_it_was(part: int) -> None:
    """Verdicts, allowances and checked prose; the sentences of errors too. On a busy machine all take their time."""
    rows = list(kept())[part::_PARTS]

    assert len(rows) == 800 // _PARTS
    assert _differing(rows, await answers(Asked(row.path, row.body) for row in rows)) == []


@pytest.mark.promise("policy.by_hash")
@pytest.mark.parametrize("every", [9, pytest.param(1, marks=pytest.mark.long)])
async def test_policies_that_are_named_decide_as_those_that_are_sent(every: int) -> None:
    """Each request with its policies, and then by the hash that the answer gave, without them."""
    rows = [row for row in kept() if row.status == 200 and row.path != "/v1/prose/check"][::every]
    asked = [one for row in rows for one in (Asked(row.path, row.body), _by_hash(row))]
    by_hash = (await answers(asked))[1::2]

    assert _differing(rows, by_hash) == []


def _by_hash(row: Kept) -> Asked:
    named = loads_object(row.answer)["policyHash"]
    body = {name: value for name, value in row.body.items() if name != "policies"}
    return Asked(row.path.replace("/v1/", f"/v1/policies/{named}/"), body)
