"""`purple chaos`: whatever is killed and cut, nothing is lost and nothing happens twice."""

from decimal import Decimal

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.e2e.commands import purple

_HARMS = (
    "lost",
    "twice_accepted",
    "double_write",
    "uncalled_write",
    "false_proof",
    "outcome_missing",
    "outcome_repeated",
)


async def _chaos(minutes: str, seed: int, seconds: float) -> JsonObject:
    done = await purple("chaos", "--minutes", minutes, "--seed", str(seed), "--json", seconds=seconds)
    assert done.code == 0, f"{done.out[-4000:]}\n{done.err[-4000:]}"
    return loads_object(done.out)


def _number(value: Json) -> Decimal:
    assert isinstance(value, int | Decimal)
    return Decimal(value)


@pytest.mark.promise("chaos.nothing_lost")
@pytest.mark.promise("chaos.nothing_twice")
async def test_nothing_is_lost_or_done_twice_while_processes_are_killed() -> None:
    """Nine seconds over both protocols: every task, every write and every outcome is found once."""
    report = await _chaos("0.15", 1, 110)
    assert {harm: report[harm] for harm in _HARMS} == dict.fromkeys(_HARMS, 0)
    assert _number(report["accepted"]) >= 12
    assert _number(report["kills"]) >= 2


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_three_minutes_of_chaos_hold_and_killed_turns_go_on_within_ten_seconds(seed: int) -> None:
    """At least 300 tasks and 60 kills; a killed turn has an owner again within 10 s at p95, doubts excepted."""
    report = await _chaos("3", seed, 800)
    recovery = report["recovery_of_a_killed_executors_turns"]
    assert isinstance(recovery, dict)
    assert {harm: report[harm] for harm in _HARMS} == dict.fromkeys(_HARMS, 0)
    assert _number(report["accepted"]) >= 300
    assert _number(report["kills"]) >= 60
    assert _number(recovery["p95"]) < 10
