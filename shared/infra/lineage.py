"""Tracks whether a server that may lack acknowledged writes (a promoted replica, a backup) replaced state Redis."""

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from redis.asyncio import Redis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class RedisLineage:
    """What this process knows of failovers, restores and crashes of the Redis server behind one URL, any of which may
    have lost stored writes.

    Each new connection asks its server. ``problem``: why the last server asked could not tell; None if it could, or
    none was asked. ``confirm_replicas``: how many replicas must confirm a write's intent before its request is sent;
    with one or more, a promoted replica lacks only intents whose requests were never sent.
    """

    def __init__(self, confirm_replicas: int = 0) -> None:
        self.confirm_replicas = confirm_replicas
        self.problem: LineageProblem | None = None
        self._failed_over_us = 0
        self._restored_us = 0
        self._crashed_us = 0
        self._accepts_risk = False

    @property
    def failed_over_at(self) -> datetime | None:
        """When the last failover was noticed, on the store's clock; None if never."""
        return _convert_microseconds_to_time(self._failed_over_us)

    @property
    def restored_at(self) -> datetime | None:
        """When the server was last restored from a backup, as `purple restored` noted; None if never."""
        return _convert_microseconds_to_time(self._restored_us)

    @property
    def crashed_at(self) -> datetime | None:
        """When the server last started without having been stopped; None if never. The end of its log may be lost."""
        return _convert_microseconds_to_time(self._crashed_us)

    def record_server_answer(self, failed_over_us: int, restored_us: int = 0, crashed_us: int = 0) -> None:
        """Takes in a server's answer: the time of each event in microseconds since 1970, 0 for never."""
        self._failed_over_us = max(self._failed_over_us, failed_over_us)
        self._restored_us = max(self._restored_us, restored_us)
        self._crashed_us = max(self._crashed_us, crashed_us)
        self.problem = None

    def record_problem(self, problem: "LineageProblem") -> None:
        """Takes in why a server could not tell whether it has failed over.

        Until one can (``record_answer``), ``failover_risk`` gives this reason, and no write relies on the ledger alone.
        """
        self.problem = problem

    def accept_failover_risk(self) -> None:
        """Notes that the operator accepts unnoticed failovers (``ALLOW_VOLATILE_REDIS``)."""
        self._accepts_risk = True

    @property
    def failover_risk(self) -> "LineageProblem | None":
        """Why a failover of Redis could go unnoticed now; None if it could not, or would do no harm.

        While there is a reason, no write may rely on the ledger alone (I3).
        """
        return None if self._accepts_risk or self.confirm_replicas else self.problem


class LineageProblem(NamedTuple):
    """Why a server does not tell whether it has failed over. ``may_pass``: it may resolve itself; otherwise the Redis
    user lacks a permission.
    """

    message: str
    may_pass: bool

    def __str__(self) -> str:
        return (
            f"REDIS_URL names a server that does not say whether it has failed over ({self.message}); "
            "give its user the right to run INFO, or end REDIS_URL with ?confirm_replicas=1."
        )


def _convert_microseconds_to_time(microseconds: int) -> datetime | None:
    return _EPOCH + timedelta(microseconds=microseconds) if microseconds else None


def get_lineage(redis: Redis) -> RedisLineage:
    """The lineage of a client made by ``connect``; an empty one for any other client."""
    lineage = getattr(getattr(redis, "connection_pool", None), "lineage", None)
    return lineage if isinstance(lineage, RedisLineage) else RedisLineage()
