"""The service's settings, read once at its start. Environment variables of the same names in capitals."""

import re
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import Field, ValidationInfo, field_validator, model_validator
from pydantic_settings import NoDecode

from services.executor.ports.services import OrchestratorName
from shared.domain.outgoing import AllowedAddresses, addresses_for_files, addresses_for_operators, addresses_for_tools
from shared.domain.quality import QualityFormula
from shared.domain.words import PlanAuditScope, Strategy
from shared.infra.archive_open import ArchiveSettings
from shared.infra.parts import check_optional_parts
from shared.infra.redis import START_SECONDS, QueueSettings
from shared.infra.service_settings import HostList, SentFileSettings, ServiceSettings, Settings, WordList
from shared.infra.starting import require_parseable_url

_URL, _URL_OR_NONE = r"^https?://[^/\s]\S*$", r"^(https?://[^/\s]\S*)?$"
_ADDRESS_PATTERN = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?")


class RunSettings(QueueSettings, ServiceSettings):
    """What running sessions needs, with any worker."""

    redis_start_seconds: float = Field(
        default=START_SECONDS, ge=0, le=600, description="how long a start waits for a Redis that does not answer yet"
    )
    port: int = Field(default=9011, ge=0, le=65535, description="the port of /health, /ready and /metrics")
    lease_seconds: float = Field(
        default=5.0, gt=0, le=600, description="how long a session of a dead executor waits for another"
    )
    executor_capacity: int = Field(default=500, ge=1, description="sessions that one executor runs at once")
    turn_attempts: int = Field(default=5, ge=1, description="how often a turn is begun before it becomes a dead letter")
    session_idle_seconds: float = Field(
        default=3600.0, ge=1, description="seconds after which a session without work leaves Redis for the archive"
    )
    memory_wait_seconds: float = Field(
        default=3600.0,
        ge=0,
        description="seconds for which a turn waits for an archive that is away, before its attempts count",
    )
    grace_seconds: float = Field(default=20.0, ge=0, description="what turns in hand have after SIGTERM")


class CredentialSettings(Settings):
    """The folder of secret files, which has one subfolder for each tenant."""

    credentials_dir: Path = Field(
        default=Path("/run/secrets/tools"),
        description="the folder of tool servers' secrets, in it a folder for each tenant",
    )


class ExecutorSettings(RunSettings, ArchiveSettings, SentFileSettings, CredentialSettings):
    """``anthropic_api_key`` or ``anthropic_base_url`` is required. So is ``archive_url`` in production, unless the
    operator explicitly says that ended tasks are not archived.
    """

    profile: Literal["embedded", "production"] = Field(
        default="production",
        description="embedded believes names in requests and opens loopback; the launcher alone sets it",
    )
    policy_url: str = Field(pattern=_URL, description="the policy service; without its verdict nothing is written")
    tenant_file: Path = Field(description="the record of the default tenant: policies, connections, caps")
    anthropic_api_key: str = Field(
        default="",
        repr=False,
        description="the model's key",
        json_schema_extra={"needed": "ANTHROPIC_BASE_URL is not set"},
    )
    anthropic_base_url: str = Field(
        default="",
        pattern=_URL_OR_NONE,
        description="another address that speaks the Anthropic Messages API",
        json_schema_extra={"needed": "ANTHROPIC_API_KEY is not set"},
    )
    traceparent_to_model: bool = Field(
        default=False, description="whether the model's endpoint is told which trace a call belongs to"
    )
    haiku_model: str = Field(default="claude-haiku-4-5-20251001", min_length=1, description="the lower tier")
    sonnet_model: str = Field(
        default="claude-sonnet-4-6",
        min_length=1,
        description="the higher tier: replies that may write, and hard questions",
    )
    fallback_model: str = Field(
        default="claude-sonnet-4-6",
        min_length=1,
        description="who serves when a tier's model is unavailable, never below the tier of writes",
    )
    model_timeout: float = Field(default=60.0, gt=0, le=600, description="seconds after which a model call ends")
    model_notice: str = Field(default="", description="what is said about the model in answers")
    green_agent_mcp_url: str = Field(
        default="", pattern=_URL_OR_NONE, description="the tool server of tasks that name none"
    )
    tools_allowed_hosts: HostList = Field(
        default=(), description="hosts and networks that requests may name as tool servers, commas between"
    )
    practice_servers: WordList = Field(
        default=(),
        description="tool servers of worlds made to try the worker, by the beginnings of their URLs, commas between: a "
        "bridge's; of practice there a tenant's `practice` says what a write needs that no rule speaks about",
    )
    tool_timeout: float = Field(default=10.0, gt=0, description="seconds after which a tool call ends")
    tool_list_seconds: float = Field(
        default=30.0,
        ge=0,
        description="seconds for which a server's list of tools holds, unless it ends the session, says that it holds "
        "for less, or a call comes to an error; 0 asks for it with every task",
    )
    task_timeout: float = Field(
        default=120.0, gt=0, description="seconds of working time after which a task fails; waiting does not count"
    )
    task_deadline: float = Field(
        default=3600.0,
        ge=0,
        description="seconds for which a task rests while no model answers, before it fails; no other wait counts",
    )
    task_tokens: int = Field(
        default=10_000, ge=1_000, description="fresh tokens of one task: input that no cache holds, and output"
    )
    strategies: Annotated[tuple[Strategy, ...], NoDecode] = Field(
        default=tuple(Strategy),
        description="the strategies that the bandit chooses among, commas between; the first begins a process type",
    )
    orchestrators: Annotated[tuple[OrchestratorName, ...], NoDecode] = Field(
        default=(OrchestratorName.LOCAL,), description="who thinks, in this order: local, brainos"
    )
    executor_parts: WordList = Field(
        default=("made_tools", "files"),
        description="the optional parts that are loaded: made_tools, files; ORCHESTRATORS brings those of its own",
    )
    brainos_api_url: str = Field(
        default="", description="where BrainOS is", json_schema_extra={"needed": "ORCHESTRATORS names brainos"}
    )
    brainos_api_key: str = Field(
        default="",
        repr=False,
        description="the key that it is shown",
        json_schema_extra={"needed": "ORCHESTRATORS names brainos"},
    )
    brainos_org_id: str = Field(
        default="",
        description="the organisation that it is told",
        json_schema_extra={"needed": "ORCHESTRATORS names brainos"},
    )
    brainos_timeout: float = Field(default=45.0, gt=0, description="seconds for one round with it")
    compute_audit: PlanAuditScope = Field(
        default=PlanAuditScope.RISKY,
        description="whether a model looks if risky plans, or all, do what their tasks ask; the exact audit stays",
    )
    task_money: Decimal = Field(default=Decimal("1.00"), gt=0, le=1_000_000, description="US dollars of one task")
    quality_formula: QualityFormula = Field(default=QualityFormula.SIGNALS, description="how runs are scored")
    answer_footer: bool = Field(default=False, description="a last line about the run under prose")
    model_prices: Path | None = Field(default=None, description="a file of prices laid over the built-in ones")
    allow_no_archive: bool = Field(
        default=False,
        description="ended tasks are kept nowhere; without it, or ARCHIVE_URL, no executor starts in production",
    )
    journal_steps: int = Field(default=1_000, ge=10, description="steps that one task may take")
    journal_bytes: int = Field(default=8_000_000, ge=10_000, description="bytes that one task may collect")
    max_iterations: int = Field(default=20, ge=1, le=200, description="how often a task's model is asked")
    max_tool_calls: int = Field(default=18, ge=1, le=200, description="how many reads one reply may make")
    list_pages: int = Field(default=200, ge=1, le=900, description="pages that are read of one list")
    list_rows: int = Field(default=10_000, ge=1, description="rows that are read of one list")
    file_seconds: float = Field(default=20.0, gt=0, le=300, description="seconds in which a file's address answers")
    file_characters: int = Field(
        default=12_000,
        ge=0,
        le=100_000,
        description="characters of the texts of a task's files that the model is shown at once; it looks up the rest",
    )
    list_bytes: int = Field(default=1_000_000, ge=10_000, description="bytes that are read of one list")

    @property
    def optional_part_names(self) -> tuple[str, ...]:
        """The names of the optional parts to load, each once."""
        names = (*self.executor_parts, *(orchestrator.value for orchestrator in self.orchestrators))
        return tuple(dict.fromkeys(name for name in names if name != OrchestratorName.LOCAL))

    @property
    def addresses_for_tools(self) -> AllowedAddresses:
        """The addresses that a request may name as its tools endpoint; the gateway applies the same rule."""
        return addresses_for_tools(self.tools_allowed_hosts, permits_loopback=self.profile == "embedded")

    @property
    def addresses_for_files(self) -> AllowedAddresses:
        """The addresses that a message's file may be fetched from; the gateway applies the same rule."""
        return addresses_for_files(self.files_allowed_hosts, permits_loopback=self.profile == "embedded")

    @property
    def addresses_for_operators(self) -> AllowedAddresses:
        """The addresses that a tenant's own operators may name: tool servers and token endpoints."""
        return addresses_for_operators(self.tools_allowed_hosts)

    @field_validator("executor_parts")
    @classmethod
    def _check_parts(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        return check_optional_parts("executor", names)

    @field_validator("policy_url", "anthropic_base_url", "green_agent_mcp_url")
    @classmethod
    def _check_urls(cls, url: str) -> str:
        if url:
            require_parseable_url(url)
        return url

    @field_validator("strategies", "orchestrators", mode="before")
    @classmethod
    def _split_names(cls, setting: object, info: ValidationInfo) -> object:
        names = [name.strip() for name in setting.split(",")] if isinstance(setting, str) else setting
        if isinstance(names, list) and (not all(names) or len(set(names)) < len(names)):
            kinds = Strategy if info.field_name == "strategies" else OrchestratorName
            raise ValueError(f"name each of {', '.join(kinds)} at most once, separated by commas")
        return names

    @model_validator(mode="after")
    def _check_brainos(self) -> Self:
        if OrchestratorName.BRAINOS not in self.orchestrators:
            return self
        settings = {
            "BRAINOS_ORG_ID": self.brainos_org_id,
            "BRAINOS_API_URL": self.brainos_api_url,
            "BRAINOS_API_KEY": self.brainos_api_key,
        }
        for name, value in settings.items():
            if not value.strip() or not value.isascii() or not value.isprintable() or " " in value:
                raise ValueError(f"{name} is missing or cannot be sent, and ORCHESTRATORS names brainos")
        if not _ADDRESS_PATTERN.fullmatch(self.brainos_api_url):
            raise ValueError("BRAINOS_API_URL is no http(s) address, and ORCHESTRATORS names brainos")
        return self

    @field_validator("practice_servers")
    @classmethod
    def _check_addresses(cls, addresses: tuple[str, ...]) -> tuple[str, ...]:
        if not all(_ADDRESS_PATTERN.fullmatch(address) for address in addresses):
            raise ValueError("one of them is no http(s) address")
        return addresses

    @model_validator(mode="after")
    def _check_archive(self) -> Self:
        if self.profile == "production" and not (self.archive_url or self.allow_no_archive):
            raise ValueError(
                "ARCHIVE_URL is not set: name a folder or a bucket for ended tasks, "
                "or say ALLOW_NO_ARCHIVE=true if they are to be forgotten"
            )
        return self

    @model_validator(mode="after")
    def _check_model(self) -> Self:
        if not (self.anthropic_api_key or self.anthropic_base_url):
            raise ValueError("ANTHROPIC_API_KEY is not set (nor ANTHROPIC_BASE_URL, for a model of another address)")
        return self
