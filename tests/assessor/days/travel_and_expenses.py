"""The day of travel as a careful assistant does it."""

from datetime import UTC, datetime

from tests.assessor.days.cast import Hour

_TOMAS, _PHONE, _GRETA = "tomas.berg@vantor-pumps.example", "+15550100020", "+15550100021"


async def gold(hour: Hour) -> str | None:
    if hour.number == 1:
        await _claim(hour)
        return "PT2H"
    if hour.number == 2:
        await _move(hour)
        return "PT1H"
    report = "I claimed EUR 216.90. Your flight is late: you land at 17:45. Greta knows, and dinner is accepted."
    await hour.ues.chat.send("assistant", report, "user-assistant")
    return None


async def _claim(hour: Hour) -> None:
    await hour.ues.email.send(
        from_address=_TOMAS,
        to_addresses=["expenses@vantor-pumps.example"],
        subject="Expenses: Hamburg, 9 and 10 March",
        body_text="Hello,\n\nHotel Anker EUR 184.50\nTaxi EUR 32.40\nTotal EUR 216.90\n\nThank you\nTomas Berg",
    )


async def _move(hour: Hour) -> None:
    await hour.ues.calendar.update(
        "e-flight",
        start=datetime(2026, 3, 10, 16, 35, tzinfo=UTC).isoformat(),
        end=datetime(2026, 3, 10, 17, 45, tzinfo=UTC).isoformat(),
    )
    text = "Hi Greta, my flight is late: I land at 17:45. Thank you for waiting! Tomas"
    await hour.ues.sms.send(from_number=_PHONE, to_numbers=[_GRETA], body=text)
    await hour.ues.calendar.respond_to_event("e-supper", _TOMAS, "accepted")
