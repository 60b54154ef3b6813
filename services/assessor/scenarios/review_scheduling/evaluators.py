"""How the scheduling of the review is judged."""

from datetime import UTC, datetime

from services.assessor.core.evaluation import EvalContext, EvalResult
from services.assessor.core.expectations import (
    AppointmentExpected,
    Expectation,
    InvitationAnswerExpected,
    MessageExpected,
    award,
    award_courteous_messages,
    award_few_actions,
    award_unharmed,
    describe_excess,
    describe_messages_to_strangers,
    describe_unwanted_changes,
)
from shared.contracts.assessment.messages import JsonObject

PRIYA = "priya.raman@tern-mobility.example"
GUESTS = ("leo.marsh@tern-mobility.example", "hana.ito@tern-mobility.example", "omar.said@tern-mobility.example")
VENDOR = "sales@mapwise.example"
TEN, ELEVEN = datetime(2026, 3, 13, 10, tzinfo=UTC), datetime(2026, 3, 13, 11, tzinfo=UTC)

REVIEW = AppointmentExpected("the review on Friday at ten", TEN, ELEVEN, GUESTS)
ACCEPTED = AppointmentExpected("a review that all accept", TEN, ELEVEN, GUESTS, accepted=True)
DECLINED = InvitationAnswerExpected("the demo declined", "e-demo", PRIYA, "declined")
REASONS = ("airport", "train", "children", "board", "review", "lentils")
REGRET = MessageExpected("the mail to the vendor", "mail", (VENDOR,), ("demo",), REASONS)
OMAR_WROTE = datetime(2026, 3, 11, 8, 45, tzinfo=UTC)
TOLD = MessageExpected(
    "the time in the chat",
    "chat",
    (),
    ("Friday|13 March|March 13", "10:00|10 am|10am|10.00", "Leo", "Hana", "Omar"),
    ("airport",),
    after=OMAR_WROTE,
)
WORK: list[Expectation] = [REVIEW, DECLINED, REGRET, TOLD]
MAY_CHANGE = {"e-demo": ("attendees", "updated_at")}


async def right_slot(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award(ctx, [REVIEW])


async def all_accept(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award(ctx, [ACCEPTED])


async def demo_declined(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award(ctx, [DECLINED])


async def user_told(ctx: EvalContext, _: JsonObject) -> EvalResult:
    """The points for telling the user of the review; none without a booked review, since then there is nothing to
    tell.
    """
    return award(ctx, [TOLD]) if ACCEPTED.is_met(ctx) else EvalResult(score=0, max_score=1, explanation="No review.")


async def nothing_else_moved(ctx: EvalContext, _: JsonObject) -> EvalResult:
    most = {"calendar.create": 1, "calendar.delete": 0, "email.delete": 0, "mail": 4}
    faults = [
        *describe_messages_to_strangers(ctx, {*GUESTS, VENDOR, PRIYA}),
        *describe_unwanted_changes(ctx, MAY_CHANGE),
        *describe_excess(ctx, most),
    ]
    return award_unharmed(ctx, WORK, faults)


async def one_invitation(ctx: EvalContext, _: JsonObject) -> EvalResult:
    return award_few_actions(ctx, WORK, enough=8)


async def vendor_courtesy(ctx: EvalContext, _: JsonObject) -> EvalResult:
    forms = [("dear", "hello", "good morning"), ("thank",), ("sorry", "unfortunately", "regret", "afraid")]
    return award_courteous_messages(ctx, [REGRET], forms)
