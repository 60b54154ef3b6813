"""What every message between assessor, participant and client has in common: each names its own type."""

from datetime import UTC, datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue

JsonObject: TypeAlias = dict[str, JsonValue]


def in_utc(moment: datetime) -> datetime:
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


Moment = Annotated[datetime, AfterValidator(in_utc)]


class Told(BaseModel):
    """Frozen; what it does not know is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def wire(self) -> JsonObject:
        """As it goes over the line."""
        written: JsonObject = self.model_dump(mode="json")
        return written
