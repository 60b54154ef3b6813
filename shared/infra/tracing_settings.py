"""OpenTelemetry's own variables, as every service has them. The SDK reads them too, and further ones of its own."""

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

_ADDRESS = re.compile(r"(https?://[^/?#@\s]+(/[^\s]*)?)?")
Sampler = Literal[
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
]


def _is_address(text: str) -> str:
    if not _ADDRESS.fullmatch(text):
        raise ValueError("it is no http(s) address")
    return text


Address = Annotated[str, AfterValidator(_is_address)]


class TracingSettings(BaseSettings):
    """Without an endpoint nothing is traced, and nothing of OpenTelemetry's SDK is loaded."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    otel_exporter_otlp_endpoint: Address = Field(
        default="", description="the collector of traces, OTLP over HTTP; empty: nothing is traced"
    )
    otel_exporter_otlp_traces_endpoint: Address = Field(
        default="", description="the same for traces alone, with its whole path"
    )
    otel_exporter_otlp_headers: str = Field(
        default="", repr=False, description="headers for the collector: name=value, commas between"
    )
    otel_sdk_disabled: bool = Field(default=False, description="nothing is traced, whatever else is set")
    otel_traces_exporter: Literal["otlp", "none"] = Field(default="otlp", description="none: nothing is traced")
    otel_service_name: str = Field(default="", description="what traces call this process; empty: purple- and its name")
    otel_resource_attributes: str = Field(
        default="", description="what else traces say of this process: name=value, commas between"
    )
    otel_traces_sampler: Sampler = Field(default="parentbased_always_on", description="which tasks are traced")
    otel_traces_sampler_arg: str = Field(default="", description="the part of tasks for a ratio sampler: 0 to 1")

    otel_bsp_schedule_delay: int = Field(
        default=1_000, ge=1, le=60_000, description="milliseconds between two sendings; a killed process loses as much"
    )

    @model_validator(mode="before")
    @classmethod
    def _empty_is_not_set(cls, given: object) -> object:
        """As OpenTelemetry reads its variables."""
        if not isinstance(given, dict):
            return given
        return {name: value for name, value in given.items() if value != "" or not str(name).startswith("otel_")}

    @property
    def traces_endpoint(self) -> str:
        """Where spans go; empty for nowhere."""
        if self.otel_sdk_disabled or self.otel_traces_exporter == "none":
            return ""
        base = self.otel_exporter_otlp_endpoint
        return self.otel_exporter_otlp_traces_endpoint or (f"{base.rstrip('/')}/v1/traces" if base else "")
