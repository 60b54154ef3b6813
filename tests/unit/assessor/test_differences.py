"""What a run changed, row by row."""

import pytest

from services.assessor.core.differences import Difference, differences
from shared.contracts.assessment.messages import JsonObject


@pytest.mark.promise("assessor.differences")
def test_rows_that_came_went_and_changed_are_told() -> None:
    before: JsonObject = {
        "email": {"emails": {"a": {"is_read": False, "folder": "inbox"}, "b": {}}, "threads": {"t": {"n": 1}}},
        "chat": {"messages": [{"message_id": "m1", "content": "Hi"}], "total": 1},
        "time": {"current_time": "1"},
    }
    after: JsonObject = {
        "email": {"emails": {"a": {"is_read": True, "folder": "trash"}, "c": {}}, "threads": {"t": {"n": 2}}},
        "chat": {"messages": [{"message_id": "m1", "content": "Hi"}, {"message_id": "m2"}], "total": 2},
        "time": {"current_time": "2"},
    }

    assert differences(before, after) == [
        Difference("chat", "messages", "m2", "added"),
        Difference("email", "emails", "a", "changed", ("folder", "is_read")),
        Difference("email", "emails", "b", "removed"),
        Difference("email", "emails", "c", "added"),
    ]


@pytest.mark.promise("assessor.differences")
def test_a_world_that_stands_still_has_none() -> None:
    world: JsonObject = {"email": {"emails": {"a": {"labels": ["x"]}}}, "sms": None}

    assert differences(world, world) == []
