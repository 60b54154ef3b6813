"""A tenant's memory as JSON for operators, and the parsing of requests to forget."""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from pydantic import JsonValue

from services.gateway.edge.errors import InvalidField
from services.gateway.edge.fields import choice_at, text_at
from services.gateway.features.identity.model import Caller
from shared.contracts.knowledge import Accuracy, EntityLinks, KnownEntity, KnownFact
from shared.contracts.learning_files import ForgetRequest, ForgetScope
from shared.domain.estimates import count_recent_matches, judge_trust, prediction_confidence
from shared.domain.exact_json import JsonObject


class LinkedEntity(NamedTuple):
    """An entity, with the entities named together with it and the last tasks that named it."""

    entity: KnownEntity
    links: EntityLinks = EntityLinks()


class TenantMemory(NamedTuple):
    """What was remembered of a tenant's tasks.

    ``facts``: newest first, superseded ones too; ``accuracy``: of predictions, by process type and kind;
    ``fact_costs``: counters of what extracting facts cost (tasks, calls, tokens, nano-dollars).
    """

    facts: tuple[KnownFact, ...] = ()
    linked_entities: tuple[LinkedEntity, ...] = ()
    accuracy: Mapping[tuple[str, str], Accuracy] = MappingProxyType({})
    fact_costs: Mapping[str, int] = MappingProxyType({})


def build_facts_view(memory: TenantMemory) -> dict[str, JsonValue]:
    """The facts as JSON. ``holds``: whether no newer fact supersedes it; ``finding``: what extracting facts cost."""
    finding: dict[str, JsonValue] = {name: count for name, count in memory.fact_costs.items() if name != "version"}
    facts: list[JsonValue] = [
        {**fact.model_dump(mode="json", exclude={"v"}), "holds": fact.superseded_at is None} for fact in memory.facts
    ]
    return {"facts": facts, "finding": finding}


def build_entities_view(memory: TenantMemory) -> dict[str, JsonValue]:
    return {"entities": [_describe_entity(linked) for linked in memory.linked_entities]}


def build_accuracy_view(memory: TenantMemory) -> dict[str, JsonValue]:
    """The accuracy of predictions as JSON. ``trust``: how tasks are to take them: none, trust, verify or drift."""
    rows = sorted(memory.accuracy.items())
    return {"accuracy": [_describe_accuracy(process, kind, row) for (process, kind), row in rows]}


def build_forget_request_view(request: ForgetRequest) -> dict[str, JsonValue]:
    view: dict[str, JsonValue] = request.model_dump(mode="json", exclude={"v", "tenant"})
    return view


def _describe_entity(linked: LinkedEntity) -> JsonValue:
    view: dict[str, JsonValue] = linked.entity.model_dump(mode="json", exclude={"v"})
    tasks: list[JsonValue] = [task.model_dump(mode="json", exclude={"v"}) for task in linked.links.tasks]
    return {**view, "together": list(linked.links.together), "tasks": tasks}


def _describe_accuracy(process_type: str, kind: str, row: Accuracy) -> JsonValue:
    matches, recent = count_recent_matches(row.window)
    return {
        "process_type": process_type,
        "kind": kind,
        "attempts": row.attempts,
        "matches": row.matches,
        "confidence": round(prediction_confidence(row.attempts, row.matches), 4),
        "recent_matches": matches,
        "recent": recent,
        "trust": judge_trust(row.attempts, row.matches, row.window).value,
        "drift_alerts": row.drift_alerts,
        "at": row.at.isoformat() if row.at else None,
    }


def parse_forget_request(body: JsonObject, caller: Caller, now: datetime, request_id: str) -> ForgetRequest:
    """Parse ``{"scope", "subject"}`` into a request to forget; raises ``InvalidField``."""
    scope, subject = choice_at(body, "scope", ForgetScope), (text_at(body, "subject", "subject") or "").strip()
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
