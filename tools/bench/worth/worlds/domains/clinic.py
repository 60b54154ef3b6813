"""A clinic: patients, practitioners, visits, prescriptions."""

from datetime import timedelta

from tools.bench.worth.worlds import wording
from tools.bench.worth.worlds.building import RuleDraft, WorldBuild
from tools.bench.worth.worlds.data import Json, ServerRefusal, TableRow, Tables
from tools.bench.worth.worlds.drafting import TaskDraft
from tools.bench.worth.worlds.form import ReplyShape, ToolReply
from tools.bench.worth.worlds.handlers import create_row, say, set_fields, take_row
from tools.bench.worth.worlds.rule import WorldRuleAction
from tools.bench.worth.worlds.traits import Trait

CLOCKS = "08:15 08:45 09:00 09:30 10:15 11:00 11:45 13:30 14:00 14:45 15:15 16:30".split()
DRUGS = "Amlodin Bisovert Cetrapan Dolorex Eutyrol Fenomax Gabalin Hydrocil".split()


def fill(build: WorldBuild) -> None:
    _add_tables(build)
    doctors = [
        build.add("practitioners", name=f"Dr. {build.names.person()}", field=field, room=f"{floor}.{floor + 3}")
        for floor, field in enumerate(("cardiology", "skin", "general", "eyes"), 1)
    ]
    person = build.names.person()
    for number in range(8):
        person = build.names.relative_of(person) if number % 3 and build.has(Trait.SIBLINGS) else build.names.person()
        _add_patient(build, person, doctors, number)
    _add_tools(build)
    action = build.random.choice(list(WorldRuleAction))
    build.add_rule(
        "renew",
        "category",
        "==",
        RuleDraft("controlled", action),
        "Controlled drugs are renewed by a physician",
        "prescriptions",
        "prescription_id",
    )


def _add_tables(build: WorldBuild) -> None:
    build.add_table("patients", "patient", "PT", {"person.contact": "email phone", "person": "born_on"})
    build.add_table("practitioners", "practitioner", "DR", {"place": "room"})
    build.add_table(
        "visits",
        "visit",
        "VS",
        {"slot.start": "visit_on visit_at"},
        {"visit_on": "scheduled_on", "visit_at": "starts_at"},
    )
    build.add_table(
        "prescriptions", "prescription", "RX", {"supply": "repeats_left valid_until_on"}, {"repeats_left": "refills"}
    )


def _add_patient(build: WorldBuild, person: str, doctors: list[TableRow], number: int) -> None:
    born = build.day(-build.random.randint(7000, 28000))
    patient = build.add(
        "patients", name=person, email=build.names.email(person), phone=build.names.phone(), born_on=born
    )
    for doctor in (doctors[number % 2], build.random.choice(doctors[2:])):
        key = {"patient_id": patient["patient_id"], "practitioner_id": doctor["practitioner_id"]}
        ahead = 1 if doctor is doctors[0] else build.random.choice((0, 1, 2, 5, 6))
        build.add("visits", **key, visit_on=build.day(ahead), visit_at=build.random.choice(CLOCKS), status="booked")
    drugs = build.random.sample(DRUGS, 2)
    for drug, category in zip(drugs, ("plain", "controlled"), strict=True):
        supply: dict[str, Json] = {
            "repeats_left": build.random.randint(category == "controlled", 3),
            "valid_until_on": build.day(build.random.randint(5, 90)),
        }
        build.add("prescriptions", patient_id=patient["patient_id"], drug=drug, category=category, **supply)


def _add_tools(build: WorldBuild) -> None:
    build.add_reads("patients", "name?")
    build.add_reads("practitioners", "name? field?")
    build.add_reads("visits", "patient_id@patients? practitioner_id@practitioners? visit_on?")
    build.add_reads("prescriptions", "patient_id@patients?")
    params = "patient_id@patients practitioner_id@practitioners visit_on visit_at"
    books = create_row("visits", build.form, status="booked")
    build.add_change("book", "book_visit|add_visit", "Books a visit.", params, books, "schedule_visit|announce_visit")
    moves = set_fields("visits", "visit_id")
    build.add_change(
        "move",
        "move_visit|reschedule_visit",
        "Moves a visit to another day or time.",
        "visit_id@visits visit_on? visit_at?",
        moves,
    )
    cancels = set_fields("visits", "visit_id", status="cancelled")
    build.add_change("cancel", "cancel_visit|drop_visit", "Cancels a visit.", "visit_id@visits", cancels)
    build.add_change(
        "contact",
        "update_patient|edit_patient",
        "Changes a patient's name or contact.",
        "patient_id@patients name? email? phone?",
        set_fields("patients", "patient_id"),
    )
    build.add_change(
        "renew", "renew_prescription|repeat_prescription", "Issues a repeat.", "prescription_id@prescriptions", renew
    )
    asks = say("inquiries", lambda _tables, given: {"patient_id": given["patient_id"], "reply": "Yes, that suits me."})
    build.add_check(
        "ask",
        "get_patient_reply",
        "ask_patient|confirm_with_patient",
        "Asks a patient by phone and returns the reply.",
        "patient_id@patients question",
        asks,
    )
    tells = create_row("outbox", build.form, sent_by="tell")
    build.add_notice(
        "tell",
        "message_patient|text_patient|notify_patient",
        "Sends a patient a short message.",
        "patient_id@patients text",
        tells,
    )


def renew(tables: Tables, given: TableRow) -> ToolReply:
    prescription = take_row(tables, "prescriptions", given.txt("prescription_id"))
    if prescription.num("repeats_left") < 1:
        raise ServerRefusal("No repeats are left")
    prescription["repeats_left"] = prescription.num("repeats_left") - 1
    return ToolReply(ReplyShape.WRITTEN, "prescriptions", [prescription])


def _names_of(draft: TaskDraft, visit: TableRow) -> tuple[TableRow, TableRow]:
    return draft.row("patients", visit["patient_id"]), draft.row("practitioners", visit["practitioner_id"])


def move_one(draft: TaskDraft) -> None:
    visit = draft.choose(draft.rows("visits"))
    patient, doctor = _names_of(draft, visit)
    days, clock = draft.random.choice((7, 8, 10, 12, 14)), draft.random.choice(CLOCKS)
    part = draft.do(
        f"move the visit of {patient['name']} with {doctor['name']} so that it is "
        f"{draft.when(days)} at {wording.spell_time(draft.random, clock)}",
        end=" and ",
    )
    told = draft.do("send a message about it to the patient", polite=False, after=(part,))
    draft.read_all(part, "patients.all", name=patient["name"])
    draft.add_call(part, "practitioners.one", practitioner_id=doctor["practitioner_id"])
    draft.read_all(part, "visits.all", patient_id=patient["patient_id"])
    draft.call(part, "move", visit_id=visit["visit_id"], visit_on=draft.build.day(days), visit_at=clock)
    draft.call(
        told, "tell", patient_id=patient["patient_id"], text=f"Your visit is now on {draft.build.day(days)} at {clock}."
    )
    draft.answer(
        f"The visit of {patient['name']} was moved to {draft.build.day(days)}, {clock}, and the patient knows."
    )


def book_follow_up(draft: TaskDraft) -> None:
    visit = draft.choose(draft.rows("visits"))
    patient, doctor = _names_of(draft, visit)
    weeks = draft.random.randint(2, 6)
    part = draft.do(
        f"book a follow-up for {patient['name']}: {draft.count(weeks)} weeks after "
        f"visit {visit['visit_id']}, same doctor, same time of day"
    )
    draft.call(part, "visits.one", visit_id=visit["visit_id"])
    day = visit.day("visit_on") + timedelta(weeks=weeks)
    key = {"patient_id": patient["patient_id"], "practitioner_id": doctor["practitioner_id"]}
    draft.call(part, "book", **key, visit_on=day.isoformat(), visit_at=visit["visit_at"])
    draft.answer(f"The follow-up is on {day.isoformat()} at {visit['visit_at']}.")


def cancel_day_but_one(draft: TaskDraft) -> None:
    doctor = max(draft.rows("practitioners"), key=lambda row: len(_tomorrow(draft, row)))
    visits = _tomorrow(draft, doctor)
    spared = draft.choose(visits)
    kept = draft.row("patients", spared["patient_id"])
    draft.plain(f"{doctor['name']} is ill. ")
    part = draft.do(
        "cancel all of that doctor's visits tomorrow apart from "
        f"{spared['visit_id']} ({kept['name']}), which a colleague takes over"
    )
    draft.read_all(part, "practitioners.all", name=doctor["name"])
    draft.read_all(part, "visits.all", practitioner_id=doctor["practitioner_id"], visit_on=draft.build.day(1))
    draft.rounds.append([])
    for visit in visits:
        draft.add_call_unless(visit is spared, part, "cancel", visit_id=visit["visit_id"])
    draft.answer(f"Cancelled {len(visits) - 1}; {spared['visit_id']} stays.")


def _tomorrow(draft: TaskDraft, doctor: TableRow) -> list[TableRow]:
    return draft.rows("visits", practitioner_id=doctor["practitioner_id"], visit_on=draft.build.day(1))


def count_visits(draft: TaskDraft) -> None:
    doctor = draft.choose(draft.rows("practitioners"))
    part = draft.find(f"How many patients does {doctor['name']} see within the next three days, today included")
    draft.read_all(part, "practitioners.all", name=doctor["name"])
    rows = draft.read_all(part, "visits.all", practitioner_id=doctor["practitioner_id"])
    number = sum(row.day("visit_on") <= draft.build.today + timedelta(2) for row in rows)
    draft.answer(f"{doctor['name']} sees {number} patients in these days.", [number])


def ask_then_swap(draft: TaskDraft) -> None:
    first = draft.choose(draft.rows("visits"))
    second = draft.choose([row for row in draft.rows("visits") if row["patient_id"] != first["patient_id"]])
    patient, _ = _names_of(draft, first)
    other, _ = _names_of(draft, second)
    draft.plain(f"{patient['name']} and {other['name']} would like to trade places. ")
    part = draft.do(f"swap visits {first['visit_id']} and {second['visit_id']}, day and time both", end="; then ")
    told = draft.do("send each of the two a message", polite=False, after=(part,))
    draft.read_each(part, "visits.one", "visit_id", [first, second])
    draft.call(part, "move", visit_id=first["visit_id"], visit_on=second["visit_on"], visit_at=second["visit_at"])
    draft.add_call(part, "move", visit_id=second["visit_id"], visit_on=first["visit_on"], visit_at=first["visit_at"])
    draft.call(
        told,
        "tell",
        patient_id=first["patient_id"],
        text=f"Your visit is now on {second['visit_on']} at {second['visit_at']}.",
    )
    draft.add_call(
        told,
        "tell",
        patient_id=second["patient_id"],
        text=f"Your visit is now on {first['visit_on']} at {first['visit_at']}.",
    )
    draft.answer("The two visits are swapped, and both patients know.")


def correct_name(draft: TaskDraft) -> None:
    patient = draft.choose(draft.rows("patients"))
    new = f"{patient.txt('name').split()[0]} {draft.build.names.stem()}"
    phone = draft.build.names.phone()
    part = draft.do(f"rename patient {patient['patient_id']} to {new}, who has married, and set the phone to {phone}")
    draft.call(part, "patients.one", patient_id=patient["patient_id"])
    draft.call(part, "contact", patient_id=patient["patient_id"], name=new, phone=phone)
    draft.answer(f"{patient['patient_id']} is now {new}, phone {phone}.")


def renew_if_repeats(draft: TaskDraft) -> None:
    prescription = draft.choose(draft.rows("prescriptions", category="plain"))
    patient = draft.row("patients", prescription["patient_id"])
    part = draft.do(f"renew {prescription['drug']} for {patient['name']}, provided that a repeat is left")
    told = draft.do("write to the patient either way", after=())
    draft.read_all(part, "patients.all", name=patient["name"])
    draft.read_all(part, "prescriptions.all", patient_id=patient["patient_id"])
    if prescription.num("repeats_left"):
        draft.call(part, "renew", prescription_id=prescription["prescription_id"])
        draft.call(told, "tell", patient_id=patient["patient_id"], text=f"{prescription['drug']} is renewed.")
        return draft.answer(f"{prescription['drug']} is renewed, and {patient['name']} knows.")
    draft.call(
        told,
        "tell",
        patient_id=patient["patient_id"],
        text=f"No repeat of {prescription['drug']} is left; please call us.",
    )
    return draft.answer(f"No repeat of {prescription['drug']} is left, and {patient['name']} knows.")


def earliest_expiry(draft: TaskDraft) -> None:
    part = draft.find("Which prescription runs out first, and for which drug is it")
    rows = draft.read_all(part, "prescriptions.all")
    first = min(rows, key=lambda row: (row.txt("valid_until_on"), row.txt("prescription_id")))
    ties = [row["prescription_id"] for row in rows if row["valid_until_on"] == first["valid_until_on"]]
    others = [row["prescription_id"] for row in rows if row["prescription_id"] not in ties]
    draft.answer(
        f"{wording.join_names([str(key) for key in ties])} ({first['drug']}) runs out on {first['valid_until_on']}.",
        list(ties),
        others,
    )


def renew_controlled(draft: TaskDraft) -> None:
    prescription = draft.choose(draft.rows("prescriptions", category="controlled"))
    patient = draft.row("patients", prescription["patient_id"])
    part = draft.do(
        f"renew prescription {prescription['prescription_id']} ({prescription['drug']}) for {patient['name']}"
    )
    draft.call(part, "prescriptions.one", prescription_id=prescription["prescription_id"])
    draft.call(part, "renew", prescription_id=prescription["prescription_id"])
    draft.answer(f"{prescription['drug']} is renewed.")


TASKS = (
    move_one,
    book_follow_up,
    cancel_day_but_one,
    count_visits,
    ask_then_swap,
    correct_name,
    renew_if_repeats,
    earliest_expiry,
)
QUESTIONS = (count_visits, earliest_expiry)
RULED_TASKS = (renew_controlled,)
