"""Who may be let in where nobody is asked for a key: this machine, unless whoever starts it says otherwise by name."""

from shared.domain.address_ranges import is_loopback_host

_NOBODY_ASKED = frozenset({"", "off"})


def why_not_open(host: str, authentication: str, *, allow_open: bool) -> str | None:
    """Why a gateway that believes the names in requests does not serve ``host``; None where it may.

    ``authentication`` is that setting's value, ``allow_open`` that of ``ALLOW_OPEN``.
    """
    if allow_open or authentication not in _NOBODY_ASKED or is_loopback_host(host):
        return None
    return (
        f"At {host} others can reach the gateway, which asks nobody for a key: set AUTHENTICATION to keys or jwt, or "
        "say ALLOW_OPEN=yes where everybody who reaches it may use it and approve."
    )
