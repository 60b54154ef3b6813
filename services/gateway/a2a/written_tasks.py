"""Tasks as the JSON that clients get, written once for as long as they do not change."""

from collections import OrderedDict

from services.gateway.a2a.views import Wording, task_view
from services.gateway.edge.replies import write_json
from shared.contracts.task import TaskRecord

_MOST = 1024
_LARGEST = 64 * 1024  # bytes; with ``_MOST``, what is kept stays under 64 MB


class WrittenTasks:
    """What was asked for lately. A record is the same only if it is the same object: the store keeps those it read.

    One that was given its files' contents is a new object each time, and may be large: it is not kept.
    """

    def __init__(self, notice: str) -> None:
        self._notice = notice
        self._kept: OrderedDict[tuple[str, str, int | None, object], tuple[TaskRecord, bytes]] = OrderedDict()

    def find(self, record: TaskRecord, wording: Wording, history_length: int | None) -> bytes | None:
        key = _key(record, wording, history_length)
        known = self._kept.get(key)
        if known is None or known[0] is not record:
            return None
        self._kept.move_to_end(key)
        return known[1]

    def write(self, record: TaskRecord, wording: Wording, history_length: int | None) -> bytes:
        written = write_json(wording.task(task_view(record, self._notice, history_length))).encode()
        has_contents = any("raw" in part for message in record.history for part in message.parts)
        if len(written) <= _LARGEST and not has_contents:
            key = _key(record, wording, history_length)
            self._kept[key] = (record, written)
            self._kept.move_to_end(key)
            if len(self._kept) > _MOST:
                self._kept.popitem(last=False)
        return written


def _key(record: TaskRecord, wording: Wording, history_length: int | None) -> tuple[str, str, int | None, object]:
    return record.tenant, record.task_id, history_length, wording.task
