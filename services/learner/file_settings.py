"""Where what is learned is kept as files, by the variables that say so."""

from pathlib import Path

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict


class FileSettings(BaseSettings):
    """Without ``RL_CACHE_DIR`` there are no files: Redis has it all."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    rl_cache_dir: Path | None = Field(
        default=None, description="the folder in which what is learned is kept as files too; empty: none"
    )
    rl_cache_tenant: str = Field(default="default", min_length=1, description="whose memory those files are")
    rl_cache_seconds: float = Field(default=60.0, ge=0.1, le=24 * 3600, description="seconds between two looks at them")

    @field_validator("rl_cache_dir", mode="before")
    @classmethod
    def _empty_is_none(cls, value: object) -> object:
        return None if value == "" else value
