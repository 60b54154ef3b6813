"""What holds of EXECUTE as one guarded conversation."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise("coverage.find_out_only", "A task that only asks can propose nothing, whatever a result says", "I2"),
    Promise("coverage.settled_once", "What the first reply understood is what may be done", "I2"),
    Promise("coverage.text_alone", "A reply of text alone ends no task as done: one correction, then it is said", "I4"),
    Promise("coverage.without_understand", "Without `understand` the whole task is one part to be done", "I4"),
    Promise("coverage.left_without_condition", "A part left without a condition of the task is not done", "I4"),
    Promise("coverage.listed_ids", "What a part lists and no call names is asked for once, and then not done", "I4"),
    Promise(
        "coverage.not_taken_up", "A sentence of the task that no part quotes is named to the model and client", "I4"
    ),
    Promise(
        "coverage.proposed_again", "A call whose argument an earlier answer filled is not made a second time", "I3"
    ),
    Promise("coverage.only_asked", "A call that only asks and changes nothing does no part", "I4"),
    Promise("coverage.left_part_takes_no_call", "A part that was left takes no call", "I2"),
    Promise("coverage.judged", "A risky plan is held against its task's parts; an objection goes back", "seed 000"),
    Promise("coverage.fails_closed", "A risky plan is not made while nobody can judge it", "I2; bad input"),
    Promise("coverage.not_done", "A part that was not done ends the task failed, named", "I4"),
    Promise("coverage.unanswered", "A question left without an answer ends the task failed, by records alone", "I4"),
    Promise("conversation.one_error", "One wrong write holds all writes of its reply", "I2"),
    Promise("conversation.corrections", "After three corrections a task ends, and says what was wrong", "bad input"),
    Promise("conversation.on_sonnet", "What a Haiku reply writes is proposed again on Sonnet", "seed 000, tiers"),
    Promise("conversation.model_away", "While the model is away a task rests, to a deadline", "bad input"),
    Promise("conversation.ledger_answer", "The ledger answers where the tenant wants it, or no model can", "I4"),
    Promise("conversation.free_text", "Money and payees that only free text says wait for a person", "I2"),
    Promise(
        "conversation.free_text_identifiers", "What only somebody's text says is used where the task sends to it", "I2"
    ),
    Promise("conversation.strange_addresses", "No address that only somebody's text has is opened or linked to", "I2"),
    Promise("conversation.left_part", "A part left for its own condition is said in the answer", "I4"),
    Promise("conversation.held_together", "No history begins anew for its length while calls wait", "I3"),
    Promise("conversation.sent_back_once", "A number or a day from nowhere is sent back once", "I2"),
    Promise("conversation.untold_records", "A record that no word of the task tells of asks a person", "I2"),
    Promise("conversation.cut_off", "A reply that was cut off is never taken as a whole one", "I2"),
    Promise("conversation.spelled_identifiers", "An identifier may be a number that the task spells out", "I2"),
    Promise("conversation.wide", "Of more tools than fit, the needed ones are found and used as usual", "seed 000"),
    Promise("conversation.chosen_numbers", "A number that is no small choice needs a source", "I2"),
    Promise("writes.proposed_twice", "A call that is proposed twice for one part is made once", "I3"),
)
