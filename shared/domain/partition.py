"""Maps a session to one of the installation's partitions."""

import zlib

PARTITIONS = 64


def partition_of(tenant: str, session: str) -> int:
    """A number below ``PARTITIONS`` for the session, always the same. All keys of a session lie in this partition's
    slot of the cluster, so that one script can use them.
    """
    return zlib.crc32(f"{tenant}\x00{session}".encode()) % PARTITIONS
