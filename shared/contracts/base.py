"""What every message between processes has in common."""

from pydantic import BaseModel, ConfigDict


class Contract(BaseModel):
    """A frozen, versioned message. Readers ignore fields they do not know, so two services can be deployed apart.

    A message that cannot be read is told by its fields, never by its values: errors reach logs (I12).
    """

    model_config = ConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    v: int = 1

    def stored_json(self) -> str:
        """As JSON for a store, without what stands at its default: whoever reads it fills that in.

        So a default that was once released stays: another one would change what is stored.
        """
        return self.model_dump_json(exclude_defaults=True)
