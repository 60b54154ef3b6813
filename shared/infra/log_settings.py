"""What every service logs, and how."""

from typing import Literal

from pydantic import Field
from pydantic_settings import BaseSettings


class LogSettings(BaseSettings):
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="the least severe line that is logged"
    )
    log_format: Literal["json", "text"] = Field(
        default="json", description="one JSON object a line, or text for people at a terminal"
    )
