"""How the worker takes part in an assessment."""

from tests.requirements.promise import Promise

PROMISES = (
    # the world as tools
    Promise(
        "participant.world_tools",
        "All that a user's key may do in a simulated world is a typed tool; mail goes out in the user's name",
        "seed 004, 8",
    ),
    Promise("participant.world_failures", "A refusal, a lost answer and the end of an assessment are told apart", "I3"),
    Promise(
        "I1.world_tools", "Whatever sends or alters in a simulated world is a change with a read that proves it", "I1"
    ),
    Promise(
        "I12.world_key", "The key to an assessed world stands in no answer, record, event, outcome or journal", "I12"
    ),
    # a turn as a task
    Promise(
        "participant.turn_as_task",
        "A turn's task is what the user said in the chat; its next turn comes in bounds",
        "seed 004, 8",
    ),
    Promise(
        "participant.early_end", "An early end is told only where every write of the turn was verified", "seed 004, 8"
    ),
    Promise("participant.every_end", "However a turn ends, its assessor gets a reply it can read", "seed 004, 11"),
    Promise("participant.nobody_approves", "A plan that needs a person is not written in an assessment", "I7"),
    Promise(
        "participant.memory",
        "A turn knows what earlier turns of its assessment did, no other's; the world's words reach no case or fact",
        "I12",
    ),
    Promise("I2.assessed_world", "The tenant's rules bind in an assessed world too", "I2"),
    Promise("I3.world_tools", "A lost answer or a killed turn never makes a change of an assessed world twice", "I3"),
    Promise(
        "I10.assessed_world", "A turn of an assessment reaches its world alone, and nothing of the tenant's own", "I10"
    ),
    Promise("participant.whole_turn", "A turn runs whole: worker, planner, and a simulator of its own", "seed 004, 8"),
    Promise(
        "planner.tends",
        "The rule-based planner carries out standing instructions on what came in, and says what it leaves alone",
        "seed 004, 8",
    ),
)
