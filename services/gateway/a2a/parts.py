"""What the methods of all three protocols stand on."""

from typing import NamedTuple

from services.gateway.a2a.card import ExtendedCard
from services.gateway.a2a.profile import Abilities
from services.gateway.features.identity.model import Identity
from services.gateway.features.tasks.listing import TaskListService
from services.gateway.features.tasks.service import TaskService
from services.gateway.features.webhooks.service import WebhookService

NO_STREAMS = "streaming is not offered; poll the task, or read GET /tasks/{id}/events"


class A2aParts(NamedTuple):
    tasks: TaskService
    lists: TaskListService
    identity: Identity
    push: WebhookService
    extended: ExtendedCard
    notice: str
    abilities: Abilities
