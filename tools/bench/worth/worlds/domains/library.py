"""A public library: members, copies, loans, fines."""

from datetime import timedelta

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_row
from tools.bench.worth.worlds.traits import Trait

ADJECTIVES = "Amber Broken Distant Hollow Northern Quiet Restless Silver".split()
NOUNS = "Bridge Compass Garden Harbour Lantern Orchard River Winter".split()
BRANCHES = "Central Harbour Hillside".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    copies = [
        build.add("copies", title=title, branch=build.random.choice(BRANCHES), status="on shelf")
        for title in _draw_titles(build, 18)
    ]
    limit = build.draw_limit(20, 45, 5)
    person = build.names.person()
    for number in range(6):
        person = build.names.relative_of(person) if number and build.has(Trait.SIBLINGS) else build.names.person()
        member = build.add(
            "members", name=person, email=build.names.email(person), branch=build.random.choice(BRANCHES)
        )
        for copy in copies[number * 2 : number * 2 + 2]:
            copy["status"] = "lent"
            _add_loan(build, member, copy)
        fine = int(limit.limit) + (600 if number % 3 == 1 else -build.random.randint(1, 9) * 120)
        build.add("fines", member_id=member["member_id"], amount_cents=fine, waived_cents=0, status="open")
    _add_tools(build)
    build.add_rule(
        "waive", "amount_cents", ">", limit, "High fines are waived by the head of the branch", "fines", "fine_id"
    )


def _add_tables(build: WorldBuild) -> None:
    build.add_table("members", "member", "MB", {"person.reach": "email"})
    build.add_table("copies", "copy", "CP", {"location.site": "branch"}, {"branch": "held_at"})
    build.add_table(
        "loans", "loan", "LN", {"period": "lent_on due_on", "item": "copy_id title"}, {"due_on": "return_by_on"}
    )
    build.add_table("fines", "fine", "FN", {"money.total": "amount_cents"}, {"amount_cents": "fine_cents"})
    build.add_created_table("holds", "hold", "HD", "member_id@members?")


def _draw_titles(build: WorldBuild, number: int) -> list[str]:
    pairs = [f"The {adjective} {noun}" for adjective in ADJECTIVES for noun in NOUNS]
    return build.random.sample(pairs, number)


def _add_loan(build: WorldBuild, member: TableRow, copy: TableRow) -> None:
    due = build.random.randint(-25, 15)
    period = {"lent_on": build.day(due - 28), "due_on": build.day(due)}
    build.add(
        "loans",
        member_id=member["member_id"],
        copy_id=copy["copy_id"],
        title=copy["title"],
        **period,
        renewals=build.random.randint(0, 3),
        status="out",
    )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("members", "name?")
    build.add_reads("copies", "title? branch? status?")
    build.add_reads("loans", "member_id@members? status:out|returned?")
    build.add_reads("fines", "member_id@members?")
    build.add_change(
        "extend",
        "extend_loan|renew_loan",
        "Sets another day until which a loan runs.",
        "loan_id@loans due_on",
        extend_loan,
        "remind_later|announce_due_date",
    )
    returns = set_fields("loans", "loan_id", status="returned")
    build.add_change("return", "return_copy|check_in", "Takes a lent copy back.", "loan_id@loans", returns)
    holds = create_row("holds", build.form, status="waiting")
    build.add_change(
        "hold",
        "place_hold|reserve_copy",
        "Reserves a copy for a member.",
        "member_id@members copy_id@copies until_on?",
        holds,
    )
    build.add_change(
        "waive",
        "waive_fine|forgive_fine",
        "Takes an amount off a fine.",
        "fine_id@fines waived_cents",
        set_fields("fines", "fine_id"),
    )
    moves = set_fields("copies", "copy_id")
    build.add_change(
        "move",
        "move_copy|relocate_copy",
        "Moves a copy to another branch.",
        "copy_id@copies branch:Central|Harbour|Hillside",
        moves,
    )
    build.add_change(
        "merge",
        "merge_members|mark_double_member",
        "Marks a member as a double of another one.",
        "member_id@members same_as@members",
        set_fields("members", "member_id", status="double"),
    )
    asks = say("inquiries", lambda _tables, given: {"member_id": given["member_id"], "reply": "Yes, I still have it."})
    build.add_check(
        "ask",
        "get_member_reply",
        "ask_member|remind_and_ask",
        "Asks a member and returns the reply.",
        "member_id@members question",
        asks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell", "write_to_member|notify_member|send_reminder", "Writes to a member.", "member_id@members text", tells
    )


def extend_loan(tables: Tables, given: TableRow) -> ToolReply:
    loan = take_row(tables, "loans", given.txt("loan_id"))
    if given.txt("due_on") <= loan.txt("due_on"):
        raise ServerRefusal("The loan runs longer than that already")
    loan.update(due_on=given["due_on"], renewals=loan.num("renewals") + 1)
    return ToolReply(ReplyShape.WRITTEN, "loans", [loan])


def _find(draft: TaskDraft, part: int, member: TableRow) -> None:
    draft.read_all(part, "members.all", name=member["name"])


def _loans_of(draft: TaskDraft, member: TableRow) -> list[TableRow]:
    return draft.rows("loans", member_id=member["member_id"])


def list_overdue(draft: TaskDraft) -> None:
    part = draft.find(
        draft.pick("Which loans are overdue today", "Which loans should have come back before today")
        + ", and how many are they"
    )
    rows = draft.read_all(part, "loans.all", status="out")
    late = [row["loan_id"] for row in rows if row.day("due_on") < draft.build.today]
    others = [row["loan_id"] for row in rows if row["loan_id"] not in late]
    draft.answer(
        f"{len(late)} loans: {wording.join_names([str(key) for key in late]) if late else 'none'}.",
        [len(late), *late],
        others,
    )


def extend_by_weeks(draft: TaskDraft) -> None:
    loan, weeks = draft.choose(draft.rows("loans")), draft.random.randint(1, 4)
    member = draft.row("members", loan["member_id"])
    part = draft.do(
        f'let {member["name"]} keep "{loan["title"]}" {draft.count(weeks)} week{"s" if weeks > 1 else ""} longer'
    )
    _find(draft, part, member)
    draft.read_all(part, "loans.all", member_id=member["member_id"])
    until = (loan.day("due_on") + timedelta(weeks=weeks)).isoformat()
    draft.call(part, "extend", loan_id=loan["loan_id"], due_on=until)
    draft.answer(f'"{loan["title"]}" is due on {until}.')


def extend_all_but_one(draft: TaskDraft) -> None:
    member = draft.choose(draft.rows("members"))
    spared, extended = draft.random.sample(_loans_of(draft, member), 2)
    days = draft.random.randint(20, 45)
    day = draft.build.today + timedelta(days)
    part = draft.do(
        f'extend everything that {member["name"]} has out to {draft.spell_day(day)}, just not "{spared["title"]}"'
    )
    told = draft.do("write to the member what is due when", after=(part,))
    _find(draft, part, member)
    draft.read_all(part, "loans.all", member_id=member["member_id"], status="out")
    draft.call(part, "extend", loan_id=extended["loan_id"], due_on=day.isoformat())
    text = f'"{extended["title"]}" is due on {day}, "{spared["title"]}" on {spared["due_on"]}.'
    draft.call(told, "tell", member_id=member["member_id"], text=text)
    draft.answer(f"Done, and {member['name']} knows: {text}")


def reserve_title(draft: TaskDraft) -> None:
    member = draft.choose(draft.rows("members"))
    copy = draft.choose(draft.rows("copies", status="on shelf"))
    days = draft.random.choice((2, 7, 10, 14))
    draft.earlier(f"Is {member['name']} a member?", f"Yes, {member['member_id']}.")
    part = draft.do(
        f'reserve "{copy["title"]}" for that member, to be held until '
        f"{draft.spell_day(draft.build.today + timedelta(days))}"
    )
    draft.read_all(part, "copies.all", title=copy["title"])
    draft.call(part, "hold", member_id=member["member_id"], copy_id=copy["copy_id"], until_on=draft.build.day(days))
    draft.answer(f'"{copy["title"]}" is reserved until {draft.build.day(days)}.')


def ask_and_return(draft: TaskDraft) -> None:
    loan = draft.choose(draft.rows("loans"))
    member = draft.row("members", loan["member_id"])
    checked = draft.find(f'Ask {member["name"]} whether "{loan["title"]}" is still there', end="; ")
    part = draft.do("if it is not, take the loan back as returned", polite=False, after=(checked,))
    _find(draft, checked, member)
    draft.call(checked, "ask", member_id=member["member_id"], question=f'Do you still have "{loan["title"]}"?')
    draft.refrain(part, "return", loan_id=loan["loan_id"])
    draft.answer(f'{member["name"]} still has "{loan["title"]}", so the loan stays open.')


def merge_double(draft: TaskDraft) -> None:
    double, original = draft.random.sample(draft.rows("members"), 2)
    part = draft.do(f"mark member {double['member_id']} as a double of {original['member_id']}")
    draft.read_each(part, "members.one", "member_id", [double, original])
    draft.call(part, "merge", member_id=double["member_id"], same_as=original["member_id"])
    draft.answer(f"{double['member_id']} is marked as a double of {original['member_id']}.")


def compare_branches(draft: TaskDraft) -> None:
    first, second = draft.random.sample(BRANCHES, 2)
    part = draft.find(f"Has {first} more copies than {second}, and what is the difference")
    numbers = [len(draft.read_all(part, "copies.all", branch=branch)) for branch in (first, second)]
    word = "more" if numbers[0] > numbers[1] else "not more"
    draft.answer(
        f"{first} has {word}: {numbers[0]} against {numbers[1]}, a difference of {abs(numbers[0] - numbers[1])}.",
        [abs(numbers[0] - numbers[1])],
    )


def waive_share(draft: TaskDraft) -> None:
    _waive(draft, draft.choose([row for row in draft.rows("fines") if row.num("amount_cents") <= draft.limit()]))


def waive_high(draft: TaskDraft) -> None:
    _waive(draft, draft.choose([row for row in draft.rows("fines") if row.num("amount_cents") > draft.limit()]))


def _waive(draft: TaskDraft, fine: TableRow) -> None:
    member = draft.row("members", fine["member_id"])
    part = draft.do(f"forgive {member['name']} half of the fine")
    _find(draft, part, member)
    draft.read_all(part, "fines.all", member_id=member["member_id"])
    amount = fine.num("amount_cents") // 2
    draft.call(part, "waive", fine_id=fine["fine_id"], waived_cents=amount)
    draft.answer(f"{wording.write_amount(amount)} of the fine is waived.")


TASKS = (
    list_overdue,
    extend_by_weeks,
    extend_all_but_one,
    reserve_title,
    ask_and_return,
    merge_double,
    compare_branches,
    waive_share,
)
QUESTIONS = (list_overdue, compare_branches)
RULED_TASKS = (waive_high,)
