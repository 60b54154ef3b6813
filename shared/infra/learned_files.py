"""Reads what is learned of a tenant in one round trip, in the formats of the learning files."""

import json
from collections.abc import Iterable, Mapping
from typing import TypeVar, cast

from pydantic import JsonValue
from redis.asyncio import Redis

from shared.contracts.base import Contract
from shared.contracts.knowledge import CaseEntry
from shared.contracts.learning_files import LearningFile
from shared.domain.bandit import Arm
from shared.infra import keys
from shared.infra.lua import bounded_redis_calls, parse_readable_rows
from shared.ports.store import StoreUnavailable

_TIMEOUT_SECONDS = 5.0
ContractRow = TypeVar("ContractRow", bound=Contract)
Key = TypeVar("Key")


async def read_learned_files(redis: Redis, tenant: str) -> Mapping[LearningFile, JsonValue]:
    """The content of each of the tenant's learning files.

    Unreadable entries are left out. Raises ``StoreUnavailable``.
    """
    learned = keys.learned_keys(tenant)
    async with bounded_redis_calls(_TIMEOUT_SECONDS), redis.pipeline(transaction=False) as pipe:
        pipe.lrange(learned.cases, 0, -1)
        pipe.lrange(learned.knowledge, 0, -1)
        for name in (learned.arms, learned.trends, learned.counts, learned.days, learned.accuracy, learned.entities):
            pipe.hgetall(name)
        pipe.hgetall(learned.entity_links)
        pipe.hgetall(learned.synthesized)
        replies = await pipe.execute()
    cases, facts = cast("tuple[list[str], list[str]]", replies[:2])
    arms, trends, counts, days, accuracy, entities, links, processes = cast("list[dict[str, str]]", replies[2:])
    try:
        return {
            LearningFile.CASE_LOG: _build_case_log_json(cases),
            LearningFile.STRATEGY_BANDIT: _build_bandit_json(arms, trends),
            LearningFile.KNOWLEDGE_BASE: {
                "facts": [_build_fact_json(fact) for fact in map(_parse_object_or_empty, facts) if fact]
            },
            LearningFile.SYNTHESIZED: {
                name: _build_process_json(_parse_object_or_empty(row)) for name, row in sorted(processes.items())
            },
            LearningFile.ENTITIES: _build_entities_json(entities, links),
            LearningFile.STATISTICS: _build_statistics_json(counts, days, trends, accuracy),
        }
    except ValueError as error:
        raise StoreUnavailable(f"the statistics are spoiled: {error}") from error


def parse_contract_rows(kind: type[ContractRow], rows: Iterable[tuple[Key, str | None]]) -> dict[Key, ContractRow]:
    """The parsed rows; one that this version cannot read is logged and left out."""
    stored = ((key, text) for key, text in rows if text is not None)
    return dict(parse_readable_rows(lambda row: (row[0], kind.model_validate_json(row[1])), stored))


def _build_case_log_json(rows: list[str]) -> JsonValue:
    """The content of the file ``case_log.json``: the cases, oldest first."""
    return [_build_case_json(case) for case in parse_readable_rows(CaseEntry.model_validate_json, reversed(rows))]


def _build_case_json(case: CaseEntry) -> JsonValue:
    fields = case.model_dump(mode="json", exclude={"v", "summary", "worked", "failed"})
    renamed: dict[str, JsonValue] = {
        "case_id": fields.pop("case_id"),
        "task_summary": case.summary,
        "what_worked": [*case.worked],
        "what_failed": [*case.failed],
    }
    return {**renamed, **fields, "timestamp": case.at.timestamp()}


def parse_arms(numbers: Mapping[str, str]) -> Mapping[str, Mapping[str, Arm]]:
    """The arms from their hash, by process type and strategy; raises ``ValueError``."""
    arms: dict[str, dict[str, Arm]] = {}
    for field, value in numbers.items():
        kind, strategy, number = keys.unpack_arm_field(field)
        arms_of_kind = arms.setdefault(kind, {})
        arms_of_kind[strategy] = arms_of_kind.get(strategy, Arm())._replace(**{number: int(value)})
    return arms


def _build_bandit_json(arms: Mapping[str, str], trends: Mapping[str, str]) -> JsonValue:
    return {
        kind: {
            name: _build_arm_json(arm, trends.get(keys.trend_field(kind, name), ""))
            for name, arm in sorted(arms_of_kind.items())
        }
        for kind, arms_of_kind in sorted(parse_arms(arms).items())
    }


def _build_arm_json(arm: Arm, trend: str) -> JsonValue:
    return {"n": arm.n, "q": round(arm.mean_reward, 6), "units": arm.units, **({"trend": trend} if trend else {})}


def _build_entities_json(entities: Mapping[str, str], links: Mapping[str, str]) -> JsonValue:
    rows = {field: _parse_object_or_empty(row) for field, row in sorted(entities.items())}
    return {
        "entities": [
            {"key": field, **row, **({"links": _parse_object_or_empty(links[field])} if field in links else {})}
            for field, row in rows.items()
            if row
        ]
    }


def _build_statistics_json(
    counts: Mapping[str, str], days: Mapping[str, str], trends: Mapping[str, str], accuracy: Mapping[str, str]
) -> JsonValue:
    return {
        "counts": {name: int(number) for name, number in sorted(counts.items())},
        "days": {name: int(number) for name, number in sorted(days.items())},
        "quality_trend": trends.get(keys.QUALITY_TREND, ""),
        "accuracy": {name: _parse_object_or_empty(row) for name, row in sorted(accuracy.items())},
    }


def _build_process_json(template: dict[str, JsonValue]) -> JsonValue:
    """A synthesized process with the field names of its file of export, and the whole template in addition."""
    states = template.get("states")
    is_gated = isinstance(states, list) and "APPROVAL_GATE" in states
    return {
        "states": states,
        "hitl_required": is_gated,
        "risk_level": template.get("risk", "low"),
        "state_instructions": template.get("instructions", {}),
        "template": template,
    }


def _build_fact_json(fact: dict[str, JsonValue]) -> JsonValue:
    """A fact with the field names of the file ``knowledge_base.json``."""
    return {"fact" if key == "text" else key: value for key, value in fact.items() if key != "v"}


def _parse_object_or_empty(row: str) -> dict[str, JsonValue]:
    """The JSON object in a row; empty if it is not one."""
    try:
        value: JsonValue = json.loads(row)
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}
