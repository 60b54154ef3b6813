"""The simulated world of a user."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "simulator.time", "Simulated time moves, pauses and flows, and events run when they are due", "seed 004, 7"
    ),
    Promise("simulator.simulation", "A simulation starts, stops, resets, clears and is held", "seed 004, 4 and 6"),
    Promise("simulator.undo", "Undo, redo and reset restore every state exactly", "seed 004, 4"),
    Promise("simulator.events", "Events wait in a queue, and what became of each is told", "seed 004, 7 and 9"),
    Promise("simulator.attribution", "Each event bears the key that caused it, whatever its body says", "seed 004, 5"),
    Promise("simulator.keys", "Keys are made, listed and revoked, and none grants more than it has", "seed 004, 5"),
    Promise("simulator.permissions", "A key can do nothing outside its permissions", "seed 004, 5"),
    Promise("simulator.scenario", "A world is exported and imported, whole or not at all", "seed 004, 6"),
    Promise(
        "simulator.absent",
        "What may be left out may be null, in actions, events and scenarios",
        "what public servers export",
    ),
    Promise("simulator.worlds", "Worlds in one process know nothing of each other", "seed 004, 1 and 2"),
    Promise("simulator.saved", "A world that is saved and restored goes on as if nothing had been", "seed 004, 2"),
    Promise("simulator.webhooks", "Webhooks are told what ran, signed, and again if they were away", "seed 004, 2"),
    Promise("simulator.logs", "Who asked for what is kept, and found again", "seed 004, 5"),
    Promise("simulator.environment", "The whole world is shown at once, in full, compact or as text", "seed 004, 6"),
    Promise("simulator.refusals", "Wrong requests get a 4xx that says what is wrong, and change nothing", "bad input"),
    Promise("simulator.start", "A simulator starts from its settings, or says what is wrong with them", "seed 004, 4"),
    Promise("simulator.costs", "What is due is found in logarithmic time, whatever has happened before", "seed 004, 7"),
    Promise("simulator.email", "Mail is sent, received, answered, drafted, marked, moved and found", "seed 004, 9"),
    Promise(
        "simulator.sms", "Text messages and their conversations, in every shape they were written in", "seed 004, 9"
    ),
    Promise("simulator.chat", "The user and the assistant talk, and old messages make room", "seed 004, 6"),
    Promise("simulator.calendar", "Events are made, changed, answered and deleted, and remind", "seed 004, 9"),
    Promise(
        "simulator.zones",
        "A calendar's time without a zone is what a clock in the event's zone shows, or else in the user's",
        "what public servers export",
    ),
    Promise("simulator.recurrence", "Events recur as RFC 5545 has it, on the clock of their zone", "seed 004, 9"),
    Promise("simulator.contacts", "Contacts are kept, found, grouped, blocked and merged", "seed 004, 1"),
    Promise("simulator.surroundings", "Where the user is and was, and the weather in any units", "seed 004, 1"),
    Promise("simulator.privacy", "Nobody writes under another's name, and blind copies stay blind", "seed 004, 5"),
    Promise("simulator.failed_actions", "What cannot be done is reported as failed and changes nothing", "seed 004, 9"),
    Promise("simulator.modality_undo", "Undo and export bring back every modality's state exactly", "seed 004, 4"),
    Promise("simulator.state_cost", "A look at a world that has not changed costs next to nothing", "seed 004, 7"),
    Promise(
        "simulator.published_shapes",
        "What stands inside an answer, each status, and inputs of every age are as public clients know them",
        "seed 004, 12",
    ),
    Promise(
        "simulator.contract",
        "Every endpoint that existing clients rely on is there, wants its permission and answers in its shape",
        "seed 004, 4 and 12",
    ),
)
