"""A software company's subscriptions: workspaces, seats, charges, owners."""

from datetime import timedelta
from fractions import Fraction

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import Json, ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_row
from tools.bench.worth.worlds.traits import Trait

TIERS = "free team business".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    limit = build.draw_limit(400, 800, 50)
    stem = build.names.stem()
    for number in range(7):
        stem = stem if number and build.has(Trait.SIBLINGS) else build.names.stem()
        workspace = _add_workspace(
            build, f"{stem} {('design', 'sales', 'support', 'research', 'field', 'web', 'audit')[number]}"
        )
        for charge in (
            int(limit.limit) - build.random.randint(1, 6) * 6_000,
            int(limit.limit) + (9_000 if number % 2 else -3_000),
        ):
            build.add(
                "charges",
                workspace_id=workspace["workspace_id"],
                charged_cents=charge,
                charged_on=build.day(-build.random.randint(1, 90)),
                refunded_cents=0,
            )
    _add_tools(build)
    build.add_rule(
        "refund", "charged_cents", ">", limit, "Refunds of large charges go through finance", "charges", "charge_id"
    )


def _add_tables(build: WorldBuild) -> None:
    groups = {
        "plan.billing": "seat_price_cents renews_on",
        "plan": "tier seats",
        "admin.owner": "owner_name owner_email",
    }
    build.add_table(
        "workspaces", "workspace", "WS", groups, {"seats": "licences", "tier": "plan_tier"}, {"members": "user_id"}
    )
    build.add_table(
        "charges", "charge", "CH", {"money": "charged_cents refunded_cents"}, {"charged_cents": "paid_cents"}
    )


def _add_workspace(build: WorldBuild, name: str) -> TableRow:
    people = [build.names.person() for _ in range(3)]
    members = [
        TableRow(
            user_id=f"u{number}",
            name=person,
            email=build.names.email(person),
            last_seen_on=build.day(-build.random.randint(1, 200)),
        )
        for number, person in enumerate(people, 1)
    ]
    plan: dict[str, Json] = {
        "tier": build.random.choice(TIERS[1:]),
        "seats": build.random.randint(2, 9) * 12,
        "seat_price_cents": build.random.randint(4, 19) * 100,
    }
    owner = {"owner_name": people[0], "owner_email": members[0]["email"]}
    return build.add(
        "workspaces",
        name=name,
        **plan,
        renews_on=build.day(build.random.randint(3, 80)),
        **owner,
        status="active",
        members=[*members],
    )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("workspaces", "name? tier:free|team|business? status:active|ending?")
    build.add_reads("charges", "workspace_id@workspaces?")
    build.add_change(
        "rename",
        "rename_workspace|update_workspace",
        "Gives a workspace another name.",
        "workspace_id@workspaces name",
        set_fields("workspaces", "workspace_id"),
    )
    build.add_change(
        "seats",
        "set_seats|change_seats",
        "Sets the number of seats.",
        "workspace_id@workspaces seats#",
        set_fields("workspaces", "workspace_id"),
    )
    build.add_change(
        "tier",
        "change_tier|migrate_plan",
        "Puts a workspace on another tier.",
        "workspace_id@workspaces tier:free|team|business",
        set_fields("workspaces", "workspace_id"),
    )
    renews = set_fields("workspaces", "workspace_id")
    build.add_change(
        "renewal",
        "move_renewal|extend_trial",
        "Sets the day of renewal.",
        "workspace_id@workspaces renews_on",
        renews,
        "remind_renewal|announce_renewal",
    )
    ends = set_fields("workspaces", "workspace_id", status="ending")
    build.add_change(
        "cancel",
        "cancel_at_period_end|end_subscription",
        "Ends a subscription on its day of renewal.",
        "workspace_id@workspaces reason?",
        ends,
    )
    owners = set_fields("workspaces", "workspace_id")
    build.add_change(
        "owner",
        "transfer_ownership|set_owner",
        "Makes somebody the owner.",
        "workspace_id@workspaces owner_name owner_email!",
        owners,
    )
    build.add_change(
        "remove",
        "remove_member|revoke_seat",
        "Takes a member out of a workspace.",
        "workspace_id@workspaces user_id",
        remove_member,
    )
    build.add_change(
        "refund",
        "refund_charge|reverse_charge",
        "Refunds a charge, in part or in full.",
        "charge_id@charges amount_cents",
        refund,
    )
    asks = say(
        "inquiries",
        lambda _tables, given: {
            "workspace_id": given["workspace_id"],
            "owner_agrees": len(given.txt("question")) % 2 == 0,
        },
    )
    build.add_check(
        "ask",
        "get_owner_consent",
        "ask_owner|confirm_with_owner",
        "Asks the owner something and returns yes or no.",
        "workspace_id@workspaces question",
        asks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice("tell", "notify_member|mail_member|send_user_note", "Writes to an address.", "to! text", tells)


def remove_member(tables: Tables, given: TableRow) -> ToolReply:
    workspace = take_row(tables, "workspaces", given.txt("workspace_id"))
    kept = [row for row in workspace.items_of("members") if row["user_id"] != given["user_id"]]
    if len(kept) == len(workspace.items_of("members")):
        raise ServerRefusal("No such member")
    workspace["members"] = [*kept]
    return ToolReply(ReplyShape.WRITTEN, "workspaces", [workspace])


def refund(tables: Tables, given: TableRow) -> ToolReply:
    charge = take_row(tables, "charges", given.txt("charge_id"))
    refunded = charge.num("refunded_cents") + given.num("amount_cents")
    if given.num("amount_cents") <= 0 or refunded > charge.num("charged_cents"):
        raise ServerRefusal("More than was charged")
    charge["refunded_cents"] = refunded
    return ToolReply(ReplyShape.WRITTEN, "charges", [charge])


def _find(draft: TaskDraft, part: int, workspace: TableRow) -> None:
    draft.read_all(part, "workspaces.all", name=workspace["name"])


def rename(draft: TaskDraft) -> None:
    workspace = draft.choose(draft.rows("workspaces"))
    name = f"{draft.build.names.stem()} {draft.pick('studio', 'group', 'desk')}"
    part = draft.do(f'could you rename the workspace "{workspace["name"]}" to "{name}"', polite=False, end="? ")
    _find(draft, part, workspace)
    draft.call(part, "rename", workspace_id=workspace["workspace_id"], name=name)
    draft.answer(f"It is now called {name}.")


def cut_licences(draft: TaskDraft) -> None:
    workspace = draft.choose(draft.rows("workspaces"))
    share = draft.random.choice((Fraction(1, 2), Fraction(1, 3), Fraction(1, 4)))
    part = draft.do(f"reduce the seats of {workspace['name']} by {wording.spell_fraction(share)}")
    told = draft.do("tell the owner the new number", after=(part,))
    _find(draft, part, workspace)
    seats = int(workspace.num("seats") * (1 - share))
    draft.call(part, "seats", workspace_id=workspace["workspace_id"], seats=seats)
    draft.call(told, "tell", to=workspace["owner_email"], text=f"{workspace['name']} now has {seats} seats.")
    draft.answer(f"{workspace['name']} now has {seats} seats, and {workspace['owner_name']} knows.")


def cancel_but_two(draft: TaskDraft) -> None:
    ended, spared, other = draft.random.sample(draft.rows("workspaces"), 3)
    tier = ended["tier"]
    rows = [row for row in draft.rows("workspaces", tier=tier) if row not in (spared, other)]
    names = wording.join_names([spared.txt("name"), other.txt("name")])
    part = draft.do(f"end every {tier} subscription at its period's end, but leave {names} alone")
    draft.read_all(part, "workspaces.all", tier=tier)
    draft.rounds.append([])
    for row in rows:
        draft.add_call(part, "cancel", workspace_id=row["workspace_id"])
    draft.answer(f"{len(rows)} subscriptions end; {names} go on.")


def monthly_income(draft: TaskDraft) -> None:
    tier = draft.choose(draft.rows("workspaces"))["tier"]
    part = draft.find(f"What do all {tier} workspaces bring in each month, seats times price")
    rows = draft.read_all(part, "workspaces.all", tier=tier)
    total = wording.write_amount(sum(row.num("seats") * row.num("seat_price_cents") for row in rows))
    draft.answer(f"They bring in {draft.build.currency} {total}.", [total])


def hand_over(draft: TaskDraft) -> None:
    workspace = draft.choose(draft.rows("workspaces"))
    heir = draft.random.choice(workspace.items_of("members")[1:])
    part = draft.do(
        f"make {heir['name']} the owner of {workspace['name']} in place of {workspace['owner_name']}", end=", then "
    )
    told = draft.do("write to both the old owner and the new one", polite=False, after=(part,))
    _find(draft, part, workspace)
    draft.call(
        part, "owner", workspace_id=workspace["workspace_id"], owner_name=heir["name"], owner_email=heir["email"]
    )
    draft.rounds.append([])
    for address in (workspace["owner_email"], heir["email"]):
        draft.add_call(told, "tell", to=address, text=f"{heir['name']} now owns {workspace['name']}.")
    draft.answer(f"{heir['name']} owns {workspace['name']}, and both know.")


def extend_trial(draft: TaskDraft) -> None:
    workspace, days = draft.choose(draft.rows("workspaces")), draft.random.choice((7, 10, 14, 30))
    draft.earlier(
        f"When does {workspace['name']} ({workspace['workspace_id']}) renew?", f"On {workspace['renews_on']}."
    )
    part = draft.do(f"push that back by {draft.count(days)} days")
    draft.call(part, "workspaces.one", workspace_id=workspace["workspace_id"])
    day = (workspace.day("renews_on") + timedelta(days)).isoformat()
    draft.call(part, "renewal", workspace_id=workspace["workspace_id"], renews_on=day)
    draft.answer(f"It renews on {day}.")


def remove_idle(draft: TaskDraft) -> None:
    workspace = draft.choose(draft.rows("workspaces"))
    idle = min(workspace.items_of("members")[1:], key=lambda row: row.txt("last_seen_on"))
    part = draft.do(
        f"take the member of {workspace['name']} out who has not been seen for the longest time, the owner aside"
    )
    _find(draft, part, workspace)
    draft.call(part, "remove", workspace_id=workspace["workspace_id"], user_id=idle["user_id"])
    draft.answer(f"{idle['name']} was taken out.")


def ask_then_upgrade(draft: TaskDraft) -> None:
    workspace = draft.choose(draft.rows("workspaces"))
    tier = "team" if workspace["tier"] == "business" else "business"
    question = draft.pick("May we change your plan?", "Do you agree to another plan?")
    checked = draft.find(f'Ask the owner of {workspace["name"]}: "{question}"', end=" ")
    part = draft.do(f"Only with a yes, put the workspace on the {tier} tier", polite=False, after=(checked,))
    _find(draft, checked, workspace)
    agrees = draft.call(checked, "ask", workspace_id=workspace["workspace_id"], question=question).rows[0][
        "owner_agrees"
    ]
    if agrees:
        draft.call(part, "tier", workspace_id=workspace["workspace_id"], tier=tier)
    else:
        draft.refrain(part, "tier", workspace_id=workspace["workspace_id"], tier=tier)
    draft.answer(f"The owner said {f'yes; the workspace is on {tier}' if agrees else 'no, so nothing was changed'}.")


def refund_small(draft: TaskDraft) -> None:
    rows = [row for row in draft.rows("charges") if row.num("charged_cents") <= draft.limit()]
    _refund(draft, max(rows, key=lambda row: row.num("charged_cents")), wording.draw_fraction(draft.random))


def refund_large(draft: TaskDraft) -> None:
    rows = [row for row in draft.rows("charges") if row.num("charged_cents") > draft.limit()]
    _refund(draft, draft.choose(rows), Fraction(1, 2))


def _refund(draft: TaskDraft, charge: TableRow, share: Fraction) -> None:
    part = draft.do(f"refund {wording.spell_fraction(share)} of charge {charge['charge_id']}")
    draft.call(part, "charges.one", charge_id=charge["charge_id"])
    amount = int(charge.num("charged_cents") * share)
    draft.call(part, "refund", charge_id=charge["charge_id"], amount_cents=amount)
    draft.answer(f"{wording.write_amount(amount)} was refunded.")


TASKS = (
    rename,
    cut_licences,
    cancel_but_two,
    monthly_income,
    hand_over,
    extend_trial,
    remove_idle,
    ask_then_upgrade,
    refund_small,
)
QUESTIONS = (monthly_income,)
RULED_TASKS = (refund_large,)
