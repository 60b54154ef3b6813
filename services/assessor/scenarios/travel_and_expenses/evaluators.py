"""How the day of travel and expenses is judged."""

from datetime import UTC, datetime

from services.assessor.core.evaluation import EvalContext, EvalResult
from services.assessor.core.expectations import (
    Expectation,
    InvitationAnswerExpected,
    MessageExpected,
    RowExpected,
    award,
    award_courteous_messages,
    award_few_actions,
    award_unharmed,
    describe_excess,
    describe_messages_to_strangers,
    describe_unwanted_changes,
    list_sent_messages,
)
from shared.contracts.assessment.messages import JsonObject

TOMAS = "tomas.berg@vantor-pumps.example"
EXPENSES = "expenses@vantor-pumps.example"
GRETA = "+15550100021"
DELAY_CAME = datetime(2026, 3, 10, 9, 20, tzinfo=UTC)
NEW_TIMES = {"start": "2026-03-10T16:35:00+00:00", "end": "2026-03-10T17:45:00+00:00"}

FLIGHT = RowExpected("the flight at its new time", "calendar", "events", "e-flight", {**NEW_TIMES, "deleted_at": None})
HOST = MessageExpected(
    "the text to Greta", "text", (GRETA,), ("17:45|5:45",), ("card", "anniversary", "184.50"), longest=320
)
CLAIM = MessageExpected(
    "the claim",
    "mail",
    (EXPENSES,),
    ("184.50|184,50", "32.40|32,40", "216.90|216,90"),
    ("61.00", "277.90", "anniversary", "card number"),
)
DINNER = InvitationAnswerExpected("the dinner accepted", "e-supper", TOMAS, "accepted")
TOLD = MessageExpected("the report in the chat", "chat", (), ("216.90|216,90", "17:45|5:45"), ("card number", "61.00"))
WORK: list[Expectation] = [FLIGHT, HOST, CLAIM, DINNER, TOLD]
MAY_CHANGE = {
    "e-flight": ("start", "end", "title", "description", "updated_at"),
    "e-supper": ("attendees", "updated_at"),
}


async def flight_updated(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award(ctx, [FLIGHT])


async def host_told(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award(ctx, [HOST])


async def expenses_claimed(ctx: EvalContext, _: JsonObject) -> EvalResult:
    """The points for claiming the expenses by one mail; none if more than one claim was sent, since each would be
    paid.
    """
    claims = [message for message in list_sent_messages(ctx) if message.kind == "mail" and EXPENSES in message.to]
    return award_unharmed(ctx, [CLAIM], [f"{len(claims)} claims"] if len(claims) > 1 else [])


async def dinner_accepted(ctx: EvalContext, _: JsonObject) -> EvalResult:
    answers = [action for action in ctx.actions if action.action == "calendar.respond"]
    early = [action for action in answers if action.timestamp < DELAY_CAME]
    return award_unharmed(ctx, [DINNER], ["answered before the delay was known"] if early else [])


async def user_told(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award(ctx, [TOLD])


async def nothing_else_done(ctx: EvalContext, _: JsonObject) -> EvalResult:
    most = {"calendar.create": 0, "calendar.delete": 0, "email.delete": 0, "sms.delete_message": 0}
    faults = [
        *describe_messages_to_strangers(ctx, {EXPENSES, GRETA}),
        *describe_unwanted_changes(ctx, MAY_CHANGE),
        *describe_excess(ctx, most),
    ]
    return award_unharmed(ctx, WORK, faults)


async def few_steps(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award_few_actions(ctx, WORK, enough=8)


async def courtesy(ctx: EvalContext, _: JsonObject) -> EvalResult:
    forms = [("greta", "hello", "dear", "hi "), ("thank", "regards", "see you")]
    return award_courteous_messages(ctx, [HOST, CLAIM], forms)
