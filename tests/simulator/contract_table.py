"""The interface that existing clients rely on, endpoint by endpoint: one good request, and what it is answered with.

Each row is one endpoint of the public simulator, in an order in which one world can be asked all of them. ``{name}`` in
a path or body stands for what an earlier row ``keeps``.
"""

from typing import NamedTuple

from services.simulator.core.records import JsonObject

NOW = "2026-03-02T09:00:00+00:00"
LATER = "2026-03-02T12:00:00+00:00"
USER, BEN = "user@example.com", "ben@example.com"
PHONE, OTHER = "+15550000000", "+15550000001"


class Row(NamedTuple):
    """``fields``: what the answer must have. ``keeps``: the name under which the answer's ``of`` is kept."""

    endpoint: str
    permission: str
    fields: str
    body: JsonObject | None = None
    status: int = 200
    keeps: str = ""
    of: str = "entity_id"


_ACTION = "event_id scheduled_time status message modality"
_EVENT = "event_id scheduled_time modality status priority created_at data executed_at error_message agent_id"
_TIME = "current_time time_scale is_paused auto_advance mode"
_STATES = "modality_type last_updated update_count"
_PAGE = "total_count returned_count query"
_MAIL: JsonObject = {"to_addresses": [USER], "from_address": BEN, "subject": "Friday?", "body_text": "Is it fine?"}
_OWN: JsonObject = {"to_addresses": [BEN], "from_address": USER, "subject": "Yes", "body_text": "It is."}
_ON_MAIL: JsonObject = {"message_ids": ["{mail}"]}
_ON_TEXT: JsonObject = {"message_ids": ["{text}"]}
_ON_CONTACT: JsonObject = {"contact_id": "{contact}"}
_CHAT: JsonObject = {"role": "user", "content": "Hello", "conversation_id": "c"}
_DAY: JsonObject = {"title": "Talk", "start": NOW, "end": LATER, "attendees": [{"email": USER}]}
_LATER: JsonObject = {"scheduled_time": LATER, "modality": "chat", "data": {"operation": "send_message", **_CHAT}}


def _contact(name: str, mail: str) -> JsonObject:
    return {"first_name": name, "identifiers": [{"identifier_type": "email", "value": mail}]}


KEYS = (
    Row("POST /keys", "keys:create", "key_id secret name permissions created_at created_by",
        {"name": "one", "permissions": ["keys:create"]}, 201, "key", "key_id"),
    Row("GET /keys", "keys:list", "keys total active revoked"),
    Row("GET /keys/{key}", "keys:read",
        "key_id name permissions created_at created_by last_used_at is_active revoked_at"),
    Row("DELETE /keys/{key}", "keys:revoke", "key_id name revoked_at message"),
)  # fmt: skip
BEGINNING = (
    Row("POST /simulation/clear", "simulation:clear",
        "status events_removed modalities_cleared time_reset current_time", {"reset_time_to": NOW}),
    Row("POST /simulation/start", "simulation:start", "simulation_id status current_time auto_advance time_scale", {}),
    Row("GET /simulation/status", "simulation:status",
        "is_running current_time is_paused auto_advance time_scale pending_events executed_events failed_events "
        "next_event_time"),
)  # fmt: skip
EMAIL = (
    Row("POST /email/receive", "email:receive", _ACTION, _MAIL, keeps="mail"),
    Row("POST /email/send", "email:send", _ACTION, _OWN),
    *(
        Row(f"POST /email/{name}", f"email:{name}", _ACTION, _ON_MAIL)
        for name in ("read", "unread", "star", "unstar", "archive", "delete")
    ),
    Row("POST /email/label", "email:label", _ACTION, {**_ON_MAIL, "labels": ["work"]}),
    Row("POST /email/unlabel", "email:unlabel", _ACTION, {**_ON_MAIL, "labels": ["work"]}),
    Row("POST /email/move", "email:move", _ACTION, {**_ON_MAIL, "folder": "projects"}),
    Row("GET /email/state", "email:state",
        "modality_type current_time user_email_address emails threads folders labels total_email_count unread_count "
        "starred_count"),
    Row("GET /email/state?compact=true", "email:state", "statistics folders labels emails threads"),
    Row("POST /email/query", "email:query", f"modality_type emails {_PAGE}", {"folder": "projects", "limit": 5}),
)  # fmt: skip
SMS = (
    Row("POST /sms/receive", "sms:receive", _ACTION,
        {"from_number": OTHER, "to_numbers": [PHONE], "body": "Late"}, keeps="text"),
    Row("POST /sms/send", "sms:send", _ACTION, {"from_number": PHONE, "to_numbers": [OTHER], "body": "Fine"}),
    Row("POST /sms/read", "sms:read", _ACTION, _ON_TEXT),
    Row("POST /sms/unread", "sms:unread", _ACTION, _ON_TEXT),
    Row("POST /sms/react", "sms:react", _ACTION, {"message_id": "{text}", "phone_number": PHONE, "emoji": "+"}),
    Row("GET /sms/state", "sms:state",
        "current_time user_phone_number messages conversations total_message_count unread_count "
        "total_conversation_count", keeps="thread", of="conversations"),
    Row("GET /sms/state?compact=true", "sms:state",
        "last_updated update_count user_phone_number conversations total_conversations total_messages unread_total"),
    Row("POST /sms/conversation", "sms:conversation", _ACTION, {"thread_id": "{thread}", "pin": True}),
    Row("POST /sms/query", "sms:query", f"messages {_PAGE}", {"from_number": OTHER}),
    Row("POST /sms/delete", "sms:delete", _ACTION, _ON_TEXT),
)  # fmt: skip
CHAT = (
    Row("POST /chat/send", "chat:send", _ACTION, _CHAT, keeps="line"),
    Row("GET /chat/state", "chat:state",
        "current_time conversations messages total_message_count conversation_count max_history_size"),
    Row("POST /chat/query", "chat:query", f"messages {_PAGE}", {"conversation_id": "c", "sort_order": "desc"}),
    Row("POST /chat/delete", "chat:delete", _ACTION, {"message_id": "{line}"}),
    Row("POST /chat/clear", "chat:clear", _ACTION, {"conversation_id": "c"}),
)  # fmt: skip
CALENDAR = (
    Row("POST /calendar/create", "calendar:create", _ACTION, _DAY, keeps="day"),
    Row("POST /calendar/update", "calendar:update", _ACTION, {"event_id": "{day}", "title": "Talk with Ben"}),
    Row("POST /calendar/respond", "calendar:respond", _ACTION,
        {"event_id": "{day}", "attendee_email": USER, "response": "accepted", "comment": "See you"}),
    Row("GET /calendar/state", "calendar:state",
        f"{_STATES} default_calendar_id user_timezone calendars events calendar_count event_count"),
    Row("POST /calendar/query", "calendar:query", "events count total_count", {"search": "Talk"}),
    Row("POST /calendar/delete", "calendar:delete", _ACTION, {"event_id": "{day}"}),
    Row("POST /calendar/calendars/create", "calendar:calendars:create", "status message calendar",
        {"calendar_id": "team", "name": "Team"}),
    Row("POST /calendar/calendars/update", "calendar:calendars:update", "status message calendar",
        {"calendar_id": "team", "name": "The team"}),
    Row("GET /calendar/calendars", "calendar:calendars:list", "calendars count default_calendar_id"),
    Row("POST /calendar/calendars/set-default", "calendar:calendars:default", "status message calendar",
        {"calendar_id": "team"}),
    Row("POST /calendar/calendars/set-default", "calendar:calendars:default", "status message calendar",
        {"calendar_id": "primary"}),
    Row("POST /calendar/calendars/delete", "calendar:calendars:delete", "status message", {"calendar_id": "team"}),
)  # fmt: skip
SURROUNDINGS = (
    Row("POST /location/update", "location:update", _ACTION, {"latitude": 53.5, "longitude": 10.0}),
    Row("GET /location/state", "location:state", f"{_STATES} current history"),
    Row("POST /location/query", "location:query", "locations count total_count", {}),
    Row("POST /weather/update", "weather:update", _ACTION,
        {"latitude": 53.5, "longitude": 10.0, "report": {"lat": 53.5, "lon": 10.0, "timezone": "UTC",
         "timezone_offset": 0, "current": {"dt": 1772442000, "temp": 280.0}}}),
    Row("GET /weather/state", "weather:state", f"{_STATES} locations location_count"),
    Row("POST /weather/query", "weather:query", "reports count total_count error", {"lat": 53.5, "lon": 10.0}),
)  # fmt: skip
CONTACTS = (
    Row("POST /contacts/create", "contacts:create", _ACTION, _contact("Ben", BEN), keeps="contact"),
    Row("POST /contacts/create", "contacts:create", _ACTION, _contact("Benny", "benny@example.com"), keeps="other"),
    Row("POST /contacts/update", "contacts:update", _ACTION, {**_ON_CONTACT, "company": "Example"}),
    *(
        Row(f"POST /contacts/{name}", f"contacts:{name}", _ACTION, _ON_CONTACT)
        for name in ("block", "unblock", "favorite", "unfavorite")
    ),
    Row("POST /contacts/group/add", "contacts:group:add", _ACTION, {**_ON_CONTACT, "group": "team"}),
    Row("POST /contacts/group/remove", "contacts:group:remove", _ACTION, {**_ON_CONTACT, "group": "team"}),
    Row("GET /contacts/state", "contacts:state", "modality_type contacts"),
    Row("POST /contacts/query", "contacts:query", "contacts total_count", {}),
    Row("POST /contacts/merge", "contacts:merge", _ACTION,
        {"contact_id": "{contact}", "merge_contact_ids": ["{other}"]}),
    Row("POST /contacts/delete", "contacts:delete", _ACTION, _ON_CONTACT),
)  # fmt: skip
EVENTS = (
    Row("POST /events", "events:create", _EVENT, _LATER, keeps="event", of="event_id"),
    Row("POST /events/immediate", "events:execute", _EVENT, {"modality": "chat", "data": _LATER["data"]}),
    Row("POST /events/batch", "events:batch", "results", {"events": [_LATER]}, 201),
    Row("GET /events", "events:list", "events total pending executed failed skipped"),
    Row("GET /events/next", "events:read", _EVENT),
    Row("GET /events/summary", "events:summary",
        "total pending executed failed skipped by_modality next_event_time"),
    Row("GET /events/{event}", "events:read", _EVENT),
    Row("DELETE /events/{event}", "events:delete", "cancelled event_id"),
)  # fmt: skip
TIME = (
    Row("GET /simulator/time", "time:read", _TIME),
    Row("POST /simulator/time/advance", "time:advance",
        "previous_time current_time time_advanced events_executed events_failed execution_details", {"seconds": 60}),
    Row("POST /simulator/time/pause", "time:pause", "message current_time is_paused"),
    Row("POST /simulator/time/skip-to-next", "time:skip",
        "previous_time current_time events_executed next_event_time"),
    Row("POST /simulator/time/resume", "time:resume", "message current_time is_paused"),
    Row("POST /simulator/time/set", "time:set",
        "current_time previous_time skipped_events executed_events rolled_back_events reset_skipped_events",
        {"target_time": "2026-03-02T18:00:00+00:00"}),
    Row("POST /simulator/time/set-scale", "time:scale", _TIME, {"scale": 2.0}),
)  # fmt: skip
TAKING_BACK = (
    Row("POST /simulation/undo", "simulation:undo", "undone_count undone_events can_undo can_redo message",
        {"count": 2}),
    Row("POST /simulation/redo", "simulation:redo", "redone_count redone_events can_undo can_redo message",
        {"count": 1}),
    Row("POST /simulation/hold", "simulation:hold",
        "hold_id reason timeout_seconds acquired_at expires_at active_hold_count", {"reason": "look"}, 200, "hold",
        "hold_id"),
    Row("GET /simulation/holds", "simulation:holds", "holds active_count"),
    Row("POST /simulation/release/{hold}", "simulation:release", "released hold_id active_hold_count"),
)  # fmt: skip
ENVIRONMENT = (
    Row("GET /environment/state", "environment:read", "current_time modalities summary"),
    Row("GET /environment/state?compact=true", "environment:read", "snapshot_time format modalities events"),
    Row("GET /environment/modalities", "environment:list", "modalities count"),
    Row("GET /environment/modalities/email", "environment:read", "modality_type current_time state"),
    Row("POST /environment/modalities/email/query", "environment:read",
        "modality_type current_time query results total_count returned_count", {}),
    Row("POST /environment/validate", "environment:validate", "valid errors checked_at"),
)  # fmt: skip
WEBHOOKS = (
    Row("POST /webhooks", "webhooks:create", "", {"url": "https://receiver.example/", "events": ["event.executed"]},
        201, "hook", "webhook_id"),
    Row("GET /webhooks", "webhooks:list", ""),
    Row("GET /webhooks/{hook}", "webhooks:read", ""),
    Row("PATCH /webhooks/{hook}", "webhooks:update", "", {"name": "one"}),
    Row("GET /webhooks/{hook}/deliveries", "webhooks:deliveries", ""),
    Row("POST /webhooks/{hook}/pause", "webhooks:pause", ""),
    Row("POST /webhooks/{hook}/resume", "webhooks:resume", ""),
    Row("DELETE /webhooks/{hook}", "webhooks:delete", ""),
)  # fmt: skip
ENDING = (
    Row("GET /scenario/export/environment", "scenario:export", "environment modalities_exported",
        keeps="environment", of="environment"),
    Row("GET /scenario/export/events", "scenario:export", "events total_events pending_events executed_events",
        keeps="events", of="events"),
    Row("GET /scenario/export/full", "scenario:export", "scenario", keeps="scenario", of="scenario"),
    Row("POST /simulation/reset", "simulation:reset", "status message cleared_events events_undone undo_errors"),
    Row("POST /simulation/stop", "simulation:stop",
        "simulation_id status final_time total_events events_executed events_failed"),
    Row("POST /scenario/import/environment", "scenario:import", "success",
        {"data": "{environment}", "historic_event_handling": "ignore", "strict_modalities": False}),
    Row("POST /scenario/import/events", "scenario:import", "success", {"data": "{events}", "merge": False}),
    Row("POST /scenario/import/full", "scenario:import",
        "success environment_loaded events_loaded modalities_loaded modalities_skipped warnings scenario_metadata",
        {"scenario": "{scenario}", "strict_modalities": False}),
    Row("GET /access-logs", "logs:read", "logs total"),
    Row("GET /access-logs/stats", "logs:read", ""),
    Row("POST /access-logs/clear", "logs:clear", ""),
)  # fmt: skip
OPEN = (Row("GET /", "", ""), Row("GET /health", "", "status"))
TABLE = (
    *KEYS, *BEGINNING, *EMAIL, *SMS, *CHAT, *CALENDAR, *SURROUNDINGS, *CONTACTS, *EVENTS, *TIME, *TAKING_BACK,
    *ENVIRONMENT, *WEBHOOKS, *ENDING, *OPEN,
)  # fmt: skip
