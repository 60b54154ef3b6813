"""What the scenarios that come with the assessor are worth to agents of known quality."""

from uuid import uuid4

import pytest

from services.assessor.adapters.played_participant import PlayedScript, load_scripts
from services.assessor.adapters.scenario_folder import ScenarioFolder
from services.assessor.settings import SCENARIOS
from shared.contracts.assessment.results import AssessmentResults
from tests.assessor.days.cast import Day, idler, lived, lived_as_written, scored, share
from tests.assessor.days.vandal import busybody, gossip, vandal

POOR: tuple[Day, ...] = (idler, gossip, vandal)
DAYS: dict[str, tuple[Day, ...]] = {
    "inbox_triage": POOR,
    "review_scheduling": POOR,
    "travel_and_expenses": POOR,
    "customer_escalation": POOR,
    "quiet_day": (busybody, vandal),
}
WRITTEN = (
    "dentist_moved",
    "entry_code",
    "dinner_votes",
    "double_booking",
    "lost_parcel",
    "board_figures",
    "school_trip",
)
RUNS = 3


def test_every_scenario_can_be_used_and_warns_of_nothing() -> None:
    """Each has criteria of all five dimensions, and agents that set its bounds."""
    folder = ScenarioFolder(SCENARIOS)

    found = {name: folder.load(name).warnings for name in folder.list_ids()}

    assert found == dict.fromkeys((*DAYS, *WRITTEN), ())


def test_there_are_scenarios_of_every_difficulty_over_all_that_a_participant_may_write() -> None:
    described = [ScenarioFolder(SCENARIOS).load(name).config.description for name in WRITTEN]

    assert len(DAYS) + len(WRITTEN) >= 12
    assert {one.partition(";")[0] for one in described} == {"Easy", "Middle", "Hard"}
    assert all(any(word in one for one in described) for word in ("mail", "texts", "calendar", "chat"))


@pytest.mark.promise("assessor.scenario_bounds")
async def test_a_day_rewards_work_and_neither_idleness_nor_harm() -> None:
    """With the criteria that nobody judges and without them; those are few."""
    await _keeps_its_bounds("inbox_triage")


@pytest.mark.long
@pytest.mark.promise("assessor.scenario_bounds")
@pytest.mark.parametrize("name", DAYS)
async def test_every_day_keeps_its_bounds_in_every_run(name: str) -> None:
    runs = [await _keeps_its_bounds(name) for _ in range(RUNS)]

    assert runs.count(runs[0]) == RUNS


@pytest.mark.long
@pytest.mark.promise("assessor.scenario_bounds")
@pytest.mark.parametrize("name", WRITTEN)
async def test_a_scenario_whose_courses_are_written_down_keeps_its_bounds(name: str) -> None:
    """Careful work as written, and every wrong way; idleness and harm as in the others."""
    courses = load_scripts(SCENARIOS / name)
    assert len(courses) >= 3

    shares = {course: share(await lived_as_written(name, courses[course])) for course in courses}

    assert shares.pop("gold") >= 0.95
    assert max(shares.values()) < 0.5, shares
    for day in POOR:
        assert share(await _run(name, day)) <= 0.10


async def _keeps_its_bounds(name: str) -> list[dict[str, float]]:
    """What each agent was given for each criterion."""
    best = await _play(name, load_scripts(SCENARIOS / name)["gold"])
    assert share(best) >= 0.95, scored(best)
    assert best.judged is not None
    assert best.judged.score >= 0.95 * best.judged.max_score, scored(best)
    worst = [await _run(name, day) for day in DAYS[name]]
    for results in worst:
        assert share(results) <= 0.10, scored(results)
    return [scored(results) for results in (best, *worst)]


async def _play(name: str, course: PlayedScript) -> AssessmentResults:
    return _completed(await lived_as_written(name, course))


async def _run(name: str, day: Day) -> AssessmentResults:
    return _completed(await lived(name, day, str(uuid4())))


def _completed(results: AssessmentResults) -> AssessmentResults:
    """Of an agent that came through: one that broke off would earn nothing, whatever it is like."""
    assert (results.status, results.failed_turns) == ("completed", ())
    return results
