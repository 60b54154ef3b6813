"""Tool servers, and what they are shown so that they know who calls."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass


class CredentialUnavailable(Exception):
    """There is no credential to show, or the server does not accept it. The message names the reference, never the
    secret.
    """


class CredentialHeader(NamedTuple):
    """One header of a request. Its value is a secret: it goes to the server and nowhere else."""

    header: str
    value: str

    def __repr__(self) -> str:
        return f"CredentialHeader({self.header!r})"


class Credentials(Protocol):
    async def header_for(
        self, connection: Connection, refused: CredentialHeader | None = None
    ) -> CredentialHeader | None:
        """The credential for requests to that connection; None if it has none. Raises ``CredentialUnavailable``.

        ``refused``: one that the server did not accept; another is returned if there is one, else the same.
        """

    @property
    def missing_count(self) -> int:
        """How many connections had no credential when they were last used."""
        return 0

    def shown_secrets(self, connection: Connection) -> tuple[str, ...]:
        """The secrets that this server was shown recently, which are to be kept out of its answers."""


# The arguments of a skill's call that are not the model's: our name for the call, and the agent's task that it goes on
# with. ``MESSAGE`` is what the agent is told, ``PARTS`` a person's answer that is more than text, as A2A 1.0 has parts.
MESSAGE, CALL_ID, AGENT_TASK, PARTS = "message", "message_id", "task_id", "parts"


class Tool(NamedTuple):
    """A tool of one connection. ``why_class`` says in a few words what decided its class.

    ``is_skill``: an agent does it, which may take its time and ask back (``Unfinished``, ``ToolServers.ask_outcome``).
    """

    connection_id: str
    name: str
    description: str
    input_schema: JsonObject
    tool_class: ToolClass
    why_class: str
    catalogue: CatalogueEntry
    is_skill: bool = False

    @property
    def parameters(self) -> Mapping[str, JsonObject]:
        """The schemas of the arguments that the tool declares, by name."""
        properties = self.input_schema.get("properties")
        listed = properties.items() if isinstance(properties, dict) else ()
        return {name: schema if isinstance(schema, dict) else {} for name, schema in listed}

    @property
    def required(self) -> frozenset[str]:
        """The names of the arguments that the tool says it needs."""
        needed = self.input_schema.get("required")
        return frozenset(str(name) for name in needed) if isinstance(needed, list) else frozenset()


class ReadCall(NamedTuple):
    """A call of a read tool that code, or a model's advice, has chosen."""

    tool: Tool
    arguments: JsonObject


class Unfinished(NamedTuple):
    """An agent's task that has not ended: it is at work, or waits until its ``question`` is answered."""

    task_id: str
    question: str = ""


class ToolAnswer(NamedTuple):
    """What a server answered. ``is_error``: the server says that the call failed (a refusal, a bad argument).

    ``not_begun``: its protocol says that such an error comes before anything is done, or, of an agent's task, that it
    ended without its result. ``unfinished``: a skill is not done yet, and the content is no result.
    """

    content: Json
    is_error: bool = False
    not_begun: bool = False
    unfinished: Unfinished | None = None


NEVER_TAKEN = ToolAnswer("the agent never took the message", is_error=True, not_begun=True)


class ToolUnreachable(Exception):
    """No connection was made: the request certainly did not reach the server."""


class ToolForbidden(ToolUnreachable):
    """The address is never called from here: asking again changes nothing, and the server is not at fault."""


class ToolSilent(Exception):
    """The request may have reached the server, but no usable answer came (time-out, cut, garbage)."""


class OtherProtocol(ToolSilent):
    """The server answered, and not in this protocol."""


class ToolServers(Protocol):
    """Tool servers, asked by connection. ``session_id`` is the task's session: servers of the REST bridge count
    once-only calls by it.
    """

    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        """The server's tools in a fixed order, classified; raises ``ToolUnreachable`` or ``ToolSilent``."""

    def may_have_unlisted_tools(self, connection: Connection) -> bool:  # noqa: ARG002  most servers list all that they have
        """Whether a server, once discovered, may have tools that it does not list."""
        return False

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """One call, never repeated here; raises ``ToolUnreachable`` or ``ToolSilent``. ``timeout`` in seconds."""

    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """A call of a tool of class READ, and of no other: it may be repeated, all attempts within ``timeout``."""
        return await self.call(connection, tool, arguments, timeout, session_id)

    async def ask_outcome(
        self,
        connection: Connection,  # noqa: ARG002  no server of another kind knows
        arguments: JsonObject,  # noqa: ARG002
        timeout: float,  # noqa: ARG002
        session_id: str = "",  # noqa: ARG002
        *,
        stop_agent: bool = False,  # noqa: ARG002
    ) -> ToolAnswer | None:
        """What became of a skill's call with these arguments, which is never made again here; None if that is unknown.

        ``stop_agent``: an agent that has not finished is told to stop. ``NEVER_TAKEN`` says that the agent certainly
        never had the call. Raises what ``call`` raises.
        """
        return None
