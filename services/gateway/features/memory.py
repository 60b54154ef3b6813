"""``/memory``: operators read what was remembered of their tenant's tasks, and ask to have it forgotten."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from secrets import token_hex
from types import MappingProxyType
from typing import NamedTuple, cast

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField, NotFound
from services.gateway.edge.fields import choice_at, text_at
from services.gateway.features.identity.api_paths import ApiCall, ApiEndpoints, api_path
from services.gateway.features.identity.model import Caller
from shared.contracts.knowledge import CaseEntry, EntityLinks, KnownEntity, KnownFact, PredictionAccuracy
from shared.contracts.learning_files import ForgetRequest, ForgetScope
from shared.contracts.relevance import FACTS_KEPT
from shared.domain.cases import CASES_KEPT
from shared.domain.estimates import compute_prediction_confidence, count_recent_matches, judge_prediction_trust
from shared.domain.exact_json import JsonObject
from shared.infra import keys
from shared.infra.learned_files import parse_contract_rows
from shared.infra.lua import ScriptedStore


class LinkedEntity(NamedTuple):
    """An entity, with the entities named together with it and the last tasks that named it."""

    entity: KnownEntity
    links: EntityLinks = EntityLinks()


class TenantMemory(NamedTuple):
    """What is remembered of a tenant's tasks: facts, entities, and how often predictions were right.

    ``facts``: newest first, superseded ones too; ``accuracy``: of predictions, by process type and kind;
    ``fact_costs``: counters of what extracting facts cost (tasks, calls, tokens, nano-dollars).
    """

    facts: tuple[KnownFact, ...] = ()
    linked_entities: tuple[LinkedEntity, ...] = ()
    accuracy: Mapping[tuple[str, str], PredictionAccuracy] = MappingProxyType({})
    fact_costs: Mapping[str, int] = MappingProxyType({})


def _build_forget_request_view(request: ForgetRequest) -> dict[str, JsonValue]:
    return request.model_dump(mode="json", exclude={"v", "tenant"})


def _describe_entity(linked: LinkedEntity) -> JsonValue:
    view: dict[str, JsonValue] = linked.entity.model_dump(mode="json", exclude={"v"})
    tasks: list[JsonValue] = [task.model_dump(mode="json", exclude={"v"}) for task in linked.links.tasks]
    return {**view, "together": list(linked.links.together), "tasks": tasks}


def _describe_accuracy(process_type: str, kind: str, row: PredictionAccuracy) -> JsonValue:
    matches, recent = count_recent_matches(row.window)
    return {
        "process_type": process_type,
        "kind": kind,
        "attempts": row.attempts,
        "matches": row.matches,
        "confidence": round(compute_prediction_confidence(row.attempts, row.matches), 4),
        "recent_matches": matches,
        "recent": recent,
        "trust": judge_prediction_trust(row.attempts, row.matches, row.window).value,
        "drift_alerts": row.drift_alerts,
        "at": row.at.isoformat() if row.at else None,
    }


def _parse_forget_request(body: JsonObject, caller: Caller, now: datetime, request_id: str) -> ForgetRequest:
    """Parse ``{"scope", "subject"}`` into a request to forget; raises ``InvalidField``."""
    scope, subject = choice_at(body, "scope", ForgetScope), (text_at(body, "subject") or "").strip()
    if (scope is ForgetScope.TENANT) is bool(subject):
        raise InvalidField("subject", "names the entity or the session; it is empty for all of a tenant's")
    return ForgetRequest(
        request_id=request_id,
        tenant=caller.tenant,
        scope=scope,
        subject=subject,
        asked_by=caller.principal.id,
        asked_at=now,
    )


class TenantMemories(ScriptedStore):
    """Reads tenants' memory, without rows that cannot be parsed, and stores requests to forget.

    A learner carries out the requests. All methods may raise ``StoreUnavailable``.
    """

    async def read_cases(self, tenant: str) -> Sequence[CaseEntry]:
        """The case log, newest first."""
        rows = await self._scripts.execute("LRANGE", keys.learned_keys(tenant).cases, 0, CASES_KEPT - 1)
        return tuple(parse_contract_rows(CaseEntry, enumerate(cast("list[str]", rows))).values())

    async def read_memory(self, tenant: str) -> TenantMemory:
        names = keys.learned_keys(tenant)
        hashes = (names.entities, names.entity_links, names.accuracy, names.memory)
        commands = (("HGETALL", name) for name in hashes)
        answers = await self._scripts.execute_commands(("LRANGE", names.knowledge, 0, FACTS_KEPT - 1), *commands)
        facts, entities, links, accuracy, finding = cast(
            "tuple[list[str], dict[str, str], dict[str, str], dict[str, str], dict[str, str]]", answers
        )
        return TenantMemory(
            tuple(parse_contract_rows(KnownFact, enumerate(facts)).values()),
            _read_entities(entities, links),
            {
                keys.unpack_accuracy_field(field): row
                for field, row in parse_contract_rows(PredictionAccuracy, accuracy.items()).items()
            },
            {name: int(count) for name, count in finding.items() if count.isdecimal()},
        )

    async def submit_forget_request(self, request: ForgetRequest) -> None:
        """Store the request and queue it for a learner. It may be repeated, which restores a lost queue entry."""
        name = keys.learned_keys(request.tenant).forgets
        row = request.model_copy(update={"asked_at": await self._read_clock()}).model_dump_json()
        await self._scripts.execute("HSETNX", name, request.request_id, row)
        member = keys.pack_member(keys.ForgetRequestMember(request.tenant, request.request_id))
        await self._scripts.execute("ZADD", keys.OPEN_FORGET_REQUESTS, "NX", 0, member)

    async def _read_clock(self) -> datetime:
        """The time by the clock of the Redis server that also stamps outcomes, so that the two can be compared."""
        now_ms = cast(str, await self._scripts.run("queue_due", [keys.OPEN_FORGET_REQUESTS], ["NX", 0]))
        return datetime.fromtimestamp(int(now_ms) / 1000, UTC)

    async def find_forget_request(self, tenant: str, request_id: str) -> ForgetRequest | None:
        """The tenant's request to forget of that id; None if there is none."""
        row = await self._scripts.execute("HGET", keys.learned_keys(tenant).forgets, request_id)
        return ForgetRequest.parse_row(row)

    async def list_forget_requests(self, tenant: str) -> Sequence[ForgetRequest]:
        """The tenant's requests to forget something, newest first."""
        rows = cast("list[str]", await self._scripts.execute("HVALS", keys.learned_keys(tenant).forgets))
        requests = parse_contract_rows(ForgetRequest, enumerate(rows)).values()
        return sorted(requests, key=lambda request: request.asked_at, reverse=True)


def _read_entities(entities: Mapping[str, str], links: Mapping[str, str]) -> tuple[LinkedEntity, ...]:
    """The entities with their links, the most often seen first."""
    links_by_field = parse_contract_rows(EntityLinks, links.items())
    linked_entities = [
        LinkedEntity(entity, links_by_field.get(field, EntityLinks()))
        for field, entity in parse_contract_rows(KnownEntity, entities.items()).items()
    ]
    return tuple(sorted(linked_entities, key=lambda row: (-row.entity.seen, -row.entity.last_seen.timestamp())))


class MemoryEndpoints(ApiEndpoints[TenantMemories]):
    requires_operator = True

    @api_path("POST", "/memory/cases")
    async def list_cases(self, call: ApiCall) -> JsonValue:
        """List the case log, the newest first."""
        cases = await self._service.read_cases(call.caller.tenant)
        return {"cases": [case.model_dump(mode="json", exclude={"v"}) for case in cases]}

    @api_path("POST", "/memory/facts")
    async def list_facts(self, call: ApiCall) -> JsonValue:
        """List the facts, the newest first, superseded ones too, and what extracting them cost."""
        memory = await self._service.read_memory(call.caller.tenant)
        finding: dict[str, JsonValue] = {name: count for name, count in memory.fact_costs.items() if name != "version"}
        facts: list[JsonValue] = [
            {**fact.model_dump(mode="json", exclude={"v"}), "holds": fact.superseded_at is None}
            for fact in memory.facts
        ]
        return {"facts": facts, "finding": finding}

    @api_path("POST", "/memory/entities")
    async def list_entities(self, call: ApiCall) -> JsonValue:
        """List the entities that tasks named, the most frequent first, with those named together with them."""
        memory = await self._service.read_memory(call.caller.tenant)
        return {"entities": [_describe_entity(linked) for linked in memory.linked_entities]}

    @api_path("POST", "/memory/accuracy")
    async def show_accuracy(self, call: ApiCall) -> JsonValue:
        """Show how often predicted limits and figures were right, by process type and kind."""
        rows = sorted((await self._service.read_memory(call.caller.tenant)).accuracy.items())
        return {"accuracy": [_describe_accuracy(process, kind, row) for (process, kind), row in rows]}

    @api_path("POST", "/memory/forget")
    async def request_forgetting(self, call: ApiCall) -> JsonValue:
        """Request that memory is deleted: ``scope`` is entity, session or tenant, ``subject`` names which one."""
        request = _parse_forget_request(call.body, call.caller, datetime.now(UTC), token_hex(16))
        await self._service.submit_forget_request(request)  # a learner does it soon: ``progress`` tells how far it is
        return _build_forget_request_view(request)

    @api_path("POST", "/memory/forget/list")
    async def list_forget_requests(self, call: ApiCall) -> JsonValue:
        """List the requests to forget, the newest first."""
        requests = await self._service.list_forget_requests(call.caller.tenant)
        return {"requests": [_build_forget_request_view(request) for request in requests]}

    @api_path("POST", "/memory/forget/{request_id}/show")
    async def show_forget_request(self, call: ApiCall) -> JsonValue:
        """Show the state of a request to forget. 404 if there is none of that id."""
        request_id = call.path_value("request_id")
        request = await self._service.find_forget_request(call.caller.tenant, request_id)
        if request is None:
            raise NotFound(f"request to forget {request_id!r}")
        return _build_forget_request_view(request)
