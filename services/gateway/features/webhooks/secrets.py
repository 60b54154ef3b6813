"""The secrets that sign webhooks (Standard Webhooks), and the keys that encrypt stored webhooks."""

import base64
import hashlib
import hmac
from collections.abc import Sequence
from datetime import datetime
from typing import NamedTuple

from standardwebhooks import Webhook as Signing

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


def read_secrets(text: str) -> WebhookMasterSecrets:
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


def is_secret(text: str) -> bool:
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
