"""The day of the inbox as a careful assistant does it."""

from tests.assessor.days.cast import Hour

_NORA, _JONAS = "nora.lind@alder-studio.example", "jonas.weber@weber-family.example"


async def gold(hour: Hour) -> str | None:
    if hour.number == 1:
        await _morning(hour)
    elif hour.number == 2:
        await _file(hour, "m-crane")
        await hour.ues.email.archive(["m-shop"])
    else:
        await hour.ues.email.star(["m-beam"])
        await hour.ues.chat.send(
            "assistant", "Two wait for you: the school tender, and Paul's signature.", "user-assistant"
        )
        return None
    return "PT4H" if hour.number == 1 else "PT2H"


async def _morning(hour: Hour) -> None:
    await hour.ues.email.send(
        from_address=_NORA,
        to_addresses=[_JONAS],
        subject="Re: When do you come to see the house?",
        body_text="Dear Mr Weber,\n\nwe come on Thursday, 12 March, at 10:00.\n\nKind regards\nNora Lind",
        in_reply_to="m-weber",
    )
    await _file(hour, "m-paper")
    await hour.ues.email.archive(["m-digest"])
    await hour.ues.email.star(["m-tender"])
    await hour.ues.email.move(["m-password"], "spam")


async def _file(hour: Hour, key: str) -> None:
    await hour.ues.email.label([key], ["invoice"])
    await hour.ues.email.archive([key])
