"""Ids that are derived from what they identify."""

from uuid import NAMESPACE_OID, uuid5


def derive_id(*parts: str) -> str:
    """A UUID that is always the same for the same parts, so that a repeated request gets the same id."""
    return str(uuid5(NAMESPACE_OID, "\x00".join(parts)))
