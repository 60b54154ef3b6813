"""What the world gives a run outside its journaled steps, noted so that a replay can give it the same again."""

from collections.abc import Mapping
from datetime import datetime
from typing import NamedTuple, cast

from pydantic import TypeAdapter
from typing_extensions import override

from services.executor.core.context import Ports
from services.executor.core.endings import Failed, Part, RunEnds
from services.executor.core.journal import Journal
from services.executor.core.prime.recall import primer_cases
from services.executor.ports import (
    Experience,
    Learned,
    PolicyService,
    PolicyUnavailable,
    SessionState,
    Tenants,
    Tool,
    ToolAnswer,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
)
from shared.contracts.allowance import AllowanceRequest, Allowances
from shared.contracts.case import CaseEntry
from shared.contracts.ledger import LedgerEntry
from shared.contracts.policy import EvaluateRequest, Verdict
from shared.contracts.prose import ProseAnswer, ProseRequest
from shared.contracts.task import Turn
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.bandit import Arm
from shared.domain.exact_json import Json, JsonObject, digest, dumps, loads_object
from shared.domain.words import Strategy, ToolClass

VERSION = 1  # of what is noted; a reader handles the one before
_CASES = TypeAdapter(tuple[CaseEntry, ...])
_LEDGER = TypeAdapter(dict[str, LedgerEntry])
_SESSION = TypeAdapter(SessionState)


class Begun(NamedTuple):
    """An attempt at a turn as it began; ``ledger`` is the task's at that moment."""

    turn: Turn
    began: datetime
    ledger: Mapping[str, LedgerEntry]


class EndedBefore(NamedTuple):
    """How a run ended before its answer, in the attempt that began then, and the step it stood at, if at one."""

    ending: RunEnds
    step: str | None
    began: str


def note_turn(journal: Journal, turn: Turn, ledger: Mapping[str, LedgerEntry]) -> None:
    """Note that an attempt at the turn begins."""
    parts = [f'"v":{VERSION}', f'"turn":{turn.model_dump_json()}', f'"began":"{journal.began.isoformat()}"']
    parts.append(f'"ledger":{_LEDGER.dump_json(dict(ledger)).decode()}')
    journal.begins(turn.turn_id, "{" + ",".join(parts) + "}")


def read_turn(text: str) -> Begun:
    """Raises ``ValueError`` for a note of a version that this one cannot read."""
    noted = loads_object(text)
    if noted.get("v") not in (1, VERSION):
        raise ValueError(f"version {noted.get('v')} of a turn's note is not known here")
    turn = Turn.model_validate_json(dumps(noted["turn"]))
    return Begun(turn, datetime.fromisoformat(str(noted["began"])), _LEDGER.validate_json(dumps(noted["ledger"])))


def note_ending(journal: Journal, ending: RunEnds) -> None:
    """Note how the run ends."""
    said: JsonObject = {"kind": type(ending).__name__, "reason": ending.reason, "part": ending.part}
    journal.given("ended", dumps({**said, "step": journal.stopped_at, "began": journal.began.isoformat()}))


def read_ending(text: str) -> EndedBefore:
    """The ending of that kind, to be raised again; ``Failed`` for a kind that is no more."""
    noted = loads_object(text)
    kind = _kinds(RunEnds).get(str(noted["kind"]), Failed)
    step = cast("str | None", noted["step"])
    return EndedBefore(kind(str(noted["reason"]), cast("Part | None", noted["part"])), step, str(noted["began"]))


def _kinds(kind: type[RunEnds]) -> dict[str, type[RunEnds]]:
    below = [_kinds(one) for one in kind.__subclasses__()]
    return {name: one for kinds in below for name, one in kinds.items()} | {kind.__name__: kind}


def note_session(journal: Journal, session: SessionState) -> None:
    journal.given("session", _SESSION.dump_json(session).decode())


def read_session(text: str) -> SessionState:
    return _SESSION.validate_json(text)


def recorded(ports: Ports, journal: Journal, task: str) -> Ports:
    """The same ports, which also note what they give; model and read tools are journaled where they are asked."""
    return ports._replace(
        tools=RecordedTools(ports.tools, journal),
        policy=RecordedPolicy(ports.policy, journal),
        tenants=RecordedTenants(ports.tenants, journal),
        learned=RecordedLearned(ports.learned, journal, task),
    )


class RecordedTenants(Tenants):
    def __init__(self, tenants: Tenants, journal: Journal) -> None:
        self._tenants = tenants
        self._journal = journal

    @override
    async def get(self, tenant: str) -> TenantRecord:
        record = await self._tenants.get(tenant)
        self._journal.given("tenant", record.model_dump_json())
        return record


class RecordedPolicy(PolicyService):
    def __init__(self, policy: PolicyService, journal: Journal) -> None:
        self._policy = policy
        self._journal = journal

    @override
    async def evaluate(self, request: EvaluateRequest) -> Verdict:
        name = policy_name(request)
        try:
            verdict = await self._policy.evaluate(request)
        except PolicyUnavailable as error:
            self._journal.given(name, dumps({"unavailable": str(error)}))
            raise
        asked = f'"request":{request.to_json()},' if request.binding else ""  # for whoever tries a changed policy on it
        self._journal.given(name, f'{{{asked}"verdict":{verdict.to_json()}}}')
        return verdict

    @override
    async def allowances(self, request: AllowanceRequest) -> Allowances:
        """Not noted here: whoever asks keeps the answer as a step of the journal."""
        return await self._policy.allowances(request)

    @override
    async def check_prose(self, request: ProseRequest) -> ProseAnswer:
        return await self._policy.check_prose(request)


def policy_name(request: EvaluateRequest) -> str:
    return f"policy:{digest(request.to_json())[:32]}"


def read_verdict(text: str) -> Verdict:
    """Raises ``PolicyUnavailable`` if there was none."""
    noted = loads_object(text)
    if "unavailable" in noted:
        raise PolicyUnavailable(str(noted["unavailable"]))
    return Verdict.from_json(dumps(noted["verdict"]))


class RecordedTools(ToolServers):
    """Notes what servers list, and calls that failed; answers stand in the journal or in the ledger."""

    def __init__(self, servers: ToolServers, journal: Journal) -> None:
        self._servers = servers
        self._journal = journal

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        name = tools_name(connection)
        try:
            tools = await self._servers.discover(connection, session_id)
        except (ToolUnreachable, ToolSilent) as error:
            self._journal.given(name, _failure(error))
            raise
        listed: list[Json] = [_tool(tool) for tool in tools]
        self._journal.given(name, dumps({"tools": listed, "unlisted": self._servers.may_have_unlisted(connection)}))
        return tools

    @override
    def may_have_unlisted(self, connection: Connection) -> bool:
        return self._servers.may_have_unlisted(connection)

    @override
    async def call(
        self, connection: Connection, tool: str, arguments: JsonObject, timeout: float, session_id: str = ""
    ) -> ToolAnswer:
        try:
            return await self._servers.call(connection, tool, arguments, timeout, session_id)
        except (ToolUnreachable, ToolSilent) as error:
            self._journal.given(call_name(connection, tool, arguments), _failure(error))
            raise


def tools_name(connection: Connection) -> str:
    return f"tools:{connection.id}"


def call_name(connection: Connection, tool: str, arguments: JsonObject) -> str:
    return f"call:{digest([connection.id, tool, arguments])[:32]}"


def read_tools(text: str, connection: Connection) -> tuple[tuple[Tool, ...], bool]:
    """The tools as they were listed, and whether there could be others; raises what the server's silence raised."""
    noted = loads_object(text)
    raise_failure(noted)
    listed = cast("list[JsonObject]", noted["tools"])
    return tuple(_read_tool(tool, connection.id) for tool in listed), bool(noted["unlisted"])


def raise_failure(noted: JsonObject) -> None:
    if "unreachable" in noted:
        raise ToolUnreachable(str(noted["unreachable"]))
    if "silent" in noted:
        raise ToolSilent(str(noted["silent"]))


def _failure(error: ToolUnreachable | ToolSilent) -> str:
    return dumps({"unreachable" if isinstance(error, ToolUnreachable) else "silent": str(error)})


def _tool(tool: Tool) -> JsonObject:
    return {
        "name": tool.name,
        "description": tool.description,
        "schema": tool.input_schema,
        "class": tool.tool_class.value,
        "why": tool.why_class,
        "catalogue": loads_object(tool.catalogue.model_dump_json()),
    }


def _read_tool(noted: JsonObject, connection_id: str) -> Tool:
    return Tool(
        connection_id=connection_id,
        name=str(noted["name"]),
        description=str(noted["description"]),
        input_schema=cast(JsonObject, noted["schema"]),
        tool_class=ToolClass(str(noted["class"])),
        why_class=str(noted["why"]),
        catalogue=CatalogueEntry.model_validate_json(dumps(noted["catalogue"])),
    )


class RecordedLearned(Learned):
    """Notes the arms, and of the cases the few that are about this task."""

    def __init__(self, learned: Learned, journal: Journal, task: str) -> None:
        self._learned = learned
        self._journal = journal
        self._task = task

    @override
    async def recall(self, tenant: str, process_type: str) -> Experience:
        experience = await self._learned.recall(tenant, process_type)
        cases = tuple(primer_cases(experience.cases, self._task, self._journal.now))
        arms = ",".join(f'"{name.value}":[{arm.n},{arm.units}]' for name, arm in experience.arms.items())
        self._journal.given("experience", f'{{"arms":{{{arms}}},"cases":{_CASES.dump_json(cases).decode()}}}')
        return experience

    @override
    async def note_tools(self, tenant: str, names: frozenset[str]) -> None:
        await self._learned.note_tools(tenant, names)

    @override
    async def translation(self, tenant: str, key: str) -> str | None:
        """Not noted here: what comes of it is kept as a step of the journal."""
        return await self._learned.translation(tenant, key)

    @override
    async def keep_translation(self, tenant: str, key: str, text: str) -> None:
        await self._learned.keep_translation(tenant, key, text)


def read_experience(text: str) -> Experience:
    noted = loads_object(text)
    arms = {Strategy(name): Arm(*cast("list[int]", pair)) for name, pair in cast(JsonObject, noted["arms"]).items()}
    return Experience(arms, _CASES.validate_json(dumps(noted["cases"])))
