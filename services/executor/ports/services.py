"""The ports to what a turn asks beside tool servers and its own store: rules, records, learning, files, made code."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple, Protocol

from typing_extensions import override

from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.base import Contract
from shared.contracts.knowledge import CaseEntry, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.made_tool import MadeTool
from shared.contracts.outcome import ThresholdKind
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import SentFile
from shared.contracts.tenant import TenantRecord
from shared.domain.bandit import Arms
from shared.domain.exact_json import Json, JsonObject
from shared.ports.store import StoreUnavailable


class PolicyUnavailable(Exception):
    """No verdict: the service is down, slow, or sent a malformed answer. Without a verdict nothing is written."""


class PolicyService(Protocol):
    """The service that judges plans by rules. Its questions may be repeated: they change nothing."""

    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        """The verdict, bound to the hashes of policy, context and plan; raises ``PolicyUnavailable``."""

    async def get_allowances(self, request: AllowanceRequest) -> Allowances:
        """Which tools may be called without a plan, by the rules about tools; raises ``PolicyUnavailable``."""

    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        """Checks translated rules against the prose that they quote; raises ``PolicyUnavailable``."""


class Tenants(Protocol):
    """The records of the tenants, in versions."""

    async def get(self, tenant: str) -> TenantRecord:
        """The tenant's present record; raises ``UnknownTenant`` or ``StoreUnavailable``."""

    async def get_at_version(self, tenant: str, version: str) -> TenantRecord:  # noqa: ARG002  where there is but one
        """The tenant's present record, in which the rules and record kinds are those of ``version``, with which a task
        began. If that version no longer exists, they are the present ones.
        """
        return await self.get(tenant)


class UnknownTenant(LookupError):
    """There is no record of the tenant, or it cannot be read."""


class Experience(NamedTuple):
    """What a tenant's earlier tasks taught, for a task of one process type: how well each strategy did (``arms``), and
    cases and facts, newest first.

    ``entities`` are in no order. ``accuracy``: how often predictions for this process type came true. ``synthesized``:
    the names of all stored synthesized processes, in order.
    """

    arms: Arms = MappingProxyType({})
    cases: tuple[CaseEntry, ...] = ()
    knowledge: tuple[KnownFact, ...] = ()
    entities: tuple[KnownEntity, ...] = ()
    accuracy: Mapping[ThresholdKind, PredictionAccuracy] = MappingProxyType({})
    synthesized: tuple[str, ...] = ()


class LearnedStore(Protocol):
    """What a tenant's tasks have taught. Every method may raise ``StoreUnavailable``."""

    async def recall(self, tenant: str, process_type: str) -> Experience:
        """All that was learned for the process type, in one round trip."""

    async def add_tool_names(self, tenant: str, names: frozenset[str]) -> None:
        """Remembers that the tenant has tools of these names."""

    async def get_policy_translation(self, tenant: str, key: str) -> str | None:
        """The rules that are stored under the key; None if there are none. Asking for them keeps them longer."""

    async def store_policy_translation(self, tenant: str, key: str, text: str) -> None:
        """Stores the rules that a model made of a policy in prose, for the tenant's later tasks; they stay as long as
        tasks keep asking for them.
        """

    async def list_synthesized_processes(self, tenant: str) -> tuple[str, ...]:
        """The names of all synthesized processes that are kept, in order."""

    async def get_synthesized_process(self, tenant: str, process_type: str) -> str | None:
        """The text of the process template that was synthesized for ``process_type``; None if there is none."""

    async def store_synthesized_process_if_new(self, tenant: str, process_type: str, text: str) -> str:
        """Stores a synthesized process unless one of that name is stored already; returns the stored one.

        If the tenant has too many, nothing is stored, and the given one is returned.
        """


class FileReadResult(Contract):
    """A parsed file. ``file_id``: the hash of its content, by which the archive has it. ``media_type`` and ``size``:
    those of its content, if it was read, whatever the sender stated.

    ``text``: its text up to a bound; ``is_cut``: whether there is more. ``picture_id``: the id of a picture for the
    model (``TaskFiles.get_content``); ``picture_tokens``: what it costs. ``problem``: why the file could not be read,
    for clients; then it has neither text nor picture.
    """

    name: str
    media_type: str = ""
    size: int = 0
    file_id: str = ""
    text: str = ""
    is_cut: bool = False
    picture_id: str = ""
    picture_tokens: int = 0
    problem: str = ""


class TaskFiles(Protocol):
    """Fetches, archives and reads the files of tasks' messages."""

    async def fetch_and_parse(self, tenant: str, file: SentFile) -> FileReadResult:
        """Reads a file, which is fetched and archived first if it is an address. A failure becomes its ``problem``."""

    async def get_content(self, tenant: str, name: str) -> bytes | None:
        """The bytes of an archived file, or of a picture for the model (a JPEG); None if it is no longer kept.

        Raises ``ArchiveUnavailable``.
        """


class NoFiles(TaskFiles):
    """Files for an installation without a file archive, and for a replay, whose journal holds what was read."""

    @override
    async def fetch_and_parse(self, tenant: str, file: SentFile) -> FileReadResult:
        return FileReadResult(name=file.shown_name, problem="this installation keeps no files")

    @override
    async def get_content(self, tenant: str, name: str) -> bytes | None:
        return None


class CodeFailed(Exception):
    """The code raised an error, broke a limit, or returned something other than text. The short message says which."""


class SandboxUnavailable(Exception):
    """The sandbox cannot run anything now."""


class Sandbox(Protocol):
    """Runs a program in a fresh interpreter without files, network, processes or environment, within limits on time and
    memory.

    The event loop is not blocked, and nothing of one run is visible to the next.
    """

    async def run(self, program: str, inputs: Sequence[str]) -> str:
        """The text that the program's last expression returns; ``inputs`` are texts that it can read.

        Raises ``CodeFailed`` or ``SandboxUnavailable``.
        """


class MadeTools(Protocol):
    """A tenant's made tools. Every method may raise ``StoreUnavailable``."""

    async def list_versions(self, tenant: str) -> tuple[MadeTool, ...]:
        """All versions of all tools, including removed ones."""

    async def store_version(self, tenant: str, tool: MadeTool) -> MadeTool:
        """Stores the tool as the next version of its name, and returns it with that version.

        If the newest version has the same code, that one is returned.

        If the tenant has too many tools, nothing is stored; the returned version is the one it would have had.
        """


class NoSandbox(Sandbox):
    """A sandbox that never runs anything."""

    @override
    async def run(self, program: str, inputs: Sequence[str]) -> str:
        raise SandboxUnavailable("this process runs no code")


class NoMadeTools(MadeTools):
    """A store that keeps no made tools."""

    @override
    async def list_versions(self, tenant: str) -> tuple[MadeTool, ...]:
        return ()

    @override
    async def store_version(self, tenant: str, tool: MadeTool) -> MadeTool:
        raise StoreUnavailable("no tools are kept here")


class OrchestratorName(StrEnum):
    """The orchestrators by name. ``local``: this installation's own model, with the strategy that the bandit chose."""

    LOCAL = "local"
    BRAINOS = "brainos"


class OrchestratorResult(NamedTuple):
    """The result of a tool call, as it is sent to the orchestrator."""

    name: str
    result: Json


class ProposedToolCall(NamedTuple):
    """A tool call that the orchestrator asks for. It is only a proposal until the policy gate permits it."""

    name: str
    params: JsonObject


class OrchestratorMessage(NamedTuple):
    """One message of a conversation that the orchestrator remembers. Only the first message has a ``context``."""

    conversation_id: str
    message: str
    context: str = ""
    results: tuple[OrchestratorResult, ...] = ()


class OrchestratorReply(NamedTuple):
    """The orchestrator's reply: tool calls, a text, or both."""

    text: str
    calls: tuple[ProposedToolCall, ...] = ()


class OrchestratorUnavailable(Exception):
    """No usable reply came. The message says whether it was refused, late, cut off or malformed; clients may see it."""


class Orchestrator(Protocol):
    """An outside service that takes the model's place in a conversation: it is told results, and asks for calls."""

    async def send(self, message: OrchestratorMessage) -> OrchestratorReply:
        """Sends the message and returns the reply; raises ``OrchestratorUnavailable``.

        A message is never sent twice, because the orchestrator keeps the conversation.
        """
