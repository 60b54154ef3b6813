"""What every answer of a user environment simulator has in common."""

from datetime import datetime
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, JsonValue

from shared.domain.instants import in_utc

JsonObject: TypeAlias = dict[str, JsonValue]
Moment = Annotated[datetime, AfterValidator(in_utc)]


class Answer(BaseModel):
    """Frozen; what it does not know is ignored, so that older and newer servers can be read alike."""

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)
