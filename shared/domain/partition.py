"""Maps a session to one of the installation's partitions."""

import zlib

PARTITIONS = 64


def partition_of(tenant: str, session: str) -> int:
    """A stable number below ``PARTITIONS``. All keys of one session have the same, so that a Lua script uses one
    cluster slot.
    """
    return zlib.crc32(f"{tenant}\x00{session}".encode()) % PARTITIONS
