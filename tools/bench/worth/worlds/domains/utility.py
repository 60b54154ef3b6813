"""A supplier of power and water: accounts, meters with readings, bills, tariffs."""

from datetime import timedelta

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ServerForm, ToolReply
from tools.bench.worth.worlds.handlers import add_row, create_row, say, set_fields, set_line, take_row
from tools.bench.worth.worlds.operation import Handler
from tools.bench.worth.worlds.traits import Trait

TARIFFS = "Steady Night Green Saver".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    tariffs = [build.add("tariffs", name=name, unit_price_cents=build.random.randint(18, 44)) for name in TARIFFS]
    person = build.names.person()
    for number in range(7):
        person = build.names.relative_of(person) if number and build.has(Trait.SIBLINGS) else build.names.person()
        _add_account(build, person, build.random.choice(tariffs))
    _add_tools(build)
    limit = build.draw_limit(700, 1100, 50)
    build.add_rule(
        "write_off",
        "due_cents",
        ">",
        limit,
        "Debts of this size are not written off by the service line",
        "bills",
        "bill_id",
    )
    accounts = list(build.tables["accounts"].values())
    for account, more in zip(accounts, (30_000, 4_000, -3_000), strict=False):
        _add_bill(build, account, int(limit.limit) + more, 25)


def _add_tables(build: WorldBuild) -> None:
    build.add_table("tariffs", "tariff", "TF", None, {"unit_price_cents": "price_per_unit_cents"})
    build.add_table(
        "accounts",
        "account",
        "UA",
        {"customer.contact": "email phone", "customer": "holder", "supply": "tariff_id address"},
    )
    build.add_table("meters", "meter", "MT", None, None, {"readings": "reading_id"})
    build.add_table(
        "bills", "bill", "BL", {"figures.open": "due_cents", "figures": "due_on"}, {"due_cents": "balance_cents"}
    )
    build.add_created_table("plans", "payment plan", "PP", "account_id@accounts?")


def _add_account(build: WorldBuild, person: str, tariff: TableRow) -> None:
    contact = {"email": build.names.email(person), "phone": build.names.phone()}
    account = build.add(
        "accounts", holder=person, **contact, address=build.names.address(), tariff_id=tariff["tariff_id"]
    )
    value, readings = build.random.randint(1000, 5000), []
    for number in range(4):
        value += build.random.randint(80, 620)
        readings.append(TableRow(reading_id=f"R{number + 1}", read_on=build.day(-90 * (4 - number)), units=value))
    build.add(
        "meters", account_id=account["account_id"], medium=build.random.choice(("power", "water")), readings=[*readings]
    )
    for _ in range(build.random.randint(1, 3)):
        _add_bill(build, account, build.draw_even_cents(60, 660), build.random.randint(-80, 20))


def _add_bill(build: WorldBuild, account: TableRow, due: int, days: int) -> None:
    build.add("bills", account_id=account["account_id"], due_cents=due, due_on=build.day(days), status="unpaid")


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("tariffs", "name?")
    build.add_reads("accounts", "holder?")
    build.add_reads("meters", "account_id@accounts?")
    build.add_reads("bills", "account_id@accounts? status:unpaid|paid|written_off?")
    readings = set_line("meters", "meter_id", "readings", "reading_id")
    build.add_change(
        "reading",
        "correct_reading|update_reading",
        "Corrects a stored reading.",
        "meter_id@meters reading_id units#",
        readings,
    )
    switches = set_fields("accounts", "account_id")
    build.add_change(
        "tariff",
        "switch_tariff|change_tariff",
        "Puts an account on a tariff.",
        "account_id@accounts tariff_id@tariffs starts_on?",
        switches,
        "announce_tariff|confirm_tariff",
    )
    build.add_change(
        "plan",
        "create_payment_plan|agree_instalments",
        "Lets a bill be paid in monthly instalments.",
        "bill_id@bills instalment_cents months#",
        add_plan(build.form),
    )
    offs = set_fields("bills", "bill_id", status="written_off")
    build.add_change(
        "write_off", "write_off_bill|waive_bill", "Writes an unpaid bill off.", "bill_id@bills reason", offs
    )
    delays = set_fields("bills", "bill_id")
    build.add_change(
        "delay",
        "extend_due_date|postpone_bill",
        "Sets another day until which a bill is due.",
        "bill_id@bills due_on",
        delays,
    )
    visits = create_row("visits", build.form)
    build.add_change(
        "visit",
        "book_technician|create_visit",
        "Sends a technician.",
        "meter_id@meters visit_on purpose",
        visits,
        "schedule_visit|notify_technician",
    )
    leaks = say("leaks", lambda _tables, given: {"meter_id": given["meter_id"], "leak_suspected": False})
    build.add_check(
        "leak",
        "get_leak_report",
        "report_leak|open_leak_check",
        "Looks for a leak in the meter's data; stores nothing.",
        "meter_id@meters",
        leaks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "write_to_customer|notify_holder|send_customer_letter",
        "Writes to an account's holder.",
        "account_id@accounts text",
        tells,
    )


def add_plan(form: ServerForm) -> Handler:
    def add(tables: Tables, given: TableRow) -> ToolReply:
        bill = take_row(tables, "bills", given.txt("bill_id"))
        if given.num("instalment_cents") * given.num("months") < bill.num("due_cents"):
            raise ServerRefusal("The instalments do not cover the bill")
        return ToolReply(
            ReplyShape.WRITTEN, "plans", [add_row(tables, "plans", form, {"account_id": bill["account_id"], **given})]
        )

    return add


def _find(draft: TaskDraft, part: int, account: TableRow) -> None:
    draft.read_all(part, "accounts.all", holder=account["holder"])


def _meter_of(draft: TaskDraft, account: TableRow) -> TableRow:
    return draft.rows("meters", account_id=account["account_id"])[0]


def consumption(draft: TaskDraft) -> None:
    account = draft.choose(draft.rows("accounts"))
    meter = _meter_of(draft, account)
    first, last = sorted(draft.random.sample(range(4), 2))
    old, new = meter.items_of("readings")[first], meter.items_of("readings")[last]
    part = draft.find(
        f"How many units did {account['holder']} use between the readings of "
        f"{draft.spell_day(old.day('read_on'))} and {draft.spell_day(new.day('read_on'))}"
    )
    _find(draft, part, account)
    draft.read_all(part, "meters.all", account_id=account["account_id"])
    used = new.num("units") - old.num("units")
    draft.answer(f"{account['holder']} used {used} units.", [used])


def correct_reading(draft: TaskDraft) -> None:
    meter = draft.choose(draft.rows("meters"))
    reading = meter.items_of("readings")[-1]
    units = reading.num("units") - draft.random.randint(10, 70)
    draft.plain("Two digits were swapped when it was typed in. ")
    part = draft.do(f"correct the latest reading of meter {meter['meter_id']} to {draft.count(units)}")
    draft.call(part, "meters.one", meter_id=meter["meter_id"])
    draft.call(part, "reading", meter_id=meter["meter_id"], reading_id=reading["reading_id"], units=units)
    draft.answer(f"The latest reading is now {units}.")


def agree_plan(draft: TaskDraft) -> None:
    bill, months = draft.choose(draft.rows("bills")), draft.random.choice((2, 3, 4, 5, 6, 10, 12))
    if bill.num("due_cents") % months:
        months = 2 if bill.num("due_cents") % 2 == 0 else 1
    account = draft.row("accounts", bill["account_id"])
    part = draft.do(
        f"let {account['holder']} pay bill {bill['bill_id']} in {draft.count(months)} equal monthly instalments",
        end=" and ",
    )
    told = draft.do("confirm it in a letter", polite=False, after=(part,))
    draft.call(part, "bills.one", bill_id=bill["bill_id"])
    each = bill.num("due_cents") // months
    draft.call(part, "plan", bill_id=bill["bill_id"], instalment_cents=each, months=months)
    draft.call(
        told,
        "tell",
        account_id=bill["account_id"],
        text=f"You pay {months} instalments of {wording.write_amount(each)}.",
    )
    draft.answer(f"Agreed: {months} instalments of {wording.write_amount(each)}; the letter is out.")


def switch_two(draft: TaskDraft) -> None:
    first, second = draft.random.sample(draft.rows("accounts"), 2)
    tariff = draft.choose(
        [row for row in draft.rows("tariffs") if row["tariff_id"] not in (first["tariff_id"], second["tariff_id"])]
    )
    days = draft.random.randint(3, 25)
    part = draft.do(
        f"put {first['holder']} and {second['holder']} on the "
        f"{tariff['name']} tariff; it should start {draft.when(days)}"
    )
    draft.read_all(part, "tariffs.all", name=tariff["name"])
    _find(draft, part, first)
    _find(draft, part, second)
    draft.rounds.append([])
    for account in (first, second):
        draft.add_call(
            part,
            "tariff",
            account_id=account["account_id"],
            tariff_id=tariff["tariff_id"],
            starts_on=draft.build.day(days),
        )
    draft.answer(f"Both are on {tariff['name']} from {draft.build.day(days)}.")


def list_long_overdue(draft: TaskDraft) -> None:
    days = draft.random.choice((20, 30, 40))
    part = draft.find(
        f"Which unpaid bills have been due for more than {draft.count(days)} "
        "days as of today, and what do they sum up to"
    )
    rows = draft.read_all(part, "bills.all", status="unpaid")
    late = [row for row in rows if (draft.build.today - row.day("due_on")).days > days]
    total = wording.write_amount(sum(row.num("due_cents") for row in late))
    keys = [row["bill_id"] for row in late]
    named = wording.join_names([str(key) for key in keys]) if keys else "No bill"
    draft.answer(f"{named}, {total} in all.", [*keys, total], [row["bill_id"] for row in rows if row not in late])


def postpone_but_one(draft: TaskDraft) -> None:
    account = max(draft.rows("accounts"), key=lambda row: len(draft.rows("bills", account_id=row["account_id"])))
    bills = draft.rows("bills", account_id=account["account_id"])
    spared, days = draft.choose(bills), draft.random.randint(20, 40)
    part = draft.do(
        f"give {account['holder']} time until {draft.spell_day(draft.build.today + timedelta(days))} "
        f"for all unpaid bills, though not for {spared['bill_id']}"
    )
    _find(draft, part, account)
    draft.read_all(part, "bills.all", account_id=account["account_id"], status="unpaid")
    draft.rounds.append([])
    for bill in bills:
        draft.add_call_unless(bill is spared, part, "delay", bill_id=bill["bill_id"], due_on=draft.build.day(days))
    draft.answer(f"{len(bills) - 1} bills are due on {draft.build.day(days)}; {spared['bill_id']} is unchanged.")


def check_and_send(draft: TaskDraft) -> None:
    meter, days = draft.choose(draft.rows("meters")), draft.random.choice((1, 2, 4, 7))
    draft.earlier("Which meter is it that runs too fast?", f"Meter {meter['meter_id']} does.")
    checked = draft.find("Is a leak suspected there")
    part = draft.do(
        f'if there is no leak, send a technician {draft.when(days)} with "replace meter" as the purpose',
        polite=False,
        after=(checked,),
    )
    draft.call(checked, "meters.one", meter_id=meter["meter_id"])
    draft.add_call(checked, "leak", meter_id=meter["meter_id"])
    draft.call(part, "visit", meter_id=meter["meter_id"], visit_on=draft.build.day(days), purpose="replace meter")
    draft.answer(f"No leak is suspected; a technician comes on {draft.build.day(days)}.")


def write_off_small(draft: TaskDraft) -> None:
    _write_off(draft, draft.choose([row for row in draft.rows("bills") if row.num("due_cents") <= draft.limit()]))


def write_off_large(draft: TaskDraft) -> None:
    _write_off(draft, draft.choose([row for row in draft.rows("bills") if row.num("due_cents") > draft.limit()]))


def _write_off(draft: TaskDraft, bill: TableRow) -> None:
    part = draft.do(f'write off bill {bill["bill_id"]} with the reason "insolvency"')
    draft.call(part, "bills.one", bill_id=bill["bill_id"])
    draft.call(part, "write_off", bill_id=bill["bill_id"], reason="insolvency")
    draft.answer(f"Bill {bill['bill_id']} is written off.")


TASKS = (
    consumption,
    correct_reading,
    agree_plan,
    switch_two,
    list_long_overdue,
    postpone_but_one,
    check_and_send,
    write_off_small,
)
QUESTIONS = (consumption, list_long_overdue)
RULED_TASKS = (write_off_large,)
