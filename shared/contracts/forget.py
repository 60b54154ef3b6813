"""A request that what was learned be forgotten, and how far it is."""

from datetime import datetime
from enum import StrEnum

from shared.contracts.base import Contract


class ForgetScope(StrEnum):
    ENTITY = "entity"
    SESSION = "session"
    TENANT = "tenant"


class ForgetState(StrEnum):
    WAITING = "waiting"  # nobody has begun
    WORKING = "working"  # what is stored is gone; outcomes that were under way are waited for
    DONE = "done"


class ForgetRequest(Contract):
    """``subject`` is the entity as people write it, or the session's id; empty for all of a tenant's.

    ``removed`` counts by what it was; ``left`` says what stays, and why. Asking twice for the same is harmless.
    """

    request_id: str
    tenant: str
    scope: ForgetScope
    subject: str = ""
    asked_by: str
    asked_at: datetime
    state: ForgetState = ForgetState.WAITING
    removed: dict[str, int] = {}
    left: dict[str, str] = {}
    changed_at: datetime | None = None
