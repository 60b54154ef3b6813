"""What takes part in assessments, joined."""

from collections.abc import Callable
from datetime import datetime
from uuid import uuid4

from redis.asyncio import Redis

from services.gateway.adapters.tasks.redis_task_lists import RedisTaskLists
from services.gateway.core.participation.desk import ParticipationDesk, World
from services.gateway.ports.tasks import Tasks, Wakes
from services.gateway.settings import Settings
from shared.infra.participations import RedisParticipations


def participation(
    settings: Settings, state: Redis, tasks: Tasks, wakes: Wakes, now: Callable[[], datetime]
) -> ParticipationDesk:
    keys = settings.assessment_keys
    return ParticipationDesk(
        participations=RedisParticipations(state, keys) if keys else None,
        tasks=tasks,
        wakes=wakes,
        lists=RedisTaskLists(state),
        clock=now,
        new_id=lambda: str(uuid4()),
        world=World(settings.tools_allowed_hosts, loopback=settings.profile == "embedded"),
    )
