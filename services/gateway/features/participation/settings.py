"""The setting by which a gateway takes part in assessments."""

from cryptography.fernet import Fernet
from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class AssessmentSettings(BaseSettings):
    """``ASSESSMENT_KEY``: Fernet keys, the newest first, with commas between; without one no assessment is taken."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    assessment_key: str = Field(
        default="",
        repr=False,
        description="what the keys to assessed worlds are kept under: Fernet keys, "
        "the newest first, commas between; empty: no assessment is taken",
    )

    @field_validator("assessment_key")
    @classmethod
    def _are_assessment_keys(cls, value: str) -> str:
        assessment_keys(value)
        return value

    @property
    def assessment_keys(self) -> tuple[str, ...]:
        return assessment_keys(self.assessment_key)


def assessment_keys(text: str) -> tuple[str, ...]:
    """Fernet keys with commas between, the newest first; raises ``ValueError`` that tells none of them."""
    keys = tuple(filter(None, map(str.strip, text.split(","))))
    for key in keys:
        try:
            Fernet(key)
        except ValueError:
            raise ValueError("a key is 32 bytes in URL-safe base64, and commas stand between keys") from None
    return keys
