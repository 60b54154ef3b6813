"""What is learned."""

from tests.requirements.promise import Promise

PROMISES = (
    # learner
    Promise("learner.counted_once", "An ended task is counted once, whenever a learner dies", "I5; seed 000, RL Loop"),
    Promise("learner.shared_work", "Learners share the work, and a session's tasks stay in order", "seed 000, RL Loop"),
    Promise("learner.poison", "What cannot be learned goes to the dead letters with its error", "seed 000, RL Loop"),
    Promise("learner.digest", "An outcome teaches the same by its digest and by itself", "I5"),
    Promise(
        "learner.assessments_apart",
        "Turns of an assessment change no count, arm, case, fact or entity of the business",
        "seed 004, 12",
    ),
    Promise("learner.days", "Counts are kept by day, for 400 days", "seed 000, RL status"),
    Promise(
        "learner.trends", "How each arm and the quality came to be is kept, in bounded space", "seed 000, RL status"
    ),
    Promise("quality.parts_kept", "A case keeps the parts of its quality, by either formula", "seed 000; seed 002"),
    Promise("learner.documented", "Statistics in Redis are as docs/statistics.md says", "seed 000, RL status"),
    Promise("learner.redacts", "What the guard marks is in no case, whoever sent the event", "I12"),
    Promise("bandit.ucb1", "Arms are scored by UCB1, and their means are exact", "seed 000, Strategy Bandit"),
    Promise("bandit.cold_start", "The first task of a process type is carried out by fsm", "seed 000, Strategy Bandit"),
    Promise("bandit.leaves_the_worse_arm", "The better strategy comes to be used most", "seed 000, Strategy Bandit"),
    Promise("bandit.regret", "Regret grows no faster than the bound of UCB1", "seed 000, Strategy Bandit"),
    Promise("bandit.only_what_applied", "A strategy that could not apply is not charged", "seed 000, Strategy Bandit"),
    Promise("cases.pruned", "Rotten cases are not shown, and a log is never emptied by it", "seed 000, Context rot"),
    Promise("cases.capped", "The case log keeps the last 200 tasks of a tenant", "seed 000, Case log"),
    Promise("I10.learned_by_tenant", "What is learned of one tenant is in no other's keys", "I10"),
    Promise("learner.refuses_to_start", "A learner that lacks something says what and exits with 2", "bad input"),
    Promise(
        "prime.primer", "Past cases reach the model as data, failures as what to avoid", "seed 000, PRIME injection"
    ),
    Promise("prime.primer_optional", "A task goes on without a primer if there is none to be had", "seed 000, PRIME"),
    Promise("prime.one_round_trip", "What was learned is read in one round trip", "seed 000, PRIME"),
    Promise(
        "prime.reads_bounded", "What PRIME reads does not grow with the number of tenants", "seed 000, PRIME injection"
    ),
    Promise("rl.history", "/rl/history shows how arms and quality of the tenant came to be, and each day", "seed 000"),
    Promise("rl.status", "/rl/status shows case log, arms, tools and synthesis cache of the tenant", "seed 000, A2A"),
    Promise("cases.relevant", "A task sees the three past cases most like it", "seed 000, PRIME injection"),
    Promise(
        "cases.keywords", "Cases are compared by at most 15 stemmed words that say something", "seed 000, Case log"
    ),
    # training rows, files
    Promise("training.seeded", "A tenant's case log is seeded from the rows of a bucket", "seed 000, training_loader"),
    Promise("training.failures_stay", "A failing training example stays a failure", "seed 000, training_loader"),
    Promise("training.merged", "A full case log is merged by quality, not overwritten", "seed 000, training_loader"),
    Promise("training.once", "Each version of an object is loaded once, by one learner", "seed 000, training_loader"),
    Promise("training.bad_rows", "Training rows that cannot be read are counted and named", "bad input"),
    Promise("report.shapes", "A report's parts are read in whatever shape they come", "seed 000, report_analyzer"),
    Promise("report.rows", "Training rows out of a report have no made-up score", "seed 000, report_analyzer"),
    Promise("report.shown", "A report shows dimensions, top failures and hard scenarios", "seed 000, report_analyzer"),
    Promise(
        "report.teaches",
        "What a report found changes what later tasks of that kind are told",
        "seed 000, report_analyzer",
    ),
    Promise("files.round_trip", "An export into an empty tenant gives the same statistics", "seed 000, RL Loop"),
    Promise("files.idempotent", "A file imported twice counts nothing twice", "seed 000, RL Loop"),
    Promise("files.validated_whole", "A file with a wrong entry is refused whole, and says which", "bad input"),
    Promise("files.seed_names", "The four JSON files are read with their own names", "seed 000, case_log.json"),
    Promise("files.dry_run", "A dry run says what an import would do", "seed 000, RL Loop"),
    Promise("files.processes", "Imported processes are checked by the executor, and kept ones stay", "seed 000, FSM"),
    Promise("files.cache", "RL_CACHE_DIR fills an empty Redis, and follows what is learned", "seed 000, RL_CACHE_DIR"),
    Promise("files.merged", "Of two records of an arm, the one with more pulls holds", "seed 000, Strategy Bandit"),
    Promise("I12.training_rows", "What the guard marks in a training row is in no case", "I12"),
)
