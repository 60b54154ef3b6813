"""A hotel: rooms, guests, bookings with extras, deposits."""

from datetime import timedelta
from fractions import Fraction

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_row
from tools.bench.worth.worlds.traits import Trait

EXTRAS = "breakfast parking crib spa".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    for number in range(10):
        _add_bedroom(build, 101 + number * 7)
    rooms = list(build.tables["rooms"].values())
    person = build.names.person()
    for number, room in enumerate(rooms[:7]):
        person = build.names.relative_of(person) if number % 2 and build.has(Trait.SIBLINGS) else build.names.person()
        _add_booking(build, person, room)
    _add_tools(build)
    limit = build.draw_limit(300, 500, 20)
    build.add_rule(
        "refund",
        "deposit_cents",
        ">",
        limit,
        "High deposits are not given back at the reception",
        "bookings",
        "booking_id",
    )
    for share in (1, 2):
        person = build.names.person()
        _add_booking(build, person, rooms[7], limit.limit, share)


def _add_tables(build: WorldBuild) -> None:
    build.add_table(
        "rooms", "room", "RM", {"features.view": "view", "features": "beds"}, {"rate_cents": "nightly_cents"}
    )
    build.add_table("guests", "guest", "GS", {"reach.by": "email phone"})
    groups = {"stay.dates": "arrival_on departure_on", "stay": "room_id", "money": "deposit_cents refunded_cents"}
    build.add_table(
        "bookings",
        "booking",
        "BK",
        groups,
        {"arrival_on": "check_in_on", "departure_on": "check_out_on"},
        {"extras": "extra_id"},
    )


def _add_bedroom(build: WorldBuild, number: int) -> None:
    view = build.random.choice(("sea", "yard", "sea", "street"))
    build.add(
        "rooms",
        number=number,
        view=view,
        beds=build.random.choice((1, 2, 2, 3)),
        rate_cents=build.random.randint(70, 240) * 100 + number,
    )


def _add_booking(build: WorldBuild, person: str, room: TableRow, limit: int | str = 0, share: int = 0) -> None:
    """With a limit, the deposit lies above it for the first share and below it for the second."""
    guest = build.add("guests", name=person, email=build.names.email(person), phone=build.names.phone())
    arrival = build.random.randint(0, 3)
    deposit = {0: build.draw_even_cents(60, 280), 1: int(limit) + 12_000, 2: int(limit) - 6_000}[share]
    dates = {"arrival_on": build.day(arrival), "departure_on": build.day(arrival + build.random.randint(2, 6))}
    extras = [TableRow(extra_id=name, price_cents=1500 + 100 * len(name)) for name in build.random.sample(EXTRAS, 2)]
    keys = {"guest_id": guest["guest_id"], "room_id": room["room_id"]}
    build.add(
        "bookings", **keys, **dates, deposit_cents=deposit, refunded_cents=0, status="confirmed", extras=[*extras]
    )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("rooms", "view:sea|yard|street?")
    build.add_reads("guests", "name?")
    build.add_reads("bookings", "guest_id@guests? room_id@rooms? arrival_on?")
    build.add_change(
        "room",
        "assign_room|change_room|put_in_room",
        "Puts a booking into a room.",
        "booking_id@bookings room_id@rooms",
        set_fields("bookings", "booking_id"),
    )
    stays = set_fields("bookings", "booking_id")
    build.add_change(
        "dates",
        "change_stay|amend_dates",
        "Sets arrival and departure.",
        "booking_id@bookings arrival_on? departure_on?",
        stays,
        "confirm_dates|announce_stay",
    )
    build.add_change(
        "extra",
        "add_extra|book_extra",
        "Adds an extra to a booking.",
        "booking_id@bookings extra_id:breakfast|parking|crib|spa|champagne",
        add_extra,
    )
    build.add_change(
        "refund",
        "refund_deposit|return_deposit",
        "Gives a deposit back, in part or in full.",
        "booking_id@bookings amount_cents",
        refund_deposit,
    )
    wakes = create_row("wake_ups", build.form)
    build.add_change(
        "wake",
        "add_wake_up|create_wake_up",
        "Sets a wake-up call.",
        "booking_id@bookings call_on call_at",
        wakes,
        "notify_wake_up|schedule_call",
    )
    free = say(
        "availability", lambda tables, given: {"room_id": given["room_id"], "free": not _nights_taken(tables, given)}
    )
    build.add_check(
        "free",
        "check_room|get_availability",
        "hold_room|reserve_check",
        "Says whether a room is free between two days.",
        "room_id@rooms from_on until_on",
        free,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell", "send_guest_note|notify_guest|message_guest", "Writes to a guest.", "guest_id@guests text", tells
    )


def _nights_taken(tables: Tables, given: TableRow) -> bool:
    bookings = [row for row in tables["bookings"].values() if row["room_id"] == given["room_id"]]
    return any(
        row.txt("arrival_on") < given.txt("until_on") and given.txt("from_on") < row.txt("departure_on")
        for row in bookings
    )


def add_extra(tables: Tables, given: TableRow) -> ToolReply:
    booking = take_row(tables, "bookings", given.txt("booking_id"))
    extra = TableRow(extra_id=given["extra_id"], price_cents=1500 + 100 * len(given.txt("extra_id")))
    booking["extras"] = [*booking.items_of("extras"), extra]
    return ToolReply(ReplyShape.WRITTEN, "bookings", [booking])


def refund_deposit(tables: Tables, given: TableRow) -> ToolReply:
    booking = take_row(tables, "bookings", given.txt("booking_id"))
    refunded = booking.num("refunded_cents") + given.num("amount_cents")
    if given.num("amount_cents") <= 0 or refunded > booking.num("deposit_cents"):
        raise ServerRefusal("More than the deposit")
    booking["refunded_cents"] = refunded
    return ToolReply(ReplyShape.WRITTEN, "bookings", [booking])


def _guest_of(draft: TaskDraft, booking: TableRow) -> TableRow:
    return draft.row("guests", booking["guest_id"])


def _read_booking(draft: TaskDraft, part: int, booking: TableRow) -> None:
    draft.read_all(part, "guests.all", name=_guest_of(draft, booking)["name"])
    draft.read_all(part, "bookings.all", guest_id=booking["guest_id"])


def swap_bedrooms(draft: TaskDraft) -> None:
    first, second = draft.random.sample(draft.rows("bookings")[:7], 2)
    names = [_guest_of(draft, booking)["name"] for booking in (first, second)]
    part = draft.do(f"I'd like to swap the rooms of {names[0]} and {names[1]}", polite=False)
    told = draft.do("tell both of them which room they have now", after=(part,))
    _read_booking(draft, part, first)
    _read_booking(draft, part, second)
    numbers = [draft.row("rooms", booking["room_id"])["number"] for booking in (first, second)]
    draft.read_each(part, "rooms.one", "room_id", [first, second])
    draft.call(part, "room", booking_id=first["booking_id"], room_id=second["room_id"])
    draft.add_call(part, "room", booking_id=second["booking_id"], room_id=first["room_id"])
    draft.call(told, "tell", guest_id=first["guest_id"], text=f"You now have room {numbers[1]}.")
    draft.add_call(told, "tell", guest_id=second["guest_id"], text=f"You now have room {numbers[0]}.")
    draft.answer(f"{names[0]} now has room {numbers[1]}, {names[1]} room {numbers[0]}; both know.")


def extend_stay(draft: TaskDraft) -> None:
    booking, nights = draft.choose(draft.rows("bookings")), draft.random.randint(1, 4)
    part = draft.do(
        f"let {_guest_of(draft, booking)['name']} stay {draft.count(nights)} more night{'s' if nights > 1 else ''}"
    )
    _read_booking(draft, part, booking)
    leaves = (booking.day("departure_on") + timedelta(nights)).isoformat()
    draft.call(part, "dates", booking_id=booking["booking_id"], departure_on=leaves)
    draft.answer(f"The stay now ends on {leaves}.")


def upgrade_if_free(draft: TaskDraft) -> None:
    booking = draft.choose(draft.rows("bookings"))
    room = draft.choose([row for row in draft.rows("rooms") if row["room_id"] != booking["room_id"]])
    name = _guest_of(draft, booking)["name"]
    checked = draft.find(f"Is room {room['number']} free for the whole stay of {name}")
    part = draft.do("If it is, move that guest there", polite=False, after=(checked,))
    _read_booking(draft, checked, booking)
    draft.read_all(checked, "rooms.all")
    free = draft.call(
        checked, "free", room_id=room["room_id"], from_on=booking["arrival_on"], until_on=booking["departure_on"]
    ).rows[0]["free"]
    if free:
        draft.call(part, "room", booking_id=booking["booking_id"], room_id=room["room_id"])
    else:
        draft.refrain(part, "room", booking_id=booking["booking_id"], room_id=room["room_id"])
    draft.answer(f"Room {room['number']} is {f'free; {name} has it now' if free else 'taken, so nothing was changed'}.")


def count_arrivals(draft: TaskDraft) -> None:
    days = draft.random.randint(0, 3)
    part = draft.find(f"How many bookings arrive {draft.when(days)}")
    rows = draft.read_all(part, "bookings.all", arrival_on=draft.build.day(days))
    draft.answer(f"{len(rows)} bookings arrive then.", [len(rows)])


def find_cheapest(draft: TaskDraft) -> None:
    view = draft.choose(draft.rows("rooms"))["view"]
    part = draft.find(f"Which room with a view of the {view} costs the least per night, and what is the rate")
    rows = draft.read_all(part, "rooms.all", view=view)
    cheapest = min(rows, key=lambda row: row.num("rate_cents"))
    rate = wording.write_amount(cheapest.num("rate_cents"))
    others = [row["room_id"] for row in rows if row is not cheapest]
    draft.answer(f"Room {cheapest['number']} ({cheapest['room_id']}) at {rate}.", [cheapest["number"], rate], others)


def add_extra_but_one(draft: TaskDraft) -> None:
    chosen = draft.random.sample(draft.rows("bookings"), 4)
    spared, *served = chosen
    part = draft.do(
        "add a bottle of champagne to bookings "
        f"{wording.join_names([row.txt('booking_id') for row in served])}. Not to {spared['booking_id']}"
    )
    draft.read_each(part, "bookings.one", "booking_id", served)
    draft.rounds.append([])
    for booking in served:
        draft.add_call(part, "extra", booking_id=booking["booking_id"], extra_id="champagne")
    draft.refrain(part, "extra", booking_id=spared["booking_id"], extra_id="champagne")
    draft.answer("Champagne is added to the three bookings.")


def wake_guest(draft: TaskDraft) -> None:
    booking = draft.choose(draft.rows("bookings"))
    clock = draft.pick("05:30", "06:15", "06:45", "07:00")
    days = draft.random.randint(4, 9)
    guest = _guest_of(draft, booking)
    draft.earlier(f"Has {guest['name']} a booking?", f"Yes, it is {booking['booking_id']}.")
    part = draft.do(
        f"set a wake-up call for that booking {draft.when(days)} at {wording.spell_time(draft.random, clock)}"
    )
    draft.call(part, "bookings.one", booking_id=booking["booking_id"])
    draft.call(part, "wake", booking_id=booking["booking_id"], call_on=draft.build.day(days), call_at=clock)
    draft.answer(f"The wake-up call is set for {draft.build.day(days)}, {clock}.")


def refund_share(draft: TaskDraft) -> None:
    booking = draft.choose([row for row in draft.rows("bookings") if row.num("deposit_cents") <= draft.limit()])
    _refund(draft, booking, wording.draw_fraction(draft.random))


def refund_high(draft: TaskDraft) -> None:
    booking = draft.choose([row for row in draft.rows("bookings") if row.num("deposit_cents") > draft.limit()])
    _refund(draft, booking, draft.random.choice((Fraction(1, 2), Fraction(1, 4))))


def _refund(draft: TaskDraft, booking: TableRow, share: Fraction) -> None:
    name = _guest_of(draft, booking)["name"]
    part = draft.do(f"refund {wording.spell_fraction(share)} of the deposit of {name}", end=", and ", polite=False)
    told = draft.do("write that to the guest", polite=False, after=(part,))
    _read_booking(draft, part, booking)
    amount = int(booking.num("deposit_cents") * share)
    draft.call(part, "refund", booking_id=booking["booking_id"], amount_cents=amount)
    draft.call(told, "tell", guest_id=booking["guest_id"], text=f"We refunded {wording.write_amount(amount)}.")
    draft.answer(f"{wording.write_amount(amount)} was refunded, and {name} knows.")


TASKS = (
    swap_bedrooms,
    extend_stay,
    upgrade_if_free,
    count_arrivals,
    find_cheapest,
    add_extra_but_one,
    wake_guest,
    refund_share,
)
QUESTIONS = (count_arrivals, find_cheapest)
RULED_TASKS = (refund_high,)
