"""The service's settings, read once at its start."""

from pydantic import Field, field_validator

from services.planner.core.faults import parse_faults
from shared.infra.service_settings import ServiceSettings


class PlannerSettings(ServiceSettings):
    """The planner's settings; none of them is required.

    ``planner_faults`` and ``planner_latency_ms`` are for benchmarks and tests; faults by request or by
    ``POST /faults`` need ``planner_allow_faults``.
    """

    port: int = Field(default=9040, ge=0, le=65535, description="the port to bind")
    model: str = Field(
        default="offline-planner-1", min_length=1, description="the model's name that it answers to; any other gets 404"
    )
    planner_latency_ms: int = Field(
        default=0, ge=0, le=600_000, description="how long each answer takes beyond its computing, for benchmarks"
    )
    planner_faults: str = Field(
        default="", description="behavioural faults that every answer has, for tests: names with commas between"
    )
    planner_allow_faults: bool = Field(
        default=False, description="whether requests and POST /faults may switch faults on"
    )
    max_body_bytes: int = Field(default=8 * 1024 * 1024, ge=1024, description="the largest request that is read")

    @field_validator("planner_faults")
    @classmethod
    def _check_faults(cls, text: str) -> str:
        parse_faults(text)
        return text
