"""Whether the state's server was replaced by a replica: one that may lack the last acknowledged writes."""

from datetime import UTC, datetime, timedelta

from redis.asyncio import Redis

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Lineage:
    """What this process knows of the line of servers behind one URL. Every new connection tells it first of all.

    ``confirm_replicas``: how many replicas must have the intent of a write before its request leaves; with one or
    more, what a promoted replica lacks was never sent.
    """

    def __init__(self, confirm_replicas: int = 0) -> None:
        self.confirm_replicas = confirm_replicas
        self._failed_over_us = 0

    @property
    def failed_over(self) -> datetime | None:
        """When the last failover was noticed, by the store's clock; None if never."""
        return _EPOCH + timedelta(microseconds=self._failed_over_us) if self._failed_over_us else None

    def heard(self, failed_over_us: int) -> None:
        """Take note of what a connection's server said."""
        self._failed_over_us = max(self._failed_over_us, failed_over_us)


def lineage_of(redis: Redis) -> Lineage:
    """What is known of the line of servers behind a client of ``connect``; one that knows nothing for any other."""
    found = getattr(getattr(redis, "connection_pool", None), "lineage", None)
    return found if isinstance(found, Lineage) else Lineage()
