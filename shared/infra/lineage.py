"""Whether the state's server was replaced by one that may lack acknowledged writes: a replica, or a backup."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from redis.asyncio import Redis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Lineage:
    """What this process knows of the line of servers behind one URL. Every new connection tells it first of all.

    ``confirm_replicas``: how many replicas must have the intent of a write before its request leaves; with one or
    more, what a promoted replica lacks was never sent.
    ``problem``: why the server last asked could not say; None if it could, or if none has been asked.
    """

    def __init__(self, confirm_replicas: int = 0) -> None:
        self.confirm_replicas = confirm_replicas
        self.problem: LineageProblem | None = None
        self._failed_over_us = 0
        self._restored_us = 0
        self._crashed_us = 0
        self._excused = False

    @property
    def failed_over(self) -> datetime | None:
        """When the last failover was noticed, by the store's clock; None if never."""
        return _moment(self._failed_over_us)

    @property
    def restored(self) -> datetime | None:
        """When the server was last restored from a backup, as `purple restored` noted it; None if never."""
        return _moment(self._restored_us)

    @property
    def crashed(self) -> datetime | None:
        """When the server last came back without having been stopped; None if never. The end of its log may be gone."""
        return _moment(self._crashed_us)

    def record_answer(self, failed_over_us: int, restored_us: int = 0, crashed_us: int = 0) -> None:
        """Take note of what a connection's server said."""
        self._failed_over_us = max(self._failed_over_us, failed_over_us)
        self._restored_us = max(self._restored_us, restored_us)
        self._crashed_us = max(self._crashed_us, crashed_us)
        self.problem = None

    def unheard(self, problem: "LineageProblem") -> None:
        """A connection's server could not say: until one can, a failover may go unnoticed."""
        self.problem = problem

    def excuse(self) -> None:
        """The operator says by name that an unnoticed failover is no concern."""
        self._excused = True

    @property
    def blind(self) -> "LineageProblem | None":
        """Why an unnoticed failover of Redis is possible now; None where none is, or where it does no harm.

        While there is a problem, no write may rely on the ledger alone (I3).
        """
        return None if self._excused or self.confirm_replicas else self.problem


class LineageProblem(NamedTuple):
    """What the server said in place of an answer. ``may_pass``: no missing right, but a state it may leave."""

    said: str
    may_pass: bool

    def __str__(self) -> str:
        return (
            f"REDIS_URL names a server that does not say whether it has failed over ({self.said}); "
            "give its user the right to run INFO, or end REDIS_URL with ?confirm_replicas=1."
        )


def _moment(microseconds: int) -> datetime | None:
    return _EPOCH + timedelta(microseconds=microseconds) if microseconds else None


def lineage_of(redis: Redis) -> Lineage:
    """What is known of the line of servers behind a client of ``connect``; one that knows nothing for any other."""
    found = getattr(getattr(redis, "connection_pool", None), "lineage", None)
    return found if isinstance(found, Lineage) else Lineage()
