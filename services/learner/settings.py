"""The service's settings, read once at its start. Environment variables of the same names in capitals."""

from pydantic import Field
from pydantic_settings import SettingsConfigDict

from services.learner.file_settings import FileSettings
from services.learner.memory_settings import MemorySettings
from services.learner.training_settings import TrainingSettings
from shared.infra.log_settings import LogSettings
from shared.infra.redis import START_SECONDS, RedisUrl
from shared.infra.tracing_settings import TracingSettings


class LearnerSettings(TrainingSettings, FileSettings, MemorySettings, TracingSettings, LogSettings):
    """Only ``REDIS_URL`` must be given. ``lease_seconds``: how long a partition of a dead learner stays unread."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    redis_url: RedisUrl = Field(
        description="the Redis of durable state: redis://, rediss://, unix://, redis+sentinel://, redis+cluster://"
    )
    allow_volatile_redis: bool = Field(
        default=False,
        description="serve on a Redis that does not show that it is durable, or may not be asked for failovers",
    )
    redis_start_seconds: float = Field(
        default=START_SECONDS, ge=0, le=600, description="how long a start waits for a Redis that does not answer yet"
    )
    host: str = Field(default="127.0.0.1", min_length=1, description="the address to bind; 0.0.0.0 in a container")
    port: int = Field(default=9030, ge=0, le=65535, description="the port of /health, /ready and /metrics")
    lease_seconds: float = Field(
        default=5.0, ge=0.1, le=600, description="how long a partition of a dead learner stays unread"
    )
