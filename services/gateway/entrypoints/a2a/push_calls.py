"""The calls about webhooks: plain JSON goes in, the shape of each protocol comes out. All raise ``Refusal``."""

from collections.abc import Sequence

from pydantic import JsonValue

from services.gateway.core.errors import InvalidField, PushUnsupported
from services.gateway.core.fields import count_at, id_at, object_at, required_id, text_at
from services.gateway.core.push.config import (
    legacy_shape,
    read_webhook,
    shape_of_0_3,
    shape_of_1_0,
    webhook_at,
)
from services.gateway.core.push.desk import PushDesk
from services.gateway.entrypoints.a2a.calls import A2aCalls
from services.gateway.ports.identity import Caller
from services.gateway.ports.push import Webhook
from shared.domain.exact_json import JsonObject
from shared.domain.words import Dialect

Shown = dict[str, JsonValue]
_CONFIG = "pushNotificationConfig"
_MOST = 100


class PushCalls:
    """``let_in`` is whom the door let in. Also raise ``StoreUnavailable``."""

    def __init__(self, desk: PushDesk, calls: A2aCalls) -> None:
        self._desk, self._calls = desk, calls

    async def set_legacy(self, params: JsonObject, let_in: Caller | None) -> Shown:
        task_id, caller = self._asked(params, "id", let_in)
        webhook = _given(params, Dialect.LEGACY)._replace(shown_id=task_id)
        await self._desk.enter(task_id, webhook, caller)
        return {"id": task_id, _CONFIG: {**legacy_shape(webhook), **_token(webhook)}}

    async def get_legacy(self, params: JsonObject, let_in: Caller | None) -> Shown:
        task_id, caller = self._asked(params, "id", let_in)
        return {"id": task_id, _CONFIG: legacy_shape(await self._desk.one(task_id, None, caller))}

    async def set_0_3(self, params: JsonObject, let_in: Caller | None) -> Shown:
        task_id, caller = self._asked(params, "taskId", let_in)
        webhook = _given(params, Dialect.A2A_0_3)
        await self._desk.enter(task_id, webhook, caller)
        shown = shape_of_0_3(webhook, task_id)
        return {**shown, _CONFIG: {"id": webhook.config_id, **legacy_shape(webhook), **_token(webhook)}}

    async def get_0_3(self, params: JsonObject, let_in: Caller | None) -> Shown:
        """Without an id of a webhook: the task's first."""
        task_id, caller = self._asked(params, "id", let_in)
        config_id = id_at(params, f"{_CONFIG}Id", f"params.{_CONFIG}Id")
        return shape_of_0_3(await self._desk.one(task_id, config_id, caller), task_id)

    async def list_0_3(self, params: JsonObject, let_in: Caller | None) -> list[JsonValue]:
        task_id, caller = self._asked(params, "id", let_in)
        return [shape_of_0_3(one.webhook, task_id) for one in await self._desk.listed(task_id, caller)]

    async def delete_0_3(self, params: JsonObject, let_in: Caller | None) -> None:
        task_id, caller = self._asked(params, "id", let_in)
        await self._desk.remove(task_id, required_id(params, f"{_CONFIG}Id", f"params.{_CONFIG}Id"), caller)

    async def create_1_0(self, params: JsonObject, let_in: Caller | None) -> Shown:
        task_id, caller = self._asked(params, "taskId", let_in)
        webhook = read_webhook(params, "params", Dialect.A2A_1_0)
        await self._desk.enter(task_id, webhook, caller)
        return {**shape_of_1_0(webhook, task_id), **_token(webhook)}

    async def get_1_0(self, params: JsonObject, let_in: Caller | None) -> Shown:
        task_id, caller = self._asked(params, "taskId", let_in)
        return shape_of_1_0(await self._desk.one(task_id, required_id(params, "id", "params.id"), caller), task_id)

    async def list_1_0(self, params: JsonObject, let_in: Caller | None) -> Shown:
        task_id, caller = self._asked(params, "taskId", let_in)
        after, size = text_at(params, "pageToken", "params.pageToken") or "", _page_size(params)
        found = [one.webhook for one in await self._desk.listed(task_id, caller) if one.webhook.config_id > after]
        configs: list[JsonValue] = [shape_of_1_0(webhook, task_id) for webhook in found[:size]]
        return {"configs": configs, "nextPageToken": _next_token(found, size)}

    async def delete_1_0(self, params: JsonObject, let_in: Caller | None) -> Shown:
        task_id, caller = self._asked(params, "taskId", let_in)
        await self._desk.remove(task_id, required_id(params, "id", "params.id"), caller)
        return {}

    def _asked(self, params: JsonObject, key: str, let_in: Caller | None) -> tuple[str, Caller]:
        if not self._desk.offered:
            raise PushUnsupported
        return required_id(params, key, f"params.{key}"), self._calls.caller(params, let_in)


def _given(params: JsonObject, dialect: Dialect) -> Webhook:
    found = webhook_at(params, _CONFIG, f"params.{_CONFIG}", dialect)
    if found is None:
        object_at(params, _CONFIG, f"params.{_CONFIG}")
        raise InvalidField(f"params.{_CONFIG}", "is required")
    return found


def _token(webhook: Webhook) -> Shown:
    """Only whoever has just set it is told it again."""
    return {"token": webhook.token} if webhook.token else {}


def _page_size(params: JsonObject) -> int:
    size = count_at(params, "pageSize", "params.pageSize") or _MOST
    return min(size, _MOST)


def _next_token(found: Sequence[Webhook], size: int) -> str:
    return found[size - 1].config_id if len(found) > size else ""
