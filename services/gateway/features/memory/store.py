"""Tenants' memory in Redis, as the learner writes it, and requests to forget."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import cast

from services.gateway.features.memory.service import LinkedEntity, TenantMemory
from shared.contracts.knowledge import Accuracy, CaseEntry, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest
from shared.contracts.relevance import FACTS_KEPT
from shared.domain.cases import CASES_KEPT
from shared.infra import keys
from shared.infra.learned_files import parse_contract_rows
from shared.infra.lua import ScriptedStore


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
        answers = await self._scripts.execute_many(("LRANGE", names.knowledge, 0, FACTS_KEPT - 1), *commands)
        facts, entities, links, accuracy, finding = cast(
            "tuple[list[str], dict[str, str], dict[str, str], dict[str, str], dict[str, str]]", answers
        )
        return TenantMemory(
            tuple(parse_contract_rows(KnownFact, enumerate(facts)).values()),
            _read_entities(entities, links),
            {
                keys.unpack_accuracy_field(field): row
                for field, row in parse_contract_rows(Accuracy, accuracy.items()).items()
            },
            {name: int(count) for name, count in finding.items() if count.isdecimal()},
        )

    async def submit_forget_request(self, request: ForgetRequest) -> None:
        """Store the request and queue it for a learner. It may be repeated, which restores a lost queue entry."""
        name = keys.learned_keys(request.tenant).forgets
        row = request.model_copy(update={"asked_at": await self._read_clock()}).model_dump_json()
        await self._scripts.execute("HSETNX", name, request.request_id, row)
        member = keys.pack_member(keys.ForgetMember(request.tenant, request.request_id))
        await self._scripts.execute("ZADD", keys.OPEN_FORGET_REQUESTS, "NX", 0, member)

    async def _read_clock(self) -> datetime:
        """The time by the clock of the Redis server that also stamps outcomes, so that the two can be compared."""
        now_ms = cast(str, await self._scripts.run("queue_due", [keys.OPEN_FORGET_REQUESTS], ["NX", 0]))
        return datetime.fromtimestamp(int(now_ms) / 1000, UTC)

    async def find_forget_request(self, tenant: str, request_id: str) -> ForgetRequest | None:
        row = await self._scripts.execute("HGET", keys.learned_keys(tenant).forgets, request_id)
        return ForgetRequest.read_row(row)

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
