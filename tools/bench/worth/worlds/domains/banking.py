"""A bank's branch: customers, accounts, standing orders, cards, transfers."""

from fractions import Fraction

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
    person = build.names.person()
    for number in range(5):
        person = build.names.relative_of(person) if number and build.has(Trait.SIBLINGS) else build.names.person()
        _add_customer(build, person)
    _add_tools(build)
    limit = build.draw_limit(20_000, 30_000, 2500)
    build.add_rule("transfer", "amount_cents", ">", limit, "Large transfers need a second person")


def _add_tables(build: WorldBuild) -> None:
    build.add_table("customers", "customer", "CU", {"person.contact": "email phone"})
    build.add_table(
        "accounts",
        "account",
        "AC",
        {"state.money": "balance_cents", "state": "status"},
        {"balance_cents": "available_cents"},
    )
    build.add_table(
        "standing_orders", "standing order", "SO", {"plan": "amount_cents next_on"}, {"amount_cents": "monthly_cents"}
    )
    build.add_table("cards", "card", "CD", {"limits.daily": "limit_cents"})
    build.add_created_table("transfers", "transfer", "TR", "from_account_id@accounts?")


def _add_customer(build: WorldBuild, person: str) -> None:
    customer = build.add("customers", name=person, email=build.names.email(person), phone=build.names.phone())
    for kind in ("current", "savings"):
        account = build.add(
            "accounts",
            customer_id=customer["customer_id"],
            kind=kind,
            balance_cents=build.draw_cents(40_000, 95_000),
            status="open",
        )
    for payee in (build.names.company(), build.names.company(), build.names.person()):
        amount = build.draw_even_cents(120, 1800)
        build.add(
            "standing_orders",
            account_id=account["account_id"],
            payee=payee,
            amount_cents=amount,
            next_on=build.day(build.random.randint(2, 28)),
            status="active",
        )
    for _ in range(2):
        digits = str(build.random.randint(1000, 9999))
        build.add(
            "cards",
            account_id=account["account_id"],
            ending=digits,
            limit_cents=build.random.randint(2, 30) * 10_000,
            status="active",
        )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("customers", "name?")
    build.add_reads("accounts", "customer_id@customers?")
    build.add_reads("standing_orders", "account_id@accounts? status:active|cancelled?")
    build.add_reads("cards", "account_id@accounts?")
    params = "from_account_id@accounts to_account_id@accounts amount_cents purpose?"
    build.add_change(
        "transfer",
        "transfer_funds|move_money|book_transfer",
        "Moves money between two accounts.",
        params,
        move_money(build.form),
    )
    orders = set_fields("standing_orders", "standing_order_id")
    params = "standing_order_id@standing_orders amount_cents next_on?"
    build.add_change(
        "set_order", "change_standing_order|update_standing_order", "Sets a standing order's amount.", params, orders
    )
    ends = set_fields("standing_orders", "standing_order_id", status="cancelled")
    build.add_change(
        "cancel_order",
        "cancel_standing_order|stop_standing_order",
        "Ends a standing order.",
        "standing_order_id@standing_orders",
        ends,
    )
    freezes = set_fields("cards", "card_id", status="frozen")
    build.add_change(
        "freeze", "freeze_card|block_card", "Blocks a card.", "card_id@cards reason:lost|stolen|request", freezes
    )
    limits = set_fields("cards", "card_id")
    build.add_change(
        "card_limit",
        "set_card_limit",
        "Sets a card's daily limit.",
        "card_id@cards limit_cents",
        limits,
        "confirm_card_limit|announce_card_limit",
    )
    asks = say("inquiries", lambda _tables, given: {"customer_id": given["customer_id"], "reply": "Yes, that was me."})
    build.add_check(
        "ask",
        "get_customer_reply",
        "ask_customer|challenge_customer",
        "Asks a customer and waits for the reply.",
        "customer_id@customers question",
        asks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "notify_customer|send_customer_note|alert_customer",
        "Writes to a customer.",
        "customer_id@customers text",
        tells,
    )


def move_money(form: ServerForm) -> Handler:
    def move(tables: Tables, given: TableRow) -> ToolReply:
        source = take_row(tables, "accounts", given.txt("from_account_id"))
        target = take_row(tables, "accounts", given.txt("to_account_id"))
        amount = given.num("amount_cents")
        if amount <= 0 or amount > source.num("balance_cents"):
            raise ServerRefusal("The balance does not cover this")
        source["balance_cents"] = source.num("balance_cents") - amount
        target["balance_cents"] = target.num("balance_cents") + amount
        return ToolReply(
            ReplyShape.WRITTEN, "transfers", [add_row(tables, "transfers", form, {**given, "status": "booked"})]
        )

    return move


def _accounts_of(draft: TaskDraft, customer: TableRow) -> tuple[TableRow, TableRow]:
    current, savings = draft.rows("accounts", customer_id=customer["customer_id"])
    return current, savings


def transfer_if_enough(draft: TaskDraft) -> None:
    customer = draft.choose(draft.rows("customers"))
    source, target = _accounts_of(draft, customer)
    amount = draft.random.randint(4, 18) * 100_000
    floor = draft.random.choice((50_000, 60_000, 70_000)) * 100
    left = source.num("balance_cents") - amount
    asked = (
        f"move {draft.money(amount)} from {source['account_id']} to {target['account_id']}, but "
        f"only if more than {draft.money(floor)} is left afterwards"
    )
    part = draft.do(asked, end="; ")
    told = draft.do("afterwards tell her", polite=False, after=(part,))
    draft.call(part, "accounts.one", account_id=source["account_id"])
    draft.add_call(part, "accounts.one", account_id=target["account_id"])
    move = {
        "from_account_id": source["account_id"],
        "to_account_id": target["account_id"],
        "amount_cents": amount,
    }
    if left <= floor:
        draft.refrain(part, "transfer", **move)
        draft.answer(f"Nothing was moved: {wording.write_amount(left)} would be left.")
        return
    draft.call(part, "transfer", **move)
    draft.call(
        told,
        "tell",
        customer_id=customer["customer_id"],
        text=f"We moved {wording.write_amount(amount)} to {target['account_id']}.",
    )
    draft.answer(
        f"Moved {wording.write_amount(amount)}; {wording.write_amount(left)} is left, and {customer['name']} was told."
    )


def compare_accounts(draft: TaskDraft) -> None:
    customer = draft.choose(draft.rows("customers"))
    part = draft.find(f"By how much do the two accounts of {customer['name']} differ")
    draft.read_all(part, "customers.all", name=customer["name"])
    rows = draft.read_all(part, "accounts.all", customer_id=customer["customer_id"])
    difference = wording.write_amount(abs(rows[0].num("balance_cents") - rows[1].num("balance_cents")))
    draft.answer(f"They differ by {draft.build.currency} {difference}.", [difference])


def find_poorest(draft: TaskDraft) -> None:
    part = draft.find(
        draft.pick(
            "Which account has the least on it, and how much",
            "Which of all accounts is the lowest, and at what balance",
        )
    )
    rows = draft.read_all(part, "accounts.all")
    least = min(rows, key=lambda row: row.num("balance_cents"))
    amount = wording.write_amount(least.num("balance_cents"))
    others = [row["account_id"] for row in rows if row is not least]
    draft.answer(f"Account {least['account_id']} with {amount}.", [least["account_id"], amount], others)


def shift_standing_order(draft: TaskDraft) -> None:
    order = draft.choose(draft.rows("standing_orders"))
    share = draft.random.choice((Fraction(1, 10), Fraction(1, 4), Fraction(1, 5), Fraction(1, 3)))
    verb, sign = draft.random.choice((("raise", 1), ("lower", -1)))
    part = draft.do(
        f"{verb} standing order {order['standing_order_id']} to {order['payee']} by {wording.spell_fraction(share)}"
    )
    draft.call(part, "standing_orders.one", standing_order_id=order["standing_order_id"])
    amount = int(order.num("amount_cents") * (1 + sign * share))
    draft.call(part, "set_order", standing_order_id=order["standing_order_id"], amount_cents=amount)
    draft.answer(f"The standing order to {order['payee']} is now {wording.write_amount(amount)}.")


def cancel_orders_but_one(draft: TaskDraft) -> None:
    account = draft.row("accounts", draft.choose(draft.rows("standing_orders"))["account_id"])
    orders = draft.rows("standing_orders", account_id=account["account_id"])
    spared = draft.choose(orders)
    part = draft.do(
        f"cancel every standing order of account {account['account_id']} except the one to {spared['payee']}"
    )
    draft.read_all(part, "standing_orders.all", account_id=account["account_id"], status="active")
    draft.rounds.append([])
    for order in orders:
        draft.add_call_unless(order is spared, part, "cancel_order", standing_order_id=order["standing_order_id"])
    draft.answer(f"Cancelled all standing orders but the one to {spared['payee']}.")


def freeze_card(draft: TaskDraft) -> None:
    card = draft.choose(draft.rows("cards"))
    account = draft.row("accounts", card["account_id"])
    customer = draft.row("customers", account["customer_id"])
    draft.plain(f"{customer['name']} is on the phone; the wallet was stolen. ")
    part = draft.do(
        f"freeze the card of account {account['account_id']} that ends in {card['ending']}, not the other one"
    )
    draft.read_all(part, "cards.all", account_id=account["account_id"])
    draft.call(part, "freeze", card_id=card["card_id"], reason="stolen")
    draft.answer(f"Card {card['card_id']} is frozen.")


def total_orders(draft: TaskDraft) -> None:
    account = draft.row("accounts", draft.choose(draft.rows("standing_orders"))["account_id"])
    draft.earlier("Which account is it that we looked at?", f"It was {account['account_id']}.")
    part = draft.find("what do its active standing orders come to each month, and how many are there")
    rows = draft.read_all(part, "standing_orders.all", account_id=account["account_id"], status="active")
    total = wording.write_amount(sum(row.num("amount_cents") for row in rows))
    draft.answer(f"There are {len(rows)}, and they come to {total} a month.", [total, len(rows)])


def swap_limits(draft: TaskDraft) -> None:
    account = draft.choose(draft.rows("cards"))["account_id"]
    first, second = draft.rows("cards", account_id=account)
    part = draft.do(f"swap the daily limits of cards {first['card_id']} and {second['card_id']}")
    draft.read_each(part, "cards.one", "card_id", [first, second])
    draft.call(part, "card_limit", card_id=first["card_id"], limit_cents=second["limit_cents"])
    draft.add_call(part, "card_limit", card_id=second["card_id"], limit_cents=first["limit_cents"])
    draft.answer("The two limits are swapped.")


def ask_before_transfer(draft: TaskDraft) -> None:
    customer = draft.choose(draft.rows("customers"))
    source, target = _accounts_of(draft, customer)
    amount = draft.random.randint(5, 60) * 10_000
    checked = draft.find(f"Ask {customer['name']} whether the transfer is really wanted", end=", and ")
    part = draft.do(
        f"if so move {draft.money(amount)} from {source['account_id']} to {target['account_id']}",
        polite=False,
        after=(checked,),
    )
    draft.read_all(checked, "customers.all", name=customer["name"])
    draft.add_call(checked, "accounts.one", account_id=source["account_id"])
    draft.call(checked, "ask", customer_id=customer["customer_id"], question="Is the transfer really wanted?")
    draft.call(
        part, "transfer", from_account_id=source["account_id"], to_account_id=target["account_id"], amount_cents=amount
    )
    draft.answer(f"The answer was yes; {wording.write_amount(amount)} was moved.")


def transfer_over_limit(draft: TaskDraft) -> None:
    customer = draft.choose(draft.rows("customers"))
    source, target = _accounts_of(draft, customer)
    amount = draft.limit() + draft.random.randint(1, 20) * 5_000
    part = draft.do(f"move {draft.money(amount)} from {source['account_id']} to {target['account_id']}")
    draft.call(part, "accounts.one", account_id=source["account_id"])
    draft.add_call(part, "accounts.one", account_id=target["account_id"])
    draft.call(
        part, "transfer", from_account_id=source["account_id"], to_account_id=target["account_id"], amount_cents=amount
    )
    draft.answer(f"Moved {wording.write_amount(amount)}.")


def empty_half(draft: TaskDraft) -> None:
    """Half of an account that holds more than twice the limit."""
    source = draft.choose(
        [
            row
            for row in draft.rows("accounts")
            if row.num("balance_cents") > 2 * draft.limit() and row.num("balance_cents") % 2 == 0
        ]
        or draft.rows("accounts")
    )
    amount = max(source.num("balance_cents") // 2, draft.limit() + 10_000)
    target = draft.choose(
        [
            row
            for row in draft.rows("accounts", customer_id=source["customer_id"])
            if row["account_id"] != source["account_id"]
        ]
    )
    words = "half of the balance" if amount * 2 == source.num("balance_cents") else draft.money(amount)
    part = draft.do(f"transfer {words} of {source['account_id']} over to {target['account_id']}")
    draft.call(part, "accounts.one", account_id=source["account_id"])
    draft.add_call(part, "accounts.one", account_id=target["account_id"])
    draft.call(
        part, "transfer", from_account_id=source["account_id"], to_account_id=target["account_id"], amount_cents=amount
    )
    draft.answer(f"Moved {wording.write_amount(amount)}.")


TASKS = (
    transfer_if_enough,
    compare_accounts,
    find_poorest,
    shift_standing_order,
    cancel_orders_but_one,
    freeze_card,
    total_orders,
    swap_limits,
    ask_before_transfer,
)
QUESTIONS = (compare_accounts, find_poorest, total_orders)
RULED_TASKS = (transfer_over_limit, empty_half)
