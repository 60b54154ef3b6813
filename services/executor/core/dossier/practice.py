"""Tasks that are done to try the worker, in a world made for that: what their tenant lets them do."""

from collections.abc import Sequence

from services.executor.core.dossier.endings import Rejected
from services.executor.ports.turns import SessionState
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import TenantRecord

NOBODY_APPROVES = "Nothing was written: a person would have to approve the plan, and in practice nobody can."
IN_DOUBT = "What became of a write is not known; it is not made again."


def is_practice(record: TaskRecord) -> bool:
    """Whether nobody decides anything about the task while it runs, and it is neither counted nor learned from."""
    return record.request.practice is not None


def tenant_of_practice(tenant: TenantRecord, record: TaskRecord, servers: Sequence[str]) -> TenantRecord:
    """The tenant as the task meets it: of a write that no rule speaks of, its ``practice`` says what it needs.

    So it is for practice at a tool server under one of ``servers`` alone, which the operator of the installation
    lists: the word of a request opens nothing elsewhere. Raises ``Rejected`` for practice that the tenant refuses.
    """
    if not is_practice(record) or not _is_under(record.request.tools_endpoint or "", servers):
        return tenant
    if tenant.practice == "refuse":
        raise Rejected("This tenant takes part in no practice.")
    return tenant.model_copy(update={"unruled_writes": tenant.practice})


def _is_under(url: str, servers: Sequence[str]) -> bool:
    return any(url == server.rstrip("/") or url.startswith(f"{server.rstrip('/')}/") for server in servers)


def begins_anew(record: TaskRecord) -> bool:
    """Whether the task is an assessment's first turn; a context may have had another assessment before."""
    return record.request.practice is not None and record.request.practice.turn == 1


def own_memory(session: SessionState, record: TaskRecord) -> SessionState:
    """What the session remembers, as far as it is this task's to know and to add to."""
    return SessionState() if begins_anew(record) else session
