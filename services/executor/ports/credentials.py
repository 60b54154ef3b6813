"""What a tool server is shown so that it knows who calls."""

from typing import NamedTuple, Protocol

from shared.contracts.tenant import Connection


class CredentialUnavailable(Exception):
    """There is none to show, or the server does not take it. The message names the reference, never the secret."""


class CredentialHeader(NamedTuple):
    """One header of a request. Its value is a secret: it goes to the server and nowhere else."""

    header: str
    value: str

    def __repr__(self) -> str:
        return f"Badge({self.header!r})"


class Credentials(Protocol):
    async def badge(self, connection: Connection, refused: CredentialHeader | None = None) -> CredentialHeader | None:
        """What goes with a request to that connection; None if it has no credential.

        ``refused``: one that the server did not take; another is had where there is one, else it comes again.
        Raises ``CredentialUnavailable``.
        """
        ...

    def shown_secrets(self, connection: Connection) -> tuple[str, ...]:
        """The secrets that this server was shown of late, for whoever keeps them out of what the server answers."""
        ...
