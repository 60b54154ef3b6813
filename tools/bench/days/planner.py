"""What a whole stack on the rule-based planner earns on generated days, and how often a turn asks the model."""

import os
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import NamedTuple

import httpx

from cli.assess.assessor import RunParameters, connect_assessor, run_assessment
from cli.console import CommandError, err
from cli.launcher import run_stack
from cli.stack.plan import StackOptions, find_free_ports
from shared.contracts.assessment.messages import Update
from shared.contracts.assessment.results import AssessmentResults
from shared.domain.exact_json import JsonObject, loads_object
from shared.infra.tls import load_client_tls_context

_FROM_ELSEWHERE = ("REDIS_URL", "QUEUE_REDIS_URL", "GREEN_AGENT_MCP_URL", "TENANT_FILE", "PURPLE_AGENT_CARD_URL")
_MODEL = ("ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")
_TURN_SECONDS = 120.0
_MOST_TURNS = 12
_PAGE = 100


class MeasuredTurn(NamedTuple):
    """Calls of the model and their tokens; ``busy``: something was written in it."""

    calls: int
    tokens: int
    busy: bool


class MeasuredDay(NamedTuple):
    share: float
    turns: tuple[MeasuredTurn, ...]


async def measure_planner(scenarios: Path, names: Iterable[str], stack_folder: Path) -> dict[str, MeasuredDay]:
    """One stack for all days, one after another. Raises ``CommandError``."""
    kept = {name: value for name, value in os.environ.items() if name not in (*_FROM_ELSEWHERE, *_MODEL)}
    options = StackOptions(stack_folder, kept, port=find_free_ports(1)[0])
    measured: dict[str, MeasuredDay] = {}
    async with run_stack(options) as stack, connect_assessor("", scenarios) as (assessor, http):
        seen: set[str] = set()
        for name in names:
            gateway = stack.get_url("gateway")
            with err.status(f"The planner's {name} ..."):
                wanted = RunParameters(name, gateway, max_turns=_MOST_TURNS, turn_timeout=_TURN_SECONDS)
                results = await run_assessment(assessor, http, wanted, _ignore_update)
            tasks = [task for task in await _list_tasks(gateway) if str(task["id"]) not in seen]
            seen |= {str(task["id"]) for task in tasks}
            measured[name] = MeasuredDay(_share_of_points(results), tuple(_measured_turn(task) for task in tasks))
    return measured


def _ignore_update(_: Update) -> None:
    """Nobody follows."""


def _share_of_points(results: AssessmentResults) -> float:
    points = results.judged or results.scores.overall
    return points.score / points.max_score if points.max_score else 0.0


async def _list_tasks(gateway: str) -> list[JsonObject]:
    """Every task that the gateway lists."""
    found: list[JsonObject] = []
    token = ""
    async with httpx.AsyncClient(
        base_url=gateway,
        trust_env=False,
        timeout=30,
        verify=load_client_tls_context(),
    ) as http:
        while True:
            answer = await http.get("/v1/tasks", params={"pageSize": _PAGE, **({"pageToken": token} if token else {})})
            if not answer.is_success:
                raise CommandError(f"The gateway does not list its tasks ({answer.status_code}).", answer.text[:500])
            page = loads_object(answer.content)
            tasks = page.get("tasks")
            found += [task for task in tasks if isinstance(task, dict)] if isinstance(tasks, list) else []
            token = str(page.get("nextPageToken") or "")
            if not token:
                return found


def _measured_turn(task: JsonObject) -> MeasuredTurn:
    metadata = task.get("metadata")
    known = metadata if isinstance(metadata, dict) else {}
    spend = known.get("spend")
    spent = spend if isinstance(spend, dict) else {}
    return MeasuredTurn(_read_count(spent, "calls"), _read_count(spent, "tokens"), bool(known.get("writes")))


def _read_count(spent: JsonObject, name: str) -> int:
    """Raises ``CommandError``: a figure that is not there is not 0."""
    value = spent.get(name)
    if not isinstance(value, int | Decimal):
        raise CommandError(f"A turn's task does not tell its {name}.")
    return int(value)
