"""When a turn was accepted: what has a deadline is judged by that, however late an executor comes to it."""

from datetime import datetime, timedelta

from services.executor.core.session.journal import Journal
from services.executor.ports.sessions import Work


def acceptance_time(work: Work, journal: Journal) -> datetime:
    """By the store's clock, and never earlier than it was: the turn had waited so long when it was begun."""
    return journal.began - timedelta(microseconds=max(0, work.waited_us))
