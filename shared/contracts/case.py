"""What is remembered of one ended task, for the tasks to come."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.domain.cases import CaseOutcome
from shared.domain.words import Strategy


class CaseEntry(Contract):
    """One entry of a tenant's case log. ``domain`` is the process type; ``case_id`` the id of the outcome event."""

    case_id: str
    session_id: str
    task_id: str
    summary: str
    keywords: tuple[str, ...]
    outcome: CaseOutcome
    quality: float  # 0 to 1
    formula: str = ""  # by which the quality was measured, and the parts that it is the sum of
    parts: dict[str, float] = {}
    worked: tuple[str, ...] = ()
    failed: tuple[str, ...] = ()
    tool_count: int
    domain: str
    strategy: Strategy
    at: datetime
