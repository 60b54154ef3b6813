"""An API key as the gateway keeps it."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.domain.words import Role


class ApiKey(Contract):
    """An API key: its principal and expiry. Of its secret, only the SHA-256 digest is stored.

    A plain digest is enough because the secret has 256 random bits; salting and stretching protect weak passwords.
    """

    key_id: str
    tenant: str
    principal_id: str
    roles: tuple[Role, ...]
    levels: tuple[str, ...] = ()  # the escalation levels an approver may decide
    label: str = ""
    secret_sha256: str
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None  # to the minute
    requests_a_minute: int | None = None  # in place of what is usual; 0 is without limit
    messages_a_minute: int | None = None
    messages_a_day: int | None = None

    def is_valid(self, now: datetime) -> bool:
        return self.revoked_at is None and (self.expires_at is None or now < self.expires_at)
