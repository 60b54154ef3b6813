"""An insurer's claims: policies, claims with items, reserves, adjusters."""

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, set_line, take_row
from tools.bench.worth.worlds.traits import Trait

PERILS = "water fire theft storm glass".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    adjusters = [_add_adjuster(build) for _ in range(4)]
    person = build.names.person()
    for number in range(7):
        person = build.names.relative_of(person) if number and build.has(Trait.SIBLINGS) else build.names.person()
        _add_policy(build, person, adjusters)
    _add_tools(build)
    limit = build.draw_limit(9_000, 14_000, 500)
    build.add_rule(
        "settle", "estimate_cents", ">", limit, "Large losses are settled by a second adjuster", "claims", "claim_id"
    )
    policies = list(build.tables["policies"].values())
    for policy, more in zip(policies, (90_000, 222_000, -30_000), strict=False):
        _add_claim(build, policy, adjusters, int(limit.limit) + more)


def _add_tables(build: WorldBuild) -> None:
    build.add_table("adjusters", "adjuster", "AJ", {"desk.reach": "email"})
    build.add_table(
        "policies", "policy", "PO", {"holder.contact": "email", "holder": "holder_name", "cover": "deductible_cents"}
    )
    groups = {"loss.figures": "estimate_cents reserve_cents", "loss": "peril lost_on", "handling": "adjuster_id status"}
    build.add_table("claims", "claim", "CL", groups, {"estimate_cents": "assessed_cents"}, {"items": "item_id"})


def _add_adjuster(build: WorldBuild) -> TableRow:
    person = build.names.person()
    return build.add("adjusters", name=person, email=build.names.email(person))


def _add_policy(build: WorldBuild, person: str, adjusters: list[TableRow]) -> None:
    deductible = build.random.choice((150, 250, 300, 500)) * 100
    policy = build.add("policies", holder_name=person, email=build.names.email(person), deductible_cents=deductible)
    for _ in range(build.random.randint(1, 3)):
        _add_claim(build, policy, adjusters, build.draw_even_cents(1200, 7800))


def _add_claim(build: WorldBuild, policy: TableRow, adjusters: list[TableRow], estimate: int) -> None:
    adjuster = build.random.choice(adjusters)
    share = estimate // 300 * 100
    items = [
        TableRow(item_id=f"P{number}", text=text, claimed_cents=claimed)
        for number, (text, claimed) in enumerate((("Furniture", share), ("Repairs", estimate - share)), 1)
    ]
    handling = {"adjuster_id": adjuster["adjuster_id"], "status": "open"}
    loss = {"peril": build.random.choice(PERILS), "lost_on": build.day(-build.random.randint(5, 120))}
    figures = {"estimate_cents": estimate, "reserve_cents": build.draw_cents(500, 9000), "settled_cents": 0}
    build.add("claims", policy_id=policy["policy_id"], **loss, **figures, **handling, items=[*items])


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("adjusters", "name?")
    build.add_reads("policies", "holder_name?")
    build.add_reads("claims", "policy_id@policies? adjuster_id@adjusters? peril? status:open|settled|closed?")
    build.add_change(
        "settle",
        "settle_claim|pay_claim|approve_claim",
        "Settles an open claim for an amount.",
        "claim_id@claims payment_cents",
        settle,
    )
    closes = set_fields("claims", "claim_id", status="closed")
    build.add_change(
        "close",
        "close_claim|reject_claim",
        "Closes a claim without a payment.",
        "claim_id@claims reason duplicate_of@claims?",
        closes,
    )
    build.add_change(
        "reserve",
        "set_reserve|adjust_reserve",
        "Sets a claim's reserve.",
        "claim_id@claims reserve_cents",
        set_fields("claims", "claim_id"),
    )
    assigns = set_fields("claims", "claim_id")
    build.add_change(
        "assign",
        "assign_adjuster|reassign_claim",
        "Gives a claim to an adjuster.",
        "claim_id@claims adjuster_id@adjusters",
        assigns,
        "inform_adjuster|announce_handover",
    )
    lines = set_line("claims", "claim_id", "items", "item_id")
    build.add_change(
        "item",
        "correct_item|update_claim_item",
        "Corrects one item of a claim.",
        "claim_id@claims item_id claimed_cents",
        lines,
    )
    asks = say(
        "inquiries",
        lambda _tables, given: {"claim_id": given["claim_id"], "fraud_score": len(given.txt("claim_id")) * 3},
    )
    build.add_check(
        "fraud",
        "get_fraud_score",
        "flag_fraud|run_fraud_screen",
        "Computes how suspicious a claim looks; stores nothing.",
        "claim_id@claims",
        asks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "write_to_holder|notify_holder|letter_to_holder",
        "Sends a letter to a policy's holder.",
        "policy_id@policies text",
        tells,
    )


def settle(tables: Tables, given: TableRow) -> ToolReply:
    claim = take_row(tables, "claims", given.txt("claim_id"))
    if claim["status"] != "open" or given.num("payment_cents") > claim.num("estimate_cents"):
        raise ServerRefusal("The claim is not open, or the amount is above the estimate")
    claim.update(settled_cents=given["payment_cents"], status="settled")
    return ToolReply(ReplyShape.WRITTEN, "claims", [claim])


def _small_claims(draft: TaskDraft) -> list[TableRow]:
    return [row for row in draft.rows("claims") if row.num("estimate_cents") <= draft.limit()]


def _settle(draft: TaskDraft, claim: TableRow) -> None:
    policy = draft.row("policies", claim["policy_id"])
    part = draft.do(f"settle claim {claim['claim_id']} for the estimate less the deductible", end=" and ")
    told = draft.do(f"send {policy['holder_name']} a letter with the amount", polite=False, after=(part,))
    draft.call(part, "claims.one", claim_id=claim["claim_id"])
    draft.call(part, "policies.one", policy_id=claim["policy_id"])
    amount = claim.num("estimate_cents") - policy.num("deductible_cents")
    draft.call(part, "settle", claim_id=claim["claim_id"], payment_cents=amount)
    draft.call(
        told, "tell", policy_id=claim["policy_id"], text=f"Your claim is settled for {wording.write_amount(amount)}."
    )
    draft.answer(f"{claim['claim_id']} is settled for {wording.write_amount(amount)}, and the letter is out.")


def settle_less_deductible(draft: TaskDraft) -> None:
    _settle(draft, draft.choose(_small_claims(draft)))


def settle_near_limit(draft: TaskDraft) -> None:
    _settle(draft, max(_small_claims(draft), key=lambda row: row.num("estimate_cents")))


def close_duplicate(draft: TaskDraft) -> None:
    claim, original = draft.random.sample(_small_claims(draft), 2)
    draft.plain("Two claims describe the same loss. ")
    part = draft.do(
        f'close {claim["claim_id"]} as a duplicate of {original["claim_id"]}, giving "same loss" as the reason'
    )
    draft.read_each(part, "claims.one", "claim_id", [claim, original])
    draft.call(part, "close", claim_id=claim["claim_id"], reason="same loss", duplicate_of=original["claim_id"])
    draft.answer(f"{claim['claim_id']} is closed as a duplicate of {original['claim_id']}.")


def total_reserves(draft: TaskDraft) -> None:
    peril = draft.choose(draft.rows("claims"))["peril"]
    part = draft.find(
        draft.pick(
            f"What do our reserves for {peril} claims add up to",
            f"Which sum do the reserves of all {peril} claims make",
        )
    )
    rows = draft.read_all(part, "claims.all", peril=peril)
    total = wording.write_amount(sum(row.num("reserve_cents") for row in rows))
    draft.answer(f"The reserves for {peril} add up to {draft.build.currency} {total}.", [total])


def compare_figures(draft: TaskDraft) -> None:
    claim = draft.choose(draft.rows("claims"))
    part = draft.find(f"For claim {claim['claim_id']}, what is the difference between estimate and reserve")
    draft.call(part, "claims.one", claim_id=claim["claim_id"])
    difference = wording.write_amount(abs(claim.num("estimate_cents") - claim.num("reserve_cents")))
    draft.answer(f"Estimate and reserve differ by {difference}.", [difference])


def hand_over_but_one(draft: TaskDraft) -> None:
    adjuster = max(draft.rows("adjusters"), key=lambda row: len(draft.rows("claims", adjuster_id=row["adjuster_id"])))
    heir = draft.choose([row for row in draft.rows("adjusters") if row is not adjuster])
    claims = draft.rows("claims", adjuster_id=adjuster["adjuster_id"])
    spared = draft.choose(claims)
    draft.plain(f"{adjuster['name']} goes on leave tomorrow. ")
    part = draft.do(
        f"hand all of {adjuster['name']}'s claims to {heir['name']}, only {spared['claim_id']} stays where it is"
    )
    draft.read_all(part, "adjusters.all")
    draft.read_all(part, "claims.all", adjuster_id=adjuster["adjuster_id"])
    draft.rounds.append([])
    for claim in claims:
        draft.add_call_unless(
            claim is spared, part, "assign", claim_id=claim["claim_id"], adjuster_id=heir["adjuster_id"]
        )
    draft.answer(f"{heir['name']} has {len(claims) - 1} claims more.")


def set_reserve_to_share(draft: TaskDraft) -> None:
    claim, share = draft.choose(_small_claims(draft)), wording.draw_fraction(draft.random)
    part = draft.do(f"set the reserve of {claim['claim_id']} to {wording.spell_fraction(share)} of its estimate")
    draft.call(part, "claims.one", claim_id=claim["claim_id"])
    amount = int(claim.num("estimate_cents") * share)
    draft.call(part, "reserve", claim_id=claim["claim_id"], reserve_cents=amount)
    draft.answer(f"The reserve is now {wording.write_amount(amount)}.")


def correct_item(draft: TaskDraft) -> None:
    claim, amount = draft.choose(_small_claims(draft)), draft.random.randint(2, 40) * 5000
    item = draft.random.choice(claim.items_of("items"))
    part = draft.do(f'correct the position "{item["text"]}" of claim {claim["claim_id"]} to {draft.money(amount)}')
    draft.call(part, "claims.one", claim_id=claim["claim_id"])
    draft.call(part, "item", claim_id=claim["claim_id"], item_id=item["item_id"], claimed_cents=amount)
    draft.answer(f"{item['text']} is now {wording.write_amount(amount)}.")


def settle_large(draft: TaskDraft) -> None:
    _settle(draft, draft.choose([row for row in draft.rows("claims") if row.num("estimate_cents") > draft.limit()]))


TASKS = (
    settle_less_deductible,
    settle_near_limit,
    close_duplicate,
    total_reserves,
    compare_figures,
    hand_over_but_one,
    set_reserve_to_share,
    correct_item,
)
QUESTIONS = (total_reserves, compare_figures)
RULED_TASKS = (settle_large,)
