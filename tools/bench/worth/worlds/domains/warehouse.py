"""A warehouse: items, stock by bin, transfers, orders to suppliers."""

from fractions import Fraction

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import RuleDraft, WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_line, take_row
from tools.bench.worth.worlds.rule import WorldRuleAction
from tools.bench.worth.worlds.traits import Trait

GOODS = "bracket valve gasket hinge pulley clamp spindle sleeve bearing flange coupler washer".split()
COLOURS = "grey black white blue brass".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    goods = build.random.sample(GOODS, 10)
    for number, good in enumerate(goods):
        alike = number % 2 and build.has(Trait.SIBLINGS)
        _add_item(
            build,
            f"{goods[number - 1] if alike else good} {build.random.choice(COLOURS)} M{number + 4}",
            short=number % 3 == 0,
        )
    for _ in range(3):
        person = build.names.person()
        build.add("clerks", name=person, email=build.names.email(person), shift=build.random.choice(("early", "late")))
    _add_tools(build)
    limit = RuleDraft(build.random.randint(8, 14) * 50, build.random.choice(list(WorldRuleAction)))
    build.add_rule("order", "quantity", ">", limit, "Large orders go through purchasing")


def _add_tables(build: WorldBuild) -> None:
    groups = {"supply.rules": "minimum lot", "supply": "supplier"}
    build.add_table("items", "item", "IT", groups, {"minimum": "reorder_point"}, {"bins": "bin_id"})
    build.add_table("clerks", "clerk", "CK")
    build.add_created_table("purchase_requests", "purchase request", "PR", "item_id@items?")
    build.add_created_table("movements", "movement", "MV", "item_id@items?")


def _add_item(build: WorldBuild, name: str, short: bool) -> None:
    bins = [
        TableRow(bin_id=f"{aisle}{build.random.randint(10, 99)}", quantity=build.random.randint(2, 30) * 12)
        for aisle in build.random.sample("ABCDEFG", 3)
    ]
    stock = sum(row.num("quantity") for row in bins)
    minimum = stock + (build.random.choice((20, 35)) if short else build.random.choice((-40, -25, -60)))
    build.add(
        "items",
        name=name,
        supplier=build.names.company(),
        unit_price_cents=build.draw_cents(1, 40),
        minimum=minimum,
        lot=build.random.choice((25, 50)),
        bins=[*bins],
    )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("items", "name?")
    build.add_reads("clerks", "shift:early|late?")
    params = "item_id@items from_bin to_bin quantity#"
    build.add_change(
        "move",
        "transfer_stock|move_stock|relocate",
        "Moves pieces between two bins of an item.",
        params,
        move_stock,
        "announce_transfer|notify_move",
    )
    build.add_change(
        "count",
        "record_count|set_bin_count",
        "Sets what was counted in a bin.",
        "item_id@items bin_id quantity#",
        count_bin,
    )
    build.add_change(
        "rename",
        "rename_item|update_item",
        "Changes an item's name.",
        "item_id@items name",
        set_fields("items", "item_id"),
    )
    orders = create_row("purchase_requests", build.form, status="sent")
    build.add_change(
        "order",
        "reorder|order_item|request_purchase",
        "Orders pieces from the item's supplier.",
        "item_id@items quantity#",
        orders,
    )
    counts = say(
        "counts",
        lambda tables, given: {
            "item_id": given["item_id"],
            "pieces_seen": _stock(take_row(tables, "items", given.txt("item_id"))),
        },
    )
    build.add_check(
        "recount",
        "get_camera_count",
        "recount_item|verify_stock",
        "Lets the cameras count an item; stores nothing.",
        "item_id@items",
        counts,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell", "page_clerk|notify_clerk|radio_clerk", "Sends a clerk a message.", "clerk_id@clerks text", tells
    )


def move_stock(tables: Tables, given: TableRow) -> ToolReply:
    item = take_row(tables, "items", given.txt("item_id"))
    source = take_line(item, "bins", "bin_id", given.txt("from_bin"))
    target = take_line(item, "bins", "bin_id", given.txt("to_bin"))
    if not 0 < given.num("quantity") <= source.num("quantity"):
        raise ServerRefusal("There are not as many pieces in this bin")
    source["quantity"] = source.num("quantity") - given.num("quantity")
    target["quantity"] = target.num("quantity") + given.num("quantity")
    return ToolReply(ReplyShape.WRITTEN, "items", [item])


def count_bin(tables: Tables, given: TableRow) -> ToolReply:
    item = take_row(tables, "items", given.txt("item_id"))
    take_line(item, "bins", "bin_id", given.txt("bin_id"))["quantity"] = given["quantity"]
    return ToolReply(ReplyShape.WRITTEN, "items", [item])


def _stock(item: TableRow) -> int:
    return sum(row.num("quantity") for row in item.items_of("bins"))


def find_scarcest(draft: TaskDraft) -> None:
    part = draft.find(
        draft.pick("Of which item do we have the fewest pieces over all bins", "Which item is lowest in total stock")
        + ", and how many are there"
    )
    rows = draft.read_all(part, "items.all")
    least = min(rows, key=_stock)
    ties = [row["item_id"] for row in rows if _stock(row) == _stock(least)]
    others = [row["item_id"] for row in rows if row["item_id"] not in ties]
    draft.answer(
        f"{wording.join_names([str(key) for key in ties])} ({least['name']}) with {_stock(least)} pieces.",
        [*ties, _stock(least)],
        others,
    )


def move_share(draft: TaskDraft) -> None:
    item = draft.choose(draft.rows("items"))
    share = draft.random.choice((Fraction(1, 2), Fraction(1, 3), Fraction(1, 4), Fraction(2, 3)))
    source, target = draft.random.sample(item.items_of("bins"), 2)
    part = draft.do(
        f"move {wording.spell_fraction(share)} of the {item['name']} pieces in "
        f"bin {source['bin_id']} over to {target['bin_id']}"
    )
    draft.read_all(part, "items.all", name=item["name"])
    quantity = int(source.num("quantity") * share)
    draft.call(
        part, "move", item_id=item["item_id"], from_bin=source["bin_id"], to_bin=target["bin_id"], quantity=quantity
    )
    draft.answer(f"{quantity} pieces were moved from {source['bin_id']} to {target['bin_id']}.")


def reorder_short_ones(draft: TaskDraft) -> None:
    short = [row for row in draft.rows("items") if _stock(row) < row.num("minimum")]
    spared = draft.choose(short)
    part = draft.do(
        "order one lot of every item whose total stock is under its minimum, "
        f"except {spared['name']}, which is being discontinued"
    )
    draft.read_all(part, "items.all")
    draft.rounds.append([])
    for item in short:
        draft.add_call_unless(item is spared, part, "order", item_id=item["item_id"], quantity=item["lot"])
    draft.answer(f"Ordered a lot of {len(short) - 1} items; {spared['name']} was left out.")


def rename_item(draft: TaskDraft) -> None:
    item = draft.choose(draft.rows("items"))
    new = f"{draft.pick('old', 'spare', 'export')} {draft.build.names.stem().lower()} fitting"
    part = draft.do(f'please rename "{item["name"]}" to "{new}"', polite=False)
    draft.read_all(part, "items.all", name=item["name"])
    draft.call(part, "rename", item_id=item["item_id"], name=new)
    draft.answer(f"The item is now called {new}.")


def move_if_enough(draft: TaskDraft) -> None:
    item = draft.choose(draft.rows("items"))
    source, target = draft.random.sample(item.items_of("bins"), 2)
    clerk, wanted = draft.choose(draft.rows("clerks")), draft.random.randint(2, 9) * 10
    floor = draft.random.choice((60, 90, 120))
    left = source.num("quantity") - wanted
    asked = (
        f"move {draft.count(wanted)} pieces of {item['name']} from {source['bin_id']} to {target['bin_id']} "
        f"only if at least {draft.count(floor)} remain in {source['bin_id']}"
    )
    part = draft.do(asked)
    told = draft.do(f"when that is done, tell {clerk['name']}", polite=False, after=(part,))
    draft.read_all(part, "items.all", name=item["name"])
    move = {"item_id": item["item_id"], "from_bin": source["bin_id"], "to_bin": target["bin_id"], "quantity": wanted}
    if left < floor:
        if wanted <= source.num("quantity"):
            draft.refrain(part, "move", **move)
        return draft.answer(f"Only {max(left, 0)} would remain, so nothing was moved.")
    draft.call(part, "move", **move)
    draft.read_all(told, "clerks.all")
    draft.call(
        told,
        "tell",
        clerk_id=clerk["clerk_id"],
        text=f"{wanted} pieces of {item['name']} are now in {target['bin_id']}.",
    )
    return draft.answer(f"{wanted} pieces were moved, {left} remain; {clerk['name']} knows.")


def correct_count(draft: TaskDraft) -> None:
    item, quantity = draft.choose(draft.rows("items")), draft.random.randint(21, 340)
    place = draft.random.choice(item.items_of("bins"))
    draft.earlier(f"What is the id of {item['name']}?", f"It is {item['item_id']}.")
    part = draft.do(f"we have counted it anew: set bin {place['bin_id']} to {draft.count(quantity)}", polite=False)
    draft.call(part, "items.one", item_id=item["item_id"])
    draft.call(part, "count", item_id=item["item_id"], bin_id=place["bin_id"], quantity=quantity)
    draft.answer(f"Bin {place['bin_id']} now holds {quantity}.")


def recount(draft: TaskDraft) -> None:
    item = draft.choose(draft.rows("items"))
    part = draft.find(f"Have the cameras count {item['name']}; how many pieces do they see")
    draft.read_all(part, "items.all", name=item["name"])
    draft.call(part, "recount", item_id=item["item_id"])
    draft.answer(f"The cameras see {_stock(item)} pieces.", [_stock(item)])


def value_of_bin(draft: TaskDraft) -> None:
    item = draft.choose(draft.rows("items"))
    place = draft.random.choice(item.items_of("bins"))
    part = draft.find(f"What are the {item['name']} pieces in bin {place['bin_id']} worth at their unit price")
    draft.read_all(part, "items.all", name=item["name"])
    value = wording.write_amount(place.num("quantity") * item.num("unit_price_cents"))
    draft.answer(f"They are worth {draft.build.currency} {value}.", [value])


def order_many(draft: TaskDraft) -> None:
    item = draft.choose(draft.rows("items"))
    quantity = draft.limit() + draft.random.randint(1, 6) * 50
    part = draft.do(f"order {draft.count(quantity)} pieces of {item['name']}")
    draft.read_all(part, "items.all", name=item["name"])
    draft.call(part, "order", item_id=item["item_id"], quantity=quantity)
    draft.answer(f"{quantity} pieces of {item['name']} are ordered.")


TASKS = (
    find_scarcest,
    move_share,
    reorder_short_ones,
    rename_item,
    move_if_enough,
    correct_count,
    recount,
    value_of_bin,
)
QUESTIONS = (find_scarcest, recount, value_of_bin)
RULED_TASKS = (order_many,)
