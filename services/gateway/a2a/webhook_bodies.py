"""The bodies of webhook requests, in the protocol version in which the webhook was registered."""

import json

from services.gateway.a2a.views import ANSWER_FORMATS, FORMAT_1_0, ClientView
from services.gateway.features.deliveries.model import WebhookUpdate, WebhookWork
from services.gateway.features.streams.updates import StatusUpdate, Update
from shared.contracts.task import TaskRecord


def build_webhook_body(model_notice: str, work: WebhookWork, update: WebhookUpdate) -> str:
    """The body of a webhook request: a ``StreamResponse`` in 1.0; in older protocols the task at the update."""
    answer_format = ANSWER_FORMATS[work.webhook.dialect]
    view = ClientView(model_notice, work.webhook.shown_id or work.record.task_id)
    if answer_format is FORMAT_1_0:
        shape = answer_format.show_update(update.update, update.name, work.record, view)
    else:
        shape = answer_format.show_task(_record_at_update(work.record, update.update), view)
    return json.dumps(shape, ensure_ascii=False)


def _record_at_update(record: TaskRecord, update: Update) -> TaskRecord:
    """The task as it was at an earlier update: with the update's state, and without answer and results."""
    if not isinstance(update, StatusUpdate) or update.state is record.state:
        return record
    then = {"state": update.state, "reason": update.text, "updated_at": update.at}
    return record.model_copy(update={**then, "answer": None, "artifacts": ()})
