"""A modality small enough to see through: notes that are written, changed and thrown away."""

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError
from typing_extensions import override

from services.simulator.core.modality import ActionOutcome, EventMoment, Modality, StateHead
from services.simulator.core.records import JsonObject, StoredRow
from services.simulator.core.refusals import ActionFailed, MeaninglessRequest, bad_input


class Note(StoredRow):
    note_id: str
    text: str
    written_at: datetime


class Write(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    operation: Literal["write"] = "write"
    text: str


class Change(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    operation: Literal["change"] = "change"
    note_id: str
    text: str


class Throw(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")
    operation: Literal["throw"] = "throw"
    note_id: str


class State(BaseModel):
    modality_type: Literal["notes"]
    last_updated: datetime
    update_count: int = 0
    notes: dict[str, Note]


_ACTION: TypeAdapter[Write | Change | Throw] = TypeAdapter(Write | Change | Throw)


class Notes(Modality):
    """Notes.

    Throwing "all" away fails half-way when there are fewer than two: to see that nothing is half done.
    """

    name = "notes"

    def __init__(self, now: datetime) -> None:
        super().__init__()
        self._notes = self.store.table("notes", Note)
        self.clear(now)

    @override
    def normalise(self, data: JsonObject) -> JsonObject:
        try:
            action = _ACTION.validate_python(data)
        except ValidationError as error:
            raise bad_input(error) from None
        if isinstance(action, Write | Change) and not action.text.strip():
            raise MeaninglessRequest("a note says something")
        return action.model_dump(mode="json")

    @override
    def act(self, data: JsonObject, moment: EventMoment) -> ActionOutcome:
        action = _ACTION.validate_python(data)
        if isinstance(action, Write):
            note = Note(note_id=moment.new_id("note"), text=action.text, written_at=moment.now)
            self._notes.put(note.note_id, note)
            return ActionOutcome("Written", (note.note_id,))
        if isinstance(action, Throw) and action.note_id == "all":
            keys = list(self._notes)
            for key in keys:
                self._notes.remove(key)
            if len(keys) < 2:
                raise ActionFailed("fewer than two notes are not all")
            return ActionOutcome("Thrown away")
        if action.note_id not in self._notes:
            raise ActionFailed(f"no note {action.note_id}")
        if isinstance(action, Change):
            self._notes.put(action.note_id, self._notes[action.note_id].model_copy(update={"text": action.text}))
        else:
            self._notes.remove(action.note_id)
        return ActionOutcome("Done", (action.note_id,))

    @override
    def state(self, now: datetime) -> JsonObject:
        return {**self.export(), "current_time": now.isoformat()}

    @override
    def compact(self, now: datetime) -> JsonObject:
        return {"notes": len(self._notes)}

    @override
    def query(self, asked: JsonObject, now: datetime) -> JsonObject:
        return {"notes": [note.model_dump(mode="json") for note in self._notes.values()]}

    @override
    def export(self) -> JsonObject:
        head = self.head.model_dump(mode="json")
        return {
            "modality_type": "notes",
            **head,
            "notes": {key: note.model_dump(mode="json") for key, note in self._notes.items()},
        }

    @override
    def load(self, state: JsonObject) -> None:
        try:
            loaded = State.model_validate(state)
        except ValidationError as error:
            raise bad_input(error) from None
        self.clear(loaded.last_updated)
        for key, note in loaded.notes.items():
            self._notes.put(key, note)
        self.set_head(StateHead(last_updated=loaded.last_updated, update_count=loaded.update_count))
