"""The port to tool servers, and to the credentials that are sent to them."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from shared.contracts.tenant import CatalogueEntry, Connection
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import ToolClass


class CredentialUnavailable(Exception):
    """There is no credential to send, or the server refuses it. The message names the reference, never the secret."""


class CredentialHeader(NamedTuple):
    """One header of a request. Its value is a secret: it goes to the server and nowhere else."""

    header: str
    value: str

    def __repr__(self) -> str:
        return f"CredentialHeader({self.header!r})"


class Credentials(Protocol):
    """The credentials that go with requests to tool servers."""

    async def resolve_header(
        self, connection: Connection, refused_header: CredentialHeader | None = None
    ) -> CredentialHeader | None:
        """The credential header for requests to the connection; None if it has no credential.

        Raises ``CredentialUnavailable``.

        ``refused_header``: one that the server did not accept; another is returned if there is one, else the same.
        """

    @property
    def missing_count(self) -> int:
        """How many connections had no usable credential when they were last used."""
        return 0

    def list_recently_sent_secrets(self, connection: Connection) -> tuple[str, ...]:  # noqa: ARG002  who sends none has none
        """The secrets that were recently sent to this server, which must be removed from its answers."""
        return ()


# Arguments of a call of an agent's skill. The executor adds all but the first: its own id of the call, the agent's task
# that the call continues, and a person's answer as parts of A2A 1.0, if it is more than text.
MESSAGE_KEY = "message"
CALL_ID_KEY = "message_id"
TASK_ID_KEY = "task_id"
PARTS_KEY = "parts"


class Tool(NamedTuple):
    """A tool of one connection. ``why_class`` says in a few words what decided its class.

    ``is_skill``: a remote agent carries it out, which may take long and ask a question back (``UnfinishedAgentTask``,
    ``ToolServers.ask_outcome``).
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
        schemas = properties.items() if isinstance(properties, dict) else ()
        return {name: schema if isinstance(schema, dict) else {} for name, schema in schemas}

    @property
    def required(self) -> frozenset[str]:
        """The names of the arguments that the tool requires."""
        names = self.input_schema.get("required")
        return frozenset(str(name) for name in names) if isinstance(names, list) else frozenset()


class ReadCall(NamedTuple):
    """A call of a read tool, chosen by code or on a model's advice."""

    tool: Tool
    arguments: JsonObject


class UnfinishedAgentTask(NamedTuple):
    """The state of an agent's task that has not ended: it is at work, or waits for an answer to its ``question``."""

    task_id: str
    question: str = ""


class ToolAnswer(NamedTuple):
    """A server's answer. ``is_error``: the server says that the call failed, such as a refusal or a bad argument.

    ``not_begun``: by its protocol the error came before anything was done, or an agent's task ended without a result.
    ``unfinished``: an agent's task is not done yet, so the content is no result.
    """

    content: Json
    is_error: bool = False
    not_begun: bool = False
    unfinished: UnfinishedAgentTask | None = None


AGENT_NEVER_GOT_MESSAGE = ToolAnswer("the agent never took the message", is_error=True, not_begun=True)


class ToolUnreachable(Exception):
    """No connection was made: the request certainly did not reach the server."""


class ToolAddressForbidden(ToolUnreachable):
    """The address must never be called from here. A retry does not help, and the server is not at fault."""


class ToolSilent(Exception):
    """The request may have reached the server, but no usable answer came (time-out, lost connection, malformed)."""


class AnswerTooLarge(ToolSilent):
    """The server's answer exceeds the size limit, so it was not read."""


class ProtocolMismatch(ToolSilent):
    """The server answered, but not in the protocol that it was asked in."""


class ToolServers(Protocol):
    """Tool servers, chosen by connection. ``session_id`` is the id by which the server knows the task's session
    (``Connection.session_id_for``): an agent's context, and in servers of the REST bridge what repeated once-only calls
    are recognised by.
    """

    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        """The server's classified tools, in a fixed order; raises ``ToolUnreachable`` or ``ToolSilent``."""

    def may_have_unlisted_tools(self, connection: Connection) -> bool:  # noqa: ARG002  most servers list all that they have
        """Whether a discovered server may have tools that it does not list."""
        return False

    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """Makes one call, once; raises ``ToolUnreachable`` or ``ToolSilent``. ``timeout`` is in seconds."""

    async def read(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        """Calls a tool of class READ. The call may be repeated; all attempts together stay within ``timeout``."""
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
        """The outcome of an earlier call of an agent's skill with these arguments; None if it is unknown.

        The call itself is not made again.

        ``stop_agent``: an agent that is still at work is told to stop. Returns ``AGENT_NEVER_GOT_MESSAGE`` if the agent
        certainly never received the call. Raises what ``call`` raises.
        """
        return None
