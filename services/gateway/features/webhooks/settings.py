"""The settings of webhooks, and the secrets that sign them (Standard Webhooks) and encrypt what is stored of them."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Literal, NamedTuple, Self

from pydantic import Field, model_validator
from pydantic_core import PydanticCustomError
from standardwebhooks import Webhook as Signing

from shared.infra.service_settings import HostList, Settings, make_validator

LEAST_SECRET_BYTES = 24
_PREFIX_OF_SECRETS = "whsec_"


class WebhookMasterSecrets(NamedTuple):
    """An installation's master secrets, the newest first. Older ones sign too, so that receivers can change over."""

    masters: Sequence[bytes]

    def derive_secrets(self, tenant: str) -> tuple[str, ...]:
        """The tenant's own secrets, derived from the master secrets; they reveal nothing of another tenant's."""
        derived = (hmac.digest(master, f"webhook:{tenant}".encode(), "sha256") for master in self.masters)
        return tuple(_PREFIX_OF_SECRETS + base64.b64encode(secret).decode() for secret in derived)

    def derive_sealing_keys(self) -> tuple[str, ...]:
        """The Fernet keys that encrypt webhooks in the store."""
        derived = (hmac.digest(master, b"webhooks at rest", "sha256") for master in self.masters)
        return tuple(base64.urlsafe_b64encode(secret).decode() for secret in derived)


def parse_master_secrets(text: str) -> WebhookMasterSecrets:
    """Parse secrets separated by commas, each base64 with or without ``whsec_``; raises ``ValueError``."""
    return WebhookMasterSecrets(tuple(_decode_secret(part.strip()) for part in text.split(",") if part.strip()))


def sign_body(delivery_id: str, body: str, secrets: Sequence[str], now: datetime) -> dict[str, str]:
    """The Standard Webhooks headers of a body: the delivery's id, the time, and a signature by each secret."""
    signatures = (Signing(secret).sign(delivery_id, now, body) for secret in secrets)
    stamp = str(int(now.timestamp()))
    return {"webhook-id": delivery_id, "webhook-timestamp": stamp, "webhook-signature": " ".join(signatures)}


def derive_delivery_id(*parts: str) -> str:
    """A delivery's id, which is always the same for the same parts."""
    return f"msg_{hashlib.sha256(chr(0).join(parts).encode()).hexdigest()[:32]}"


def is_webhook_secret(text: str) -> bool:
    try:
        _decode_secret(text)
    except ValueError:
        return False
    return True


def _decode_secret(text: str) -> bytes:
    encoded = text.removeprefix(_PREFIX_OF_SECRETS).translate(str.maketrans("-_", "+/"))
    try:
        secret = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except ValueError:
        secret = b""
    if len(secret) < LEAST_SECRET_BYTES:
        detail = f"at least {LEAST_SECRET_BYTES} bytes, with or without {_PREFIX_OF_SECRETS} before it"
        raise ValueError(f"a secret is base64 of {detail}")
    return secret


class PushSettings(Settings):
    """Settings of webhooks: whether clients may register them, their secrets, and the limits of deliveries."""

    a2a_push: Literal["", "on", "off"] = Field(
        default="", description="whether webhooks are offered; empty: where WEBHOOK_SECRET is set"
    )
    webhook_secret: Annotated[str, make_validator(parse_master_secrets)] = Field(
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

    @model_validator(mode="after")
    def _check_signable(self) -> Self:
        if self.a2a_push == "on" and not self.secrets.masters:
            raise PydanticCustomError(
                "webhook_secret", "WEBHOOK_SECRET must be set where A2A_PUSH is on: webhooks are signed with it."
            )
        return self

    @property
    def secrets(self) -> WebhookMasterSecrets:
        return parse_master_secrets(self.webhook_secret)

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
