"""Settings of what clients see and send: the agent card, what is offered, and limits of requests."""

from functools import cached_property
from pathlib import Path
from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from services.gateway.a2a.card_keys import CardKeys, parse_card_keys
from services.gateway.a2a.skills import SKILLS
from services.gateway.features.identity.settings import IdentitySettings
from services.gateway.features.webhooks.settings import PushSettings
from shared.infra.archive_open import ArchiveSettings
from shared.infra.service_settings import ServiceSettings, Settings, WordList

URL_REGEX = r"^(https?://\S+)?$"


class CardSettings(Settings):
    """Settings of the agent card. ``A2A_PROVIDER`` and ``A2A_PROVIDER_URL`` must be set together."""

    a2a_card: Literal["merged", "1.0", "0.3"] = Field(
        default="merged", description="the card of a client that names no version: of both generations, or of one"
    )
    a2a_processes: WordList = Field(
        default=(), description="processes that are offered as skills, commas between; empty: all"
    )
    a2a_provider: str = Field(default="", description="the organization that runs this agent, as the card names it")
    a2a_provider_url: str = Field(default="", pattern=URL_REGEX, description="that organization's address on the card")
    a2a_documentation_url: str = Field(
        default="", pattern=URL_REGEX, description="where the card says that help is found"
    )
    a2a_card_keys: str = Field(
        default="",
        repr=False,
        description="what signs the card: EC P-256 keys in PEM, the newest first, or the file that holds them",
    )

    @field_validator("a2a_processes")
    @classmethod
    def _check_skills(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        skill_ids = [skill.id for skill in SKILLS]
        if unknown := sorted(set(value) - set(skill_ids)):
            raise ValueError(f"there is no process {unknown[0]!r}; there are {', '.join(skill_ids)}")
        return value

    @field_validator("a2a_card_keys")
    @classmethod
    def _check_card_keys(cls, value: str) -> str:
        if value:
            parse_card_keys(_load_card_keys_pem(value), "")
        return value

    @model_validator(mode="after")
    def _check_provider(self) -> Self:
        if bool(self.a2a_provider) != bool(self.a2a_provider_url):
            raise PydanticCustomError("provider", "A2A_PROVIDER and A2A_PROVIDER_URL must be set together, or neither.")
        return self


def _load_card_keys_pem(value: str) -> str:
    """The PEM text of the card's keys: the value itself, or the content of the file it names; raises ``ValueError``."""
    if value.lstrip().startswith("-----BEGIN"):
        return value.replace("\\n", "\n")
    try:
        return Path(value).read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise ValueError(f"the file of the card's keys cannot be read ({type(error).__name__})") from None


class LimitSettings(Settings):
    """Limits of requests."""

    max_body_bytes: int = Field(default=1024 * 1024, ge=1024, description="the largest body that is read")
    max_message_bytes: int = Field(
        default=14_000_000,
        ge=1024,
        description="the largest body of a message where files are kept (ARCHIVE_URL); MAX_BODY_BYTES at least",
    )
    max_body_seconds: float = Field(default=30, gt=0, description="seconds that a body may take to arrive")
    max_open_requests: int = Field(default=2000, ge=1, description="requests in hand at once; more get 503")
    max_parts: int = Field(default=100, ge=1, description="parts of one message")
    files_per_message: int = Field(default=10, ge=0, le=100, description="files of one message")
    max_text_characters: int = Field(default=262_144, ge=1, description="characters of one message's text")
    max_metadata_characters: int = Field(default=65_536, ge=2, description="characters of one message's metadata")
    max_waiting_sessions: int = Field(
        default=5000, ge=1, description="sessions that may wait for an executor before new messages are refused"
    )
    max_waiting_messages: int = Field(
        default=100, ge=1, description="messages that may wait in one session before more are refused"
    )

    message_id_window: int = Field(
        default=86_400,
        ge=0,
        le=604_800,
        description="seconds in which a message with the id of an earlier one of its context is the same; "
        "0: ids may repeat",
    )


class A2aSettings(CardSettings, IdentitySettings, LimitSettings, PushSettings, ArchiveSettings, ServiceSettings):
    """The settings that the A2A endpoints and the agent card use."""

    port: int = Field(default=9010, ge=0, le=65535, description="the port to bind")
    purple_agent_card_url: str = Field(
        default="", pattern=URL_REGEX, description="the address that the agent card names; empty: the address it binds"
    )
    model_notice: str = Field(default="", description="what is said about the model on the card and in answers")
    a2a_streaming: Literal["on", "off"] = Field(default="on", description="whether streams are offered")
    a2a_extended_card: Literal["on", "off"] = Field(default="on", description="whether the extended card is offered")

    @property
    def message_bytes(self) -> int:
        """The largest body of a message; larger than other bodies only if files are stored."""
        return max(self.max_body_bytes, self.max_message_bytes) if self.archive_url else self.max_body_bytes

    @property
    def shows_extended_card(self) -> bool:
        return self.a2a_extended_card == "on" and bool(self.auth_methods)

    @cached_property
    def card_keys(self) -> CardKeys | None:
        return parse_card_keys(_load_card_keys_pem(self.a2a_card_keys), self.card_url) if self.a2a_card_keys else None

    @property
    def card_url(self) -> str:
        """The URL at which clients reach the gateway: as set, else of the address it listens on."""
        if self.purple_agent_card_url:
            return self.purple_agent_card_url
        host = "localhost" if self.host in {"0.0.0.0", "::"} else self.host  # noqa: S104 - shown, not bound
        return f"http://{host}:{self.port}/"
