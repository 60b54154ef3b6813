"""The service's settings, read once at its start. Environment variables of the same names in capitals."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from services.executor.ports.orchestrators import Orchestrating
from shared.domain.outgoing import Reach, operators_reach, tools_reach
from shared.domain.quality import Formula
from shared.domain.words import Strategy
from shared.infra.archive_open import ArchiveSettings
from shared.infra.host_list import HostList
from shared.infra.redis import QueueRedisUrl, RedisUrl, check_queue

_ADDRESS = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?")


class RunSettings(BaseSettings):
    """What running sessions needs, whatever is done in them."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    redis_url: RedisUrl
    queue_redis_url: QueueRedisUrl = ""
    allow_volatile_redis: bool = False
    host: str = Field(default="127.0.0.1", min_length=1)
    port: int = Field(default=9011, ge=0, le=65535)
    lease_seconds: float = Field(default=5.0, gt=0, le=600)
    executor_capacity: int = Field(default=500, ge=1)
    turn_attempts: int = Field(default=5, ge=1)
    session_idle_seconds: float = Field(default=3600.0, ge=1)
    memory_wait_seconds: float = Field(default=3600.0, ge=0)
    grace_seconds: float = Field(default=20.0, ge=0)

    @model_validator(mode="after")
    def _has_a_queue(self) -> Self:
        check_queue(self.redis_url, self.queue_redis_url)
        return self

    @property
    def queue_url(self) -> str:
        return self.queue_redis_url or self.redis_url


class CredentialSettings(BaseSettings):
    """Where the files of secrets lie, in a folder for each tenant."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    credentials_dir: Path = Path("/run/secrets/tools")


class Settings(RunSettings, ArchiveSettings, CredentialSettings):
    """``anthropic_api_key`` or ``anthropic_base_url`` must be given: nobody gets another worker by forgetting a key.

    So must ``archive_url`` in production, unless the operator says by name that ended tasks are to be archived nowhere.
    """

    profile: Literal["embedded", "production"] = "production"
    policy_url: str = Field(min_length=1)
    tenant_file: Path
    anthropic_api_key: str = Field(default="", repr=False)
    anthropic_base_url: str = ""
    haiku_model: str = "claude-haiku-4-5-20251001"
    sonnet_model: str = "claude-sonnet-4-6"
    fallback_model: str = "claude-sonnet-4-6"
    model_notice: str = ""
    green_agent_mcp_url: str = ""
    tools_allowed_hosts: HostList = ()
    tool_timeout: float = Field(default=10.0, gt=0)
    task_timeout: float = Field(default=120.0, gt=0)
    task_tokens: int = Field(default=200_000, ge=1_000)
    strategies: Annotated[tuple[Strategy, ...], NoDecode] = tuple(Strategy)
    orchestrators: Annotated[tuple[Orchestrating, ...], NoDecode] = (Orchestrating.LOCAL,)
    brainos_api_url: str = ""
    brainos_api_key: str = Field(default="", repr=False)
    brainos_org_id: str = ""
    brainos_timeout: float = Field(default=45.0, gt=0)
    compute_audit: Literal["on", "off"] = "on"
    task_money: Decimal = Field(default=Decimal("1.00"), gt=0, le=1_000_000)
    classify_seconds: float = Field(default=5.0, gt=0, le=60)
    quality_formula: Formula = Formula.SIGNALS
    answer_footer: bool = False
    model_prices: Path | None = None
    allow_no_archive: bool = False
    journal_steps: int = Field(default=1_000, ge=10)
    journal_bytes: int = Field(default=8_000_000, ge=10_000)
    max_iterations: int = Field(default=20, ge=1, le=200)
    max_tool_calls: int = Field(default=18, ge=1, le=200)
    list_pages: int = Field(default=200, ge=1, le=900)
    list_rows: int = Field(default=10_000, ge=1)
    list_bytes: int = Field(default=1_000_000, ge=10_000)

    @property
    def tools_reach(self) -> Reach:
        """Where a request's tools endpoint may be: the gateway's rule, checked again when connecting."""
        return tools_reach(self.tools_allowed_hosts, loopback=self.profile == "embedded")

    @property
    def operators_reach(self) -> Reach:
        """Where what a tenant's own operators name may be: tool servers and token endpoints."""
        return operators_reach(self.tools_allowed_hosts)

    @field_validator("strategies", mode="before")
    @classmethod
    def _listed(cls, given: object) -> object:
        names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
        if isinstance(names, list) and (not all(names) or len(set(names)) < len(names)):
            raise ValueError(f"name each of {', '.join(Strategy)} at most once, separated by commas")
        return names

    @field_validator("orchestrators", mode="before")
    @classmethod
    def _in_turn(cls, given: object) -> object:
        names = [name.strip() for name in given.split(",")] if isinstance(given, str) else given
        if isinstance(names, list) and (not all(names) or len(set(names)) < len(names)):
            raise ValueError(
                f"ORCHESTRATORS names each of {', '.join(Orchestrating)} at most once, separated by commas"
            )
        return names

    @model_validator(mode="after")
    def _has_brainos(self) -> Self:
        if Orchestrating.BRAINOS not in self.orchestrators:
            return self
        named = {"URL": self.brainos_api_url, "KEY": self.brainos_api_key}
        given = {"BRAINOS_ORG_ID": self.brainos_org_id, **{f"BRAINOS_API_{name}": said for name, said in named.items()}}
        for name, said in given.items():
            if not said.strip() or not said.isascii() or not said.isprintable() or " " in said:
                raise ValueError(f"{name} is missing or cannot be sent, and ORCHESTRATORS names brainos")
        if not _ADDRESS.fullmatch(self.brainos_api_url):
            raise ValueError("BRAINOS_API_URL is no http(s) address, and ORCHESTRATORS names brainos")
        return self

    @model_validator(mode="after")
    def _has_an_archive(self) -> Self:
        if self.profile == "production" and not (self.archive_url or self.allow_no_archive):
            raise ValueError(
                "ARCHIVE_URL is not set: name a folder or a bucket for ended tasks, "
                "or say ALLOW_NO_ARCHIVE=true if they are to be forgotten"
            )
        return self

    @model_validator(mode="after")
    def _has_a_model(self) -> Self:
        if not (self.anthropic_api_key or self.anthropic_base_url):
            raise ValueError("ANTHROPIC_API_KEY is not set (nor ANTHROPIC_BASE_URL, for a model of another address)")
        return self
