"""Two people where a matter asks for them: payment data in what a plan changes, whatever the task says of it."""

import pytest

from services.executor.core.process.rules import find_two_person_concern
from services.executor.core.session.dossier import Dossier, Progress
from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from services.executor.core.tools.record_tree import NO_RECORD_KEYS
from shared.contracts.task import Principal
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import FsmState, Role, TaskState, ToolClass
from tests.each_row import each_row
from tests.unit.executor.archived import replayed
from tests.unit.executor.begun_as import begun_as, run_with_deaths
from tests.unit.executor.stage import APPROVE, MANAGER, TASK, Stage, decision
from tests.unit.executor_core.makers import call, fact, plan

pytestmark = pytest.mark.promise("gate.two_persons")

INCIDENT = BUILT_IN_TEMPLATES["incident_response"]
SECOND = Principal(id="second", roles=(Role.APPROVER,))


async def _concerned(row: dict[str, Json], *, strict: bool = False) -> Stage:
    """An incident whose record says so, with its plan made."""
    stage = await begun_as(INCIDENT, APPROVE)
    stage.change_tenant(strict_processes=strict)
    stage.claims.rows["C-1"].update(row)
    await stage.run()
    return stage


async def test_payment_data_in_what_was_read_takes_two_different_people() -> None:
    stage = await _concerned({"summary": "Cardholder data may have leaked"})
    record = stage.turns.record
    assert (record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])
    assert "(2 different people)" in (record.answer or "")
    assert "because of 'cardholder' in what get_claim gave" in (record.answer or "")
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve", MANAGER, "first"))
    assert "1 of 2 approvals are given" in (record.answer or "")
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve", SECOND, "second"))
    assert record.metadata["approval"] == "approved by boss, second"


async def test_a_process_that_dies_between_the_two_still_takes_both() -> None:
    stage = await _concerned({"summary": "Cardholder data may have leaked"})
    await run_with_deaths(stage, decision("approve", MANAGER, "first"))
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])
    await run_with_deaths(stage, decision("approve", SECOND, "second"))
    assert (stage.turns.record.state, stage.claims.applied) == (TaskState.COMPLETED, ["C-1"])


async def test_a_matter_that_shows_after_one_person_approved_asks_for_two() -> None:
    stage = await begun_as(INCIDENT, APPROVE)
    stage.policy.says = {"requires_approval": True}
    asked = await stage.run()
    assert "different people" not in (asked.answer or "")
    stage.claims.rows["C-1"]["summary"] = "PCI scope confirmed"
    record = await stage.ends(TaskState.INPUT_REQUIRED, [], decision("approve"), says="(2 different people)")
    assert "asks for more people than have approved" in (record.answer or "")


@each_row(
    ("kind", "row", "text"),
    ("incident_response", {"summary": "Japan's pancakes are late", "cardholder_data": False, "pci": None}, TASK),
    ("incident_response", {}, f"{TASK}, no card data is concerned"),
    ("general", {"summary": "Cardholder data may have leaked"}, TASK),
)
async def test_nobody_is_asked_where_it_is_not_so_the_task_alone_says_it_or_the_process_does_not_want_it(
    kind: str, row: dict[str, Json], text: str
) -> None:
    stage = await begun_as(BUILT_IN_TEMPLATES[kind], APPROVE, text=text)
    stage.claims.rows["C-1"].update(row)
    await stage.ends(TaskState.COMPLETED, ["C-1"])


@pytest.mark.promise("gate.two_persons_unanswered")
async def test_where_nothing_that_was_read_speaks_of_the_matter_a_person_is_asked_and_told_why() -> None:
    """The incident's own record knows the service by its id alone, and nobody looked at that."""
    stage = await _concerned({"service_id": "SVC-1"}, strict=True)
    record = stage.turns.record
    assert (record.state, stage.claims.applied) == (TaskState.INPUT_REQUIRED, [])
    assert "nothing that was read says of approve_claim whether payment data is concerned" in (record.answer or "")
    assert "different people" not in (record.answer or "")
    record = await stage.ends(TaskState.COMPLETED, ["C-1"], decision("approve"))
    assert (await replayed(stage)).difference == ""


@pytest.mark.promise("gate.two_persons_unanswered")
@each_row(
    ("row", "others", "asked"),
    ({"cardholder_data": False}, {}, False),
    ({"cardholder_data": None}, {}, True),
    ({"service_id": "C-2"}, {"cardholder_data": False}, False),
    ({}, {"cardholder_data": False}, True),
)
async def test_an_answer_counts_from_the_record_and_what_belongs_to_it_not_from_another(
    row: dict[str, Json], others: dict[str, Json], asked: bool
) -> None:
    """Two records of one list; the second is the first one's service, or else somebody else's."""
    stage = await begun_as(INCIDENT, APPROVE)
    stage.change_tenant(strict_processes=True)
    stage.claims.rows["C-1"].update(row)
    first, second = stage.claims.rows["C-1"], {**stage.claims.rows["C-2"], **others}
    shown: Json = {"incident": first, "service": second} if "service_id" in row else {"incidents": [first, second]}
    stage.servers.add("list_claims", lambda _: shown, ToolClass.READ)
    stage.talk.rounds[0] = [("list_claims", {})]
    await stage.run()
    waits = TaskState.INPUT_REQUIRED if asked else TaskState.COMPLETED
    assert (stage.turns.record.state, len(stage.claims.applied)) == (waits, int(not asked))


@each_row(
    ("arguments", "shown", "found"),
    ({"incident_id": "INC-1", "note": "wipe the card data"}, {}, "'card data' in contain_incident"),
    ({"incident_id": "INC-1"}, {"card_data": True}, "'card data' in what get_incident gave"),
    ({"incident_id": "INC-1"}, {"cardData": "yes"}, "'card data' in what get_incident gave"),
    ({"incident_id": "INC-1"}, {"notes": [{"note": "Two PANs in a log"}]}, "'pan' in what get_incident gave"),
    ({"incident_id": "INC-1"}, {"note": "payment-data, maybe"}, "'payment data' in what get_incident gave"),
    ({"incident_id": "INC-1"}, {"card_data": 0, "pci": "", "pan": []}, None),
    ({"incident_id": "INC-1", "note": "expand the span"}, {"note": "company car database"}, None),
    ({"incident_id": "INC-2"}, {"card_data": True}, None),
)
def test_whole_words_count_in_what_the_plan_touches(
    arguments: JsonObject, shown: JsonObject, found: str | None
) -> None:
    """However they are written, in the arguments and in the records that the calls name, not in those of others."""
    assert find_two_person_concern(_planned(arguments, {"id": "INC-1", **shown}), NO_RECORD_KEYS) == found


def _planned(arguments: JsonObject, shown: Json, ok: bool = True) -> Progress:
    facts, path = (fact(shown, tool="get_incident", ok=ok),), (FsmState.ASSESS,)
    dossier = Dossier(facts=facts, plan=plan(call(arguments, tool="contain_incident")))
    return Progress(template=INCIDENT, path=path, visited=path, dossier=dossier)
