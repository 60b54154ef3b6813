"""The body of an update for a webhook, in the protocol that the webhook's client speaks."""

import json

from services.gateway.a2a.views import NEW, WORDINGS, ClientView
from services.gateway.features.deliveries.news import HookWork, News
from services.gateway.features.streams.updates import StatusUpdate, Update
from shared.contracts.task import TaskRecord


def webhook_body(notice: str, work: HookWork, news: News) -> str:
    """The body of a webhook: a ``StreamResponse`` in 1.0; in older protocols the task as it was then."""
    wording, view = WORDINGS[work.webhook.dialect], ClientView(notice, work.webhook.shown_id or work.record.task_id)
    if wording is NEW:
        shape = wording.update(news.update, news.name, work.record, view)
    else:
        shape = wording.task(_as_of(work.record, news.update), view)
    return json.dumps(shape, ensure_ascii=False)


def _as_of(record: TaskRecord, update: Update) -> TaskRecord:
    """The task as it was at an update; it may have gone on since, and results belong to its end."""
    if not isinstance(update, StatusUpdate) or update.state is record.state:
        return record
    then = {"state": update.state, "reason": update.text, "updated_at": update.at}
    return record.model_copy(update={**then, "answer": None, "artifacts": ()})
