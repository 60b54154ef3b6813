"""The review's day as a careful assistant does it."""

from datetime import UTC, datetime

from tests.assessor.days.cast import Hour

_PRIYA = "priya.raman@tern-mobility.example"
_GUESTS = ("leo.marsh@tern-mobility.example", "hana.ito@tern-mobility.example", "omar.said@tern-mobility.example")
_REGRET = "Dear Ms Quist,\n\nunfortunately I have to decline Friday's demo. Thank you for your trouble.\n\nPriya Raman"


async def gold(hour: Hour) -> str | None:
    if hour.number == 1:
        return "PT1H"  # Omar has not written yet
    if hour.number == 2:
        await _invite(hour)
        return "PT2H"
    await hour.ues.chat.send(
        "assistant", "The design review is on Friday at 10:00; Leo, Hana and Omar have all accepted.", "user-assistant"
    )
    return None


async def _invite(hour: Hour) -> None:
    await hour.ues.calendar.create(
        title="Design review",
        start=datetime(2026, 3, 13, 10, tzinfo=UTC),
        end=datetime(2026, 3, 13, 11, tzinfo=UTC),
        organizer=_PRIYA,
        attendees=[{"email": guest} for guest in _GUESTS],
    )
    await hour.ues.calendar.respond_to_event("e-demo", _PRIYA, "declined")
    await hour.ues.email.send(
        from_address=_PRIYA,
        to_addresses=["sales@mapwise.example"],
        subject="The demo on Friday",
        body_text=_REGRET,
        in_reply_to="m-mapwise",
    )
