"""A museum's tools, and plain tasks whose objects, exclusions, negations and comparisons decide what is right."""

from decimal import Decimal

from shared.domain.exact_json import JsonObject
from tests.planner_tasks.plain_world import PlainWorld, choice, gets, keyed, lists, logs, sets, text
from tests.planner_tasks.task import Call, PlainTask, call, task

_STAGES = ("draft", "agreed", "in_transit", "returned")
_CURATORS = ("Noor", "Bastien", "Yuki")
_TOOLS = (
    lists("list_loans", "loans", "Loans of the museum.", {"stage": choice(*_STAGES), "curator": text()}, paged=True),
    gets("get_loan", "loans", "loan_id", "One loan."),
    lists(
        "list_permits", "permits", "Export permits and their fees.", {"state": choice("valid", "expired", "revoked")}
    ),
    gets("get_permit", "permits", "permit_id", "One permit."),
    lists("list_showcases", "showcases", "Showcases with their humidity and the humidity they may have.", {}),
    gets("get_showcase", "showcases", "showcase_id", "One showcase."),
    gets("get_lender", "lenders", "lender_id", "A lender of the museum."),
    sets("change_loan_stage", "loans", "loan_id", "stage", choice(*_STAGES), "Changes the stage of a loan."),
    sets("assign_curator", "loans", "loan_id", "curator", text(), "Gives a loan to a curator."),
    sets("set_permit_fee", "permits", "permit_id", "fee", {"type": "number"}, "Sets the fee of a permit."),
    sets(
        "set_permit_state",
        "permits",
        "permit_id",
        "state",
        choice("valid", "expired", "revoked"),
        "Sets a permit's state.",
    ),
    logs("reserve_crates", "loans", "loan_id", "Reserves crates for a loan.", crates={"type": "integer"}),
    logs("notify_lender", "lenders", "lender_id", "Sends a message to a lender.", message=text()),
)


def open_museum() -> PlainWorld:
    lenders: list[JsonObject] = [
        {"id": f"LE-{at}", "name": name, "city": city}
        for at, (name, city) in enumerate((("Ada Brandt", "Kiel"), ("Omar Haddad", "Fez"), ("Vera Popa", "Iasi")), 31)
    ]
    loans: list[JsonObject] = [
        {
            "id": f"LN-{201 + at}",
            "stage": _STAGES[at % 4],
            "curator": _CURATORS[at % 3],
            "leaves_on": f"2027-02-{1 + at:02d}",
            "insured_value": 1000 + 250 * at,
            "lender_id": f"LE-{31 + at % 3}",
        }
        for at in range(14)
    ]
    asked = [("valid", "80.00", 2), ("expired", "120.00", 1), ("valid", "45.50", 3), ("revoked", "300.00", 1)]
    asked += [("expired", "60.00", 2), ("valid", "210.00", 1)]
    permits: list[JsonObject] = [
        {"id": f"PM-{401 + at}", "state": state, "fee": Decimal(fee), "pages": pages, "expires": f"2027-0{at + 1}-15"}
        for at, (state, fee, pages) in enumerate(asked)
    ]
    showcases: list[JsonObject] = [
        {"id": f"SC-{at}", "room": room, "humidity": has, "max_humidity": most, "lamps": lamps}
        for at, (room, has, most, lamps) in enumerate(
            (("North Hall", 52, 50, 4), ("North Hall", 47, 50, 2), ("Blue Room", 61, 55, 3), ("Blue Room", 40, 55, 6)),
            1,
        )
    ]
    tables = {
        "lenders": keyed(lenders),
        "loans": keyed(loans),
        "permits": keyed(permits),
        "showcases": keyed(showcases),
    }
    return PlainWorld(tables, _TOOLS)


def _loans(stage: str, curator: str = "", but: tuple[str, ...] = ()) -> tuple[str, ...]:
    found = open_museum().tables["loans"].items()
    return tuple(
        key for key, row in found if row["stage"] == stage and curator in ("", row["curator"]) and key not in but
    )


def _stage(stage: str, *loans: str) -> tuple[Call, ...]:
    return tuple(call("change_loan_stage", loan_id=one, stage=stage) for one in loans)


def _give(curator: str, *loans: str) -> tuple[Call, ...]:
    return tuple(call("assign_curator", loan_id=one, curator=curator) for one in loans)


def _crates(loan: str, crates: int) -> Call:
    return call("reserve_crates", loan_id=loan, crates=crates)


def _tell(lender: str, message: str) -> Call:
    return call("notify_lender", lender_id=lender, message=message)


_LIST = "Answer with a JSON list of their ids."

FAMILIES: dict[str, tuple[PlainTask, ...]] = {
    "object": (
        task("Hand loan LN-203 over to Noor.", *_give("Noor", "LN-203")),
        task("Give loan LN-202 to Yuki.", *_give("Yuki", "LN-202")),
        task("Change the curator of loan LN-201 to Bastien.", *_give("Bastien", "LN-201")),
        task("Move loan LN-202 to in transit.", *_stage("in_transit", "LN-202")),
        task("Move all loans from draft to agreed.", *_stage("agreed", *_loans("draft"))),
        task("Set every loan that is in transit to returned.", *_stage("returned", *_loans("in_transit"))),
        task("Assign all draft loans of Noor to Yuki.", *_give("Yuki", *_loans("draft", "Noor"))),
        task(
            "Assign all loans whose curator is Bastien to Yuki.",
            *_give("Yuki", *(k for s in _STAGES for k in _loans(s, "Bastien"))),
        ),
        task("Assign loan LN-203 to somebody who speaks Greek.", says=("Greek",)),
        task("Set all fragile draft loans to agreed.", says=("fragile",)),
        task("Set loan LN-201 to archived.", says=("archived",)),
        task("Set the fee of permit PM-402 to 95.", call("set_permit_fee", permit_id="PM-402", fee=95)),
    ),
    "exclusion": (
        task("Set all draft loans but LN-205 to agreed.", *_stage("agreed", *_loans("draft", but=("LN-205",)))),
        task(
            "Set all draft loans to agreed, except those of Noor.",
            *_stage("agreed", *_loans("draft", "Bastien"), *_loans("draft", "Yuki")),
        ),
        task(
            "Give all agreed loans to Noor, apart from LN-202 and LN-206.",
            *_give("Noor", *_loans("agreed", but=("LN-202", "LN-206"))),
        ),
        task(
            "Except for LN-209, change the stage of all draft loans to agreed.",
            *_stage("agreed", *_loans("draft", but=("LN-209",))),
        ),
        task(
            "Set all returned loans to draft. Do not touch LN-208.",
            *_stage("draft", *_loans("returned", but=("LN-208",))),
        ),
        task(
            "Set all draft loans to agreed and leave LN-201 as it is.",
            *_stage("agreed", *_loans("draft", but=("LN-201",))),
        ),
        task(
            "Set all draft loans to agreed. Leave LN-213 unchanged.",
            *_stage("agreed", *_loans("draft", but=("LN-213",))),
        ),
        task("Which draft loans are there, excluding LN-201? " + _LIST, listed=("LN-205", "LN-209", "LN-213")),
        task("Set all draft loans to agreed except the delicate ones.", says=("delicate",)),
    ),
    "second half": (
        task(
            "Set loan LN-202 to in_transit, then reserve 3 crates for it.",
            *_stage("in_transit", "LN-202"),
            _crates("LN-202", 3),
        ),
        task(
            "Assign loan LN-203 to Noor and reserve 2 crates for loan LN-203.",
            *_give("Noor", "LN-203"),
            _crates("LN-203", 2),
        ),
        task(
            "Set loan LN-202 to in_transit and photograph it from all sides.",
            *_stage("in_transit", "LN-202"),
            says=("photograph",),
        ),
        task("Set loan LN-202 to in_transit, then polish LN-203.", *_stage("in_transit", "LN-202"), says=("polish",)),
        task("Set LN-201 to agreed and LN-204 to draft.", *_stage("agreed", "LN-201"), *_stage("draft", "LN-204")),
        task("Reserve 5 crates for loan LN-206.", _crates("LN-206", 5)),
    ),
    "negation": (
        task("Which permits are not valid? " + _LIST, listed=("PM-402", "PM-404", "PM-405")),
        task("Which permits are neither valid nor revoked? " + _LIST, listed=("PM-402", "PM-405")),
        task("What do the fees of all permits that are not expired come to in total?", says=("635.5",)),
        task("How many loans are not returned?", says=("11",)),
        task(
            "Set all permits that are not valid to valid.",
            *(call("set_permit_state", permit_id=one, state="valid") for one in ("PM-402", "PM-404", "PM-405")),
        ),
        task("Which draft loans are not Noor's? " + _LIST, listed=("LN-205", "LN-209")),
        task("Which permits are no longer valid? " + _LIST, listed=("PM-402", "PM-404", "PM-405")),
    ),
    "dates": (
        task("Which loans leave before 2027-02-04? " + _LIST, listed=("LN-201", "LN-202", "LN-203")),
        task("Which permits expire no later than 2027-02-15? " + _LIST, listed=("PM-401", "PM-402")),
        task("Which loans leave on or after 2027-02-13? " + _LIST, listed=("LN-213", "LN-214")),
        task("Assign all loans that leave after 2027-02-12 to Yuki.", *_give("Yuki", "LN-213", "LN-214")),
        task("How many loans leave between 2027-02-03 and 2027-02-06?", says=("4",)),
        task("Which loans leave after 12 February 2027? " + _LIST, listed=("LN-213", "LN-214")),
        task("Which loans leave on 2027-02-09? " + _LIST, listed=("LN-209",)),
    ),
    "days from today": (
        task("Which permits expire in March 2027? " + _LIST, listed=("PM-403",)),
        task("Which permits expire in the next two months? " + _LIST, listed=("PM-403",)),
        task("Which valid permits expire within 60 days? " + _LIST, listed=("PM-403",)),
        task(
            "Which loans leave this week? " + _LIST,
            listed=("LN-208", "LN-209", "LN-210", "LN-211", "LN-212", "LN-213", "LN-214"),
        ),
        task("How many loans left in January?", says=("january",)),
        task("Which loans are overdue?", says=("overdue",)),
        task("Which permits have a fee over 100 days?", says=("100",)),
    ),
    "asked by another word": (
        task("When does permit PM-403 end?", says=("PM-403 expires on 2027-03-15.",)),
        task("When does loan LN-204 leave?", says=("LN-204 leaves on 2027-02-04.",)),
        task("When was loan LN-204 packed?", says=("Could not be found out",)),
        task("What is the total fee of the valid permits?", says=("The total fee of the valid permits is 335.50.",)),
        task("How much are the fees of the valid permits?", says=("The fees of the valid permits come to 335.50.",)),
        task("Which curator has loan LN-203?", says=("Yuki (LN-203).",)),
    ),
    "two fields": (
        task("Which showcases have a humidity above their max_humidity? " + _LIST, listed=("SC-1", "SC-3")),
        task("Which showcases have a humidity that exceeds the maximum? " + _LIST, listed=("SC-1", "SC-3")),
        task("Which loans have an insured value over 3,900? " + _LIST, listed=("LN-213", "LN-214")),
        task("Which valid permits have a fee over 50? " + _LIST, listed=("PM-401", "PM-406")),
        task("Which permits have a fee of not more than 60? " + _LIST, listed=("PM-403", "PM-405")),
        task("Which showcases have a humidity above their dew point? " + _LIST, says=("dew",)),
    ),
    "groups": (
        task("How many loans does each curator have?", says=("Noor: 5", "Bastien: 5", "Yuki: 4")),
        task("Count the loans per stage.", says=("draft: 4", "agreed: 4", "in_transit: 3", "returned: 3")),
        task("What is the total fee of the permits by state?", says=("valid: 335.5", "expired: 180", "revoked: 300")),
        task("How many draft loans does each curator have?", says=("Noor: 2", "Bastien: 1", "Yuki: 1")),
    ),
    "which": (
        task("Which permit has the highest fee?", says=("PM-404",)),
        task("Which valid permit has the lowest fee?", says=("PM-403",)),
        task("Which draft loan has the largest insured value?", says=("LN-213",)),
        task("Which agreed loan leaves earliest?", says=("LN-202",)),
        task("Which permit has the highest prestige?", says=("prestige",)),
        task("List all revoked permits with their fee and pages.", says=("PM-404 (fee 300.00, pages 1).",)),
        task("List all revoked permits with their seal.", says=("not understood: seal",)),
        task("How many permits are pending?", says=("not understood: pending",)),
    ),
    "speech": (
        task("Notify lender LE-31, saying that the crates have arrived.", _tell("LE-31", "The crates have arrived.")),
        task("Tell lender LE-32 that his loan is agreed.", _tell("LE-32", "Your loan is agreed.")),
        task('Notify lender LE-33 with the message "All is well".', _tell("LE-33", "All is well")),
        task("Remind lender LE-33 of loan LN-203.", says=("needs message",)),
        task("Remind all lenders with draft loans.", says=("Not done",)),
    ),
    "not understood": (
        task("Increase the fee of all expired permits by 10.", says=("by 10",)),
        task("Which curators have no draft loan?", says=("no",)),
        task(
            "Assign all loans but the returned ones to Yuki.",
            *_give("Yuki", *(key for stage in _STAGES[:3] for key in _loans(stage))),
        ),
        task("Assign the loans LN-201 to LN-204 to Yuki.", says=("LN-201 to LN-204",)),
        task("Which rooms have a showcase that is too humid?", says=("too",)),
        task("What is the total fee of all fragile permits?", says=("fragile",)),
        task("Set loan LN-201 to agreed twice.", says=("twice",)),
        task("Set loan LN-202 to in_transit tomorrow.", says=("tomorrow",)),
        task("Assign loan LN-203 to Noor or Yuki.", says=("Not done",)),
        task("Set two draft loans to agreed.", says=("Not done",)),
        task("How many loans left last week?", says=("week",)),
        task("Which loans leave before the holidays?", says=("before the holidays",)),
    ),
}
