"""Builds the adapters and services of single features; ``bootstrap`` joins the features."""

import random
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager
from datetime import UTC, datetime
from functools import partial
from time import monotonic
from uuid import uuid4

import httpx
from redis.asyncio import Redis

from services.gateway.a2a.views import build_webhook_body
from services.gateway.features import participation
from services.gateway.features.approvals.approvals import Approvals, DueNotices, resolve_env_reference
from services.gateway.features.approvals.notices import Notifier
from services.gateway.features.deliveries.dispatcher import DeliveryLoop, WebhookHttpClient
from services.gateway.features.deliveries.service import DeliveryService
from services.gateway.features.deliveries.store import RedisDeliveryQueue
from services.gateway.features.files.service import MessageFiles
from services.gateway.features.identity.api_keys import KeyIdentity, KeyOrTokenIdentity, UnverifiedIdentity
from services.gateway.features.identity.model import Identity
from services.gateway.features.identity.settings import IdentitySettings
from services.gateway.features.identity.signing_keys import HttpJwks, SigningKeys
from services.gateway.features.identity.store import RateMeter
from services.gateway.features.identity.tokens import JwtIdentity
from services.gateway.features.tasks.listing import TaskLists
from services.gateway.features.tasks.service import PrepareMessageOrAnswer
from services.gateway.features.webhooks.service import WebhookService
from services.gateway.features.webhooks.settings import PushSettings
from services.gateway.features.webhooks.store import RedisWebhooks
from services.gateway.settings import GatewaySettings
from services.gateway.worlds.tool_calls import read_user_messages
from services.gateway.worlds.world import build_world_url
from shared.domain.outgoing import addresses_for_files, addresses_for_tools, addresses_for_webhooks
from shared.infra.channel_listener import ChannelListener
from shared.infra.guard import AddressGuard
from shared.infra.installation import InstallationGaugeReader
from shared.infra.keys import DELIVERIES_CHANNEL
from shared.infra.metrics import Metrics, MetricsPage, make_metrics_app
from shared.infra.secret_cipher import SecretCipher
from shared.infra.side_server import run_side_server
from shared.ports.meter import Meter
from shared.ports.tasks import Tasks


def utc_now() -> datetime:
    return datetime.now(UTC)


def serve_metrics(settings: GatewaySettings, state: Redis, metrics: Metrics) -> AbstractAsyncContextManager[None]:
    """Serve the metrics on ``METRICS_PORT`` while the context lasts."""
    page = MetricsPage(metrics, (InstallationGaugeReader(state),))
    return run_side_server(make_metrics_app(page), settings.host, settings.metrics_port)


def build_signing_keys(settings: IdentitySettings, http: httpx.AsyncClient) -> SigningKeys | None:
    """The issuer's keys, to be renewed while the gateway runs; None if tokens are not accepted."""
    source = HttpJwks(http, settings.jwt_issuer, settings.jwt_jwks_url)
    return (
        SigningKeys(source.fetch_keys, monotonic, settings.jwt_keys_stale) if "jwt" in settings.auth_methods else None
    )


def build_identity(settings: IdentitySettings, meter: RateMeter, signing_keys: SigningKeys | None) -> Identity:
    by_key = KeyIdentity(meter, utc_now, settings.allowance)
    if signing_keys is None:
        return by_key if "keys" in settings.auth_methods else UnverifiedIdentity()
    by_token = JwtIdentity(signing_keys, settings, meter)
    return KeyOrTokenIdentity(by_key, by_token) if "keys" in settings.auth_methods else by_token


class WebhookWiring:
    """The objects that deliver webhooks, joined. ``queue``: the queue of deliveries, None if webhooks are not offered.

    ``addresses``: the addresses to which webhooks and notices may lead.
    """

    def __init__(
        self, settings: PushSettings, state: Redis, listener: ChannelListener, *, is_embedded: bool, meter: Meter
    ) -> None:
        self._settings = settings
        self._listener = listener
        self._meter = meter
        self.addresses = addresses_for_webhooks(settings.webhook_allowed_hosts, permits_loopback=is_embedded)
        self.service = WebhookService()
        self.queue: RedisDeliveryQueue | None = None
        if settings.push_offered:
            seal = SecretCipher(settings.secrets.derive_sealing_keys())
            self.queue = RedisDeliveryQueue(state, seal, meter)
            webhooks = RedisWebhooks(state, seal)
            self.service = WebhookService(webhooks, self.addresses, settings.secrets, settings.webhooks_per_task)

    @asynccontextmanager
    async def open(self, model_notice: str) -> AsyncIterator[None]:
        """Deliver queued webhooks while the context lasts; ``listener`` must be open. Tasks show ``model_notice``."""
        if self.queue is None:
            yield
            return
        settings, guard = self._settings, AddressGuard(self.addresses)
        post = WebhookHttpClient(guard, settings.push_timeout, settings.push_concurrency, self._meter)
        async with aclosing(post):
            write_body = partial(build_webhook_body, model_notice)
            service = DeliveryService(self.queue, post, write_body, settings, utc_now, random.random)
            listen = partial(self._listener.open_news_event, DELIVERIES_CHANNEL)
            loop = DeliveryLoop(service, self.queue, listen, settings)
            async with loop.run_in_background():
                yield


def build_notifier(push: WebhookWiring, state: Redis, public_url: str) -> Notifier:
    """Builds what queues notices about approvals. ``public_url``: the gateway's public URL, for links."""
    return Notifier(
        notices=DueNotices(state),
        approvals=Approvals(state),
        queue=push.queue,
        addresses=push.addresses,
        resolve_env_reference=resolve_env_reference,
        public_url=public_url,
        clock=utc_now,
    )


def build_assessor_message_handler(settings: GatewaySettings, state: Redis, tasks: Tasks) -> PrepareMessageOrAnswer:
    if not (keys := settings.world_sealing_keys):
        return participation.refuse_assessments
    addresses = addresses_for_tools(settings.tools_allowed_hosts, permits_loopback=settings.profile == "embedded")
    service = participation.AssessmentParticipationService(
        participations=participation.OpenAssessments(state, keys),
        tasks=tasks,
        lists=TaskLists(state),
        clock=utc_now,
        new_id=lambda: str(uuid4()),
        world_addresses=addresses,
        read_user_messages=partial(read_user_messages, AddressGuard(addresses)),
        build_world_url=partial(build_world_url, settings.worlds_base),
    )
    return service.handle_assessor_message


def build_message_files(settings: GatewaySettings) -> MessageFiles:
    addresses = addresses_for_files(settings.files_allowed_hosts, permits_loopback=settings.profile == "embedded")
    return MessageFiles(settings.open_file_archive(), addresses, settings.files_per_message, settings.file_bytes)
