"""`purple chaos` finds each bug that a worker must not have: a judge that cannot fail is worth nothing."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import pytest

from shared.domain.exact_json import Json, JsonObject, loads_object
from tests.e2e.commands import NOTHING, Done, purple
from tests.redis_server import short_folder
from tests.seeded_bugs.bugs import BUGS
from tools.chaos.evidence import Harm, harms_of

_ROOT = Path(__file__).resolve().parents[2]
_PATH = f"{_ROOT}:{_ROOT / 'tests/seeded_bugs/entry'}"
FIND_SECONDS = 20.0  # load and patience together


class Hunt(NamedTuple):
    """The only fault that is on, the tasks that meet it, and the harms by one of which the bug is found."""

    faults: str
    tasks: str
    harms: tuple[Harm, ...]
    load_seconds: float = 8.0
    environ: Mapping[str, str] = NOTHING
    rate: float = 2.0


_SLOW_MODEL = MappingProxyType({"PLANNER_LATENCY_MS": "1200"})  # most turns are in the model's hands when one is frozen
_QUICK_MODEL = MappingProxyType({"PLANNER_LATENCY_MS": "0"})  # nothing is to be in hand
HUNTS: Mapping[str, Hunt] = MappingProxyType(
    {
        # A change of a phone number carries no idempotency key, so a second call shows.
        "intent-unflushed": Hunt("kill-at-write", "phone", (Harm.DOUBLE_WRITE,), 6.0),
        "approval-of-a-part": Hunt("none", "altered_plan", (Harm.NOT_AS_APPROVED,)),
        "no-fence": Hunt("stop-executor", "phone", (Harm.DOUBLE_WRITE,), 9.0, _SLOW_MODEL, 4.0),
        "acknowledged-before-effect": Hunt("kill-learner", "question,refund", (Harm.OUTCOME_MISSING,)),
        "reaper-off": Hunt("kill-executor", "refund,claim", (Harm.LOST,)),
        "cancel-ignored": Hunt("none", "canceled_claim", (Harm.UNCALLED_WRITE, Harm.AFTER_CANCEL)),
        "read-back-always-true": Hunt("lying-tool", "refund,claim", (Harm.FALSE_PROOF,)),
        "argument-changed": Hunt(
            "none", "refund,approved_refund", (Harm.WRONG_ARGUMENT, Harm.NOT_AS_APPROVED), 3.0, _QUICK_MODEL
        ),
        "budget-unreserved": Hunt("none", "two_refunds", (Harm.OVERSPENT,), environ={"TASK_TOKENS": "1000"}),
        "outcome-twice": Hunt("none", "question,refund", (Harm.OUTCOME_REPEATED,)),
        "tenants-mixed": Hunt("foreign-key", "question", (Harm.TENANTS_MIXED,)),
        "admission-off-by-one": Hunt("burst", "question", (Harm.OVER_LIMIT,), rate=0.5),
        "rule-by-a-sibling": Hunt("none", "siblings", (Harm.UNCALLED_WRITE,)),
    }
)
IN_EVERY_RUN = ("argument-changed",)


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as name:
        yield Path(name)


async def _hunt(hunt: Hunt, environ: Mapping[str, str], patience: float, folder: Path) -> tuple[Done, JsonObject]:
    words = ["--faults", hunt.faults, "--tasks", hunt.tasks, "--rate", str(hunt.rate), "--json"]
    words += ["--minutes", str(hunt.load_seconds / 60), "--patience", str(patience), "--dir", str(folder)]
    done = await purple("chaos", *words, seconds=240, environ={**hunt.environ, **environ})
    assert done.out.startswith("{"), done.err[-3000:]
    return done, loads_object(done.out)


def _counts(report: JsonObject) -> dict[Harm, Json]:
    return {harm: report[harm.name.lower()] for harm in harms_of(rolling=False)}


def test_every_bug_is_hunted() -> None:
    assert HUNTS.keys() == BUGS.keys()


@pytest.mark.timeout(300)
@pytest.mark.promise("chaos.finds_seeded_bugs")
@pytest.mark.parametrize(
    "bug", [name if name in IN_EVERY_RUN else pytest.param(name, marks=pytest.mark.long) for name in HUNTS]
)
async def test_a_bug_is_found_within_twenty_seconds_with_only_its_fault_on(bug: str, folder: Path) -> None:
    hunt = HUNTS[bug]
    planted = {"PYTHONPATH": _PATH, "SEEDED_BUG": bug}
    done, report = await _hunt(hunt, planted, FIND_SECONDS - hunt.load_seconds, folder)

    assert any(_counts(report)[harm] for harm in hunt.harms), f"{_counts(report)} {done.err[-3000:]}"
    assert done.code == 1


@pytest.mark.long
@pytest.mark.timeout(300)
@pytest.mark.promise("chaos.finds_seeded_bugs")
@pytest.mark.parametrize("bug", list(HUNTS))
async def test_the_same_run_finds_nothing_in_the_product_itself(bug: str, folder: Path) -> None:
    """Whatever time a busy machine needs to settle."""
    done, report = await _hunt(HUNTS[bug], {"PYTHONPATH": _PATH}, 90.0, folder)

    assert not any(_counts(report).values()), f"{_counts(report)} {done.err[-3000:]}"
