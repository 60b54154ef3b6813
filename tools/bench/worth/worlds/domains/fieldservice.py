"""Repairs at customers' sites: sites, jobs, technicians, spare parts, quotes."""

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import TableRow
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.handlers import create_row, say, set_fields
from tools.bench.worth.worlds.traits import Trait

FAULTS = ("boiler leaks", "door sticks", "fan is loud", "lift stops", "pump is dead", "sensor drifts")
SKILLS = ("gas", "lifts", "cooling")
CLOCKS = ("08:00", "09:30", "11:15", "13:00", "14:45", "16:00")


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    limit = build.draw_limit(1_500, 2_500, 100)
    technicians = [_add_technician(build, skill) for skill in (*SKILLS, *SKILLS)]
    company = build.names.company()
    for number in range(6):
        company = build.names.sister_of(company) if number and build.has(Trait.SIBLINGS) else build.names.company()
        site = build.add(
            "sites", name=company, address=build.names.address(), contact_email=build.names.email(build.names.person())
        )
        for quote in (
            int(limit.limit) - build.random.randint(1, 9) * 12_000,
            int(limit.limit) + build.random.choice((4_000, 60_000, -2_000)),
        ):
            _add_job(build, site, build.random.choice(technicians[1:]), quote)
    for fault in ("filter", "seal", "relay", "fuse"):
        build.add("spares", name=fault, stock=build.random.randint(0, 6), price_cents=build.draw_cents(4, 90))
    _add_tools(build)
    build.add_rule(
        "accept", "quote_cents", ">", limit, "Quotes of this size are accepted by the area manager", "jobs", "job_id"
    )


def _add_tables(build: WorldBuild) -> None:
    build.add_table("technicians", "technician", "TC", {"profile.skills": "skill", "profile": "base"})
    build.add_table("sites", "site", "ST", {"location": "address", "location.contact": "contact_email"})
    groups = {"planning.slot": "visit_on visit_at", "planning": "technician_id", "money": "quote_cents"}
    build.add_table("jobs", "job", "JB", groups, {"quote_cents": "offer_cents", "visit_on": "planned_on"})
    build.add_table("spares", "spare part", "SP", {"warehouse": "stock"})
    build.add_created_table("spare_orders", "spare order", "SR", "job_id@jobs?")


def _add_technician(build: WorldBuild, skill: str) -> TableRow:
    person = build.names.person()
    return build.add("technicians", name=person, skill=skill, base=build.names.place(), email=build.names.email(person))


def _add_job(build: WorldBuild, site: TableRow, technician: TableRow, quote: int) -> None:
    slot = {"visit_on": build.day(build.random.randint(0, 6)), "visit_at": build.random.choice(CLOCKS)}
    state = {
        "fault": build.random.choice(FAULTS),
        "priority": build.random.choice(("low", "normal")),
        "status": "planned",
    }
    build.add(
        "jobs", site_id=site["site_id"], technician_id=technician["technician_id"], **slot, quote_cents=quote, **state
    )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("technicians", "name? skill:gas|lifts|cooling?")
    build.add_reads("sites", "name?")
    build.add_reads("jobs", "site_id@sites? technician_id@technicians? visit_on? status:planned|done|cancelled?")
    build.add_reads("spares", "name?")
    build.add_change(
        "assign",
        "assign_job|dispatch_job",
        "Gives a job to a technician.",
        "job_id@jobs technician_id@technicians",
        set_fields("jobs", "job_id"),
    )
    visits = set_fields("jobs", "job_id")
    build.add_change(
        "visit",
        "set_visit|plan_visit",
        "Sets day and time of a job's visit.",
        "job_id@jobs visit_on visit_at?",
        visits,
        "schedule_visit|announce_visit",
    )
    dones = set_fields("jobs", "job_id", status="done")
    build.add_change(
        "done", "close_job|complete_job", "Closes a job with the minutes worked.", "job_id@jobs minutes#", dones
    )
    raises = set_fields("jobs", "job_id")
    build.add_change(
        "priority",
        "set_priority|change_priority",
        "Sets a job's priority.",
        "job_id@jobs priority:low|normal|high|urgent",
        raises,
    )
    orders = create_row("spare_orders", build.form, status="ordered")
    build.add_change(
        "order",
        "order_spare|request_part",
        "Orders spare parts for a job.",
        "job_id@jobs spare_part_id@spares pieces#",
        orders,
    )
    accepts = set_fields("jobs", "job_id", quote_status="accepted")
    build.add_change("accept", "accept_quote|approve_offer", "Accepts a job's quote.", "job_id@jobs", accepts)
    routes = say(
        "routes",
        lambda tables, given: {
            "technician_id": given["technician_id"],
            "jobs_that_day": _count_jobs(list(tables["jobs"].values()), given),
        },
    )
    build.add_check(
        "load",
        "get_day_load",
        "book_check|request_route",
        "Says how many jobs a technician has on a day; books nothing.",
        "technician_id@technicians visit_on",
        routes,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell", "notify_site|message_site|call_ahead", "Writes to a site's contact.", "site_id@sites text", tells
    )


def _count_jobs(jobs: list[TableRow], given: TableRow) -> int:
    return sum(row["technician_id"] == given["technician_id"] and row["visit_on"] == given["visit_on"] for row in jobs)


def assign_least_busy(draft: TaskDraft) -> None:
    skill = draft.pick(*SKILLS)
    people = draft.rows("technicians", skill=skill)
    load = {row.txt("technician_id"): len(draft.rows("jobs", technician_id=row["technician_id"])) for row in people}
    best = min(people, key=lambda row: load[row.txt("technician_id")])
    if list(load.values()).count(load[best.txt("technician_id")]) > 1:
        draft.plain(f"Where two have equally few jobs, it is {best['name']}. ")
    job = draft.choose([row for row in draft.rows("jobs") if row["technician_id"] not in load])
    part = draft.do(f"give job {job['job_id']} to whoever has the fewest jobs among the technicians for {skill}")
    draft.call(part, "jobs.one", job_id=job["job_id"])
    draft.read_all(part, "technicians.all", skill=skill)
    for row in people:
        draft.read_all(part, "jobs.all", technician_id=row["technician_id"])
    draft.call(part, "assign", job_id=job["job_id"], technician_id=best["technician_id"])
    draft.answer(f"{best['name']} now has job {job['job_id']}.")


def plan_visit(draft: TaskDraft) -> None:
    job = draft.choose(draft.rows("jobs"))
    days = draft.random.choice((7, 8, 9, 14))
    clock = draft.pick(*CLOCKS)
    site = draft.row("sites", job["site_id"])
    part = draft.do(
        f"put the visit for {job['job_id']} {draft.when(days)}, {wording.spell_time(draft.random, clock)}", end=", and "
    )
    told = draft.do(f"let {site['name']} know", polite=False, after=(part,))
    draft.call(part, "jobs.one", job_id=job["job_id"])
    draft.add_call(part, "sites.one", site_id=site["site_id"])
    draft.call(part, "visit", job_id=job["job_id"], visit_on=draft.build.day(days), visit_at=clock)
    draft.call(told, "tell", site_id=site["site_id"], text=f"We come on {draft.build.day(days)} at {clock}.")
    draft.answer(f"The visit is on {draft.build.day(days)} at {clock}, and {site['name']} knows.")


def close_with_hours(draft: TaskDraft) -> None:
    job = draft.choose(draft.rows("jobs"))
    words, minutes = draft.random.choice(
        (
            ("an hour and a half", 90),
            ("two and a half hours", 150),
            ("three quarters of an hour", 45),
            ("three hours", 180),
        )
    )
    draft.earlier(f"Is {job['job_id']} still planned?", "Yes, it is.")
    part = draft.do(f"close it; the work took {words}")
    draft.call(part, "jobs.one", job_id=job["job_id"])
    draft.call(part, "done", job_id=job["job_id"], minutes=minutes)
    draft.answer(f"{job['job_id']} is closed with {minutes} minutes.")


def raise_priorities(draft: TaskDraft) -> None:
    site = draft.choose(draft.rows("sites"))
    jobs = draft.rows("jobs", site_id=site["site_id"])
    spared, level = draft.choose(jobs), draft.pick("high", "urgent")
    part = draft.do(f"set the jobs of {site['name']} to {level} priority, leaving {spared['job_id']} as it is")
    draft.read_all(part, "sites.all", name=site["name"])
    draft.read_all(part, "jobs.all", site_id=site["site_id"])
    draft.rounds.append([])
    for job in jobs:
        draft.add_call_unless(job is spared, part, "priority", job_id=job["job_id"], priority=level)
    draft.answer(f"All but {spared['job_id']} are now {level}.")


def order_if_out(draft: TaskDraft) -> None:
    job = draft.choose(draft.rows("jobs"))
    spare = draft.choose(draft.rows("spares"))
    pieces = draft.random.randint(2, 6)
    part = draft.do(
        f'order {draft.count(pieces)} pieces of the spare part "{spare["name"]}" '
        f"for {job['job_id']} unless we have as many in stock"
    )
    draft.read_all(part, "spares.all", name=spare["name"])
    draft.call(part, "jobs.one", job_id=job["job_id"])
    if spare.num("stock") >= pieces:
        draft.refrain(part, "order", job_id=job["job_id"], spare_part_id=spare["spare_part_id"], pieces=pieces)
        draft.answer(f"There are {spare['stock']} in stock, so nothing was ordered.")
        return
    draft.call(part, "order", job_id=job["job_id"], spare_part_id=spare["spare_part_id"], pieces=pieces)
    draft.answer(f"{pieces} pieces are ordered; only {spare['stock']} were in stock.")


def count_today(draft: TaskDraft) -> None:
    days = draft.random.choice((0, 1, 2))
    part = draft.find(f"How many jobs are planned {draft.when(days)}, and which")
    rows = draft.read_all(part, "jobs.all", visit_on=draft.build.day(days))
    keys = [row["job_id"] for row in rows]
    others = [row["job_id"] for row in draft.rows("jobs") if row["job_id"] not in keys]
    draft.answer(
        f"{len(keys)} jobs: {wording.join_names([str(key) for key in keys]) if keys else 'none'}.",
        [len(keys), *keys],
        others,
    )


def swap_technicians(draft: TaskDraft) -> None:
    first = draft.choose(draft.rows("jobs"))
    second = draft.choose([row for row in draft.rows("jobs") if row["technician_id"] != first["technician_id"]])
    part = draft.do(f"let the technicians of {first['job_id']} and {second['job_id']} trade jobs")
    draft.read_each(part, "jobs.one", "job_id", [first, second])
    draft.call(part, "assign", job_id=first["job_id"], technician_id=second["technician_id"])
    draft.add_call(part, "assign", job_id=second["job_id"], technician_id=first["technician_id"])
    draft.answer("The two have traded jobs.")


def load_of_day(draft: TaskDraft) -> None:
    job = draft.choose(draft.rows("jobs"))
    technician = draft.row("technicians", job["technician_id"])
    part = draft.find(f"How many jobs does {technician['name']} have on {draft.spell_day(job.day('visit_on'))}")
    draft.read_all(part, "technicians.all")
    number = draft.call(part, "load", technician_id=technician["technician_id"], visit_on=job["visit_on"]).rows[0][
        "jobs_that_day"
    ]
    draft.answer(f"{technician['name']} has {number}.", [number])


def accept_small(draft: TaskDraft) -> None:
    _accept(
        draft,
        max(
            (row for row in draft.rows("jobs") if row.num("quote_cents") <= draft.limit()),
            key=lambda row: row.num("quote_cents"),
        ),
    )


def accept_large(draft: TaskDraft) -> None:
    _accept(draft, draft.choose([row for row in draft.rows("jobs") if row.num("quote_cents") > draft.limit()]))


def _accept(draft: TaskDraft, job: TableRow) -> None:
    site = draft.row("sites", job["site_id"])
    part = draft.do(f"accept the quote for {job['job_id']} at {site['name']}", end="; ")
    told = draft.do("they should hear of it", polite=False, after=(part,))
    draft.call(part, "jobs.one", job_id=job["job_id"])
    draft.call(part, "accept", job_id=job["job_id"])
    draft.call(told, "tell", site_id=site["site_id"], text=f"The quote for {job['job_id']} is accepted.")
    draft.answer(f"The quote for {job['job_id']} is accepted, and {site['name']} knows.")


TASKS = (
    assign_least_busy,
    plan_visit,
    close_with_hours,
    raise_priorities,
    order_if_out,
    count_today,
    swap_technicians,
    load_of_day,
    accept_small,
)
QUESTIONS = (count_today, load_of_day)
RULED_TASKS = (accept_large,)
