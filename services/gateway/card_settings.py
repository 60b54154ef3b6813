"""The settings of the agent card: what it says of this installation, and to whom."""

from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode

from services.gateway.core.abilities import CardFacts
from services.gateway.core.skills import SKILLS

_URL = r"^(https?://\S+)?$"


class CardSettings(BaseSettings):
    """``A2A_PROVIDER`` and ``A2A_PROVIDER_URL`` come together: the protocols know none without the other."""

    a2a_card: Literal["merged", "1.0", "0.3"] = Field(
        default="merged", description="the card of a client that names no version: of both generations, or of one"
    )
    a2a_processes: Annotated[tuple[str, ...], NoDecode] = Field(
        default=(), description="processes that are offered as skills, commas between; empty: all"
    )
    a2a_provider: str = Field(default="", description="the organization that runs this agent, as the card names it")
    a2a_provider_url: str = Field(default="", pattern=_URL, description="that organization's address on the card")
    a2a_documentation_url: str = Field(default="", pattern=_URL, description="where the card says that help is found")

    @field_validator("a2a_processes", mode="before")
    @classmethod
    def _split(cls, value: object) -> object:
        return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value

    @field_validator("a2a_processes")
    @classmethod
    def _are_known(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        known = [skill.id for skill in SKILLS]
        if unknown := sorted(set(value) - set(known)):
            raise ValueError(f"there is no process {unknown[0]!r}; there are {', '.join(known)}")
        return value

    @model_validator(mode="after")
    def _provider_is_whole(self) -> Self:
        if bool(self.a2a_provider) != bool(self.a2a_provider_url):
            raise PydanticCustomError("provider", "A2A_PROVIDER and A2A_PROVIDER_URL must be set together, or neither.")
        return self

    @property
    def card_facts(self) -> CardFacts:
        return CardFacts(
            self.a2a_card, self.a2a_processes, self.a2a_provider, self.a2a_provider_url, self.a2a_documentation_url
        )
