"""The write ledger: what each intended write came to, and the proof."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.contracts.plan import PlannedCall
from shared.domain.words import WriteStatus


class LedgerEntry(Contract):
    """One intended write. ``key`` names it for good: task, plan hash and call.

    ``open_until`` is set with ``SENDING``: before that moment the request may still arrive, so nobody may judge it.
    JSON texts are canonical; ``before_json`` is the read-back's answer just before the call.
    """

    key: str
    call: PlannedCall
    arguments_json: str  # as sent, every $ref resolved
    plan_hash: str
    status: WriteStatus
    sending_at: datetime | None = None
    open_until: datetime | None = None
    before_json: str | None = None
    result_json: str | None = None
    proof_json: str | None = None  # the read-back's answer after the call
    note: str | None = None  # why it is what it is, in a sentence
