"""A mobile operator: subscribers, lines with add-ons, plans, credits."""

from datetime import timedelta

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_row
from tools.bench.worth.worlds.traits import Trait

PLANS = "Bud Leaf Branch Crown".split()
ADD_ONS = "roaming voicemail insurance".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    plans = [
        build.add("plans", name=name, fee_cents=build.random.randint(6, 15) * 100 * rank, gigabytes=4 * rank)
        for rank, name in enumerate(PLANS, 1)
    ]
    person = build.names.person()
    for number in range(6):
        person = build.names.relative_of(person) if number and build.has(Trait.SIBLINGS) else build.names.person()
        _add_subscriber(build, person, plans)
    _add_tools(build)
    limit = build.draw_limit(40, 80, 10)
    build.add_rule("credit", "amount_cents", ">", limit, "Credits of this size are not given by the hotline")


def _add_tables(build: WorldBuild) -> None:
    build.add_table("plans", "plan", "PL", {"price": "fee_cents"}, {"fee_cents": "monthly_fee_cents"})
    build.add_table("subscribers", "subscriber", "SB", {"person.reach": "email"})
    groups = {"service.plan": "plan_id", "usage.month": "used_gigabytes", "service": "status"}
    build.add_table("lines", "line", "LN", groups, {"used_gigabytes": "data_used"}, {"add_ons": "add_on_id"})
    build.add_created_table("credits", "credit", "CR", "subscriber_id@subscribers?")


def _add_subscriber(build: WorldBuild, person: str, plans: list[TableRow]) -> None:
    subscriber = build.add(
        "subscribers",
        name=person,
        email=build.names.email(person),
        since_on=build.day(-build.random.randint(100, 3000)),
    )
    for _ in range(3):
        plan = build.random.choice(plans)
        add_ons = [TableRow(add_on_id=name, status="on") for name in build.random.sample(ADD_ONS, 2)]
        usage = build.random.randint(0, plan.num("gigabytes"))
        build.add(
            "lines",
            subscriber_id=subscriber["subscriber_id"],
            phone=build.names.phone(),
            plan_id=plan["plan_id"],
            used_gigabytes=usage,
            status="active",
            add_ons=[*add_ons],
        )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("plans", "name?")
    build.add_reads("subscribers", "name?")
    build.add_reads("lines", "subscriber_id@subscribers? phone?")
    changes = set_fields("lines", "line_id")
    build.add_change(
        "plan",
        "change_plan|switch_plan",
        "Puts a line on another plan from a day on.",
        "line_id@lines plan_id@plans plan_from_on",
        changes,
        "announce_plan|confirm_plan",
    )
    bars = set_fields("lines", "line_id", status="barred")
    build.add_change("bar", "bar_line|block_sim", "Bars a line.", "line_id@lines reason:lost|stolen|unpaid|wish", bars)
    build.add_change(
        "add_on",
        "set_add_on|book_add_on",
        "Adds a timed option to a line.",
        "line_id@lines option:roaming_eu|roaming_world|data_pack from_on until_on",
        add_option,
    )
    build.add_change(
        "drop", "drop_add_on|cancel_add_on", "Ends an option of a line.", "line_id@lines add_on_id", drop_add_on
    )
    owners = set_fields("lines", "line_id")
    build.add_change(
        "owner",
        "transfer_line|hand_over_line",
        "Gives a line to another subscriber.",
        "line_id@lines subscriber_id@subscribers",
        owners,
    )
    credits = create_row("credits", build.form, status="booked")
    build.add_change(
        "credit",
        "give_credit|book_credit",
        "Credits an amount on the next bill.",
        "subscriber_id@subscribers amount_cents reason",
        credits,
    )
    ports = say("portability", lambda _tables, given: {"phone": given["phone"], "can_be_ported": True})
    build.add_check(
        "port",
        "get_portability",
        "port_number_check|request_porting_check",
        "Says whether a number can be ported; starts nothing.",
        "phone",
        ports,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "text_subscriber|notify_subscriber|send_sms",
        "Sends a subscriber a text message.",
        "subscriber_id@subscribers text",
        tells,
    )


def add_option(tables: Tables, given: TableRow) -> ToolReply:
    line = take_row(tables, "lines", given.txt("line_id"))
    option = TableRow(add_on_id=given["option"], status="on", from_on=given["from_on"], until_on=given["until_on"])
    line["add_ons"] = [*line.items_of("add_ons"), option]
    return ToolReply(ReplyShape.WRITTEN, "lines", [line])


def drop_add_on(tables: Tables, given: TableRow) -> ToolReply:
    line = take_row(tables, "lines", given.txt("line_id"))
    kept = [row for row in line.items_of("add_ons") if row["add_on_id"] != given["add_on_id"]]
    if len(kept) == len(line.items_of("add_ons")):
        raise ServerRefusal("The line has no such option")
    line["add_ons"] = [*kept]
    return ToolReply(ReplyShape.WRITTEN, "lines", [line])


def _subscriber_of(draft: TaskDraft, line: TableRow) -> TableRow:
    return draft.row("subscribers", line["subscriber_id"])


def change_plan(draft: TaskDraft) -> None:
    line = draft.choose(draft.rows("lines"))
    plan = draft.choose([row for row in draft.rows("plans") if row["plan_id"] != line["plan_id"]])
    first = (draft.build.today.replace(day=1) + timedelta(32)).replace(day=1)
    starts = draft.pick("from the first of next month", f"from {draft.spell_day(first)}")
    part = draft.do(f"change the line {line['phone']} to the {plan['name']} plan {starts}", end=" and ")
    told = draft.do("send a text about it to the subscriber", polite=False, after=(part,))
    draft.read_all(part, "lines.all", phone=line["phone"])
    draft.read_all(part, "plans.all", name=plan["name"])
    draft.call(part, "plan", line_id=line["line_id"], plan_id=plan["plan_id"], plan_from_on=first.isoformat())
    draft.call(
        told, "tell", subscriber_id=line["subscriber_id"], text=f"{line['phone']} is on {plan['name']} from {first}."
    )
    draft.answer(f"{line['phone']} is on {plan['name']} from {first}, and the subscriber knows.")


def bar_all_but_one(draft: TaskDraft) -> None:
    subscriber = draft.choose(draft.rows("subscribers"))
    lines = draft.rows("lines", subscriber_id=subscriber["subscriber_id"])
    spared, reason = draft.choose(lines), draft.pick("lost", "stolen")
    part = draft.do(f"bar the lines of {subscriber['name']}, whose phones were {reason}, all but {spared['phone']}")
    draft.read_all(part, "subscribers.all", name=subscriber["name"])
    draft.read_all(part, "lines.all", subscriber_id=subscriber["subscriber_id"])
    draft.rounds.append([])
    for line in lines:
        draft.add_call_unless(line is spared, part, "bar", line_id=line["line_id"], reason=reason)
    draft.answer(f"{len(lines) - 1} lines are barred; {spared['phone']} still works.")


def data_left(draft: TaskDraft) -> None:
    line = draft.choose(draft.rows("lines"))
    plan = draft.row("plans", line["plan_id"])
    part = draft.find(f"How much data is left this month on {line['phone']}")
    draft.read_all(part, "lines.all", phone=line["phone"])
    draft.call(part, "plans.one", plan_id=line["plan_id"])
    left = plan.num("gigabytes") - line.num("used_gigabytes")
    draft.answer(f"{left} gigabytes are left on {line['phone']}.", [left])


def heaviest_line(draft: TaskDraft) -> None:
    subscriber = draft.choose(draft.rows("subscribers"))
    part = draft.find(f"Which line of {subscriber['name']} has used the most data, and how much")
    draft.read_all(part, "subscribers.all", name=subscriber["name"])
    rows = draft.read_all(part, "lines.all", subscriber_id=subscriber["subscriber_id"])
    most = max(row.num("used_gigabytes") for row in rows)
    top = [row for row in rows if row["used_gigabytes"] == most]
    others = [row["line_id"] for row in rows if row not in top]
    named = wording.join_names([f"{row['phone']} ({row['line_id']})" for row in top])
    draft.answer(f"{named} with {most} gigabytes.", [*(row["line_id"] for row in top), most], others)


def add_roaming(draft: TaskDraft) -> None:
    line = draft.choose(draft.rows("lines"))
    days = draft.random.randint(2, 20)
    length = draft.random.choice((7, 14))
    draft.earlier(
        f"Whose is {line['phone']}?", f"It is {_subscriber_of(draft, line)['name']}'s line {line['line_id']}."
    )
    option = draft.pick("roaming_eu", "roaming_world")
    words = "within Europe" if option == "roaming_eu" else "worldwide"
    weeks = "one week" if length == 7 else "two weeks"
    begins = draft.spell_day(draft.build.today + timedelta(days))
    part = draft.do(f"add roaming {words} to that line for {weeks}, with {begins} as the first day")
    draft.call(part, "lines.one", line_id=line["line_id"])
    until = draft.build.day(days + length - 1)
    draft.call(part, "add_on", line_id=line["line_id"], option=option, from_on=draft.build.day(days), until_on=until)
    draft.answer(f"Roaming runs from {draft.build.day(days)} to {until}.")


def drop_option(draft: TaskDraft) -> None:
    line = draft.choose(draft.rows("lines"))
    option = draft.random.choice(line.items_of("add_ons"))
    part = draft.do(f"take the option {option['add_on_id']} off {line['phone']}")
    draft.read_all(part, "lines.all", phone=line["phone"])
    draft.call(part, "drop", line_id=line["line_id"], add_on_id=option["add_on_id"])
    draft.answer(f"{line['phone']} has no {option['add_on_id']} any more.")


def hand_over_if_portable(draft: TaskDraft) -> None:
    line = draft.choose(draft.rows("lines"))
    heir = draft.choose([row for row in draft.rows("subscribers") if row["subscriber_id"] != line["subscriber_id"]])
    checked = draft.find(f"Can the number {line['phone']} be ported")
    part = draft.do(f"if yes, hand the line over to {heir['name']}", polite=False, end=" and ", after=(checked,))
    told = draft.do("let the new owner know", polite=False, after=(part,))
    draft.call(checked, "port", phone=line["phone"])
    draft.read_all(part, "lines.all", phone=line["phone"])
    draft.read_all(part, "subscribers.all", name=heir["name"])
    draft.call(part, "owner", line_id=line["line_id"], subscriber_id=heir["subscriber_id"])
    draft.call(told, "tell", subscriber_id=heir["subscriber_id"], text=f"{line['phone']} is yours now.")
    draft.answer(f"It can; {line['phone']} now belongs to {heir['name']}, who knows.")


def credit_small(draft: TaskDraft) -> None:
    _credit(draft, draft.limit() - draft.random.randint(1, 30) * 100)


def credit_large(draft: TaskDraft) -> None:
    _credit(draft, draft.limit() + draft.random.randint(1, 60) * 100)


def _credit(draft: TaskDraft, amount: int) -> None:
    subscriber = draft.choose(draft.rows("subscribers"))
    part = draft.do(f'give {subscriber["name"]} a credit of {draft.money(amount)} for the outage (reason: "outage")')
    draft.read_all(part, "subscribers.all", name=subscriber["name"])
    draft.call(part, "credit", subscriber_id=subscriber["subscriber_id"], amount_cents=amount, reason="outage")
    draft.answer(f"{subscriber['name']} gets a credit of {wording.write_amount(amount)}.")


TASKS = (
    change_plan,
    bar_all_but_one,
    data_left,
    heaviest_line,
    add_roaming,
    drop_option,
    hand_over_if_portable,
    credit_small,
)
QUESTIONS = (data_left, heaviest_line)
RULED_TASKS = (credit_large,)
