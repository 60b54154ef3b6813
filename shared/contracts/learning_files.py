"""Requests to the learner: importing or exporting files of a tenant's memory, and forgetting."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from shared.contracts.base import Contract


class LearningFile(StrEnum):
    """The files of a tenant's memory. All but ``entities`` and ``statistics`` have the formats of an earlier system."""

    CASE_LOG = "case_log.json"
    STRATEGY_BANDIT = "strategy_bandit.json"
    KNOWLEDGE_BASE = "knowledge_base.json"
    SYNTHESIZED = "synthesized_definitions.json"
    ENTITIES = "entities.json"
    STATISTICS = "statistics.json"


class LearningImportRequest(Contract):
    """A file to import into a tenant's memory. ``dry_run``: only report what would happen."""

    tenant: str
    file: LearningFile
    content: JsonValue
    dry_run: bool = False


class LearningImportReport(Contract):
    """The result of an import. With ``problems`` nothing was imported; the list may be incomplete.

    ``taken``: entries that were new or replaced others; ``known``: entries that changed nothing; ``left_out``: entries
    beyond the bounds.
    """

    file: LearningFile
    problems: tuple[str, ...] = ()
    taken: int = Field(default=0, ge=0)
    known: int = Field(default=0, ge=0)
    left_out: int = Field(default=0, ge=0)
    dry_run: bool = False


class ForgetScope(StrEnum):
    ENTITY = "entity"
    SESSION = "session"
    TENANT = "tenant"


class ForgetState(StrEnum):
    WAITING = "waiting"  # nobody has begun
    WORKING = "working"  # what is stored is gone; outcomes that were under way are waited for
    DONE = "done"


class ForgetRequest(Contract):
    """A request to forget an entity, a session or a whole tenant. It may be repeated.

    ``subject``: the entity as people write it, or the session's id; empty for a tenant. ``removed``: counts by kind;
    ``left``: what stays, and why.
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
