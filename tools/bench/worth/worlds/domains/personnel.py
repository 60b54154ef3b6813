"""A personnel office: employees, teams, leave, pay."""

from datetime import timedelta

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import Json, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_row
from tools.bench.worth.worlds.traits import Trait

TEAMS = "Dispatch Design Finance Kitchen".split()
ROLES = "analyst clerk driver planner welder".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    teams = [build.add("teams", name=name, cost_centre=str(build.random.randint(300, 999))) for name in TEAMS]
    limit = build.draw_limit(5_200, 6_000, 100)
    person = build.names.person()
    for number in range(12):
        alike = number % 3 and build.has(Trait.SIBLINGS)
        person = build.names.relative_of(person) if alike else build.names.person()
        pay = int(limit.limit) + (60_000 if number > 9 else -build.random.randint(2, 25) * 10_000)
        _add_employee(build, person, build.random.choice(teams) if number > 7 else teams[number % 4], pay)
    _add_tools(build)
    build.add_rule(
        "pay", "salary_cents", ">", limit, "Pay of this grade is decided by the board", "employees", "employee_id"
    )


def _add_tables(build: WorldBuild) -> None:
    build.add_table("teams", "team", "TM")
    groups = {"work.contract": "role salary_cents hired_on", "work": "team_id", "person.contact": "email"}
    build.add_table("employees", "employee", "EM", groups, {"salary_cents": "monthly_gross_cents"})
    build.add_table(
        "leaves", "leave", "LV", {"period.days": "first_on last_on"}, {"first_on": "from_on", "last_on": "until_on"}
    )


def _add_employee(build: WorldBuild, person: str, team: TableRow, pay: int) -> None:
    contract: dict[str, Json] = {
        "role": build.random.choice(ROLES),
        "salary_cents": pay,
        "hired_on": build.day(-build.random.randint(200, 5000)),
    }
    employee = build.add(
        "employees",
        name=person,
        email=build.names.email(person),
        team_id=team["team_id"],
        **contract,
        leave_left=build.random.randint(2, 16),
    )
    first, length = build.random.randint(5, 60), build.random.randint(3, 9)
    build.add(
        "leaves",
        employee_id=employee["employee_id"],
        first_on=build.day(first),
        last_on=build.day(first + length - 1),
        days=length,
        status="requested",
    )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("teams")
    build.add_reads("employees", "name? team_id@teams?")
    build.add_reads("leaves", "employee_id@employees? status:requested|granted|declined?")
    build.add_change(
        "grant",
        "grant_leave|approve_leave",
        "Grants a leave and takes its days off the balance.",
        "leave_id@leaves",
        grant_leave,
    )
    declines = set_fields("leaves", "leave_id", status="declined")
    build.add_change("decline", "decline_leave|refuse_leave", "Declines a leave.", "leave_id@leaves reason", declines)
    build.add_change(
        "pay",
        "set_salary|change_pay",
        "Sets the monthly pay from a day on.",
        "employee_id@employees new_salary_cents starts_on",
        set_pay,
    )
    moves = set_fields("employees", "employee_id")
    build.add_change(
        "team",
        "move_to_team|transfer_employee",
        "Puts an employee into a team.",
        "employee_id@employees team_id@teams",
        moves,
        "announce_transfer|confirm_team",
    )
    build.add_change(
        "edit",
        "update_employee|edit_person",
        "Changes name, mail or role.",
        "employee_id@employees name? email? role?",
        set_fields("employees", "employee_id"),
    )
    shifts = set_fields("leaves", "leave_id")
    build.add_change(
        "shift",
        "move_leave|change_leave_dates",
        "Sets first and last day of a leave.",
        "leave_id@leaves first_on last_on",
        shifts,
    )
    covers = say("cover", lambda _tables, given: {"leave_id": given["leave_id"], "covered": True})
    build.add_check(
        "cover",
        "get_cover|check_cover",
        "arrange_cover_check|request_cover_report",
        "Says whether somebody covers a leave.",
        "leave_id@leaves",
        covers,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "notify_employee|write_to_employee|message_employee",
        "Writes to an employee.",
        "employee_id@employees text",
        tells,
    )


def grant_leave(tables: Tables, given: TableRow) -> ToolReply:
    leave = take_row(tables, "leaves", given.txt("leave_id"))
    employee = take_row(tables, "employees", leave.txt("employee_id"))
    leave["status"] = "granted"
    employee["leave_left"] = employee.num("leave_left") - leave.num("days")
    return ToolReply(ReplyShape.WRITTEN, "leaves", [leave])


def set_pay(tables: Tables, given: TableRow) -> ToolReply:
    employee = take_row(tables, "employees", given.txt("employee_id"))
    employee.update(next_salary_cents=given["new_salary_cents"], next_salary_on=given["starts_on"])
    return ToolReply(ReplyShape.WRITTEN, "employees", [employee])


def _find(draft: TaskDraft, part: int, employee: TableRow) -> None:
    draft.read_all(part, "employees.all", name=employee["name"])


def _leave_of(draft: TaskDraft, employee: TableRow) -> TableRow:
    return draft.rows("leaves", employee_id=employee["employee_id"])[0]


def grant_if_enough(draft: TaskDraft) -> None:
    employee = draft.choose(draft.rows("employees"))
    leave = _leave_of(draft, employee)
    part = draft.do(
        f"grant the leave that {employee['name']} asked for if enough days are left, and "
        'otherwise decline it with the reason "not enough days"'
    )
    told = draft.do("write to the employee what became of it", after=())
    _find(draft, part, employee)
    draft.read_all(part, "leaves.all", employee_id=employee["employee_id"])
    enough = employee.num("leave_left") >= leave.num("days")
    if enough:
        draft.call(part, "grant", leave_id=leave["leave_id"])
    else:
        draft.call(part, "decline", leave_id=leave["leave_id"], reason="not enough days")
    word = "granted" if enough else "declined"
    draft.call(told, "tell", employee_id=employee["employee_id"], text=f"Your leave is {word}.")
    draft.answer(f"The leave of {employee['name']} is {word}; {employee['name']} knows.")


def raise_by_percent(draft: TaskDraft) -> None:
    _raise(draft, draft.choose(draft.rows("employees")[:10]))


def raise_board_grade(draft: TaskDraft) -> None:
    _raise(draft, draft.choose(draft.rows("employees")[10:]))


def _raise(draft: TaskDraft, employee: TableRow) -> None:
    percent = draft.random.choice((2, 3, 4, 5, 10))
    first = (draft.build.today.replace(day=1) + timedelta(62)).replace(day=1)
    part = draft.do(
        f"raise the pay of {employee['name']} by {draft.count(percent)} percent from {draft.spell_day(first)} on"
    )
    _find(draft, part, employee)
    pay = employee.num("salary_cents") * (100 + percent) // 100
    draft.call(part, "pay", employee_id=employee["employee_id"], new_salary_cents=pay, starts_on=first.isoformat())
    draft.answer(f"{employee['name']} will earn {wording.write_amount(pay)} a month.")


def move_two(draft: TaskDraft) -> None:
    first, second = draft.random.sample(draft.rows("employees")[:8], 2)
    team = draft.choose(
        [row for row in draft.rows("teams") if row["team_id"] not in (first["team_id"], second["team_id"])]
    )
    part = draft.do(f"move {first['name']} and {second['name']} to {team['name']}", end=", then ", polite=False)
    told = draft.do("tell each of them, and nobody else", polite=False, after=(part,))
    draft.read_all(part, "teams.all")
    _find(draft, part, first)
    _find(draft, part, second)
    draft.rounds.append([])
    for employee in (first, second):
        draft.add_call(part, "team", employee_id=employee["employee_id"], team_id=team["team_id"])
    draft.rounds.append([])
    for employee in (first, second):
        draft.add_call(told, "tell", employee_id=employee["employee_id"], text=f"You are now in {team['name']}.")
    draft.answer(f"{first['name']} and {second['name']} are now in {team['name']}, and both know.")


def rename_person(draft: TaskDraft) -> None:
    employee = draft.choose(draft.rows("employees"))
    new = f"{employee.txt('name').split()[0]} {draft.build.names.stem()}"
    mail = draft.build.names.email(new)
    draft.plain(f"{employee['name']} got married last weekend. ")
    part = draft.do(f"please rename her to {new} with the address {mail}", polite=False)
    _find(draft, part, employee)
    draft.call(part, "edit", employee_id=employee["employee_id"], name=new, email=mail)
    draft.answer(f"She is now {new}, {mail}.")


def compare_teams(draft: TaskDraft) -> None:
    first, second = draft.random.sample(draft.rows("teams"), 2)
    part = draft.find(f"What does {first['name']} cost in pay each month, and what does {second['name']}")
    draft.read_all(part, "teams.all")
    sums = []
    for team in (first, second):
        rows = draft.read_all(part, "employees.all", team_id=team["team_id"])
        sums.append(wording.write_amount(sum(row.num("salary_cents") for row in rows)))
    draft.answer(f"{first['name']} costs {sums[0]}, {second['name']} {sums[1]} a month.", [*sums])


def longest_serving(draft: TaskDraft) -> None:
    part = draft.find(draft.pick("Who has been with us the longest", "Which employee was hired first"))
    rows = draft.read_all(part, "employees.all")
    oldest = min(rows, key=lambda row: (row.txt("hired_on"), row.txt("name")))
    others = [row["name"] for row in rows if row["hired_on"] != oldest["hired_on"]]
    draft.answer(f"{oldest['name']}, since {oldest['hired_on']}.", [oldest["name"]], others)


def shift_leave(draft: TaskDraft) -> None:
    employee, weeks = draft.choose(draft.rows("employees")), draft.random.randint(1, 3)
    leave = _leave_of(draft, employee)
    draft.earlier(
        f"Has {employee['name']} asked for leave?",
        f"Yes, {leave['leave_id']}, from {leave['first_on']} to {leave['last_on']}.",
    )
    part = draft.do(f"put that leave off by {draft.count(weeks)} week{'s' if weeks > 1 else ''}, same length")
    draft.call(part, "leaves.one", leave_id=leave["leave_id"])
    first, last = (leave.day(end) + timedelta(weeks=weeks) for end in ("first_on", "last_on"))
    draft.call(part, "shift", leave_id=leave["leave_id"], first_on=first.isoformat(), last_on=last.isoformat())
    draft.answer(f"The leave is now from {first} to {last}.")


TASKS = (grant_if_enough, raise_by_percent, move_two, rename_person, compare_teams, longest_serving, shift_leave)
QUESTIONS = (compare_teams, longest_serving)
RULED_TASKS = (raise_board_grade,)
