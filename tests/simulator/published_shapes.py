"""What public clients read inside an answer, and with which status what is wrong is refused."""

from typing import NamedTuple

from services.simulator.core.records import JsonObject

USER, BEN = "user@example.com", "ben@example.com"
PHONE, OTHER = "+15550000000", "+15550000001"
NOW, LATER = "2026-03-01T10:00:00Z", "2026-03-01T11:00:00Z"


class Inside(NamedTuple):
    """After ``made`` by a POST, an object that stands at ``way`` in the answer to ``asked`` has these fields.

    ``*`` in the way is the first of a list, or of an object's values.
    """

    made: tuple[tuple[str, JsonObject], ...]
    asked: str
    way: str
    fields: str


class Refusal(NamedTuple):
    """What is asked of a world whose simulation stands or ``runs``, and how that is refused."""

    method: str
    path: str
    body: object
    status: int
    says: str
    runs: bool = True


_MAIL: JsonObject = {"from_address": BEN, "to_addresses": [USER], "subject": "Hi", "body_text": "There",
    "attachments": [{"filename": "a.pdf", "size": 3}]}  # fmt: skip
_TEXT: JsonObject = {"from_number": OTHER, "to_numbers": [PHONE], "body": "Late", "attachments": [
    {"filename": "a.png", "size": 3}]}  # fmt: skip
_DAY: JsonObject = {"title": "Talk", "start": NOW, "end": LATER, "attendees": [{"email": BEN}],
    "reminders": [{"minutes_before": 5}], "attachments": [{"filename": "a.pdf", "size": 3}],
    "recurrence": {"frequency": "weekly", "days_of_week": ["sunday"]}}  # fmt: skip
_CHAT: JsonObject = {"role": "user", "content": "Hello", "conversation_id": "user-assistant"}
_BEN: JsonObject = {"first_name": "Ben", "identifiers": [{"identifier_type": "email", "value": BEN}]}
_LATER: JsonObject = {"scheduled_time": LATER, "modality": "chat", "data": {"operation": "send_message", **_CHAT}}
_MAILED, _TEXTED, _BOOKED = (("/email/receive", _MAIL),), (("/sms/receive", _TEXT),), (("/calendar/create", _DAY),)
_CHATTED, _QUEUED = (("/chat/send", _CHAT),), (("/events", _LATER),)
_EMAIL = (
    "message_id thread_id from_address to_addresses cc_addresses bcc_addresses reply_to_address subject body_text "
    "body_html attachments in_reply_to references sent_at received_at is_read is_starred priority folder labels"
)
_SMS = (
    "message_id thread_id from_number to_numbers body attachments reactions message_type direction sent_at "
    "delivered_at read_at is_read delivery_status edited_at is_deleted replied_to_message_id is_spam"
)
_EVENT = (
    "event_id calendar_id title start end all_day timezone description location status organizer attendees recurrence "
    "recurrence_exceptions recurrence_id parent_event_id reminders color visibility transparency attachments "
    "conference_link created_at updated_at deleted_at"
)
_PLACE = "latitude longitude address named_location altitude accuracy speed bearing"
_WRITTEN = (
    "event_id scheduled_time modality data status created_at executed_at agent_id priority error_message metadata"
)

INSIDE = (
    Inside(_MAILED, "/email/state", "emails/*", _EMAIL),
    Inside(_MAILED, "/email/state", "emails/*/attachments/*", "filename size mime_type content_id attachment_id"),
    Inside(_MAILED, "/email/state", "threads/*",
        "thread_id subject participant_addresses message_ids created_at last_message_at message_count unread_count"),
    Inside(_MAILED, "/email/state", "folders", "inbox sent drafts trash spam archive"),
    Inside(_MAILED, "/email/state?compact=true", "statistics",
        "total_emails total_threads total_unread total_starred total_drafts total_labels"),
    Inside(_MAILED, "/email/state?summary=true", "folders/*", "message_count unread_count"),
    Inside(_MAILED, "/email/state?compact=true", "emails/*",
        "message_id thread_id from to subject sent_at received_at is_read is_starred folder has_attachments "
        "attachment_count body_preview"),
    Inside(_TEXTED, "/sms/state", "messages/*", _SMS),
    Inside(_TEXTED, "/sms/state", "messages/*/attachments/*",
        "filename size mime_type attachment_id thumbnail_url duration"),
    Inside(_TEXTED, "/sms/state", "conversations/*",
        "thread_id conversation_type participants group_name group_photo_url created_at created_by last_message_at "
        "message_count unread_count is_pinned is_muted is_archived draft_message"),
    Inside(_TEXTED, "/sms/state", "conversations/*/participants/*", "phone_number is_admin joined_at left_at"),
    Inside(_CHATTED, "/chat/state", "messages/*", "message_id conversation_id role content timestamp metadata"),
    Inside(_CHATTED, "/chat/state", "conversations/*",
        "conversation_id created_at last_message_at message_count participant_roles user_message_count "
        "assistant_message_count"),
    Inside(_BOOKED, "/calendar/state", "calendars/*",
        "calendar_id name color visible created_at updated_at event_ids default_reminders"),
    Inside(_BOOKED, "/calendar/state", "events/*", _EVENT),
    Inside(_BOOKED, "/calendar/state", "events/*/attendees/*", "email display_name optional response comment"),
    Inside(_BOOKED, "/calendar/state", "events/*/reminders/*", "minutes_before type"),
    Inside(_BOOKED, "/calendar/state", "events/*/attachments/*", "filename size mime_type url data attachment_id"),
    Inside(_BOOKED, "/calendar/state", "events/*/recurrence",
        "frequency interval days_of_week day_of_month month_of_year end_type end_date count"),
    Inside(_BOOKED, "/calendar/calendars", "calendars/*",
        "calendar_id name color visible event_count created_at updated_at"),
    Inside((("/contacts/create", _BEN),), "/contacts/state", "contacts/*",
        "contact_id identifiers company job_title addresses birthday notes photo_url is_favorite is_blocked groups"),
    Inside((), "/location/state", "current", _PLACE),
    Inside((), "/environment/state", "modalities/location/current", _PLACE),
    Inside((), "/environment/modalities/location", "state/current", _PLACE),
    Inside((), "/environment/state", "modalities", "email sms chat calendar location weather time contacts"),
    Inside(_QUEUED, "/scenario/export/full", "scenario/metadata",
        "ues_version scenario_version created_at author description"),
    Inside(_QUEUED, "/scenario/export/full", "scenario/environment/time_state",
        "current_time time_scale is_paused auto_advance last_wall_time_update"),
    Inside(_QUEUED, "/scenario/export/full", "scenario/events/events/*", _WRITTEN),
    Inside(_QUEUED, "/events", "events/*", _WRITTEN),
    Inside(_QUEUED, "/events", "events/*/data", "operation modality_type timestamp input_id"),
    Inside((), "/health", "", "status version"),
    Inside((), "/", "", "name version"),
)  # fmt: skip
_NO_TIME: JsonObject = {"scenario": {"metadata": {}, "environment": {"modality_states": {}}}}
_SCENARIO: JsonObject = {
    "scenario": {
        "environment": {
            "modality_states": {},
            "time_state": {
                "current_time": NOW,
                "time_scale": 1,
                "is_paused": False,
                "auto_advance": False,
                "last_wall_time_update": NOW,
            },
        }
    }
}
_KEY: JsonObject = {"name": "x", "permissions": ["a"]}
_HOOK: JsonObject = {"url": "https://example.org/hook"}
REFUSALS = (
    Refusal("POST", "/simulator/time/advance", {"seconds": 1}, 400, "not running", runs=False),
    Refusal("POST", "/simulator/time/advance", {"seconds": 0}, 422, "greater than 0"),
    Refusal("POST", "/simulator/time/advance", {"seconds": None}, 422, "seconds"),
    Refusal("POST", "/simulator/time/advance", {"seconds": 1e300}, 400, "so far"),
    Refusal("POST", "/simulator/time/set", {"target_time": LATER}, 400, "not running", runs=False),
    Refusal("POST", "/simulator/time/set", {"target_time": "2026-03-01T10:00:00"}, 422, "timezone"),
    Refusal("POST", "/simulator/time/skip-to-next", None, 400, "not running", runs=False),
    Refusal("POST", "/simulator/time/skip-to-next", None, 404, "No pending events"),
    Refusal("POST", "/simulator/time/set-scale", {"scale": 0}, 422, "greater than 0"),
    Refusal("POST", "/simulator/time/set-scale", {"scale": 1e308}, 422, "less than or equal"),
    Refusal("POST", "/simulation/start", None, 422, "body", runs=False),
    Refusal("POST", "/simulation/start", {}, 409, "already running"),
    Refusal("POST", "/simulation/clear", {"reset_time_to": "noon"}, 400, "noon"),
    Refusal("POST", "/simulation/clear", {"reset_time_to": "2026-01-01T00:00:00"}, 422, "timezone"),
    Refusal("POST", "/simulation/clear", {"reset_time_to": "0001-01-01T00:00:00Z"}, 400, "outside the years"),
    Refusal("POST", "/simulation/undo", {}, 409, "not running", runs=False),
    Refusal("POST", "/simulation/redo", {}, 409, "not running", runs=False),
    Refusal("POST", "/simulation/undo", {"count": 0}, 422, "greater than or equal to 1"),
    Refusal("POST", "/simulation/undo", {"count": 101}, 422, "less than or equal to 100"),
    Refusal("POST", "/simulation/release/x", None, 404, "x"),
    Refusal("GET", "/events?status=odd", None, 400, "odd"),
    Refusal("GET", "/events?start_time=2026-03-01T09:00:00", None, 422, "timezone"),
    Refusal("GET", "/events?limit=-1", None, 422, "limit"),
    Refusal("GET", "/events?offset=-1", None, 422, "offset"),
    Refusal("POST", "/events", {**_LATER, "scheduled_time": "2026-03-01T08:59:59Z"}, 409, "past"),
    Refusal("POST", "/events", {**_LATER, "scheduled_time": "2026-03-01T10:00:00"}, 422, "timezone"),
    Refusal("POST", "/events", {**_LATER, "scheduled_time": "9999-12-31T23:59:59Z"}, 400, "outside the years"),
    Refusal("POST", "/events", {**_LATER, "modality": "smell"}, 404, "smell"),
    Refusal("POST", "/events", {**_LATER, "data": {"operation": "send_message"}}, 422, "role"),
    Refusal("POST", "/events", {**_LATER, "data": {"operation": "shout"}}, 422, "operation"),
    Refusal("POST", "/events", {**_LATER, "modality": "calendar", "data": {"operation": "create", "title": "x",
        "start": LATER, "end": NOW}}, 400, '"Invalid event: [\'An event ends after it begins\']"'),
    Refusal("POST", "/events", {**_LATER, "priority": 101}, 422, "priority"),
    Refusal("POST", "/events", {**_LATER, "priority": -1}, 422, "priority"),
    Refusal("POST", "/events/batch", {"events": []}, 400, "failed_index"),
    Refusal("GET", "/events/next", None, 404, "No pending events"),
    Refusal("GET", "/events/x", None, 404, "x"),
    Refusal("DELETE", "/events/x", None, 404, "x"),
    Refusal("POST", "/email/read", {"message_ids": []}, 422, "message_ids"),
    Refusal("POST", "/sms/conversation", {"thread_id": "x"}, 400, "At least one"),
    Refusal("POST", "/chat/send", {**_CHAT, "content": ""}, 422, "content"),
    Refusal("POST", "/calendar/create", {**_DAY, "start": LATER, "end": NOW}, 400, "ends after"),
    Refusal("POST", "/calendar/create", {**_DAY, "recurrence": {"frequency": "weekly"}}, 400, "days_of_week"),
    Refusal("POST", "/calendar/create", {"title": "x"}, 422, "start"),
    *(
        Refusal("POST", f"/calendar/calendars/{path}", {"calendar_id": "x"}, 404, "x")
        for path in ("update", "delete", "set-default")
    ),
    Refusal("POST", "/calendar/calendars/create", {"calendar_id": "primary", "name": "y"}, 400, "exists"),
    Refusal("POST", "/calendar/calendars/delete", {"calendar_id": "primary"}, 400, "default"),
    Refusal("GET", "/environment/modalities/smell", None, 404, '"available_modalities":["email"'),
    Refusal("POST", "/environment/modalities/smell/query", {}, 404, "smell"),
    Refusal("POST", "/scenario/import/full", _SCENARIO, 409, "running"),
    Refusal("POST", "/scenario/import/full", _NO_TIME, 422, "time_state", runs=False),
    Refusal("GET", "/keys/ues_x", None, 404, "ues_x"),
    Refusal("DELETE", "/keys/ues_x", None, 404, "ues_x"),
    Refusal("DELETE", "/keys/ues_admin", None, 400, "admin"),
    Refusal("POST", "/keys", {**_KEY, "name": ""}, 422, "name"),
    Refusal("POST", "/keys", {**_KEY, "name": "x" * 101}, 422, "name"),
    Refusal("POST", "/keys", {**_KEY, "permissions": []}, 422, "permissions"),
    Refusal("POST", "/keys", {**_KEY, "permissions": [""]}, 422, "permissions"),
    Refusal("POST", "/keys", {"name": "x"}, 422, "permissions"),
    Refusal("POST", "/keys", {**_KEY, "expires_at": "2026-03-01T09:00:00"}, 422, "timezone"),
    Refusal("POST", "/webhooks", {}, 422, "url"),
    Refusal("POST", "/webhooks", {"url": "ftp://x"}, 422, "url"),
    Refusal("POST", "/webhooks", {**_HOOK, "events": ["all"]}, 422, "events"),
    Refusal("POST", "/webhooks", {**_HOOK, "secret": "short"}, 422, "secret"),
    *(Refusal("POST", "/worlds", {"world_id": name}, 422, "world_id") for name in ("", "a/b", "..", " ", "x" * 101)),
    Refusal("GET", "/access-logs?since=2026-03-01T09:00:01", None, 422, "timezone"),
    Refusal("GET", "/access-logs?limit=0", None, 422, "limit"),
)  # fmt: skip
