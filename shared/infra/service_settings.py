"""Settings that several services share: allowed hosts, message files, logs, and OpenTelemetry's own variables."""

import re
from collections.abc import Callable
from typing import Annotated, Literal, TypeVar

from pydantic import AfterValidator, BeforeValidator, Field, ValidationInfo, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from shared.domain.outgoing import normalize_host_list


def _split_at_commas(value: object) -> object:
    return tuple(filter(None, map(str.strip, value.split(",")))) if isinstance(value, str) else value


T = TypeVar("T")


def make_validator(parse: Callable[[T], object]) -> AfterValidator:
    """A Pydantic validator that keeps a value as it is, and refuses one for which ``parse`` raises ``ValueError``."""

    def refuse_unparsable(value: T) -> T:
        parse(value)
        return value

    return AfterValidator(refuse_unparsable)


WordList = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_split_at_commas)]  # commas between
HostList = Annotated[WordList, make_validator(normalize_host_list)]


class Settings(BaseSettings):
    """Settings of a process: environment variables of the same names in capitals."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")


class SentFileSettings(Settings):
    """Settings for files in messages, which are accepted only if ``ARCHIVE_URL`` is set."""

    file_bytes: int = Field(
        default=10_000_000, ge=1, le=100_000_000, description="the largest file that is taken, as bytes or by address"
    )
    files_allowed_hosts: HostList = Field(
        default=(),
        description="hosts and networks beside public ones that files may be fetched from, commas between",
    )


class LogSettings(Settings):
    log_level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="the least severe line that is logged"
    )
    log_format: Literal["json", "text"] = Field(
        default="json", description="one JSON object a line, or text for people at a terminal"
    )

    @field_validator("log_level", mode="before")
    @classmethod
    def _convert_to_lower_case(cls, value: object) -> object:
        return value.lower() if isinstance(value, str) else value


_HTTP_ADDRESS_PATTERN = re.compile(r"(https?://[^/?#@\s]+(/[^\s]*)?)?")
Sampler = Literal[
    "always_on",
    "always_off",
    "traceidratio",
    "parentbased_always_on",
    "parentbased_always_off",
    "parentbased_traceidratio",
]


def _require_http_address(text: str) -> str:
    if not _HTTP_ADDRESS_PATTERN.fullmatch(text):
        raise ValueError("it is no http(s) address")
    return text


HttpAddress = Annotated[str, AfterValidator(_require_http_address)]


class TracingSettings(Settings):
    """OpenTelemetry's own variables. Without an endpoint nothing is traced, and the SDK is not loaded."""

    otel_exporter_otlp_endpoint: HttpAddress = Field(
        default="", description="the collector of traces, OTLP over HTTP; empty: nothing is traced"
    )
    otel_exporter_otlp_traces_endpoint: HttpAddress = Field(
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

    @field_validator("otel_traces_sampler_arg")
    @classmethod
    def _check_ratio(cls, ratio: str, info: ValidationInfo) -> str:
        """The sampler's argument, which must be between 0 and 1 if the sampler uses a ratio."""
        is_ratio = str(info.data.get("otel_traces_sampler")).endswith("traceidratio")
        if ratio and is_ratio and not 0 <= float(ratio) <= 1:
            raise ValueError("it is no number from 0 to 1")
        return ratio

    @model_validator(mode="before")
    @classmethod
    def _drop_empty_variables(cls, values: object) -> object:
        """The settings without empty OpenTelemetry variables, which count as unset."""
        if not isinstance(values, dict):
            return values
        return {name: value for name, value in values.items() if value != "" or not str(name).startswith("otel_")}

    @property
    def traces_endpoint(self) -> str:
        """The URL that spans are sent to; empty if nothing is traced."""
        if self.otel_sdk_disabled or self.otel_traces_exporter == "none":
            return ""
        base_url = self.otel_exporter_otlp_endpoint
        return self.otel_exporter_otlp_traces_endpoint or (f"{base_url.rstrip('/')}/v1/traces" if base_url else "")


class ServiceSettings(TracingSettings, LogSettings):
    """The settings of every service that answers requests or has health pages."""

    host: str = Field(default="127.0.0.1", min_length=1, description="the address to bind; 0.0.0.0 in a container")
