"""A laboratory: clients, orders with tests, samples, results."""

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import RuleDraft, WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, set_line, take_row
from tools.bench.worth.worlds.rule import WorldRuleAction
from tools.bench.worth.worlds.traits import Trait

TESTS = "calcium ferritin glucose insulin lipase sodium zinc".split()
TUBES = "red blue green grey".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    company = build.names.company()
    for number in range(4):
        company = build.names.sister_of(company) if number and build.has(Trait.SIBLINGS) else build.names.company()
        client = build.add(
            "clients", name=company, report_email=build.names.email(build.names.person()), city=build.names.place()
        )
        for place in range(3):
            _add_order(build, client, flag="critical" if place == number % 3 else "routine", final=place != 1)
    _add_tools(build)
    action = build.random.choice(list(WorldRuleAction))
    build.add_rule(
        "release",
        "flag",
        "==",
        RuleDraft("critical", action),
        "Critical results are released by a physician",
        "orders",
        "order_id",
    )


def _add_tables(build: WorldBuild) -> None:
    build.add_table("clients", "client", "LC", {"delivery.reports": "report_email"})
    groups = {"request.urgency": "priority", "request": "client_id ordered_on", "state": "status flag"}
    build.add_table("orders", "order", "LO", groups, {"flag": "severity"}, {"tests": "test_code"})
    build.add_table(
        "samples", "sample", "SM", {"tube": "colour label", "storage.freezer": "shelf"}, {"label": "tube_label"}
    )


def _add_order(build: WorldBuild, client: TableRow, flag: str, final: bool) -> None:
    tests = [
        TableRow(
            test_code=name,
            value=build.random.randint(10, 99),
            low=25,
            high=75,
            state="final" if final else build.random.choice(("final", "pending")),
        )
        for name in build.random.sample(TESTS, 3)
    ]
    head = {
        "client_id": client["client_id"],
        "ordered_on": build.day(-build.random.randint(0, 12)),
        "priority": build.random.choice(("routine", "express")),
    }
    order = build.add("orders", **head, flag=flag, status="open", tests=[*tests])
    for _ in range(2):
        label = f"{build.names.stem()[:4].upper()}-{build.random.randint(100, 999)}"
        place = {"colour": build.random.choice(TUBES), "shelf": str(build.random.randint(1, 30))}
        build.add(
            "samples",
            order_id=order["order_id"],
            label=label,
            **place,
            taken_on=build.day(-build.random.randint(0, 12)),
        )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("clients", "name?")
    build.add_reads("orders", "client_id@clients? priority:routine|express|stat? status:open|released?")
    build.add_reads("samples", "order_id@orders? label?")
    build.add_change("test", "add_test|order_test", "Adds a test to an order.", "order_id@orders test_code", add_test)
    values = set_line("orders", "order_id", "tests", "test_code")
    build.add_change(
        "value",
        "correct_result|enter_value",
        "Sets the value of an order's test.",
        "order_id@orders test_code value#",
        values,
    )
    build.add_change(
        "priority",
        "set_priority|change_urgency",
        "Sets an order's priority.",
        "order_id@orders priority:routine|express|stat",
        set_fields("orders", "order_id"),
    )
    labels = set_fields("samples", "sample_id")
    build.add_change(
        "label",
        "relabel_sample|rename_tube",
        "Gives a sample another label or shelf.",
        "sample_id@samples label? shelf?",
        labels,
    )
    attaches = set_fields("samples", "sample_id")
    build.add_change(
        "attach",
        "attach_sample|reassign_sample",
        "Puts a sample under another order.",
        "sample_id@samples order_id@orders",
        attaches,
    )
    releases = set_fields("orders", "order_id", status="released")
    build.add_change(
        "release",
        "release_results|publish_results",
        "Releases an order's results to the client.",
        "order_id@orders",
        releases,
        "report_results|send_results",
    )
    again = create_row("recollections", build.form)
    build.add_change(
        "again",
        "request_recollection|create_redraw",
        "Asks for a new sample by a day.",
        "order_id@orders needed_on colour:red|blue|green|grey",
        again,
    )
    checks = say(
        "integrity", lambda _tables, given: {"sample_id": given["sample_id"], "usable": len(given.txt("sample_id")) > 0}
    )
    build.add_check(
        "usable",
        "get_integrity",
        "validate_sample|clear_sample",
        "Says whether a sample is usable; stores nothing.",
        "sample_id@samples",
        checks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell", "notify_client|message_client|phone_client", "Writes to a client.", "client_id@clients text", tells
    )


def add_test(tables: Tables, given: TableRow) -> ToolReply:
    order = take_row(tables, "orders", given.txt("order_id"))
    if any(row["test_code"] == given["test_code"] for row in order.items_of("tests")):
        raise ServerRefusal("The order has this test already")
    order["tests"] = [*order.items_of("tests"), TableRow(test_code=given["test_code"], value=None, state="pending")]
    return ToolReply(ReplyShape.WRITTEN, "orders", [order])


def _is_final(order: TableRow) -> bool:
    return all(row["state"] == "final" for row in order.items_of("tests"))


def count_out_of_range(draft: TaskDraft) -> None:
    client = draft.choose(draft.rows("clients"))
    part = draft.find(f"How many results of {client['name']} lie outside their range, low and high being the bounds")
    draft.read_all(part, "clients.all", name=client["name"])
    orders = draft.read_all(part, "orders.all", client_id=client["client_id"])
    number = sum(
        not test.num("low") <= test.num("value") <= test.num("high")
        for order in orders
        for test in order.items_of("tests")
    )
    draft.answer(f"{number} results lie outside.", [number])


def highest_value(draft: TaskDraft) -> None:
    order = draft.choose(draft.rows("orders"))
    part = draft.find(f"Which test of {order['order_id']} has the highest value, and what is it")
    draft.call(part, "orders.one", order_id=order["order_id"])
    top = max(order.items_of("tests"), key=lambda row: row.num("value"))
    draft.answer(f"{top['test_code']} with {top['value']}.", [top["test_code"], top["value"]])


def release_if_final(draft: TaskDraft) -> None:
    order = draft.choose(draft.rows("orders", flag="routine"))
    client = draft.row("clients", order["client_id"])
    part = draft.do(f"release the results of {order['order_id']} if every test of it is final")
    told = draft.do(f"then tell {client['name']}", polite=False, after=(part,))
    draft.call(part, "orders.one", order_id=order["order_id"])
    if not _is_final(order):
        draft.refrain(part, "release", order_id=order["order_id"])
        draft.answer("A test is still pending, so nothing was released.")
        return
    draft.call(part, "release", order_id=order["order_id"])
    draft.call(told, "tell", client_id=client["client_id"], text=f"The results of {order['order_id']} are released.")
    draft.answer(f"The results are released, and {client['name']} knows.")


def relabel(draft: TaskDraft) -> None:
    sample = draft.choose(draft.rows("samples"))
    label = f"{draft.build.names.stem()[:4].upper()}-{draft.random.randint(100, 999)}"
    part = draft.do(f"rename tube {sample['label']} to {label}", end=" and ")
    moved = draft.do(f"put it on shelf {wording.spell_number(31)}", polite=False)
    draft.read_all(part, "samples.all", label=sample["label"])
    draft.call(part, "label", sample_id=sample["sample_id"], label=label)
    draft.add_call(moved, "label", sample_id=sample["sample_id"], shelf="31")
    draft.answer(f"The tube is now {label} on shelf 31.")


def swap_samples(draft: TaskDraft) -> None:
    first = draft.choose(draft.rows("samples"))
    second = draft.choose([row for row in draft.rows("samples") if row["order_id"] != first["order_id"]])
    draft.plain("Two tubes were mixed up at the desk. ")
    part = draft.do(
        f"I'd like to swap samples {first['sample_id']} and {second['sample_id']} between their orders", polite=False
    )
    draft.read_each(part, "samples.one", "sample_id", [first, second])
    draft.call(part, "attach", sample_id=first["sample_id"], order_id=second["order_id"])
    draft.add_call(part, "attach", sample_id=second["sample_id"], order_id=first["order_id"])
    draft.answer("The two samples have traded orders.")


def add_missing_test(draft: TaskDraft) -> None:
    order = draft.choose(draft.rows("orders"))
    has = [row.txt("test_code") for row in order.items_of("tests")]
    wanted = draft.pick(*(name for name in TESTS if name not in has))
    draft.earlier("Which order did we speak of?", f"Order {order['order_id']}.")
    part = draft.do(f"add {wanted} to it", end=" and ")
    raised = draft.do("make it stat", polite=False)
    draft.call(part, "orders.one", order_id=order["order_id"])
    draft.call(part, "test", order_id=order["order_id"], test_code=wanted)
    draft.add_call(raised, "priority", order_id=order["order_id"], priority="stat")
    draft.answer(f"{order['order_id']} now includes {wanted} and is stat.")


def redraw_but_one(draft: TaskDraft) -> None:
    client = draft.choose(draft.rows("clients"))
    orders = draft.rows("orders", client_id=client["client_id"])
    spared = draft.choose(orders)
    days = draft.random.randint(1, 7)
    colour = draft.pick(*TUBES)
    part = draft.do(
        f"ask for new {colour} tubes {draft.when(days)} at the latest for all orders of "
        f"{client['name']}, not for {spared['order_id']} though"
    )
    draft.read_all(part, "clients.all", name=client["name"])
    draft.read_all(part, "orders.all", client_id=client["client_id"])
    draft.rounds.append([])
    for order in orders:
        draft.add_call_unless(
            order is spared, part, "again", order_id=order["order_id"], needed_on=draft.build.day(days), colour=colour
        )
    draft.answer(f"{len(orders) - 1} new tubes are asked for by {draft.build.day(days)}.")


def correct_value(draft: TaskDraft) -> None:
    order = draft.choose(draft.rows("orders"))
    test = draft.random.choice(order.items_of("tests"))
    value = draft.random.choice([number for number in range(20, 90) if number != test["value"]])
    part = draft.do(f"correct {test['test_code']} in {order['order_id']}: it reads {draft.count(value)}")
    draft.call(part, "orders.one", order_id=order["order_id"])
    draft.call(part, "value", order_id=order["order_id"], test_code=test["test_code"], value=value)
    draft.answer(f"{test['test_code']} is now {value}.")


def release_critical(draft: TaskDraft) -> None:
    order = draft.choose(draft.rows("orders", flag="critical"))
    part = draft.do(f"release the results of order {order['order_id']} today")
    draft.call(part, "orders.one", order_id=order["order_id"])
    draft.call(part, "release", order_id=order["order_id"])
    draft.answer(f"The results of {order['order_id']} are released.")


TASKS = (
    count_out_of_range,
    highest_value,
    release_if_final,
    relabel,
    swap_samples,
    add_missing_test,
    redraw_but_one,
    correct_value,
)
QUESTIONS = (count_out_of_range, highest_value)
RULED_TASKS = (release_critical,)
