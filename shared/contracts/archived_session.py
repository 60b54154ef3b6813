"""What is kept of a session that fell idle: all that it remembered, until it speaks again."""

from datetime import datetime

from pydantic import JsonValue

from shared.contracts.base import Contract


class LastTask(Contract):
    """Where the session's newest task came to; its checkpoints are in its own archive."""

    task_id: str
    state: str
    process_type: str = ""
    strategy: str = ""
    states: tuple[str, ...] = ()


class ArchivedSession(Contract):
    """``memory`` is what the durable store held: turns, the summary of older ones, schema corrections, counted calls.

    ``owner`` is the principal whose session it is: nobody else is given it.
    """

    tenant: str
    session_id: str
    owner: str
    memory: JsonValue
    last_task: LastTask | None = None
    idle_since: datetime
