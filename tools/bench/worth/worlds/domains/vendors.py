"""Accounts payable: vendors, their invoices, payments."""

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ServerForm, ToolReply
from tools.bench.worth.worlds.handlers import add_row, create_row, say, set_fields, take_row
from tools.bench.worth.worlds.operation import Handler
from tools.bench.worth.worlds.traits import Trait


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    _add_records(build)
    _add_tools(build)
    limit = build.draw_limit(12_000, 40_000, 1000)
    build.add_rule(
        "pay", "total_cents", ">", limit, "Large invoices are not paid on one signature", "invoices", "invoice_id"
    )
    _add_large_invoices(build, int(limit.limit))


def _add_tables(build: WorldBuild) -> None:
    groups = {"terms.payment": "discount_pct net_days", "contacts.primary": "contact_name email"}
    build.add_table("vendors", "vendor", "VN", groups, {"discount_pct": "agreed_discount"})
    groups = {"figures.amounts": "total_cents paid_cents", "dates": "issued_on due_on"}
    build.add_table("invoices", "invoice", "INV", groups, {"total_cents": "gross_cents"}, {"lines": "line_id"})
    build.add_created_table("payments", "payment", "PAY", "status?")


def _add_records(build: WorldBuild) -> None:
    company = build.names.company()
    for number in range(6):
        alike = number and build.has(Trait.SIBLINGS)
        company = build.names.sister_of(company) if alike else build.names.company()
        vendor = _add_vendor(build, company)
        for _ in range(build.random.randint(2, 4)):
            _add_invoice(build, vendor, build.draw_even_cents(600, 9000), build.random.randint(-40, 30))
    build.tables["watchlist"] = {
        row.txt("vendor_id"): TableRow(match=True)
        for row in build.random.sample([*build.tables["vendors"].values()], 2)
    }


def _add_vendor(build: WorldBuild, company: str) -> TableRow:
    person = build.names.person()
    terms = {"discount_pct": build.random.choice((1, 2, 3)), "net_days": build.random.choice((14, 30, 45))}
    return build.add("vendors", name=company, contact_name=person, email=build.names.email(person), **terms)


def _add_invoice(build: WorldBuild, vendor: TableRow, total: int, due: int) -> TableRow:
    first = build.random.randint(1, 9) * total // 10
    texts = build.random.sample(("Delivery", "Material", "Hours", "Packing", "Rental"), 2)
    lines = [
        TableRow(line_id=f"L{n}", text=text, price_cents=price)
        for n, (text, price) in enumerate(zip(texts, (first, total - first), strict=True), 1)
    ]
    dates = {"issued_on": build.day(due - 30), "due_on": build.day(due)}
    return build.add(
        "invoices",
        vendor_id=vendor["vendor_id"],
        total_cents=total,
        paid_cents=0,
        status="open",
        **dates,
        lines=[*lines],
    )


def _add_large_invoices(build: WorldBuild, limit: int) -> None:
    for vendor in list(build.tables["vendors"].values())[:2]:
        _add_invoice(build, vendor, limit + build.draw_even_cents(600, 6000), 20)
        _add_invoice(build, vendor, limit - build.draw_even_cents(60, 600), 20)


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("vendors", "name?")
    build.add_reads("invoices", "vendor_id@vendors? status:open|paid|held|duplicate?")
    text = "Pays an invoice in part or in full; at once where no date is given."
    build.add_change(
        "pay",
        "pay_invoice|settle_invoice|release_payment",
        text,
        "invoice_id@invoices amount_cents pay_on?",
        pay_invoice(build.form),
    )
    held = set_fields("invoices", "invoice_id", status="held")
    build.add_change(
        "hold",
        "hold_invoice|put_on_hold|suspend_invoice",
        "Keeps an invoice from being paid.",
        "invoice_id@invoices reason",
        held,
    )
    doubled = set_fields("invoices", "invoice_id", status="duplicate")
    params = "invoice_id@invoices original_id@invoices"
    build.add_change(
        "duplicate", "mark_duplicate|flag_duplicate", "Marks an invoice as a duplicate of another one.", params, doubled
    )
    terms = set_fields("vendors", "vendor_id")
    params = "vendor_id@vendors discount_pct#? net_days#?"
    build.add_change(
        "terms",
        "set_terms|update_vendor_terms",
        "Sets discount (percent) and days to pay.",
        params,
        terms,
        "announce_terms|confirm_terms",
    )
    screens = say(
        "screening",
        lambda tables, given: {
            "vendor_id": given["vendor_id"],
            "sanctions_match": given.txt("vendor_id") in tables["watchlist"],
        },
    )
    build.add_check(
        "screen",
        "get_screening|check_sanctions",
        "screen_party|clear_party|run_screening",
        "Checks a vendor against sanctions lists.",
        "vendor_id@vendors",
        screens,
    )
    asks = say(
        "inquiries",
        lambda _tables, given: {"vendor_id": given["vendor_id"], "reply": "The statement that you have is right."},
    )
    build.add_check(
        "ask",
        "get_vendor_statement",
        "ask_vendor|challenge_vendor",
        "Asks a vendor something and returns the reply.",
        "vendor_id@vendors question",
        asks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "notify_vendor|inform_vendor|message_vendor",
        "Writes to a vendor's contact.",
        "vendor_id@vendors text",
        tells,
    )


def pay_invoice(form: ServerForm) -> Handler:
    def pay(tables: Tables, given: TableRow) -> ToolReply:
        invoice = take_row(tables, "invoices", given.txt("invoice_id"))
        paid = invoice.num("paid_cents") + given.num("amount_cents")
        if not given.num("amount_cents") > 0 or paid > invoice.num("total_cents"):
            raise ServerRefusal("The amount is more than what is open")
        invoice.update(paid_cents=paid, status="paid" if paid == invoice.num("total_cents") else "open")
        return ToolReply(
            ReplyShape.WRITTEN, "payments", [add_row(tables, "payments", form, {**given, "status": "booked"})]
        )

    return pay


def _small_invoices(draft: TaskDraft) -> list[TableRow]:
    return [row for row in draft.rows("invoices", status="open") if row.num("total_cents") <= draft.limit()]


def _vendor_of(draft: TaskDraft, invoice: TableRow) -> TableRow:
    return draft.row("vendors", invoice["vendor_id"])


def total_open(draft: TaskDraft) -> None:
    vendor = draft.choose(draft.rows("vendors"))
    part = draft.find(
        draft.pick(
            f"How much do we owe {vendor['name']} in all", f"What is the total of all open invoices of {vendor['name']}"
        )
    )
    draft.read_all(part, "vendors.all", name=vendor["name"])
    rows = draft.read_all(part, "invoices.all", vendor_id=vendor["vendor_id"], status="open")
    total = wording.write_amount(sum(row.num("total_cents") for row in rows))
    draft.answer(f"We owe {vendor['name']} {draft.build.currency} {total} in all.", [total])


def pay_share(draft: TaskDraft) -> None:
    invoice, share = draft.choose(_small_invoices(draft)), wording.draw_fraction(draft.random)
    day = draft.random.randint(1, 20)
    part = draft.do(f"pay {wording.spell_fraction(share)} of invoice {invoice['invoice_id']} {draft.when(day)}")
    draft.call(part, "invoices.one", invoice_id=invoice["invoice_id"])
    amount = int(invoice.num("total_cents") * share)
    draft.call(part, "pay", invoice_id=invoice["invoice_id"], amount_cents=amount, pay_on=draft.build.day(day))
    draft.answer(f"Paid {wording.write_amount(amount)} of invoice {invoice['invoice_id']}.")


def pay_all_but_one(draft: TaskDraft) -> None:
    vendor = draft.choose([row for row in draft.rows("vendors") if len(_payable(draft, row)) > 2])
    spared, *paid = draft.random.sample(_payable(draft, vendor), 3)
    named = wording.join_names([invoice.txt("invoice_id") for invoice in paid])
    part = draft.do(f"settle {named} of {vendor['name']} in full, but not {spared['invoice_id']}")
    draft.read_each(part, "invoices.one", "invoice_id", paid)
    draft.rounds.append([])
    for invoice in paid:
        draft.add_call(part, "pay", invoice_id=invoice["invoice_id"], amount_cents=invoice["total_cents"])
    draft.refrain(part, "pay", invoice_id=spared["invoice_id"], amount_cents=spared["total_cents"])
    draft.answer(f"Paid {named} in full; {spared['invoice_id']} stays open.")


def _payable(draft: TaskDraft, vendor: TableRow) -> list[TableRow]:
    return [row for row in _small_invoices(draft) if row["vendor_id"] == vendor["vendor_id"]]


def mark_duplicate(draft: TaskDraft) -> None:
    vendor = draft.choose([row for row in draft.rows("vendors") if len(_payable(draft, row)) > 1])
    later, first = draft.random.sample(_payable(draft, vendor), 2)
    part = draft.do(f"mark {later['invoice_id']} as a duplicate of {first['invoice_id']}", end=" and ")
    told = draft.do(f"tell {vendor['name']} that we will not pay {later['invoice_id']}", polite=False, after=(part,))
    draft.read_each(part, "invoices.one", "invoice_id", [later, first])
    draft.call(part, "duplicate", invoice_id=later["invoice_id"], original_id=first["invoice_id"])
    text = f"Invoice {later['invoice_id']} is a duplicate of {first['invoice_id']}; we will not pay it."
    draft.call(told, "tell", vendor_id=vendor["vendor_id"], text=text)
    draft.answer(
        f"{later['invoice_id']} is marked as a duplicate of {first['invoice_id']}, and {vendor['name']} was told."
    )


def change_terms(draft: TaskDraft) -> None:
    vendor = draft.choose(draft.rows("vendors"))
    discount, days = draft.random.choice((4, 5, 6)), draft.random.choice((10, 20, 60))
    draft.plain(f"I have spoken with {vendor['contact_name']}. ")
    part = draft.do(
        f"change the terms of {vendor['name']} to {draft.count(discount)} "
        f"percent discount and {draft.count(days)} days net"
    )
    draft.read_all(part, "vendors.all", name=vendor["name"])
    draft.call(part, "terms", vendor_id=vendor["vendor_id"], discount_pct=discount, net_days=days)
    draft.answer(f"{vendor['name']} now has {discount} percent discount and {days} days net.")


def list_overdue(draft: TaskDraft) -> None:
    vendor = draft.choose(draft.rows("vendors"))
    draft.earlier(
        f"Which vendors are called like {vendor.txt('name').split()[0]}?",
        f"There is {vendor['name']}, id {vendor['vendor_id']}.",
    )
    part = draft.find("which of their open invoices are overdue as of today")
    rows = draft.read_all(part, "invoices.all", vendor_id=vendor["vendor_id"], status="open")
    late = [row["invoice_id"] for row in rows if row.day("due_on") < draft.build.today]
    others = [row["invoice_id"] for row in rows if row["invoice_id"] not in late]
    draft.answer(
        f"Overdue: {wording.join_names([str(key) for key in late]) if late else '0 invoices'}.", late or ["0"], others
    )


def screen_and_pay(draft: TaskDraft) -> None:
    invoice = draft.choose(_small_invoices(draft))
    vendor = _vendor_of(draft, invoice)
    checked = draft.find(f"please run the sanctions check on {vendor['name']}", end="; ")
    part = draft.do(
        f"if nothing is found, pay {invoice['invoice_id']} in full, else put "
        'it on hold with the reason "sanctions match"',
        polite=False,
        after=(checked,),
    )
    draft.call(checked, "invoices.one", invoice_id=invoice["invoice_id"])
    draft.add_call(checked, "vendors.one", vendor_id=vendor["vendor_id"])
    match = draft.call(checked, "screen", vendor_id=vendor["vendor_id"]).rows[0]["sanctions_match"]
    if match:
        draft.call(part, "hold", invoice_id=invoice["invoice_id"], reason="sanctions match")
    else:
        draft.call(part, "pay", invoice_id=invoice["invoice_id"], amount_cents=invoice["total_cents"])
    draft.answer(f"The check found {'a match: the invoice is on hold' if match else 'nothing: the invoice is paid'}.")


def pay_near_limit(draft: TaskDraft) -> None:
    invoice = max(_small_invoices(draft), key=lambda row: row.num("total_cents"))
    vendor = _vendor_of(draft, invoice)
    part = draft.do(f"pay the whole invoice {invoice['invoice_id']} of {vendor['name']}")
    draft.call(part, "invoices.one", invoice_id=invoice["invoice_id"])
    draft.call(part, "pay", invoice_id=invoice["invoice_id"], amount_cents=invoice["total_cents"])
    draft.answer(f"Invoice {invoice['invoice_id']} is paid.")


def pay_large(draft: TaskDraft) -> None:
    invoice = draft.choose(
        [row for row in draft.rows("invoices", status="open") if row.num("total_cents") > draft.limit()]
    )
    part = draft.do(f"pay the whole invoice {invoice['invoice_id']}", end=" and then ", polite=False)
    told = draft.do("let the vendor know", polite=False, after=(part,))
    draft.call(part, "invoices.one", invoice_id=invoice["invoice_id"])
    draft.call(part, "pay", invoice_id=invoice["invoice_id"], amount_cents=invoice["total_cents"])
    draft.call(told, "tell", vendor_id=invoice["vendor_id"], text=f"Invoice {invoice['invoice_id']} is paid.")
    draft.answer(f"Invoice {invoice['invoice_id']} is paid, and the vendor knows.")


def pay_share_of_large(draft: TaskDraft) -> None:
    invoice = draft.choose(
        [row for row in draft.rows("invoices", status="open") if row.num("total_cents") > draft.limit()]
    )
    part = draft.do(f"pay half of {invoice['invoice_id']} today")
    draft.call(part, "invoices.one", invoice_id=invoice["invoice_id"])
    amount = invoice.num("total_cents") // 2
    draft.call(part, "pay", invoice_id=invoice["invoice_id"], amount_cents=amount, pay_on=draft.build.day(0))
    draft.answer(f"Paid {wording.write_amount(amount)} of {invoice['invoice_id']}.")


TASKS = (
    total_open,
    pay_share,
    pay_all_but_one,
    mark_duplicate,
    change_terms,
    list_overdue,
    screen_and_pay,
    pay_near_limit,
)
QUESTIONS = (total_open, list_overdue)
RULED_TASKS = (pay_large, pay_share_of_large)
