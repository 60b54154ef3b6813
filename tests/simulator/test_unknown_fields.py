"""The stricter mode: a body's field that no version of the interface has is refused."""

import pytest

from services.simulator.core.modalities.all import MODALITIES
from services.simulator.core.records import JsonObject
from services.simulator.core.time_preferences import TimePreferences
from services.simulator.entrypoints.modalities.all import ROUTERS
from tests.simulator.stage import open_stage

pytestmark = pytest.mark.promise("simulator.published_shapes")
_ALL = {**MODALITIES, TimePreferences.name: TimePreferences}
_MAIL: JsonObject = {
    "from_address": "user@example.com",
    "to_addresses": ["b@x.example"],
    "subject": "S",
    "body_text": "T",
}
_BODIES: dict[str, JsonObject] = {
    "/simulation/start": {"auto_advance": False},
    "/email/send": _MAIL,
    "/email/query": {"limit": 5},
    "/sms/send": {"from_number": "+15550000000", "to_numbers": ["+15550000001"], "body": "Hi"},
    "/calendar/create": {"title": "T", "start": "2026-03-02T10:00:00Z", "end": "2026-03-02T11:00:00Z"},
    "/chat/send": {"role": "user", "content": "Hi"},
    "/simulator/time/advance": {"seconds": 5},
}


async def test_an_unknown_field_is_passed_over_unless_the_setting_refuses_it() -> None:
    async with open_stage(_ALL, ROUTERS) as lenient, open_stage(_ALL, ROUTERS, refuses_unknown=True) as strict:
        for path, body in _BODIES.items():
            odd = {**body, "sendd_at": "now"}

            assert (await lenient.call("POST", path, odd)).is_success, path
            refused = await strict.call("POST", path, odd)

            assert refused.status_code == 422, path
            assert "sendd_at" in refused.text


async def test_what_every_version_sends_is_taken_in_the_stricter_mode_too() -> None:
    async with open_stage(_ALL, ROUTERS, refuses_unknown=True) as strict:
        for path, body in _BODIES.items():
            assert (await strict.call("POST", path, body)).is_success, path
