"""Who speaks in the tests of the processes."""

from shared.contracts.task import Principal
from shared.domain.words import Role


def approver(name: str, *levels: str) -> Principal:
    """Somebody who may decide at these levels."""
    return Principal(id=name, roles=(Role.APPROVER,), levels=levels)


CLERK = Principal(id="casey")
MANAGER = approver("dana", "manager")
FINANCE = approver("fay", "finance")
LEGAL = approver("lou", "legal")
