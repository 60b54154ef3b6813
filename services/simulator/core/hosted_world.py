"""A world with what belongs to it alone: its keys and its log. Worlds know nothing of each other."""

from collections.abc import Callable, Iterator, Mapping
from datetime import datetime

from services.simulator.core.access_log import WorldAccessLog
from services.simulator.core.events import WorldEvent
from services.simulator.core.keys import AccessKey, KeyCaller, KeyRing
from services.simulator.core.modality import Modality
from services.simulator.core.records import JsonObject
from services.simulator.core.refusals import Conflict, MeaninglessRequest, Missing
from services.simulator.core.webhooks import (
    WebhookEventType,
    WebhookNotice,
    WebhookRegistry,
    WebhookSubscription,
    notice_body,
)
from services.simulator.core.world import SimulatorWorld
from services.simulator.ports.surroundings import Surroundings

DEFAULT = "default"


Announce = Callable[["HostedWorld", WebhookNotice], None]


class HostedWorld:
    """A world with its keys and its log. ``announce`` is called with each notice for a webhook; it must not block."""

    def __init__(self, world_id: str, world: SimulatorWorld, keys: KeyRing, announce: Announce) -> None:
        self.world_id = world_id
        self.world = world
        self.keys = keys
        self.log = WorldAccessLog()
        self.webhooks = WebhookRegistry()
        self._announce = announce
        world.observers.append(self._notify_webhooks)

    def send_notice(self, webhook: WebhookSubscription, kind: WebhookEventType, body: JsonObject) -> str:
        """Hands a notice to delivery, and returns its id."""
        notice = WebhookNotice(self.world.surroundings.new_id(), webhook, kind, body)
        self._announce(self, notice)
        return notice.notice_id

    def _notify_webhooks(self, event: WorldEvent) -> None:
        for webhook, kind in self.webhooks.subscriptions_to(event):
            self.send_notice(webhook, kind, notice_body(kind, self.world_id, event))


class WorldRegistry:
    """Every world of this process by its id. ``default`` is always there."""

    def __init__(
        self,
        modalities: Mapping[str, Callable[[datetime], Modality]],
        surroundings: Surroundings,
        admin: AccessKey,
        most: int,
    ) -> None:
        self._modalities = modalities
        self._admin = admin
        self._most = most
        self._worlds: dict[str, HostedWorld] = {}
        self.surroundings = surroundings
        self.announce: Announce = _ignore_notice
        self.open(DEFAULT)

    def __iter__(self) -> Iterator[HostedWorld]:
        return iter(self._worlds.values())

    def __len__(self) -> int:
        return len(self._worlds)

    def get(self, world_id: str) -> HostedWorld:
        """The world of that id. Raises ``Missing``."""
        if world_id not in self._worlds:
            raise Missing(f"World '{world_id}' not found")
        return self._worlds[world_id]

    @property
    def admin(self) -> KeyCaller:
        return KeyCaller(self._admin.key_id, self._admin.name, frozenset(self._admin.permissions))

    def admit_caller(self, world_id: str, secret: str) -> KeyCaller | None:
        """The caller with that secret in that world; None if the secret is unknown.

        The admin's is valid for any id, even an unknown one.
        """
        ring = self._worlds[world_id].keys if world_id in self._worlds else KeyRing(self._admin)
        return ring.admit_caller(secret, self.surroundings.now())

    def open(self, world_id: str) -> HostedWorld:
        """Opens a new world that begins now; raises ``Conflict`` if the id is taken, or there are too many worlds."""
        if world_id in self._worlds:
            raise Conflict(f"World '{world_id}' exists already")
        if len(self._worlds) >= self._most:
            raise Conflict(f"There are {self._most} worlds already: MAX_WORLDS")
        self._worlds[world_id] = hosted = self._make_world(world_id)
        return hosted

    def close(self, world_id: str) -> None:
        """Closes a world. Raises ``Missing``, and ``MeaninglessRequest`` for the default world."""
        self.get(world_id)
        if world_id == DEFAULT:
            raise MeaninglessRequest("The default world stays")
        del self._worlds[world_id]

    def _make_world(self, world_id: str) -> HostedWorld:
        now = self.surroundings.now()
        modalities = {name: make(now) for name, make in self._modalities.items()}
        return HostedWorld(
            world_id, SimulatorWorld(modalities, now, self.surroundings), KeyRing(self._admin), self._announce_notice
        )

    def _announce_notice(self, hosted: HostedWorld, notice: WebhookNotice) -> None:
        self.announce(hosted, notice)


def _ignore_notice(_: HostedWorld, __: WebhookNotice) -> None:
    """Drops a notice, until the world is given a sender."""
