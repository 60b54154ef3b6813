"""The body of an update for a webhook, in the protocol that the webhook's client speaks."""

import json

from pydantic import JsonValue

from services.gateway.a2a.views import OLD, task_view, update_view
from services.gateway.features.deliveries.news import HookWork, News
from services.gateway.features.deliveries.service import Bodies
from services.gateway.features.streams.updates import StatusUpdate, Update
from services.gateway.features.tasks.views import legacy_view
from shared.contracts.task import TaskRecord
from shared.domain.words import Dialect


class DialectBodies(Bodies):
    """Writes webhook bodies: a ``StreamResponse`` in 1.0; in older protocols the task as it was then."""

    def __init__(self, notice: str) -> None:
        self._notice = notice

    def body(self, work: HookWork, news: News) -> str:
        return json.dumps(self._shape(work, news), ensure_ascii=False)

    def _shape(self, work: HookWork, news: News) -> dict[str, JsonValue]:
        record = _as_of(work.record, news.update)
        match work.webhook.dialect:
            case Dialect.LEGACY:
                return legacy_view(record, work.webhook.shown_id or record.task_id, None, self._notice)
            case Dialect.A2A_0_3:
                return OLD.task(task_view(record, self._notice))
            case Dialect.A2A_1_0:
                return update_view(news.update, news.name, work.record, self._notice)


def _as_of(record: TaskRecord, update: Update) -> TaskRecord:
    """The task as it was at an update; it may have gone on since, and results belong to its end."""
    if not isinstance(update, StatusUpdate) or update.state is record.state:
        return record
    then = {"state": update.state, "reason": update.text, "updated_at": update.at}
    return record.model_copy(update={**then, "answer": None, "artifacts": ()})
