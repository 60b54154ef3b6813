"""The kinds of values that records and actions are made of."""

from datetime import UTC, date, datetime
from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field, PlainSerializer, StringConstraints

ADDRESS_PATTERN = r"^[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}$"
PHONE_PATTERN = r"^\+?[0-9][0-9 ().-]{1,30}$"


def in_utc(moment: datetime) -> datetime:
    """The same instant in UTC; a naive one is taken as UTC. Raises ``ValueError`` outside the years 1000 to 9989."""
    if not 1_000 <= moment.year < 9_990:
        raise ValueError("lies outside the years that can be simulated")
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def utc_or_wall(moment: datetime) -> datetime:
    """The instant in UTC; a naive one, a local time, stays as it is.

    Raises ``ValueError`` outside the years 1000 to 9989.
    """
    return in_utc(moment) if moment.tzinfo is not None else in_utc(moment).replace(tzinfo=None)


def format_time_with_z(moment: datetime) -> str:
    """An instant as fields of the type *time* are written: ``Z`` for UTC."""
    return in_utc(moment).isoformat().replace("+00:00", "Z")


def format_time(moment: datetime) -> str:
    """An instant as fields of the type *text* are written: ``+00:00`` for UTC."""
    return in_utc(moment).isoformat()


StoredTime = Annotated[datetime, AfterValidator(in_utc)]  # in records: what imports bring without a zone is UTC
AwareTime = Annotated[AwareDatetime, AfterValidator(in_utc)]  # in actions: a zone is required
LocalOrAwareTime = Annotated[datetime, AfterValidator(utc_or_wall)]  # in calendars: what a clock shows there
Day = Annotated[date, PlainSerializer(date.isoformat, return_type=str, when_used="json")]

Name = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=1_000)]
Text = Annotated[str, StringConstraints(min_length=1, pattern=r"\S")]  # holds something that can be read
Address = Annotated[str, StringConstraints(strip_whitespace=True, max_length=320, pattern=ADDRESS_PATTERN)]
Phone = Annotated[str, StringConstraints(strip_whitespace=True, pattern=PHONE_PATTERN)]
Number = Annotated[float, Field(allow_inf_nan=False)]
Latitude = Annotated[float, Field(ge=-90, le=90)]
Longitude = Annotated[float, Field(ge=-180, le=180)]
