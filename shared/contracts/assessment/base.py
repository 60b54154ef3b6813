"""What every message between assessor, participant and client has in common: each names its own type."""

from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue

from shared.domain.instants import in_utc

JsonObject: TypeAlias = dict[str, JsonValue]
MOST_TURNS = 10_000  # of one assessment
Moment = Annotated[datetime, AfterValidator(in_utc)]


class Told(BaseModel):
    """Frozen; what it does not know is ignored."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    def wire(self) -> JsonObject:
        """As it goes over the line."""
        written: JsonObject = self.model_dump(mode="json")
        return written
