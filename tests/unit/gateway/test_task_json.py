"""Tasks and updates as JSON of each dialect, made without the official types, documents included."""

import json
from datetime import UTC, datetime
from typing import TypeVar

import pytest
from a2a.compat.v0_3.conversions import to_compat_stream_response
from a2a.compat.v0_3.proto_utils import ToProto
from a2a.compat.v0_3.types import TaskStatusUpdateEvent
from a2a.types.a2a_pb2 import StreamResponse, Task
from google.protobuf.json_format import MessageToDict, ParseDict
from google.protobuf.message import Message
from hypothesis import given, settings, strategies as st

from services.gateway.a2a.methods import TaskJsonCache
from services.gateway.a2a.views import (
    FORMAT_0_3,
    FORMAT_0_3_REST,
    FORMAT_1_0,
    ClientView,
    JsonFields,
    build_task_view,
    build_update_view,
)
from services.gateway.features.streams.updates import ArtifactUpdate, Snapshot, StatusUpdate, TasklessReply, Update
from services.gateway.features.tasks.views import build_legacy_view
from shared.contracts.task import Artifact, ArtifactFile, HistoryMessage, Principal, TaskRecord, TaskRequest
from shared.domain.exact_json import to_exact
from shared.domain.words import A2aVersion, TaskState
from tests.doubles.redis_tasks import a_record
from tests.each_row import each_row
from tests.integration.gateway_stage import at

_Any = TypeVar("_Any")
_TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
_TIMES = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC)) | st.datetimes(
    datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.timezones()
).map(lambda at: at.replace(microsecond=at.microsecond // 1000 * 1000))
_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | _TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(_TEXT, inner, max_size=2),
    max_leaves=4,
)
_OBJECTS = st.dictionaries(_TEXT, _VALUES, max_size=3)


def _maybe(values: st.SearchStrategy[_Any]) -> st.SearchStrategy[_Any | None]:
    return st.none() | values


_FILES = st.one_of(
    st.builds(ArtifactFile, name=_maybe(_TEXT), media_type=_maybe(_TEXT), content=st.sampled_from(["", "YWJj"])),
    st.builds(ArtifactFile, name=_maybe(_TEXT), media_type=_maybe(_TEXT), url=st.just("https://example.com/f")),
)
_ARTIFACTS = st.one_of(
    st.builds(Artifact, name=_TEXT, text=_TEXT, data=_maybe(_OBJECTS), media_type=_maybe(_TEXT)),
    st.builds(Artifact, name=_TEXT, file=_FILES),
)
_PART = st.one_of(
    st.builds(lambda data: {"data": data}, _VALUES),
    st.builds(lambda text, said: {"text": text, "metadata": said}, _TEXT, _OBJECTS),
    st.just({"url": "https://example.com/f", "mediaType": "text/csv", "metadata": {}}),
)
_PARTS = st.lists(_PART, max_size=2).map(tuple)
_SAID = st.builds(
    HistoryMessage,
    role=st.sampled_from(["user", "agent"]),
    text=_TEXT,
    message_id=st.just("m"),
    at=_TIMES,
    parts=_PARTS,
)
_RECORDS = st.builds(
    TaskRecord,
    tenant=st.just("acme"),
    task_id=st.just("t"),
    session_id=st.just("s"),
    dialect=st.sampled_from(A2aVersion),
    requester=st.just(Principal(id="clerk")),
    request=st.just(TaskRequest(text="go")),
    state=st.sampled_from(TaskState),
    reason=_maybe(_TEXT),
    answer=_maybe(_TEXT),
    metadata=st.dictionaries(st.sampled_from(["process_type", "waits_until", "x"]), _VALUES, max_size=2),
    artifacts=st.lists(_ARTIFACTS, max_size=2).map(tuple),
    history=st.lists(_SAID, max_size=2).map(tuple),
    accepted_at=_TIMES,
    updated_at=_TIMES,
)


@pytest.mark.promise("gateway.task_json")
@settings(max_examples=40)
@given(_RECORDS, _maybe(st.integers(0, 3)), st.booleans())
def test_a_task_is_written_as_the_official_type_is(record: TaskRecord, length: int | None, artifacts: bool) -> None:
    _check(build_task_view(record, ClientView("a notice", "", length, artifacts)), Task())


@pytest.mark.promise("gateway.task_json")
@settings(max_examples=40)
@given(_RECORDS, _ARTIFACTS, _maybe(_TEXT), st.booleans(), st.sampled_from(["snapshot", "reply", "status", "artifact"]))
def test_an_update_is_written_as_the_official_type_writes_it(
    record: TaskRecord, artifact: Artifact, text: str | None, flag: bool, kind: str
) -> None:
    _check(
        build_update_view(_updates(record, artifact, text, flag)[kind], "2-0", record, ClientView("")), StreamResponse()
    )


def _updates(record: TaskRecord, artifact: Artifact, text: str | None, flag: bool) -> dict[str, Update]:
    return {
        "snapshot": Snapshot(record, "1-0" if flag else None),
        "reply": TasklessReply(record),
        "status": StatusUpdate(record.state, record.updated_at, text, record=record if flag else None),
        "artifact": ArtifactUpdate(1, artifact, append=flag, last_chunk=not flag),
    }


def _check(shown: JsonFields, kind: Message) -> None:
    assert json.loads(json.dumps(shown)) == MessageToDict(ParseDict(shown, kind))


@pytest.mark.promise("gateway.task_json")
@settings(max_examples=40)
@given(_RECORDS, _ARTIFACTS, st.booleans(), st.sampled_from(["snapshot", "reply", "status", "artifact"]))
def test_an_update_is_in_the_words_of_0_3_as_the_sdk_converts_it(
    record: TaskRecord, artifact: Artifact, flag: bool, kind: str
) -> None:
    payload = build_update_view(_updates(record, artifact, "", flag)[kind], "2-0", record, ClientView(""))
    event = to_compat_stream_response(ParseDict(payload, StreamResponse())).result
    if isinstance(event, TaskStatusUpdateEvent):
        event.final = flag
    old = event.model_dump(mode="json", by_alias=True, exclude_none=True)
    assert json.loads(json.dumps(FORMAT_0_3.convert_payload(payload, flag))) == old
    assert FORMAT_0_3_REST.convert_payload(payload, flag) == MessageToDict(ToProto.stream_response(event))


@pytest.mark.promise("gateway.task_json")
@settings(max_examples=40)
@given(_RECORDS, _maybe(st.integers(0, 3)))
def test_a_task_that_was_written_before_is_answered_with_the_same_bytes(record: TaskRecord, length: int | None) -> None:
    written, view = TaskJsonCache(), ClientView("a notice", record.task_id, length)
    first = written.serialize(record, FORMAT_1_0, view)
    changed = record.model_copy(update={"reason": "another"})
    assert json.loads(first) == build_task_view(record, view)
    assert written.find(record, FORMAT_1_0, view) is first
    assert written.find(changed, FORMAT_1_0, view) is None
    assert json.loads(written.serialize(changed, FORMAT_1_0, view)) == build_task_view(changed, view)


@pytest.mark.promise("gateway.task_json")
@settings(max_examples=10)
@given(_RECORDS, _TIMES)
def test_an_answer_of_a_task_that_has_the_contents_of_files_is_not_kept(record: TaskRecord, at: datetime) -> None:
    said = HistoryMessage(role="user", text="", message_id="m", at=at, parts=({"raw": "YWJj"},))
    whole = record.model_copy(update={"history": (said,)})
    written, view = TaskJsonCache(), ClientView("a notice", record.task_id, 0)
    first = written.serialize(whole, FORMAT_1_0, view)
    again = written.serialize(whole, FORMAT_1_0, view)
    assert again == first
    assert again is not first


_KNOWN = {"submitted", "working", "input-required", "completed", "canceled", "failed", "unknown"}


@pytest.mark.promise("gateway.conformance_legacy")
@each_row("state", TaskState)
def test_a_state_is_one_that_the_early_protocol_knows(state: TaskState) -> None:
    """It has no word for a refusal, which is a failure there; the reason is told with it."""
    ended = a_record().model_copy(update={"state": state, "reason": "why"})
    shown = to_exact(build_legacy_view(ended, "t1", None, ""))
    told = at(shown, "status.state")
    assert told in _KNOWN
    assert told == ("failed" if state is TaskState.REJECTED else state.value)
    assert at(shown, "status.message.parts.0.text") == "why"


DATA: dict[str, object] = {
    "type": "prd",
    "sections": {"problem_statement": "x", "rows": [{"a": "1"}]},
    "complete": False,
}


def record() -> TaskRecord:
    document = Artifact.model_validate({"name": "prd", "text": "# PRD", "data": DATA, "media_type": "text/markdown"})
    ended = {"state": TaskState.COMPLETED, "answer": '["A"]', "dialect": A2aVersion.A2A_1_0}
    return a_record().model_copy(update={**ended, "artifacts": (document, Artifact(name="plan", data={"calls": []}))})


@pytest.mark.promise("documents.artifacts")
def test_in_the_early_protocol() -> None:
    """The answer is first and alone; a document's parts say their kind."""
    artifacts = build_legacy_view(record(), "t", None, "")["artifacts"]
    assert artifacts == [
        {"name": "answer", "index": 0, "parts": [{"type": "text", "text": '["A"]'}]},
        {
            "name": "prd",
            "index": 1,
            "parts": [
                {"type": "text", "text": "# PRD", "metadata": {"mimeType": "text/markdown"}},
                {"type": "data", "data": DATA, "metadata": {"mimeType": "application/json"}},
            ],
        },
        {
            "name": "plan",
            "index": 2,
            "parts": [{"type": "data", "data": {"calls": []}, "metadata": {"mimeType": "application/json"}}],
        },
    ]
