"""The service's settings, read once at its start."""

import os
from collections.abc import Mapping
from ipaddress import ip_address
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

_OLDER = "AGENTBEATS_GREEN_"  # variables of assessors that this one can stand in for
SCENARIOS = Path(__file__).with_name("scenarios")


class GreenAgentConfig(BaseSettings):
    """How assessments are run; ``GreenAgentConfig()`` is sound as it is.

    Without a model nobody plays characters that have no script, and criteria that need a judge stay unjudged. Models
    named ``gpt-...``, ``o1``, ``o3``, ``chatgpt-...``, ``gemini-...`` and ``ollama/...`` are other providers', which
    the optional extra ``assessor-providers`` reaches with their own variables.

    With ``simulator_url`` every context gets a world of that running simulator, else a simulator process of its own on
    a port from ``ues_base_port`` up, where ``ues_public_host`` is what participants are told to call.
    """

    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    scenarios_dir: Path = SCENARIOS
    default_max_turns: int = Field(default=100, ge=1)
    default_turn_timeout: float = Field(default=300.0, gt=0)
    max_failed_turns: int = Field(default=3, ge=1)
    judge_votes: int = Field(default=1, ge=1, le=9)
    assessment_seed: int = 0
    ues_base_port: int = Field(default=8080, ge=0, le=65535)
    ues_host: str = Field(default="127.0.0.1", min_length=1)
    ues_public_host: str = ""
    ues_health_timeout: float = Field(default=30.0, gt=0)
    ues_timeout: float = Field(default=30.0, gt=0)
    simulator_url: str = ""
    simulator_public_url: str = ""
    simulator_admin_key: SecretStr = SecretStr("")
    max_contexts: int = Field(default=50, ge=1)
    context_idle_seconds: float = Field(default=300.0, gt=0)
    anthropic_api_key: str = Field(default="", repr=False)
    anthropic_base_url: str = ""
    response_generator_model: str = "claude-haiku-4-5-20251001"
    summarization_model: str = "claude-haiku-4-5-20251001"
    evaluation_model: str = "claude-sonnet-4-6"
    model_prices: Path | None = None

    @model_validator(mode="after")
    def _can_open_worlds(self) -> Self:
        if self.simulator_url and not self.simulator_admin_key.get_secret_value():
            raise _wrong("SIMULATOR_ADMIN_KEY is not set, and SIMULATOR_URL cannot be used without it")
        return self

    @property
    def has_model(self) -> bool:
        return bool(self.anthropic_api_key or self.anthropic_base_url)


class Settings(GreenAgentConfig):
    """Environment variables of the same names in capitals; there is nothing that must be given on loopback."""

    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=9060, ge=0, le=65535)
    card_url: str = ""
    log_level: Literal["debug", "info", "warning", "error"] = "info"
    verbose_updates: bool = True
    authentication: Literal["key", "off"] | None = None  # nobody else can call on loopback: off there by default
    assessor_api_key: SecretStr = SecretStr("")
    max_ended_tasks: int = Field(default=200, ge=1)
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024)

    @model_validator(mode="after")
    def _is_guarded(self) -> Self:
        if self.guarded and not self.assessor_api_key.get_secret_value():
            raise _wrong("ASSESSOR_API_KEY is not set: others can reach this HOST (AUTHENTICATION=off lets them in)")
        return self

    @property
    def guarded(self) -> bool:
        return self.authentication == "key" or (self.authentication is None and not _is_loopback(self.host))


def older_names(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Settings given under the older prefix, where the plain name says nothing."""
    found = os.environ if environ is None else environ
    given = {name.removeprefix(_OLDER): value for name, value in found.items() if name.startswith(_OLDER)}
    return {name.lower(): value for name, value in given.items() if name not in found}


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _wrong(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("settings", "{sentence}", {"sentence": sentence})
