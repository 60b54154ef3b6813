"""What every message between processes has in common."""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A frozen, versioned message. Readers ignore fields they do not know, so two services can be deployed apart."""

    model_config = ConfigDict(frozen=True, extra="ignore")

    v: int = 1
