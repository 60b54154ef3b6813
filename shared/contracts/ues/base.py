"""What every answer of a user environment simulator has in common."""

from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]


def in_utc(moment: datetime) -> datetime:
    """The same instant in UTC; one without a zone is UTC already."""
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(in_utc)]


class Answer(BaseModel):
    """Frozen; what it does not know is ignored, so that older and newer servers can be read alike."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)
