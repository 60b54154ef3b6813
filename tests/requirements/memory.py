"""What tasks leave for later ones beyond their cases, and how it is forgotten."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise("entities.found", "Vendors, people, amounts, dates, ids are found in texts", "seed 000, Entity memory"),
    Promise(
        "entities.many_countries",
        "Money and dates are the same, however a country writes them",
        "seed 000, Entity memory",
    ),
    Promise("entities.counted", "An entity is counted once a task, with when and with what", "seed 000, Entity memory"),
    Promise("entities.expire", "What nobody names for 7 days, or is too much, is forgotten", "seed 000, Entity memory"),
    Promise("entities.shown", "A task is told of what it names, in any writing, if it is known", "seed 000, PRIME"),
    Promise("knowledge.once", "A fact that is taught again is known once, and surer", "seed 000, Knowledge extraction"),
    Promise(
        "knowledge.newer_holds", "Of facts that contradict each other the newer holds, and says so", "seed 000, PRIME"
    ),
    Promise("knowledge.capped", "A tenant has 500 facts at most", "seed 000, Knowledge extraction"),
    Promise(
        "knowledge.good_tasks", "Up to four facts, from tasks of quality 0.50 on", "seed 000, Knowledge extraction"
    ),
    Promise(
        "knowledge.crash", "A learner that dies finds a task's facts again, and not twice", "I5; seed 000, Knowledge"
    ),
    Promise(
        "knowledge.no_model", "Without a model facts wait and all else is learned", "seed 000, Knowledge extraction"
    ),
    Promise(
        "knowledge.paid", "Finding facts is paid from the tenant's day, and does not begin without room in it", "I11"
    ),
    Promise("knowledge.paid_once", "No model is asked again and again for facts that cannot be kept", "I11; seed 000"),
    Promise("knowledge.fair", "No tenant's tasks keep those of another from being read for facts", "I10; seed 000"),
    Promise("knowledge.refused", "LEARN_KNOWLEDGE=on without a model is refused in a sentence", "bad input"),
    Promise("knowledge.unmarked", "Nothing that the privacy guard marks is asked about or kept", "I12"),
    Promise(
        "knowledge.end_to_end", "The second task of a vendor knows what the first one said", "seed 000, PRIME injection"
    ),
    Promise(
        "accuracy.counted", "What was predicted and what it proved to be is counted once a task", "seed 000, Accuracy"
    ),
    Promise("accuracy.drift", "A kind of limit that held in under 40 % of five is a warning", "seed 000, Context rot"),
    Promise(
        "accuracy.parted",
        "A limit counts as wrong where its rule, the record or the server's refusal says otherwise",
        "seed 000, context accuracy feedback",
    ),
    Promise("accuracy.replayed", "A replay is told of a prediction what the task was told", "seed 000, Context rot"),
    Promise("memory.once", "Each outcome is remembered once, whoever dies when", "I5; seed 000, RL Loop"),
    Promise("memory.beside", "Remembering holds up no learning, and loses nothing that learning has settled", "I5"),
    Promise("memory.edges", "A file, a bucket or a memory that breaks stops no learner", "I5; bad input"),
    Promise("memory.walls", "A tenant's facts, entities and accuracy are in its own keys and answers alone", "I10"),
    Promise(
        "memory.read", "Operators, and nobody else, read cases, facts, entities and accuracy", "seed 000, Case log"
    ),
    Promise("forget.gone", "What is to be forgotten is in no learned key any more", "seed 000, Memory; I10"),
    Promise("forget.late", "An outcome under way brings nothing back that was to be forgotten", "seed 000, Memory"),
    Promise("forget.bounded", "Of requests to forget that are done, the newest 200 are kept", "bad input"),
    Promise("forget.command", "purple learn forget asks first, and says what was removed and what stays", "seed 000"),
)
