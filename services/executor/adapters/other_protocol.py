"""What an adapter says of a server that answers, but in another protocol than its own."""

from services.executor.ports.tools import ToolSilent


class OtherProtocol(ToolSilent):
    """The server is there and answered, and the answer is none of this protocol's."""
