"""The service's settings, read once at its start from environment variables of the same names in capitals."""

from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator

from services.learner.core.files.benchmark_report import REPORTS_PREFIX
from services.learner.core.training import TRAINING_PREFIX
from shared.infra.archive_open import ArchiveSettings
from shared.infra.redis import START_SECONDS, StateSettings
from shared.infra.service_settings import ServiceSettings, Settings


class TrainingSettings(Settings):
    """The bucket of training rows; without ``S3_TRAINING_BUCKET`` none are loaded. boto3 reads ``AWS_*``."""

    s3_training_bucket: str = Field(
        default="",
        pattern=r"^([a-zA-Z0-9][a-zA-Z0-9._:/-]{1,253}[a-zA-Z0-9])?$",
        description="the bucket of training rows; empty: none are loaded",
    )
    s3_training_prefix: str = Field(default=TRAINING_PREFIX, description="what their names begin with")
    s3_reports_prefix: str = Field(default=REPORTS_PREFIX, description="what the names of benchmark reports begin with")
    s3_training_tenant: str = Field(default="default", min_length=1, description="whose memory they go into")
    s3_training_hours: float = Field(
        default=12.0, gt=0, le=24 * 365, description="hours between two looks at the bucket"
    )


class FileSettings(Settings):
    """The folder of learning files. Without ``RL_CACHE_DIR`` there are no files, and everything is in Redis only."""

    rl_cache_dir: Path | None = Field(
        default=None, description="the folder in which what is learned is kept as files too; empty: none"
    )
    rl_cache_tenant: str = Field(default="default", min_length=1, description="whose memory those files are")
    rl_cache_seconds: float = Field(default=60.0, ge=0.1, le=24 * 3600, description="seconds between two looks at them")

    @field_validator("rl_cache_dir", mode="before")
    @classmethod
    def _convert_empty_to_none(cls, value: object) -> object:
        return None if value == "" else value


class MemorySettings(ArchiveSettings):
    """Settings for finding facts: ``LEARN_KNOWLEDGE=on`` needs a model. Entities and accuracy are always kept.

    The archive settings are needed to forget what idle sessions remember.
    """

    learn_knowledge: Literal["on", "off"] = Field(
        default="off", description="whether facts are found in good tasks, by a model"
    )
    anthropic_api_key: str = Field(
        default="",
        repr=False,
        description="the key of that model",
        json_schema_extra={"needed": "LEARN_KNOWLEDGE is on and ANTHROPIC_BASE_URL is not set"},
    )
    anthropic_base_url: str = Field(
        default="",
        pattern=r"^(https?://[^/\s]\S*)?$",
        description="another address that speaks the Anthropic Messages API",
    )
    haiku_model: str = Field(default="claude-haiku-4-5-20251001", description="the model that finds facts")

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if self.learn_knowledge == "on" and not (self.anthropic_api_key or self.anthropic_base_url):
            raise ValueError(
                "LEARN_KNOWLEDGE is on, and facts are found by a model: ANTHROPIC_API_KEY is not set (nor "
                "ANTHROPIC_BASE_URL, for a model of another address); set one, or say LEARN_KNOWLEDGE=off"
            )
        return self


class LearnerSettings(TrainingSettings, FileSettings, MemorySettings, StateSettings, ServiceSettings):
    """All settings. Only ``REDIS_URL`` is required."""

    redis_start_seconds: float = Field(
        default=START_SECONDS, ge=0, le=600, description="how long a start waits for a Redis that does not answer yet"
    )
    port: int = Field(default=9030, ge=0, le=65535, description="the port of /health, /ready and /metrics")
    lease_seconds: float = Field(
        default=5.0, ge=0.1, le=600, description="how long a partition of a dead learner stays unread"
    )
