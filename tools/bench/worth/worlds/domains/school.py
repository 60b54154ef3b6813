"""A school office: pupils, guardians, classes, absences, fees."""

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import WorldBuild
from tools.bench.worth.worlds.data import TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_row
from tools.bench.worth.worlds.traits import Trait


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    limit = build.draw_limit(900, 1400, 100)
    classes = [
        build.add(
            "classes",
            name=name,
            teacher=build.names.person(),
            room=str(build.random.randint(1, 40)),
            places=build.random.randint(5, 8),
        )
        for name in ("4a", "4b", "5a", "5b")
    ]
    pupil = build.names.person()
    for number in range(16):
        pupil = build.names.relative_of(pupil) if number % 2 and build.has(Trait.SIBLINGS) else build.names.person()
        fee = int(limit.limit) + (12_000 if number % 5 == 4 else -build.random.randint(1, 10) * 6_000)
        _add_pupil(build, pupil, build.random.choice(classes), fee)
    _add_tools(build)
    build.add_rule("waive", "fee_cents", ">", limit, "The school board decides on fees of this size", "fees", "fee_id")


def _add_tables(build: WorldBuild) -> None:
    build.add_table("classes", "class", "KL", {"place.building": "room"})
    groups = {"family.guardian": "guardian_name guardian_email", "school": "class_id"}
    build.add_table("pupils", "pupil", "PU", groups, {"guardian_email": "parent_email", "guardian_name": "parent_name"})
    build.add_table("absences", "absence", "AB", {"when": "missed_on"})
    build.add_table(
        "fees",
        "fee",
        "FE",
        {"money.charged": "fee_cents", "money": "reduced_cents due_on"},
        {"fee_cents": "yearly_cents"},
    )


def _add_pupil(build: WorldBuild, name: str, group: TableRow, fee: int) -> None:
    guardian = build.names.relative_of(name)
    pupil = build.add(
        "pupils",
        name=name,
        class_id=group["class_id"],
        guardian_name=guardian,
        guardian_email=build.names.email(guardian),
    )
    key = pupil["pupil_id"]
    for _ in range(build.random.randint(1, 3)):
        build.add(
            "absences",
            pupil_id=key,
            missed_on=build.day(-build.random.randint(0, 9)),
            lessons=build.random.randint(1, 6),
            status="open",
        )
    build.add(
        "fees",
        pupil_id=key,
        fee_cents=fee,
        reduced_cents=0,
        due_on=build.day(build.random.randint(-20, 40)),
        status="due",
    )


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("classes", "name?")
    build.add_reads("pupils", "name? class_id@classes?")
    build.add_reads("absences", "pupil_id@pupils? status:open|excused? missed_on?")
    build.add_reads("fees", "pupil_id@pupils? status:due|paid?")
    moves = set_fields("pupils", "pupil_id")
    build.add_change(
        "class",
        "move_pupil|assign_class",
        "Puts a pupil into a class.",
        "pupil_id@pupils class_id@classes",
        moves,
        "announce_class|confirm_class",
    )
    build.add_change(
        "guardian",
        "update_guardian|edit_guardian",
        "Changes a pupil's guardian.",
        "pupil_id@pupils guardian_name? guardian_email!?",
        set_fields("pupils", "pupil_id"),
    )
    excuses = set_fields("absences", "absence_id", status="excused")
    build.add_change(
        "excuse",
        "excuse_absence|accept_excuse",
        "Marks an absence as excused.",
        "absence_id@absences reason:illness|family|other",
        excuses,
    )
    build.add_change(
        "reduce",
        "reduce_fee|grant_reduction",
        "Takes an amount off a fee.",
        "fee_id@fees reduced_cents",
        set_fields("fees", "fee_id"),
    )
    build.add_change("waive", "waive_fee|cancel_fee", "Waives a whole fee.", "fee_id@fees", waive)
    places = say(
        "places", lambda tables, given: {"class_id": given["class_id"], "places_free": _places_left(tables, given)}
    )
    build.add_check(
        "places",
        "get_places|check_places",
        "reserve_query|request_place",
        "Says how many places a class has left.",
        "class_id@classes",
        places,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "write_to_guardian|notify_parents|send_letter_home",
        "Writes to a pupil's guardian.",
        "pupil_id@pupils text",
        tells,
    )


def waive(tables: Tables, given: TableRow) -> ToolReply:
    fee = take_row(tables, "fees", given.txt("fee_id"))
    fee.update(reduced_cents=fee["fee_cents"], status="paid")
    return ToolReply(ReplyShape.WRITTEN, "fees", [fee])


def _places_left(tables: Tables, given: TableRow) -> int:
    taken = sum(row["class_id"] == given["class_id"] for row in tables["pupils"].values())
    return take_row(tables, "classes", given.txt("class_id")).num("places") - taken


def _find(draft: TaskDraft, part: int, pupil: TableRow) -> None:
    draft.read_all(part, "pupils.all", name=pupil["name"])


def swap_classes(draft: TaskDraft) -> None:
    first = draft.choose(draft.rows("pupils"))
    second = draft.choose([row for row in draft.rows("pupils") if row["class_id"] != first["class_id"]])
    part = draft.do(
        f"I'd like to swap {first['name']} and {second['name']}, so that each is in the other's class", polite=False
    )
    told = draft.do("inform both families", after=(part,))
    _find(draft, part, first)
    _find(draft, part, second)
    draft.read_all(part, "classes.all")
    draft.call(part, "class", pupil_id=first["pupil_id"], class_id=second["class_id"])
    draft.add_call(part, "class", pupil_id=second["pupil_id"], class_id=first["class_id"])
    draft.rounds.append([])
    for pupil, group in ((first, second["class_id"]), (second, first["class_id"])):
        draft.add_call(
            told,
            "tell",
            pupil_id=pupil["pupil_id"],
            text=f"{pupil['name']} is now in class {draft.row('classes', group)['name']}.",
        )
    draft.answer(f"{first['name']} and {second['name']} have changed places, and both families know.")


def move_if_place(draft: TaskDraft) -> None:
    pupil = draft.choose(draft.rows("pupils"))
    group = draft.choose([row for row in draft.rows("classes") if row["class_id"] != pupil["class_id"]])
    checked = draft.find(f"Has class {group['name']} a place left")
    part = draft.do(f"in that case put {pupil['name']} there", polite=False, after=(checked,))
    draft.read_all(checked, "classes.all", name=group["name"])
    _find(draft, checked, pupil)
    left = draft.call(checked, "places", class_id=group["class_id"]).rows[0].num("places_free")
    if left > 0:
        draft.call(part, "class", pupil_id=pupil["pupil_id"], class_id=group["class_id"])
    else:
        draft.refrain(part, "class", pupil_id=pupil["pupil_id"], class_id=group["class_id"])
    draft.answer(
        f"{pupil['name']} is now in {group['name']}."
        if left > 0
        else f"{group['name']} is full, so nothing was changed."
    )


def count_class(draft: TaskDraft) -> None:
    first, second = draft.random.sample(draft.rows("classes"), 2)
    part = draft.find(f"How many pupils are in {first['name']}, and how many in {second['name']}")
    draft.read_all(part, "classes.all")
    numbers = [len(draft.read_all(part, "pupils.all", class_id=group["class_id"])) for group in (first, second)]
    draft.answer(f"{first['name']} has {numbers[0]}, {second['name']} has {numbers[1]}.", [*numbers])


def excuse_all(draft: TaskDraft) -> None:
    pupil = max(draft.rows("pupils"), key=lambda row: len(draft.rows("absences", pupil_id=row["pupil_id"])))
    absences = draft.rows("absences", pupil_id=pupil["pupil_id"])
    spared, reason = draft.choose(absences), draft.pick("illness", "family")
    part = draft.do(
        f"excuse {pupil['name']} for every open absence except {spared['absence_id']}; the reason is {reason}"
    )
    _find(draft, part, pupil)
    draft.read_all(part, "absences.all", pupil_id=pupil["pupil_id"], status="open")
    draft.rounds.append([])
    for absence in absences:
        draft.add_call_unless(absence is spared, part, "excuse", absence_id=absence["absence_id"], reason=reason)
    draft.answer(f"{len(absences) - 1} absences are excused; {spared['absence_id']} stays open.")


def change_guardian(draft: TaskDraft) -> None:
    pupil = draft.choose(draft.rows("pupils"))
    name = draft.build.names.relative_of(pupil.txt("name"))
    mail = draft.build.names.email(name)
    part = draft.do(f"enter {name} ({mail}) as the guardian of {pupil['name']} instead of {pupil['guardian_name']}")
    _find(draft, part, pupil)
    draft.call(part, "guardian", pupil_id=pupil["pupil_id"], guardian_name=name, guardian_email=mail)
    draft.answer(f"{name} is now the guardian of {pupil['name']}.")


def reduce_fee(draft: TaskDraft) -> None:
    fee, share = draft.choose(draft.rows("fees")), wording.draw_fraction(draft.random)
    pupil = draft.row("pupils", fee["pupil_id"])
    draft.earlier(f"Which fee does {pupil['name']} owe?", f"It is {fee['fee_id']}.")
    part = draft.do(f"take {wording.spell_fraction(share)} off that fee")
    draft.call(part, "fees.one", fee_id=fee["fee_id"])
    amount = int(fee.num("fee_cents") * share)
    draft.call(part, "reduce", fee_id=fee["fee_id"], reduced_cents=amount)
    draft.answer(f"{wording.write_amount(amount)} was taken off fee {fee['fee_id']}.")


def most_lessons_missed(draft: TaskDraft) -> None:
    group = draft.row("classes", draft.choose(draft.rows("pupils"))["class_id"])
    part = draft.find(f"How many lessons did the pupils of {group['name']} miss in all")
    draft.read_all(part, "classes.all", name=group["name"])
    pupils = draft.read_all(part, "pupils.all", class_id=group["class_id"])
    rows = draft.read_all(part, "absences.all")
    keys = {row["pupil_id"] for row in pupils}
    total = sum(row.num("lessons") for row in rows if row["pupil_id"] in keys)
    draft.answer(f"They missed {total} lessons.", [total])


def waive_small(draft: TaskDraft) -> None:
    _waive(draft, draft.choose([row for row in draft.rows("fees") if row.num("fee_cents") <= draft.limit()]))


def waive_large(draft: TaskDraft) -> None:
    _waive(draft, draft.choose([row for row in draft.rows("fees") if row.num("fee_cents") > draft.limit()]))


def _waive(draft: TaskDraft, fee: TableRow) -> None:
    pupil = draft.row("pupils", fee["pupil_id"])
    part = draft.do(f"waive the whole fee of {pupil['name']}", end=", and afterwards ")
    told = draft.do("write to the guardian", polite=False, after=(part,))
    _find(draft, part, pupil)
    draft.read_all(part, "fees.all", pupil_id=pupil["pupil_id"])
    draft.call(part, "waive", fee_id=fee["fee_id"])
    draft.call(told, "tell", pupil_id=pupil["pupil_id"], text="The fee of this year is waived.")
    draft.answer(f"The fee of {pupil['name']} is waived, and the guardian knows.")


TASKS = (
    swap_classes,
    move_if_place,
    count_class,
    excuse_all,
    change_guardian,
    reduce_fee,
    most_lessons_missed,
    waive_small,
)
QUESTIONS = (count_class, most_lessons_missed)
RULED_TASKS = (waive_large,)
