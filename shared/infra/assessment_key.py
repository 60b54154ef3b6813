"""The setting by which a gateway takes part in assessments."""

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.infra.participations import assessment_keys


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
