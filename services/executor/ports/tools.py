"""Tool servers, and what they are shown so that they know who calls."""

from collections.abc import Awaitable, Callable, Mapping
from typing import NamedTuple, Protocol, TypeAlias, TypeVar

from typing_extensions import override

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

    def shown_secrets(self, connection: Connection) -> tuple[str, ...]:
        """The secrets that this server was shown recently, which are to be kept out of its answers."""


# The arguments of a skill's call that are not the model's: our name for the call, and the agent's task that it goes on
# with. ``MESSAGE`` is what the agent is told, ``PARTS`` a person's answer that is more than text, as A2A 1.0 has parts.
MESSAGE, CALL_ID, AGENT_TASK, PARTS = "message", "message_id", "task_id", "parts"

T = TypeVar("T")


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


class ToolServers(Protocol):
    """Tool servers, asked by connection. ``session_id`` is the task's session: servers of the REST bridge count
    once-only calls by it.
    """

    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        """The server's tools in a fixed order, classified; raises ``ToolUnreachable`` or ``ToolSilent``."""

    def may_have_unlisted(self, connection: Connection) -> bool:
        """Whether a server, once discovered, may have tools that it does not list."""

    def protocol_of(self, connection: Connection) -> str:  # noqa: ARG002  nothing is known
        """``mcp``, ``rest`` or ``a2a``, once it is stated or was found; else empty."""
        return ""

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


class ServerQuestion(NamedTuple):
    """One question to a server. ``kind``: discover (which alone has no time-out), call, read, or recall."""

    kind: str
    connection: Connection
    tool: str = ""
    arguments: JsonObject = {}
    timeout: float | None = None
    session_id: str = ""


Send: TypeAlias = Callable[[ToolServers, float], Awaitable[T]]


class WrappedServers(ToolServers):
    """Tool servers around others: each question goes through ``_ask``, which subclasses override."""

    def __init__(self, servers: ToolServers) -> None:
        self._servers = servers

    async def _ask(self, question: ServerQuestion, send: Send[T]) -> T:
        """Ask the servers with ``send``, which takes them and the seconds that are left."""
        return await send(self._servers, question.timeout or 0.0)

    def _servers_of(self, connection: Connection) -> ToolServers:  # noqa: ARG002  one for all
        """The servers that know the connection."""
        return self._servers

    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        question = ServerQuestion("discover", connection, session_id=session_id)
        return await self._ask(question, lambda them, _: them.discover(connection, session_id))

    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._servers_of(connection).may_have_unlisted(connection)

    @override
    def protocol_of(self, connection: Connection) -> str:
        return self._servers_of(connection).protocol_of(connection)

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        question = ServerQuestion("call", connection, tool, arguments, timeout, session_id)
        return await self._ask(question, lambda them, left: them.call(connection, tool, arguments, left, session_id))

    @override
    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        question = ServerQuestion("read", connection, tool, arguments, timeout, session_id)
        return await self._ask(question, lambda them, left: them.read(connection, tool, arguments, left, session_id))

    @override
    async def ask_outcome(
        self,
        connection: Connection,
        arguments: JsonObject,
        timeout: float,
        session_id: str = "",
        *,
        stop_agent: bool = False,
    ) -> ToolAnswer | None:
        return await self._ask(
            ServerQuestion("recall", connection, "", arguments, timeout, session_id),
            lambda them, left: them.ask_outcome(connection, arguments, left, session_id, stop_agent=stop_agent),
        )


class OtherProtocol(ToolSilent):
    """The server answered, and not in this protocol."""
