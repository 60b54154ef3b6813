"""Maps a session to one of the installation's partitions."""

import zlib

PARTITIONS = 64


def partition_of(tenant: str, session: str) -> int:
    """A stable number below ``PARTITIONS``, the same for all keys of a session, so that a script uses one slot."""
    return zlib.crc32(f"{tenant}\x00{session}".encode()) % PARTITIONS
