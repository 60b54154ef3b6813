"""Settings of webhooks: whether they are offered, their secrets, their permitted addresses, tries and pauses."""

from typing import Literal, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from services.gateway.features.webhooks.secrets import WebhookMasterSecrets, read_secrets
from shared.infra.service_settings import HostList, Settings


class PushSettings(Settings):
    """Settings of webhooks: whether clients may register them, their secrets, and the limits of deliveries."""

    a2a_push: Literal["", "on", "off"] = Field(
        default="", description="whether webhooks are offered; empty: where WEBHOOK_SECRET is set"
    )
    webhook_secret: str = Field(
        default="",
        repr=False,
        description="what signs webhooks and encrypts their settings: the newest first, commas between",
        json_schema_extra={"needed": "A2A_PUSH is on"},
    )
    webhook_allowed_hosts: HostList = Field(
        default=(), description="hosts and networks that webhooks may call beyond public addresses, commas between"
    )
    webhooks_per_task: int = Field(default=10, ge=1, le=100, description="webhooks of one task")
    push_timeout: float = Field(default=15, gt=0, le=60, description="seconds for one delivery")
    push_tries: int = Field(default=12, ge=1, le=100, description="failures in a row that disable a webhook")
    push_first_pause: float = Field(
        default=5, gt=0, description="seconds before a failed delivery is tried again; it doubles"
    )
    push_longest_pause: float = Field(default=3600, gt=0, description="seconds that such a pause is at most")
    push_concurrency: int = Field(default=32, ge=1, le=1000, description="deliveries of one replica at once")

    @field_validator("webhook_secret")
    @classmethod
    def _check_secrets(cls, value: str) -> str:
        read_secrets(value)
        return value

    @model_validator(mode="after")
    def _check_signable(self) -> Self:
        if self.a2a_push == "on" and not self.secrets.masters:
            raise PydanticCustomError(
                "webhook_secret", "WEBHOOK_SECRET must be set where A2A_PUSH is on: webhooks are signed with it."
            )
        return self

    @property
    def secrets(self) -> WebhookMasterSecrets:
        return read_secrets(self.webhook_secret)

    @property
    def push_offered(self) -> bool:
        return self.a2a_push != "off" and bool(self.secrets.masters)

    @property
    def delivery_lease(self) -> float:
        """The seconds for which a delivery is claimed: enough for one delivery and storing its result."""
        return 2 * self.push_timeout + 1

    @property
    def deliveries_per_tenant(self) -> int:
        """How many deliveries of one tenant a replica makes at once."""
        return max(1, self.push_concurrency // 4)
