"""What the learner is asked beside outcomes: to take in or give out a file, and to forget."""

from datetime import datetime
from enum import StrEnum

from pydantic import Field, JsonValue

from shared.contracts.base import Contract


class LearningFile(StrEnum):
    """Four are the seed's; ``entities`` and ``statistics`` hold what those have no place for."""

    CASE_LOG = "case_log.json"
    STRATEGY_BANDIT = "strategy_bandit.json"
    KNOWLEDGE_BASE = "knowledge_base.json"
    SYNTHESIZED = "synthesized_definitions.json"
    ENTITIES = "entities.json"
    STATISTICS = "statistics.json"


class FileRequest(Contract):
    """A file to be imported into a tenant's memory. ``dry_run``: only say what would become of it."""

    tenant: str
    file: LearningFile
    content: JsonValue
    dry_run: bool = False


class FileReport(Contract):
    """What became of a file. With ``problems`` nothing of it was taken; there may be more than are named.

    ``taken`` entries are new or took another's place, ``known`` ones change nothing, ``left_out`` ones had no room.
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
