"""What every service logs, and how."""

from typing import Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings


class LogSettings(BaseSettings):
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="the least severe line that is logged"
    )
    log_format: Literal["json", "text"] = Field(
        default="json", description="one JSON object a line, or text for people at a terminal"
    )

    @field_validator("log_level", mode="before")
    @classmethod
    def _in_any_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value
