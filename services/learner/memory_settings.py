"""Whether facts are found, and by which model: the executor's variables of the same names."""

from typing import Literal, Self

from pydantic import Field, model_validator
from pydantic_settings import SettingsConfigDict

from shared.infra.archive_open import ArchiveSettings


class MemorySettings(ArchiveSettings):
    """``LEARN_KNOWLEDGE=on`` needs a model; entities and accuracy need none and are always kept.

    The archive is named where what a session remembered in it is to be forgotten with it.
    """

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    learn_knowledge: Literal["on", "off"] = Field(
        default="off", description="whether facts are found in good tasks, by a model"
    )
    anthropic_api_key: str = Field(
        default="",
        repr=False,
        description="the key of that model",
        json_schema_extra={"needed": "LEARN_KNOWLEDGE is on and ANTHROPIC_BASE_URL is not set"},
    )
    anthropic_base_url: str = Field(default="", description="another address that speaks the Anthropic Messages API")
    haiku_model: str = Field(default="claude-haiku-4-5-20251001", description="the model that finds facts")

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if self.learn_knowledge == "on" and not (self.anthropic_api_key or self.anthropic_base_url):
            raise ValueError(
                "LEARN_KNOWLEDGE is on, and facts are found by a model: ANTHROPIC_API_KEY is not set (nor "
                "ANTHROPIC_BASE_URL, for a model of another address); set one, or say LEARN_KNOWLEDGE=off"
            )
        return self
