"""The ledger of one plan: what each of its writes is called, and what is known of it."""

from services.executor.ports.turns import TurnStore
from shared.contracts.ledger import LedgerEntry
from shared.contracts.plan import PlannedCall, WritePlan
from shared.domain.exact_json import Json, digest, loads
from shared.domain.words import SENDABLE, Resolution, WriteStatus


def write_key(plan: WritePlan, call: PlannedCall) -> str:
    """The name of one intended write for good: the same in whichever process and attempt it is computed."""
    return digest([plan.task_id, plan.round, plan.hash, call.call_id])[:32]


async def entries(store: TurnStore, plan: WritePlan) -> dict[str, LedgerEntry]:
    """The ledger's entries of a plan by call id."""
    return {entry.call.call_id: entry for entry in (await store.ledger()).values() if entry.plan_hash == plan.hash}


async def results(store: TurnStore, plan: WritePlan) -> dict[str, Json]:
    """What the servers answered to the plan's calls, by call id."""
    known = await entries(store, plan)
    return {call_id: loads(entry.result_json) for call_id, entry in known.items() if entry.result_json is not None}


def has_begun(entry: LedgerEntry) -> bool:
    """Whether a write may have changed something, or a person has decided about it as it was planned."""
    retried = entry.resolved is not None and entry.resolved.resolution is Resolution.RETRY
    return not (entry.status is WriteStatus.UNSENT or (entry.status in SENDABLE and retried))


def took_hold(entry: LedgerEntry | None) -> bool:
    """Whether a write is proved, or an operator said that it took hold."""
    if entry is None:
        return False
    said = entry.resolved is not None and entry.resolved.resolution is Resolution.DONE
    return entry.status is WriteStatus.VERIFIED or (entry.status is WriteStatus.UNVERIFIED and said)
