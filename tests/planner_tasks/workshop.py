"""A workshop's tools, and plain tasks whose objects, exclusions, negations and comparisons decide what is right."""

from decimal import Decimal

from shared.domain.exact_json import JsonObject
from tests.planner_tasks.plain_world import PlainWorld, choice, gets, keyed, lists, logs, sets, text
from tests.planner_tasks.task import Call, PlainTask, call, task

_STATES = ("open", "in_progress", "on_hold", "done")
_MECHANICS = ("Ines", "Tomasz", "Priya")
_BILLS = ("unpaid", "overdue", "paid", "written_off")
_TOOLS = (
    lists(
        "list_jobs",
        "jobs",
        "Jobs of the workshop, ten a page. Ask for the next page while next_page is not null.",
        {"status": choice(*_STATES), "mechanic": text()},
        paged=True,
    ),
    gets("get_job", "jobs", "job_id", "One job in full."),
    gets("get_customer", "customers", "customer_id", "A customer of the workshop."),
    lists("list_parts", "parts", "All parts with stock, the stock at which to reorder, and the price of one.", {}),
    lists(
        "list_invoices",
        "invoices",
        "Invoices, all or of one status or customer.",
        {"status": choice(*_BILLS), "customer_id": text()},
    ),
    gets("get_invoice", "invoices", "invoice_id", "One invoice."),
    sets("set_job_status", "jobs", "job_id", "status", choice(*_STATES), "Sets the status of a job."),
    sets("assign_mechanic", "jobs", "job_id", "mechanic", text(), "Gives a job to a mechanic: Ines, Tomasz or Priya."),
    logs(
        "order_part",
        "parts",
        "part_id",
        "Orders parts from the wholesaler. Answers with an acknowledgement only.",
        quantity={"type": "integer"},
    ),
    logs("send_sms", "customers", "customer_id", "Sends a text message to a customer's phone.", text=text()),
)


def open_workshop() -> PlainWorld:
    customers: list[JsonObject] = [
        {"id": f"K-{11 + at}", "name": name, "phone": f"+44 7700 9000{at:02d}"}
        for at, name in enumerate(("Okonkwo Bakery", "Hanna Lindqvist", "Felix Moreau", "Ridge Taxis", "Aiko Tanabe"))
    ]
    jobs: list[JsonObject] = [
        {
            "id": f"J-{3001 + at}",
            "status": _STATES[at % 4],
            "mechanic": _MECHANICS[at % 3],
            "due": f"2026-12-{1 + at % 24:02d}",
            "labour_minutes": 30 + 15 * (at % 6),
            "customer_id": f"K-{11 + at % 5}",
        }
        for at in range(34)
    ]
    shelf = [("brake pad set", 3, 5), ("oil filter", 22, 10), ("timing belt", 1, 2), ("wiper blade", 40, 12)]
    shelf += [("spark plug", 9, 12), ("exhaust clamp", 15, 6)]
    parts: list[JsonObject] = [
        {"id": f"P-{51 + at}", "name": name, "stock": stock, "reorder_at": least, "price": Decimal("4.5") + at}
        for at, (name, stock, least) in enumerate(shelf)
    ]
    owed = [("K-11", "480.00", "unpaid"), ("K-12", "129.95", "unpaid"), ("K-13", "75.50", "paid")]
    owed += [("K-14", "1210.40", "overdue"), ("K-15", "312.25", "unpaid"), ("K-12", "58.00", "overdue")]
    owed += [("K-11", "640.10", "unpaid"), ("K-12", "44.05", "overdue")]
    invoices: list[JsonObject] = [
        {"id": f"V-{701 + at}", "customer_id": of, "total": Decimal(total), "status": status}
        for at, (of, total, status) in enumerate(owed)
    ]
    tables = {"customers": keyed(customers), "jobs": keyed(jobs), "parts": keyed(parts), "invoices": keyed(invoices)}
    return PlainWorld(tables, _TOOLS)


def _jobs(fits: str, *, but: tuple[str, ...] = ()) -> tuple[str, ...]:
    """The jobs of a state, or of a state and a mechanic: ``open of Ines``."""
    status, _, mechanic = fits.partition(" of ")
    return tuple(
        key
        for key, row in open_workshop().tables["jobs"].items()
        if row["status"] == status and mechanic in ("", row["mechanic"]) and key not in but
    )


def _set(status: str, *jobs: str) -> tuple[Call, ...]:
    return tuple(call("set_job_status", job_id=one, status=status) for one in jobs)


def _give(mechanic: str, *jobs: str) -> tuple[Call, ...]:
    return tuple(call("assign_mechanic", job_id=one, mechanic=mechanic) for one in jobs)


def _order(part: str, quantity: int) -> Call:
    return call("order_part", part_id=part, quantity=quantity)


FAMILIES: dict[str, tuple[PlainTask, ...]] = {
    "object": (
        task("Assign job J-3002 to Priya.", *_give("Priya", "J-3002")),
        task("Set the mechanic of job J-3002 to Priya.", *_give("Priya", "J-3002")),
        task("Set every job that is on_hold to open.", *_set("open", *_jobs("on_hold"))),
        task("Put job J-3001 on hold.", *_set("on_hold", "J-3001")),
    ),
    "exclusion": (
        task(
            "Set all open jobs of Ines to in_progress, except J-3013.",
            *_set("in_progress", *_jobs("open of Ines", but=("J-3013",))),
        ),
        task(
            "Put all jobs that are on_hold in progress, but leave J-3003 alone.",
            *_set("in_progress", *_jobs("on_hold", but=("J-3003",))),
        ),
        task(
            "Change the status of all open jobs of mechanic Ines to in_progress, but leave J-3013 alone.",
            *_set("in_progress", *_jobs("open of Ines", but=("J-3013",))),
        ),
        task("Assign all open jobs to Priya except J-3005.", *_give("Priya", *_jobs("open", but=("J-3005",)))),
    ),
    "second half": (
        task(
            "Set jobs J-3002 and J-3006 to done, then order 2 pieces of part P-51.",
            *_set("done", "J-3002", "J-3006"),
            _order("P-51", 2),
        ),
        task("Set job J-3008 to open and order part P-52 with quantity 2.", *_set("open", "J-3008"), _order("P-52", 2)),
        task("Order 4 pieces of part P-53.", _order("P-53", 4)),
    ),
    "negation": (
        task(
            "Which invoices are not paid? Answer with a JSON list of their ids.",
            listed=("V-701", "V-702", "V-704", "V-705", "V-706", "V-707", "V-708"),
        ),
        task("What is the total of all invoices that are not paid?", says=("2874.75",)),
    ),
    "dates": (
        task(
            "Which jobs are due before 2026-12-05? Answer with a JSON list of their ids.",
            listed=("J-3001", "J-3002", "J-3003", "J-3004", "J-3025", "J-3026", "J-3027", "J-3028"),
        ),
        task(
            "Which jobs are due after 2026-12-20? Answer with a JSON list of their ids.",
            listed=("J-3021", "J-3022", "J-3023", "J-3024"),
        ),
    ),
    "two fields": (
        task(
            "Which parts have a stock below their reorder level? Answer with a JSON list of their ids.",
            listed=("P-51", "P-53", "P-55"),
        ),
        task(
            "Which parts have a stock lower than reorder_at? Answer with a JSON list of their ids.",
            listed=("P-51", "P-53", "P-55"),
        ),
        task("Which parts have a stock of less than 5? Answer with a JSON list of their ids.", listed=("P-51", "P-53")),
    ),
    "groups": (task("How many jobs does each mechanic have?", says=("Ines: 12", "Tomasz: 11", "Priya: 11")),),
    "which": (task("Which unpaid invoice has the highest total?", says=("V-707",)),),
    "speech": (
        task(
            "Send customer K-12 an SMS saying that her car is ready.",
            call("send_sms", customer_id="K-12", text="Your car is ready."),
        ),
    ),
    "not understood": (
        task("Set job J-3001 to done twice.", says=("twice",)),
        task("Set job J-3002 to done tomorrow.", says=("tomorrow",)),
        task("Assign job J-3002 to Priya or Ines.", says=("Not done",)),
        task("Set two open jobs to done.", says=("Not done",)),
        task("How many jobs were finished last week?", says=("week",)),
        task("How many jobs are open or assigned to Priya?", says=("or assigned to Priya",)),
        task("Which jobs are due before the holidays?", says=("before the holidays",)),
    ),
}
