"""Instants and durations that others name."""

from datetime import UTC, datetime, timedelta

import pytest

from shared.contracts.assessment.messages import parse_participant_reply
from shared.contracts.ues.modalities import Moment, SimulatorAnswer
from shared.domain.instants import parse_duration, to_utc
from tests.each_row import each_row

pytestmark = pytest.mark.promise("assessor.errors")


class Shown(SimulatorAnswer):
    at: Moment


@each_row("moment", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_an_instant_at_the_end_of_the_calendar_is_an_error_of_its_field(moment: str) -> None:
    """Whoever is asked, an agent or a world, may answer with one: that is their mistake, never a crash of ours."""
    with pytest.raises(ValueError, match="at\n"):
        Shown.model_validate_json(f'{{"at": "{moment}"}}')


def test_an_instant_without_a_zone_is_utc_and_a_hundred_years_are_a_duration() -> None:
    assert to_utc(datetime(2026, 3, 1)) == datetime(2026, 3, 1, tzinfo=UTC)
    assert parse_duration("P36499DT24H") == timedelta(days=36_500)


@each_row("step", [f"PT{'9' * 30}S", f"PT{'9' * 30}H", f"PT{'9' * 20}M", "P36501D", "P36500DT1S"])
def test_a_step_beyond_a_hundred_years_is_no_usable_answer(step: str) -> None:
    with pytest.raises(ValueError, match="time_step"):
        parse_participant_reply({"message_type": "turn_complete", "time_step": step})
