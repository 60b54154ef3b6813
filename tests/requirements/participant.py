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
)
