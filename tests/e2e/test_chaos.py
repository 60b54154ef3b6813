"""`purple chaos`: whatever is killed and cut, nothing is lost and nothing happens twice."""

from decimal import Decimal

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.e2e.commands import purple, run_purple
from tests.redis_server import short_folder
from tools.chaos.evidence import harms_of
from tools.chaos.judgement import ExitCode

_HARMS = harms_of(rolling=False)


async def _chaos(*words: str, seconds: float) -> JsonObject:
    """The report of a run that did no harm; on a busy machine it may say that it was not judged otherwise."""
    done = await purple("chaos", *words, "--json", seconds=seconds)
    assert done.code in (ExitCode.HELD, ExitCode.NOT_JUDGED), f"{done.out[-4000:]}\n{done.err[-4000:]}"
    return loads_object(done.out)


def _number(value: Json) -> Decimal:
    assert isinstance(value, int | Decimal)
    return Decimal(value)


@pytest.mark.timeout(300)
@pytest.mark.promise("chaos.nothing_lost", "chaos.nothing_twice", "I5.accepted_is_never_lost")
def test_nothing_is_lost_or_done_twice_while_processes_are_killed() -> None:
    """Nine seconds over both protocols: every task, every write and every outcome is found once.

    Whether a run of that length on a machine with other work is worth anything is not asked here: harm alone is.
    """
    words = ("--minutes", "0.15", "--rate", "1.5", "--faults", "kill-executor,kill-redis,lost-reply")
    with short_folder() as folder:
        done = run_purple("chaos", *words, "--json", "--dir", folder)
    assert done.out, done.err[-4000:]
    report = loads_object(done.out)
    assert {harm: report[harm.name.lower()] for harm in _HARMS} == dict.fromkeys(_HARMS, 0), done.err[-4000:]
    assert _number(report["accepted"]) >= 12
    assert _number(report["kills"]) >= 2


@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_three_minutes_of_every_fault_hold(seed: int) -> None:
    """No harm; and, unless the machine is too busy to judge, rate, strikes and recovery within their bounds."""
    report = await _chaos("--minutes", "3", "--seed", str(seed), seconds=880)
    assert {harm: report[harm.name.lower()] for harm in _HARMS} == dict.fromkeys(_HARMS, 0)
    assert _number(report["kills"]) >= 60
