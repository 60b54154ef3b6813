"""What must never happen."""

from tests.requirements.promise import Promise

PROMISES = (
    # what must never happen
    Promise(
        "I1.gate_in_every_state", "A call that a state forbids never reaches a server", "I1; seed 000, 8-State FSM"
    ),
    Promise("I1.left_out_of_the_request", "Only the conversation is offered tools, the same in each request", "I1"),
    Promise("I1.invented_tools", "A tool that nobody offers is refused, and the model is told", "I1"),
    Promise("I1.lying_annotation", "A server that calls a writing tool read-only is not believed", "I1"),
    Promise("I1.plans_hold_writes_only", "A write plan holds only writing tools that exist", "I1"),
    Promise("I2.no_verdict_no_write", "Without a fresh, positive verdict on this plan nothing is written", "I2"),
    Promise("I2.policy_stopped", "With the policy service stopped nothing is written, and it is said why", "I2"),
    Promise("I2.audit", "Arithmetic that does not come out again keeps writing closed", "I2; seed 000, COMPUTE"),
    Promise("I2.provenance", "A plan with a figure that came from nowhere is never carried out", "I2"),
    Promise("I3.kill_a_process", "A killed executor's write is applied at most once, and said truly", "I3"),
    Promise("I3.kill_at_every_step", "Dying at any stored step leads to the same end with one write", "I3"),
    Promise("I3.lost_reply", "A lost reply is settled by reading, never by sending again", "I3"),
    Promise("I3.unsent_is_safe", "A call that never connected may be tried again", "I3"),
    Promise("I4.unverified_is_said", "A write that no read confirms is called unverified", "I4; seed 000, decision 3"),
    Promise("I5.accepted_is_never_lost", "An accepted task reaches its end though its executor dies", "I5"),
    Promise("I5.paid_once", "A model reply that was stored is never asked for again", "I5"),
    Promise("I6.one_after_the_other", "Two turns of a session sent at once run in order, one at a time", "I6"),
    Promise("I7.approval_over_two_turns", "A plan that needs a person waits, and runs as approved", "I7; seed 002"),
    Promise("I7.changed_inputs_reopen", "Inputs that changed since the approval reopen the gate", "I7"),
    Promise("I7.decision_survives_a_crash", "Dying in the approving turn still writes once", "I7"),
    Promise("I7.expiry_means_no", "No decision in time means no, and a late yes does not count", "I7"),
    Promise("I7.needs_no_tools", "A no, an expiry or a cancel takes effect although no tool server answers", "I7"),
    Promise("I7.tenant_asks", "A tenant may want an approval for each write without a rule", "I7"),
    Promise("I7.who_may_decide", "Only the right role at the right level decides, and never the requester", "I7"),
    Promise("waiting.is_data", "A waiting task holds no lease, job or connection", "I7; seed 002, Multi-Turn Memory"),
    Promise(
        "waiting.survives_restart", "A waiting task survives a restart of everything", "seed 002, Multi-Turn Memory"
    ),
    Promise("bad_input.honest_ends", "What cannot be used ends the task with its reason, unwritten", "bad input"),
    Promise("bad_input.parts_down", "With a part down or talking garbage a task fails, saying which", "bad input"),
    Promise("task.cancel", "A waiting or running task can be canceled before its next call", "seed 000, A2A Protocol"),
)
