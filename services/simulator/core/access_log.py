"""The log of a world's last requests: who called which path, and how it was answered."""

from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

MOST_ENTRIES = 10_000


@dataclass(frozen=True, slots=True)
class LoggedAccess:
    timestamp: datetime
    method: str
    path: str
    status_code: int
    duration_ms: float
    key_id: str | None
    key_name: str | None


@dataclass(frozen=True)
class LoggedAccessFilter:
    """Which logged requests to find; a field that is None allows every value."""

    key_id: str | None = None
    key_name: str | None = None
    path_prefix: str | None = None
    method: str | None = None
    status_code_min: int | None = None
    status_code_max: int | None = None
    errors_only: bool = False
    since: datetime | None = None
    until: datetime | None = None

    def fits(self, access: LoggedAccess) -> bool:
        return self._fits_key(access) and self._fits_request(access) and self._fits_time(access)

    def _fits_key(self, access: LoggedAccess) -> bool:
        return self.key_id in (None, access.key_id) and self.key_name in (None, access.key_name)

    def _fits_request(self, access: LoggedAccess) -> bool:
        low, high = self.status_code_min or 0, self.status_code_max or 999
        return (
            access.path.startswith(self.path_prefix or "")
            and (self.method or access.method).upper() == access.method
            and max(low, 400 if self.errors_only else 0) <= access.status_code <= high
        )

    def _fits_time(self, access: LoggedAccess) -> bool:
        return not (
            (self.since is not None and access.timestamp < self.since)
            or (self.until is not None and access.timestamp > self.until)
        )


class WorldAccessLog:
    def __init__(self, most_kept: int = MOST_ENTRIES) -> None:
        self._entries: deque[LoggedAccess] = deque(maxlen=most_kept)

    def __len__(self) -> int:
        return len(self._entries)

    def record(self, access: LoggedAccess) -> None:
        self._entries.append(access)

    def find(self, log_filter: LoggedAccessFilter) -> Iterator[LoggedAccess]:
        """Yields the requests that pass the filter, the newest first."""
        return (access for access in reversed(self._entries) if log_filter.fits(access))

    def count_by_status(self) -> Counter[int]:
        return Counter(access.status_code for access in self._entries)

    def count_by_key(self) -> Counter[str]:
        return Counter(access.key_id for access in self._entries if access.key_id is not None)

    def count_by_path(self) -> Counter[str]:
        return Counter(access.path for access in self._entries)

    def clear(self) -> int:
        """Drops all entries, and returns how many there were."""
        count = len(self._entries)
        self._entries.clear()
        return count
