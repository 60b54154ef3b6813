"""One update of a stream in the early protocol: always a status or an artifact, never a task."""

from pydantic import JsonValue

from services.gateway.core.streaming.updates import ArtifactUpdate, Reply, Snapshot, StatusUpdate, Update
from services.gateway.core.tasks.views import legacy_artifact, legacy_status, metadata_of


def legacy_update(update: Update, shown_id: str, notice: str) -> dict[str, JsonValue]:
    """``{id, status, final}`` or ``{id, artifact}``, under the id that the client chose."""
    match update:
        case Snapshot(record, lost_after, final):
            gap: dict[str, JsonValue] = {} if lost_after is None else {"gap": {"lost_after": lost_after}}
            status = legacy_status(record.state, record.reason, record.updated_at)
            metadata = {**metadata_of(record, notice), **gap}
            return {"id": shown_id, "status": status, "final": final, "metadata": metadata}
        case Reply(record):
            status = legacy_status(record.state, record.answer, record.updated_at)
            return {"id": shown_id, "status": status, "final": True, "metadata": metadata_of(record, notice)}
        case StatusUpdate():
            status = legacy_status(update.state, update.text, update.at)
            metadata = metadata_of(update.record, notice) if update.record else dict(update.metadata)
            return {"id": shown_id, "status": status, "final": update.final, "metadata": metadata}
        case ArtifactUpdate():
            artifact = legacy_artifact(update.place, update.artifact)
            chunk: dict[str, JsonValue] = {"append": update.append, "lastChunk": update.last_chunk}
            return {"id": shown_id, "artifact": {**artifact, **chunk}}
