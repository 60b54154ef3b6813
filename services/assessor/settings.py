"""The service's settings, read once at its start."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, SecretStr, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.domain.address_ranges import is_loopback_host
from shared.infra.service_settings import ServiceSettings

_OLDER = "AGENTBEATS_GREEN_"  # variables of assessors that this one can stand in for
_URL_OR_NONE = r"^(https?://[^/\s]\S*)?$"
SCENARIOS = Path(__file__).with_name("scenarios")


class GreenAgentConfig(BaseSettings):
    """How assessments are run; ``GreenAgentConfig()`` is sound as it is.

    Without a model nobody plays characters that have no script, and criteria that need a judge stay unjudged. Models
    named ``gpt-...``, ``o1``, ``o3``, ``chatgpt-...``, ``gemini-...`` and ``ollama/...`` are other providers', which
    the optional extra ``assessor-providers`` reaches with their own variables.

    Every context gets a world: of the running simulator at ``simulator_url``, else of one process that all share. With
    ``ues_own_process`` each has a process of its own on a port from ``ues_base_port`` up. ``ues_public_host`` is what
    participants are told to call.
    """

    model_config = SettingsConfigDict(frozen=True, extra="ignore", hide_input_in_errors=True)

    scenarios_dir: Path = Field(default=SCENARIOS, description="the folder of scenarios")
    default_max_turns: int = Field(
        default=100, ge=1, description="the turns of an assessment whose scenario says nothing"
    )
    default_turn_timeout: float = Field(
        default=300.0, gt=0, description="seconds for which a participant's answer is waited for"
    )
    max_failed_turns: int = Field(default=3, ge=1, description="failed turns in a row that end an assessment")
    judge_votes: int = Field(
        default=1, ge=1, le=9, description="how often the judge is asked for one criterion; the median counts"
    )
    criterion_timeout: float = Field(
        default=120.0,
        gt=0,
        description="seconds for which the judging of one criterion is waited for, with all its votes",
    )
    judging_timeout: float = Field(
        default=600.0, gt=0, description="seconds for which the judging of a whole assessment is waited for"
    )
    assessment_seed: int = Field(default=0, description="what everything drawn by chance is drawn from")
    ues_base_port: int = Field(
        default=8080,
        ge=0,
        le=65535,
        description="the first port tried for a simulator that it starts; 0 for any free one",
    )
    ues_own_process: bool = Field(
        default=False,
        description="whether each context has a simulator process of its own, and no world of a shared one",
    )
    ues_host: str = Field(
        default="127.0.0.1", min_length=1, description="the address that a simulator that it starts binds"
    )
    ues_public_host: str = Field(
        default="", description="the host under which participants reach a simulator that it starts; empty: UES_HOST"
    )
    ues_health_timeout: float = Field(
        default=30.0, gt=0, description="seconds for which the start of its simulator is waited for"
    )
    ues_timeout: float = Field(default=30.0, gt=0, description="seconds for one request to a simulator")
    simulator_url: str = Field(
        default="",
        pattern=_URL_OR_NONE,
        description="a running simulator that gives each context a world; empty: one is started",
    )
    simulator_public_url: str = Field(
        default="", pattern=_URL_OR_NONE, description="where participants reach that simulator; empty: SIMULATOR_URL"
    )
    simulator_admin_key: SecretStr = Field(
        default=SecretStr(""),
        description="the admin's key of that simulator",
        json_schema_extra={"needed": "SIMULATOR_URL is set"},
    )
    max_contexts: int = Field(default=50, ge=1, description="how many assessments it holds at once")
    assessments_at_once: int = Field(
        default=0, ge=0, description="how many of them run at once; the others wait for it; 0: two for each core"
    )
    context_idle_seconds: float = Field(
        default=300.0, gt=0, description="seconds after which an ended context is let go"
    )
    anthropic_api_key: str = Field(
        default="", repr=False, description="the key of the model for characters, summaries and judging"
    )
    anthropic_base_url: str = Field(
        default="", pattern=_URL_OR_NONE, description="another address that speaks the Anthropic Messages API"
    )
    response_generator_model: str = Field(
        default="claude-haiku-4-5-20251001", description="who plays characters without a script"
    )
    summarization_model: str = Field(
        default="claude-haiku-4-5-20251001", description="who summarises what happened before a judge reads it"
    )
    evaluation_model: str = Field(default="claude-sonnet-4-6", description="who judges what code cannot")
    model_prices: Path | None = Field(default=None, description="a file of prices laid over the built-in ones")

    @model_validator(mode="after")
    def _check_worlds(self) -> Self:
        if self.simulator_url and not self.simulator_admin_key.get_secret_value():
            raise _invalid_setting("SIMULATOR_ADMIN_KEY is not set, and SIMULATOR_URL cannot be used without it")
        return self

    @property
    def places(self) -> int:
        """How many assessments run at once."""
        return self.assessments_at_once or 2 * (os.cpu_count() or 1)

    @property
    def has_model(self) -> bool:
        return bool(self.anthropic_api_key or self.anthropic_base_url)


class AssessorSettings(GreenAgentConfig, ServiceSettings):
    """The assessor's settings. A server that binds a loopback address needs none of them."""

    port: int = Field(default=9060, ge=0, le=65535, description="the port to bind")
    card_url: str = Field(
        default="",
        pattern=_URL_OR_NONE,
        description="where clients reach it from outside, for its card; empty: the address it binds",
    )
    verbose_updates: bool = Field(default=True, description="whether status updates carry every event of an assessment")
    authentication: Literal["key", "off"] | None = Field(
        default=None,
        description="whether callers need ASSESSOR_API_KEY; not set: only where HOST is no loopback address",
    )
    assessor_api_key: SecretStr = Field(
        default=SecretStr(""),
        description="the key that callers show",
        json_schema_extra={"needed": "HOST is no loopback address and AUTHENTICATION is not off"},
    )
    max_ended_tasks: int = Field(default=200, ge=1, description="how many ended tasks it still answers for")
    max_body_bytes: int = Field(default=1024 * 1024, ge=1024, description="the largest request that is read")

    @model_validator(mode="after")
    def _check_key_given(self) -> Self:
        if self.requires_key and not self.assessor_api_key.get_secret_value():
            raise _invalid_setting(
                "ASSESSOR_API_KEY is not set: others can reach this HOST (AUTHENTICATION=off lets them in)"
            )
        return self

    @property
    def requires_key(self) -> bool:
        return self.authentication == "key" or (self.authentication is None and not is_loopback_host(self.host))


def read_older_names(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The settings given under the older prefix, by name, where the plain name says nothing.

    ``environ``: ours if None.
    """
    variables = os.environ if environ is None else environ
    older_variables = {name.removeprefix(_OLDER): value for name, value in variables.items() if name.startswith(_OLDER)}
    return {name.lower(): value for name, value in older_variables.items() if name not in variables}


def _invalid_setting(sentence: str) -> PydanticCustomError:
    return PydanticCustomError("settings", "{sentence}", {"sentence": sentence})
