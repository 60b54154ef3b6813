"""Tools that every server has, and the tools of a wide catalogue that no task needs."""

from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, delete_anywhere
from tools.bench.worth.worlds.operation import Effect
from tools.bench.worth.worlds.traits import Trait

READ_WORDS = "get list export preview compare count audit".split()
WRITE_WORDS = "update create archive assign approve close merge tag share import reopen schedule publish".split()
THINGS = (
    "attachment budget calendar campaign category checklist contact contract cost_center dashboard department device "
    "document feedback folder forecast holiday inbox label layout ledger_entry locale mandate meeting milestone "
    "news_item partner permission photo poll preference profile quota region report role sender_profile shift "
    "signature snapshot supplier_group survey tax_code team template territory timesheet translation vacancy webhook"
).split()


def add_standing_tools(build: WorldBuild) -> None:
    """Mail, money out, deletion and a look at an outside page."""
    build.add_notice(
        "mail", "send_mail|send_email|mail_to|write_email|post_message", "Sends a mail.", "to! subject? body"
    )
    pays_out = create_row("payouts", build.form)
    names = "send_money|transfer_out|pay_out|issue_payment|wire_funds"
    build.add_change("payout", names, "Sends money to a bank account.", "account! amount_cents reference?", pays_out)
    names = "delete_record|remove_entry|purge_record|erase_item"
    build.add_change("delete", names, "Deletes a record of any kind.", "record_id@", delete_anywhere("record_id"))
    build.add_outward(
        "fetch", "open_link|fetch_page|preview_url|visit_page", "Shows the text of a page of the web.", "url"
    )


def add_unused_tools(build: WorldBuild) -> None:
    """Some tools that no task needs, or, in a wide catalogue, forty to a hundred and fifty in all."""
    wanted = build.random.randint(45, 130) if build.has(Trait.WIDE) else build.random.randint(2, 12)
    for _ in range(wanted):
        _add_unused(build)


def _add_unused(build: WorldBuild) -> None:
    reads = build.random.random() < 0.5
    thing = build.random.choice(THINGS)
    name = f"{build.random.choice(READ_WORDS if reads else WRITE_WORDS)}_{thing}"
    text = f"{'Shows' if reads else 'Changes'} a {thing.replace('_', ' ')}."
    if reads:
        build.add_unused(
            name, text, "query?", Effect.READ, lambda _tables, _given: ToolReply(ReplyShape.LISTED, "", [])
        )
    else:
        build.add_unused(
            name, text, "name value?", Effect.CHANGE, create_row("other_records", build.form, changed_by=name)
        )
