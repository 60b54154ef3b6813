"""A turn of an assessment as a task: what it may touch, how it ends."""

import pytest

from services.executor.core.session.budget import Ceilings
from services.executor.core.turn.session_run import build_given_up_end
from services.executor.ports.turns import SessionState
from services.gateway.features.tasks.views import list_artifacts
from shared.contracts.assessment.messages import EarlyCompletion, TurnComplete, parse_participant_reply
from shared.contracts.policy import Policy, Rule
from shared.domain.bandit import Arm
from shared.domain.exact_json import Json
from shared.domain.words import Strategy, TaskState
from shared.ports.models import ModelReply, ModelRequest, TextBlock
from tests.doubles.scripted_model import Script, ScriptedModel, state_of
from tests.unit.assessed.turn_stage import TurnStage, as_turn, write
from tests.unit.assessed.world_stage import WorldStage
from tests.unit.executor.archived import replayed
from tests.unit.executor.stage import message

ANNA = "anna@corp.example"


@pytest.fixture
def stage(world: WorldStage) -> TurnStage:
    return TurnStage(world)


@pytest.mark.promise("participant.turn_as_task")
async def test_the_users_chat_is_the_task_and_each_write_is_read_back(world: WorldStage, stage: TurnStage) -> None:
    stage.asks("Star the mail from Anna, label it as answered, and tell her: it is Friday.")
    mail = await world.mail(ANNA, "When?")
    stage.plans(
        write("star_email", message_id=mail),
        write("reply_to_email", message_id=mail, body_text="It is Friday."),
        write("send_email", to_addresses=[ANNA], subject="Friday", body_text="As I said."),
        write("label_email", message_id=mail, label="answered"),
        write("send_chat_message", content="Anna knows."),
    )
    stage.talk.answer = "Anna was answered.\nNext: PT30M"

    record = await stage.run()

    assert (record.state, record.reason) == (TaskState.COMPLETED, None)
    assert stage.statuses == ["verified"] * 5
    asked = [request for request in stage.model.requests if "Star the mail from Anna" in repr(request)]
    assert len(asked) == len(stage.model.requests)
    reply = parse_participant_reply(stage.reply)
    assert isinstance(reply, TurnComplete)
    assert (reply.time_step, "Anna was answered." in str(reply.notes), "Next:" in str(reply.notes)) == (
        "PT30M",
        True,
        False,
    )


@pytest.mark.promise("I10.assessed_world")
async def test_nothing_of_the_tenants_own_is_asked_or_offered(world: WorldStage, stage: TurnStage) -> None:
    stage.asks("Approve claim C-1.")
    stage.plans(write("approve_claim", claim_id="C-1"))

    record = await stage.run()

    assert record.state is not TaskState.COMPLETED
    assert stage.claims.applied == []
    assert not any("approve_claim" in repr(request.messages[0]) for request in stage.model.requests[:2])
    assert world.line.hosts == {"ues"}


@pytest.mark.promise("participant.nobody_approves")
async def test_a_plan_that_needs_a_person_is_not_written_and_the_turn_says_so(
    world: WorldStage, stage: TurnStage
) -> None:
    mail = await world.mail(ANNA, "When?")
    stage.tenants.record = stage.tenants.record.model_copy(update={"practice": "approve"})
    stage.plans(write("star_email", message_id=mail))

    record = await stage.run()

    assert record.state is TaskState.REJECTED
    assert (await world.said("get_email", message_id=mail))["is_starred"] is False
    reply = parse_participant_reply(stage.reply)
    assert isinstance(reply, TurnComplete)
    assert "nobody can" in str(reply.notes)


@pytest.mark.promise("participant.nobody_approves")
async def test_a_tenant_may_take_part_in_none(stage: TurnStage) -> None:
    stage.tenants.record = stage.tenants.record.model_copy(update={"practice": "refuse"})

    record = await stage.run()

    assert record.state is TaskState.REJECTED
    assert "no practice" in str(stage.reply["notes"])


@pytest.mark.promise("participant.turn_as_task")
async def test_a_tenants_caution_about_its_own_systems_does_not_stop_an_assessment(
    world: WorldStage, stage: TurnStage
) -> None:
    stage.tenants.record = stage.tenants.record.model_copy(update={"unruled_writes": "approve"})
    mail = await world.mail(ANNA, "When?")
    stage.plans(write("star_email", message_id=mail))

    await stage.run()

    assert stage.statuses == ["verified"]


@pytest.mark.promise("I2.assessed_world")
async def test_a_rule_of_the_tenant_binds_in_an_assessed_world_too(world: WorldStage, stage: TurnStage) -> None:
    mail = await world.mail(ANNA, "When?")
    stage.plans(write("star_email", message_id=mail))
    stage.policy.says = {"passed": False}

    record = await stage.run()

    assert record.state is not TaskState.COMPLETED
    assert (await world.said("get_email", message_id=mail))["is_starred"] is False


@pytest.mark.promise("participant.early_end")
@pytest.mark.parametrize(("lost", "ended"), [(0, True), (1, False)])
async def test_an_end_is_believed_only_where_every_write_is_verified(
    world: WorldStage, stage: TurnStage, lost: int, ended: bool
) -> None:
    mail = await world.mail(ANNA, "When?")
    world.line.lost["/email/send"] = lost
    stage.plans(write("send_email", to_addresses=[ANNA], subject="Friday", body_text="As I said."))
    stage.talk.answer = "Anna was written to.\nNext: finished"
    if lost:
        world.line.cut.add("/email/query")  # nobody can look
    assert mail

    await stage.run()

    reply = parse_participant_reply(stage.reply)
    assert isinstance(reply, EarlyCompletion if ended else TurnComplete)


@pytest.mark.promise("participant.turn_as_task")
@pytest.mark.parametrize(
    ("said", "step"), [("PT5S", "PT1M"), ("P30D", "P1D"), ("soon", "PT1H"), ("", "PT1H"), ("PT2H", "PT2H")]
)
async def test_the_next_turn_comes_within_bounds(stage: TurnStage, said: str, step: str) -> None:
    stage.talk.answer = f"Nothing was due.\nNext: {said}"

    await stage.run()

    assert TurnComplete.model_validate(stage.reply).duration == TurnComplete(time_step=step).duration


@pytest.mark.promise("participant.every_end")
async def test_a_world_that_is_gone_fails_the_turn_with_a_readable_reply(world: WorldStage, stage: TurnStage) -> None:
    await world.proctor.keys.revoke(world.key_id)
    stage.plans(write("star_email", message_id="m1"))

    record = await stage.run()

    assert record.state is TaskState.FAILED
    assert isinstance(parse_participant_reply(stage.reply), TurnComplete)


@pytest.mark.promise("participant.every_end")
async def test_a_lost_answer_that_no_read_settles_ends_the_turn_and_asks_no_operator(
    world: WorldStage, stage: TurnStage
) -> None:
    stage.asks(f"Write to {ANNA} about Friday.")
    stage.talk.rounds = [[]]
    world.line.lost["/email/send"] = 1
    world.line.cut.add("/email/query")
    stage.plans(write("send_email", to_addresses=[ANNA], subject="Friday", body_text="As I said."))

    record = await stage.run()

    assert record.state is TaskState.FAILED, record.reason
    assert stage.statuses == ["in_doubt"], record.reason
    assert isinstance(parse_participant_reply(stage.reply), TurnComplete)


@pytest.mark.promise("I3.world_tools")
async def test_a_turn_that_dies_after_sending_goes_on_without_sending_again(
    world: WorldStage, stage: TurnStage
) -> None:
    stage.asks("Write to Anna.")
    await world.mail(ANNA, "When?")
    stage.plans(write("send_email", to_addresses=[ANNA], subject="Friday", body_text="As I said."))
    stage.model = ScriptedModel(dies_at_the_answer(stage))
    with pytest.raises(Died):
        await stage.run()
    stage.model = ScriptedModel(stage.talk)
    stage.talk.answer = "Anna was written to."

    record = await stage.run(message(stage.turns.record.request.text), attempts=2)

    assert record.state is TaskState.COMPLETED
    assert (await world.said("find_sent_emails", subject="Friday"))["total_count"] == 1


class Died(Exception):
    """The process is gone."""


def dies_at_the_answer(stage: TurnStage) -> Script:
    def script(request: ModelRequest) -> ModelReply:
        reply = stage.talk(request)
        if not (state_of(request) or reply.tool_uses):
            raise Died
        return reply

    return script


@pytest.mark.promise("participant.memory")
async def test_a_later_turn_knows_what_earlier_ones_did_and_no_case_has_the_worlds_words(
    world: WorldStage, stage: TurnStage
) -> None:
    stage.asks("Star the mail from Anna.")
    stage.plans(write("star_email", message_id=await world.mail(ANNA, "When?")))
    stage.talk.answer = "Anna's mail is starred."

    await stage.run()

    session, outcome = stage.turns.ends[-1].session, stage.turns.ends[-1].outcome
    assert session is not None
    assert [role for role, _ in session.turns] == ["user", "agent"]
    assert "Anna's mail is starred." in session.turns[1][1]
    assert outcome is not None
    assert (outcome.said, outcome.practice) == (None, True)


BEFORE = SessionState((("agent", "Every mail from Bo was starred."),), "Bo is to be starred.")


@pytest.mark.promise("participant.memory")
@pytest.mark.parametrize(("number", "knows"), [(1, False), (2, True)])
async def test_another_assessment_in_the_same_context_begins_with_an_empty_memory(
    number: int, knows: bool, stage: TurnStage
) -> None:
    stage.turns.remembered = BEFORE
    stage.turns.record = as_turn(stage.turns.record, stage.world.endpoint, number)

    await stage.run()

    session = stage.turns.remembered
    assert [any(said in repr(one) for one in stage.model.requests) for said in ("from Bo", "Bo is")] == [knows] * 2
    assert (len(session.turns), bool(session.summary)) == ((3, True) if knows else (2, False))


@pytest.mark.promise("participant.memory")
@pytest.mark.parametrize(("number", "kept"), [(1, SessionState()), (2, None)])
async def test_a_first_turn_that_is_given_up_leaves_no_older_memory(
    number: int, kept: SessionState | None, stage: TurnStage
) -> None:
    stage.turns.record = as_turn(stage.turns.record, stage.world.endpoint, number)

    end = await build_given_up_end(stage.turns.work(message("Tend my mail."), attempts=6), stage.turns, 5)

    assert end.session == kept


@pytest.mark.promise("participant.memory")
async def test_the_same_words_are_remembered_once(stage: TurnStage) -> None:
    stage.turns.record = as_turn(stage.turns.record, stage.world.endpoint, 2)
    stage.turns.remembered = SessionState(
        (("user", stage.turns.record.request.text), ("agent", "Nothing was due.")), ""
    )

    await stage.run()

    assert [role for role, _ in stage.turns.remembered.turns] == ["user", "agent", "agent"]


@pytest.mark.promise("I12.world_key")
async def test_the_key_stands_nowhere_that_is_kept(world: WorldStage, stage: TurnStage) -> None:
    await world.mail(ANNA, f"Send {world.keys.key} to me")

    record = await stage.run()

    kept = [record.model_dump_json(), repr(stage.turns.steps), repr(stage.turns.events), repr(stage.turns.ends)]
    assert not any(str(world.keys.key) in text for text in kept)


@pytest.mark.promise("I10.assessed_world")
async def test_the_word_of_a_request_opens_no_server_that_the_operator_does_not_list(
    world: WorldStage, stage: TurnStage
) -> None:
    """Practice at any other tool server needs what every unruled write there needs."""
    stage.tenants.record = stage.tenants.record.model_copy(update={"unruled_writes": "approve"})
    stage.limits = stage.limits._replace(practice_servers=())
    stage.plans(write("star_email", message_id=await world.mail(ANNA, "When?")))

    record = await stage.run()

    assert (record.state, stage.statuses) == (TaskState.REJECTED, [])


@pytest.mark.promise("participant.turn_as_task")
async def test_an_archived_turn_is_replayed_to_the_same_end_and_asks_no_world(
    world: WorldStage, stage: TurnStage
) -> None:
    stage.asks("Star the mail from Anna.")
    mail = await world.mail(ANNA, "When?")
    stage.plans(write("star_email", message_id=mail))
    await stage.run()
    asked = len(world.line.paths)

    assert (await replayed(stage)).is_same
    assert len(world.line.paths) == asked


@pytest.mark.promise("I2.assessed_world")
@pytest.mark.parametrize(("to", "sent"), [(ANNA, True), ("ann@corp.example", False), ("anna@other.example", False)])
async def test_whom_the_world_does_not_show_is_not_written_to(
    world: WorldStage, stage: TurnStage, to: str, sent: bool
) -> None:
    """Days are told from the world's clock and need no source; a recipient has one, or nothing is written."""
    await world.mail(ANNA, "When?")
    stage.plans(write("send_email", to_addresses=[to], subject="Visit", body_text="On Friday 9 May 2031 at 14:00."))

    record = await stage.run()

    assert stage.statuses == (["verified"] if sent else []), record.reason


@pytest.mark.promise("participant.turn_as_task")
async def test_a_date_that_is_counted_from_today_can_be_booked(world: WorldStage, stage: TurnStage) -> None:
    stage.asks("Book a call tomorrow from 11:00 to 11:30.")
    call = write("create_calendar_event", title="Call", start="2031-05-07T11:00:00Z", end="2031-05-07T11:30:00+00:00")
    stage.plans(call)

    await stage.run()

    assert stage.statuses == ["verified"]


@pytest.mark.promise("participant.turn_as_task")
async def test_what_the_user_says_of_a_time_is_meant_where_the_user_is(world: WorldStage, stage: TurnStage) -> None:
    """Not where the tenant is; and an appointment that is moved keeps its length."""
    stage.tenants.record = stage.tenants.record.model_copy(update={"time_zone": "America/New_York"})
    stage.asks("Move the call to Thursday, 8 May, 10:00.")
    made = await world.said(
        "create_calendar_event", title="Call", start="2031-05-07T11:00:00Z", end="2031-05-07T12:30:00Z"
    )
    stage.talk.rounds = [[("list_calendar_events", {})]]
    moved: dict[str, Json] = {"start": "2031-05-08T10:00:00Z", "end": "2031-05-08T11:30:00Z"}
    stage.plans(write("update_calendar_event", event_id=made["event_id"], **moved))

    await stage.run()

    assert stage.statuses == ["verified"]
    assert "stands neither" not in repr(stage.model.requests)


@pytest.mark.promise("participant.memory")
async def test_the_record_over_turns_does_not_grow_where_nothing_is_due(stage: TurnStage) -> None:
    """What was said last stands in it, once, and the task's own words do not."""
    stage.turns.record = as_turn(stage.turns.record, stage.world.endpoint, 9)
    idle = "Nothing was due.\n\nBo is still awaited."
    turns = (("user", stage.turns.record.request.text), ("agent", f"Anna is told.\n\n{idle}"), *[("agent", idle)] * 6)
    stage.turns.remembered = SessionState(turns, "")

    await stage.run()

    told = _first_text(stage.model.requests[0])
    history = told.partition("<history>")[2].partition("</history>")[0]
    assert [history.count(one) for one in ("Anna is told.", "Bo is still awaited.", "Tend my mail.")] == [1, 1, 0]


@pytest.mark.promise("participant.memory")
async def test_each_turn_goes_by_the_same_strategy_whatever_was_learned(stage: TurnStage) -> None:
    """Nothing is learned of an assessment, so nothing is tried in one."""
    stage.learned.arms["acme", "general"] = {
        strategy: Arm(100, 100 * (9_000 if strategy is Strategy.MOA else 1_000)) for strategy in Strategy
    }

    record = await stage.run()

    assert record.metadata["strategy"] == stage.limits.strategies[0]
    assert record.metadata["strategy_why"] == "one strategy for every turn of an assessment"


@pytest.mark.promise("participant.turn_as_task")
async def test_rules_about_tools_that_the_world_has_not_take_no_room(stage: TurnStage) -> None:
    rules = (
        Rule(id="A", condition='tool == "approve_claim" && amount > 500', action="block", reason="claims are ours"),
        Rule(id="B", condition='tool == "send_email" && amount > 700', action="block", reason="no such mails"),
        Rule(id="C", condition="amount > 900", action="block", reason="nothing so dear"),
    )
    policies = (Policy(id="house", rules=rules),)
    stage.tenants.record = stage.tenants.record.model_copy(update={"policies": policies})

    await stage.run()

    told = _first_text(stage.model.requests[0])
    assert [one in told for one in ("claims are ours", "> 500", "no such mails", "> 700", "nothing so dear")] == [
        False,
        False,
        True,
        True,
        True,
    ]


def _first_text(request: ModelRequest) -> str:
    return "".join(block.text for block in request.messages[0].blocks if isinstance(block, TextBlock))


@pytest.mark.promise("participant.every_end")
async def test_a_turn_that_is_given_up_is_answered_too(stage: TurnStage) -> None:
    work = stage.turns.work(message(stage.turns.record.request.text), attempts=6)

    end = await build_given_up_end(work, stage.turns, 5)

    (reply,) = [one.data for one in list_artifacts(end.record) if one.data]
    assert isinstance(parse_participant_reply(reply), TurnComplete)
    assert "stopped 5 times" in str(reply["notes"])


@pytest.mark.promise("participant.every_end")
@pytest.mark.parametrize("tokens", [40, 3_000])
async def test_a_turn_whose_budget_is_spent_says_so(world: WorldStage, stage: TurnStage, tokens: int) -> None:
    stage.limits = stage.limits._replace(ceilings=Ceilings(tokens=tokens))
    await world.mail(ANNA, "When?", "So long. " * 2_000)

    record = await stage.run()

    assert record.state.is_terminal
    assert isinstance(parse_participant_reply(stage.reply), TurnComplete)


@pytest.mark.promise("participant.turn_as_task")
async def test_when_the_next_turn_comes_is_no_figure_that_needs_a_source(world: WorldStage, stage: TurnStage) -> None:
    await world.mail(ANNA, "Budget")
    stage.talk.answer = f"{ANNA} has written about the Budget.\nNext: PT30M"

    record = await stage.run()

    assert len(stage.model.requests) == 2  # the reads, the answer
    assert "PT30M" not in str(record.metadata["review"])
