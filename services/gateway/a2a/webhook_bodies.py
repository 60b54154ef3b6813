"""The body of an update for a webhook, in the protocol that the webhook's client speaks."""

import json

from pydantic import JsonValue

from services.gateway.a2a.views import OLD, task_view, update_view
from services.gateway.features.deliveries.news import HookWork, News
from services.gateway.features.streams.updates import StatusUpdate, Update
from services.gateway.features.tasks.views import legacy_view
from shared.contracts.task import TaskRecord
from shared.domain.words import Dialect


def webhook_body(notice: str, work: HookWork, news: News) -> str:
    """The body of a webhook: a ``StreamResponse`` in 1.0; in older protocols the task as it was then."""
    record = _as_of(work.record, news.update)
    shape: dict[str, JsonValue]
    match work.webhook.dialect:
        case Dialect.LEGACY:
            shape = legacy_view(record, work.webhook.shown_id or record.task_id, None, notice)
        case Dialect.A2A_0_3:
            shape = OLD.task(task_view(record, notice))
        case Dialect.A2A_1_0:
            shape = update_view(news.update, news.name, work.record, notice)
    return json.dumps(shape, ensure_ascii=False)


def _as_of(record: TaskRecord, update: Update) -> TaskRecord:
    """The task as it was at an update; it may have gone on since, and results belong to its end."""
    if not isinstance(update, StatusUpdate) or update.state is record.state:
        return record
    then = {"state": update.state, "reason": update.text, "updated_at": update.at}
    return record.model_copy(update={**then, "answer": None, "artifacts": ()})
