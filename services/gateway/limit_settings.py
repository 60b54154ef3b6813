"""The settings that say how large a request may be, and how much work may wait."""

from pydantic import Field
from pydantic_settings import BaseSettings

from services.gateway.core.identity.request_limits import RequestLimits
from services.gateway.core.tasks.message_limits import MessageLimits


class LimitSettings(BaseSettings):
    """``MAX_WAITING_SESSIONS``: how many sessions may wait for an executor before new messages are refused."""

    max_body_bytes: int = Field(default=1024 * 1024, ge=1024, description="the largest body that is read")
    max_body_seconds: float = Field(default=30, gt=0, description="seconds that a body may take to arrive")
    max_header_bytes: int = Field(default=32 * 1024, ge=1024, description="the largest head of a request")
    max_url_bytes: int = Field(default=8 * 1024, ge=256, description="the longest target of a request")
    max_open_requests: int = Field(default=2000, ge=1, description="requests in hand at once; more get 503")
    max_parts: int = Field(default=100, ge=1, description="parts of one message")
    max_text_characters: int = Field(default=262_144, ge=1, description="characters of one message's text")
    max_metadata_characters: int = Field(default=65_536, ge=2, description="characters of one message's metadata")
    max_waiting_sessions: int = Field(
        default=5000, ge=1, description="sessions that may wait for an executor before new messages are refused"
    )

    message_id_window: int = Field(
        default=86_400,
        ge=0,
        le=604_800,
        description="seconds in which a message with the id of an earlier one is the same message; 0: ids may repeat",
    )

    @property
    def message_limits(self) -> MessageLimits:
        return MessageLimits(self.max_parts, self.max_text_characters, self.max_metadata_characters)

    @property
    def request_limits(self) -> RequestLimits:
        return RequestLimits(
            body_bytes=self.max_body_bytes,
            body_seconds=self.max_body_seconds,
            header_bytes=self.max_header_bytes,
            url_bytes=self.max_url_bytes,
            open_requests=self.max_open_requests,
        )
