"""How the executor works on a task."""

from tests.requirements.promise import Promise

PROMISES = (
    # executor core
    Promise("I1.gate_table", "Each class of tool passes exactly in the states that permit it", "I1"),
    Promise("answer.needs_no_server", "A killed turn whose writes are done is answered wherever its server is", "I4"),
    Promise("I4.proof", "Only the record a write is about, newly showing it, proves the write", "I4"),
    Promise("I7.decisions", "An approval is bound to plan and verdict; only who may decides, in time", "I7"),
    Promise("I8.told_exactly", "Arguments of writes are told with every digit, in what clients see too", "I8"),
    Promise("I8.exact_money", "Figures are read, calculated and compared exactly, or not at all", "I8"),
    Promise(
        "I9.exact_answers", "An exact-match answer passes untouched, told by a full parse", "I9; seed 000, decision 4"
    ),
    Promise(
        "fsm.templates", "Fifteen processes walk their states in order, as the table says", "seed 000, 8-State FSM"
    ),
    Promise("fsm.read_only", "A run that writes nothing passes no state that could", "seed 000, 8-State FSM"),
    Promise(
        "prime.classify",
        "Parts are quotes of the user's own words, each to find out or to do: in doubt to do",
        "seed 000, PRIME",
    ),
    Promise("policy.request_document", "A request's policy is rules or advice; unreadable rules end it", "bad input"),
    Promise("prompts.quoted_data", "Data in a prompt cannot close its own section", "seed 000, PRIME"),
    Promise(
        "reflect.quality", "Only verified facts raise a task's quality, and penalties never do", "seed 000, REFLECT"
    ),
    # files of messages
    Promise("files.read", "A file is typed by its content; text, PDF, office files and images are read", "A2A 4.1.6"),
    Promise("files.hostile", "A hostile file costs a bounded amount, and its reason is told", "bad input"),
    Promise("files.fetched", "A file is fetched by its address under guard, bounded in size and time", "bad input"),
    Promise("files.shown", "A task's files are quoted to the model as data; what was not read is said", "A2A 4.1.6"),
    Promise("files.source", "What only a file says is used where the user sends to it", "I12"),
    # answers and documents
    Promise(
        "reflect.idle_runs", "A run that had nothing to prove earns nothing; a right answer is not weak", "seed 000"
    ),
    Promise("reflect.weighted_formula", "The weighted formula, by configuration", "seed 002 rl_loop.py; seed 003"),
    Promise("reflect.outputs", "What a process requires of its answer is looked for, and named", "seed 000"),
    Promise("reflect.history_once", "What a client said stands once in its task's history", "bad input"),
    Promise(
        "reflect.asked_up_front", "What a process requires of an answer is asked for where it is drafted", "seed 000"
    ),
    Promise("reflect.improvement", "A weak answer is improved once, and only by what is known", "seed 000, Pipeline"),
    Promise("answers.footer", "A footer of one line, off by default", "seed 002, REFLECT"),
    Promise("answers.policy_is_said", "Prose says what the rules said", "seed 003 structured_output.py"),
    Promise("answers.lists", "A list is made only where the task asks for one", "seed 003 structured_output.py"),
    Promise("documents.templates", "Nine documents from the task's data; what is missing is marked", "seed 002"),
    Promise("documents.asked", "A task gets the documents that it asks for, and its process's own", "seed 002"),
    Promise("documents.unverified", "A document keeps its sections; a figure that nothing shows is marked", "seed 002"),
    Promise("documents.artifacts", "Documents are parts of their own, as Markdown and as JSON", "seed 002"),
    # privacy guard and redaction
    Promise(
        "privacy.refuses", "A request that asks for protected data is refused: a table, and generated variants", "I12"
    ),
    Promise(
        "privacy.ordinary", "A task that only mentions a password reset, a card or a prescription is done", "seed 000"
    ),
    Promise(
        "privacy.named_records",
        "A word in a tool's name and work on one named record are ordinary; a dump and a disclosure are not",
        "seed 000",
    ),
    Promise("privacy.told_arguments", "Those who watch a tool call see no part of a marked argument", "I12"),
    Promise("privacy.no_magic_words", "No word in a request switches the privacy guard off", "bad input"),
    Promise("privacy.no_cost", "A privacy refusal comes before any model, tool, policy or memory is asked", "seed 002"),
    Promise("privacy.marks", "Cards, IBANs, SSNs, keys and given passwords are found; ordinary numbers are not", "I12"),
    Promise("privacy.model_requests", "No marked value is in a model request; a placeholder stands for it", "I12"),
    Promise(
        "privacy.restored", "Tool arguments and answers have the values again, to the byte where none was hidden", "I9"
    ),
    Promise("privacy.nothing_leaves", "No marked value is in a request, an event, an outcome or a case", "I12"),
    Promise("privacy.resumed", "Resume and replay hide and restore the same values", "I5; I12"),
    Promise("privacy.logs", "No marked value is in a log line, not even in a traceback", "I12"),
    # money
    Promise("money.splits", "Every split, proration and recognition of money sums to its whole", "seed 002"),
    Promise("money.schedules", "Every loan ends at zero, every depreciation at the salvage value", "seed 002"),
    Promise("money.reference", "Each calculator agrees with an independent reference, or says why not", "seed 000"),
    Promise("money.gaps", "Each of the 36 figures that business tasks lack a tool for is a calculator", "seed 000"),
    Promise("planner.formulas", "The planner has figures that a task names in general terms calculated", "seed 002"),
    Promise("money.rounding", "Money rounds half up once; a variance is compared without rounding", "seed 002; I8"),
    Promise("money.currency", "Minor units follow the currency; two currencies are never put together", "I8"),
    # what a run spends, remembers and is told
    Promise("budget.thresholds", "Above 80 % used every call is Haiku's, save the plan of writes", "seed 000"),
    Promise(
        "budget.history_once", "A history that grows is counted once, whether its endpoint caches it or not", "seed 000"
    ),
    Promise(
        "budget.doubtful_usage", "Where a reported usage cannot be true, an estimate counts, and it is said", "I11"
    ),
    Promise("privacy.stable", "A value has one placeholder in all requests of a task's conversation", "seed 000"),
    Promise("budget.caps", "The less is left, the shorter an answer may be: 256 to 4,096 tokens", "seed 000"),
    Promise("budget.hints", "Each request ends with how brief to be: mild, strict, emergency", "seed 000"),
    Promise("budget.resumed", "A resumed run and a replay stay on the tiers that were paid for", "seed 000; I5"),
    Promise("memory.compressed", "Over 20 turns or 8K tokens the last 6 stay, with a 200-word summary", "seed 002"),
    Promise("memory.phase_boundary", "A session is summarized between phases, before any call", "seed 002"),
    Promise("memory.no_model", "Without a model the beginnings of older turns are kept", "seed 003"),
    Promise("memory.replayable", "A summary is paid for once, and replayed as it was", "I5; seed 002"),
    # the strategies
    Promise("any_model.invariants", "Whatever a model does, I1, I2, I7, I9 and I11 hold", "I1; I2; I7; I9; I11"),
    Promise(
        "any_model.ends", "Whatever a model does, a run ends or waits, and its checkpoint is read back", "seed 000"
    ),
    Promise("any_model.checker", "What judges those runs finds what is put into their record", "I1; I2; I7; I9; I11"),
    Promise("I2.provenance.words", "A number written out in words needs a source like any other", "I2"),
    Promise("policy.calls.number_ids", "Ids that are numbers tell records apart", "I2; bad input"),
    Promise("audit.second", "A small model is asked whether a plan's calls do what the task asks", "seed 000, COMPUTE"),
    Promise("audit.second.escalates", "Objections without an end end the task, with nothing written", "seed 000"),
    Promise(
        "audit.second.fails_closed", "Where that question has no usable answer, nothing is written", "I2; bad input"
    ),
    Promise("audit.second.only_for_writes", "A task that proposes no write is asked nothing of the kind", "seed 000"),
    Promise("audit.second.setting", "COMPUTE_AUDIT is on or off; another word stops the start", "bad input"),
    Promise("audit.second.switch", "COMPUTE_AUDIT switches that question, never the exact audit", "bad input"),
    Promise("strategy.three", "fsm, five_phase and moa can carry a task, as the bandit chooses", "seed 000"),
    Promise("strategy.setting", "STRATEGIES names those the bandit chooses among", "seed 000, Strategy Bandit"),
    Promise("strategy.tiers", "The first reply and the artifact are Haiku's; what may propose is Sonnet's", "seed 000"),
    Promise("strategy.obeys_the_gate", "No strategy's thinking can call a write", "I1"),
    Promise("strategy.audited", "Every strategy's figures are audited before a plan is built on them", "I2; seed 000"),
    Promise("strategy.findings_in_plan", "A strategy's artifact sees the draft and what was read", "seed 000"),
    Promise("strategy.same_replay", "A run of any strategy is resumed, and replayed to the same end", "I5"),
    Promise("strategy.five_phase", "PLAN, GATHER, SYNTHESIZE, ARTIFACT, INSIGHT carry a task to its end", "seed 000"),
    Promise("strategy.five_phase.at_once", "GATHER makes up to 8 reads at once", "seed 000, Strategy Bandit"),
    Promise("strategy.five_phase.insight", "INSIGHT is an event stored with the end of the turn", "seed 000"),
    Promise("strategy.moa", "Two drafts that agree are taken as they are", "seed 000, Strategy Bandit"),
    Promise("strategy.moa.two_drafts", "Two drafts at once differ by framing and effort alone", "seed 000"),
    Promise("strategy.moa.consensus", "Words overlap by 0.70, figures and identifiers are the same", "seed 000"),
    Promise("strategy.moa.synthesis", "Drafts that diverge are synthesized by Sonnet", "seed 000, Strategy Bandit"),
    Promise("strategy.moa.one_away", "A draft that cannot be had fails no task: the other one is taken", "seed 000"),
    Promise("strategy.moa.budget", "Two drafts stay within the budget, or one is made", "I11"),
    Promise("I9.moa", "A drafted list is agreed to the byte or synthesized, and never touched", "I9"),
    Promise("loop.limits", "A task asks its model 20 times, a reply makes 18 reads at most, or as set", "seed 000"),
    Promise("loop.side_by_side", "The reads of one reply run side by side", "seed 000, five_phase"),
    Promise("loop.retry_or_over", "A model is told whether a call may be made again, and of one that is over", "I1"),
    Promise("loop.reads_once", "The same read again is answered from the first, and asked of no server", "seed 003"),
    Promise("loop.trimmed", "A long result is cut to fit a prompt, whatever its shape, and says so", "seed 002"),
    Promise("prime.knowledge", "Learned facts and entities that are about a task are shown to it", "seed 000"),
    Promise(
        "prompts.phases", "Each request shows the rules, what was learned and said, and the same tools", "seed 000"
    ),
    Promise(
        "prompts.cacheable", "What stands first in a request is the same for every task; then it grows", "seed 000"
    ),
    Promise("prompts.planted", "Instructions planted in data reach no tool and leave no section", "bad input"),
    Promise("session.evicted", "A session idle for an hour leaves Redis and is restored when it speaks", "seed 003"),
    Promise("session.archive_waited_for", "An archive that is away uses up no attempts of a turn", "I5"),
    Promise("session.waiting_stays", "Nothing that waits or works is evicted, nor what was said meanwhile", "seed 003"),
    Promise("session.archive_down", "No memory leaves, or is taken for none, while it cannot be archived", "seed 003"),
    Promise("session.own", "What a session left in the archive is given to its owner alone", "I10"),
    Promise("budget.plan_tier", "No plan of writes is made by the lower tier's model for want of its own", "seed 000"),
    # Orchestrators
    Promise("brainos.rounds", "BrainOS carries a task in any number of tool rounds", "seed 003 brainos_client.py"),
    Promise("brainos.protocol", "Its server-sent events are read: tool calls, text, answer, [DONE]", "seed 003"),
    Promise("brainos.unavailable", "No key, refused, slow, cut off or garbage: it is not available", "seed 003"),
    Promise(
        "brainos.falls_to_next", "What is not available is passed over for the next listed", "seed 002 worker_brain.py"
    ),
    Promise("brainos.gate", "Its calls pass gate, rules, plan, policy and ledger like all others", "I1; I2"),
    Promise("brainos.calculates", "It has figures calculated here, each with its sources", "I2"),
    Promise("brainos.second_turn", "Its conversation goes on in a later turn", "seed 003 brainos_client.py"),
    Promise("brainos.bounded", "Its rounds are bounded by number, time and budget, and a cancel ends them", "I11"),
    Promise("brainos.masked", "What the guard marks is kept from it", "I12"),
    Promise("brainos.once", "No round is sent twice in one conversation, whoever crashes; a replay asks nobody", "I5"),
    Promise("brainos.settings", "ORCHESTRATORS and what BrainOS needs are checked at the start, by name", "seed 000"),
)
