"""Ids that follow from what they name."""

from uuid import NAMESPACE_OID, uuid5


def derive_id(*parts: str) -> str:
    """An id that is always the same for the same parts, so that what is sent again is recognised."""
    return str(uuid5(NAMESPACE_OID, "\x00".join(parts)))
