"""What the product promises: id, sentence, source. Tests carry the id; a check ties the two.

``python -m tests.requirements --check`` fails on a promise without a test and on a test that names an unknown promise.
``python -m tests.requirements --results FILE`` shows the table, with what the last run (a JUnit file) said.
To add a promise, add a line here and mark a test with ``@pytest.mark.promise("the.id")``.
"""

import sys
from typing import NamedTuple


class Promise(NamedTuple):
    id: str
    sentence: str
    source: str  # the seed and its section, an invariant of docs/architecture.md, or "bad input"


PROMISES: tuple[Promise, ...] = (
    # --- what must never happen
    Promise(
        "I1.gate_in_every_state", "A call that a state forbids never reaches a server", "I1; seed 000, 8-State FSM"
    ),
    Promise("I1.left_out_of_the_request", "A model is offered only the tools its state permits", "I1"),
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
    # --- executor core
    Promise("I1.gate_table", "Each class of tool passes exactly in the states that permit it", "I1"),
    Promise("I4.proof", "Only the record a write is about, newly showing it, proves the write", "I4"),
    Promise("I7.decisions", "An approval is bound to plan and verdict; only who may decides, in time", "I7"),
    Promise("I8.exact_money", "Figures are read, calculated and compared exactly, or not at all", "I8"),
    Promise(
        "I9.exact_answers", "An exact-match answer passes untouched, told by a full parse", "I9; seed 000, decision 4"
    ),
    Promise(
        "fsm.templates", "Fifteen processes walk their states in order, as the table says", "seed 000, 8-State FSM"
    ),
    Promise("fsm.read_only", "A run that writes nothing passes no state that could", "seed 000, 8-State FSM"),
    Promise(
        "prime.classify", "A task's words tell its process, and whether it acts: in doubt it does", "seed 000, PRIME"
    ),
    Promise("policy.request_document", "A request's policy is rules or advice; unreadable rules end it", "bad input"),
    Promise("prompts.quoted_data", "Data in a prompt cannot close its own section", "seed 000, PRIME"),
    Promise(
        "reflect.quality", "Only verified facts raise a task's quality, and penalties never do", "seed 000, REFLECT"
    ),
    # --- answers and documents
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
    Promise("documents.artifacts", "Documents are parts of their own, as Markdown and as JSON", "seed 002"),
    # --- state and queue
    Promise("state.accept_once", "A message sent many times at once makes one task", "I5"),
    Promise("state.session_owner", "A session takes no task of another principal", "I10"),
    Promise("state.order", "Turns run in order; decisions and cancels go first", "I6"),
    Promise("state.one_owner", "Of many claimers one gets the session", "I6"),
    Promise("state.fenced", "An owner whose lease is gone can change nothing", "I6"),
    Promise("state.release_empty", "A session is released only when nothing waits in it", "I6"),
    Promise("state.dead_owner", "A dead executor's turn is taken up by another", "I5"),
    Promise("state.lost_wake", "A task whose wake was lost is carried out all the same", "I5"),
    Promise("state.retried", "A turn that breaks is tried again, and at last failed with its reason", "I5"),
    Promise("state.outcome_once", "An outcome is counted once, however often its turn is finished", "I5"),
    Promise("state.ended_is_ended", "An ended task stays as it ended", "I5"),
    Promise("state.write_once", "The ledger does not open a write twice", "I3"),
    Promise("state.cancel_heard", "A cancel is heard before the next call", "I6"),
    Promise("state.timer_once", "A deadline becomes one turn, whoever looks", "I7"),
    Promise("state.watch_gapless", "Whoever watches a task sees each event once", "seed 000, Execution Pipeline"),
    Promise(
        "state.keys_listed", "Every key is listed with its lifetime, and keeps to it", "seed 002, Multi-Turn Memory"
    ),
    Promise("state.refuses_volatile", "A Redis that may forget is refused by name", "I5"),
    Promise("state.embedded_durable", "The embedded server keeps what it acknowledged through a kill", "I5"),
    Promise("state.embedded_no_orphan", "The embedded server ends when its parent is killed", "seed 000, Running"),
    Promise("state.refuses_to_start", "An executor that lacks something says what, and stops", "seed 000, Running"),
    # --- gateway
    Promise("a2a.seed_request", "The tasks/send request of seed 000 is answered with text", "seed 000, A2A Protocol"),
    Promise(
        "gateway.legacy_answer", "The answer comes in the same response, first and alone", "seed 000, A2A Protocol"
    ),
    Promise("gateway.legacy_resend", "A client that sends again after a time-out gets the same task", "seed 001"),
    Promise("gateway.resend", "The same message again is the same task", "I5"),
    Promise("gateway.kept_alive", "A waiting response is kept alive", "seed 002, Deployment"),
    Promise("gateway.a2a_0_3", "The official 0.3 client sends, reads, approves and cancels", "seed 000, A2A Protocol"),
    Promise("gateway.a2a_1_0", "The official 1.0 client sends a message and reads its task", "seed 000, A2A Protocol"),
    Promise("gateway.events", "A task's story can be followed live and taken up again", "seed 000, A2A Protocol"),
    Promise("gateway.decision", "An approver decides in another's session, and may do nothing else there", "I7"),
    Promise(
        "gateway.decision_names_its_question",
        "An answer counts for the question that it names, where it names one",
        "I7",
    ),
    Promise("gateway.bad_input", "Bad input is refused with the error that fits, naming the field", "bad input"),
    Promise("gateway.inbox", "An approver sees the exact calls that wait, and an answer reaches them once", "I7"),
    Promise("gateway.keys", "An API key says who speaks for which tenant; without one nobody is let in", "I10"),
    Promise("gateway.tools_endpoint", "A request's tool server must be a permitted address", "bad input"),
    Promise("gateway.store_down", "With Redis down, each method says so, and nothing is half done", "bad input"),
    Promise("gateway.refuses_to_start", "Without what it needs it refuses to start, naming it", "seed 000, Running"),
    # --- policy
    Promise("policy.conditions", "Conditions mean what a reader expects", "seed 002, policy_checker.py"),
    Promise(
        "policy.missing", "A missing field leaves undecided exactly what depends on it", "seed 002, policy_checker.py"
    ),
    Promise("policy.exact", "Amounts are compared exactly, over the wire too", "I8"),
    Promise("policy.verdict", "Block, escalation, approval and pass are told apart", "seed 003, policy_checker.py"),
    Promise("policy.calls", "Rules see each planned call with what is known about it", "I2"),
    Promise("policy.hashes", "A verdict is bound to policy, context and plan", "I2"),
    Promise(
        "policy.monotone", "A further blocking rule never turns a refusal into a pass", "seed 003, policy_checker.py"
    ),
    Promise("policy.probes", "Known ways to misread a rule are closed", "seed 002, policy_checker.py"),
    Promise("policy.errors", "A rule that cannot be read is refused with position and cause", "bad input"),
    Promise("policy.bounds", "A hostile condition is refused at once", "bad input"),
    Promise("policy.bad_input", "No input is a server's error", "bad input"),
    Promise("policy.service", "The service starts, describes itself and stops as told", "seed 000, Running"),
    Promise(
        "policy.tool_rules",
        "Never, once, after, when and with a yes: rules about tools hold",
        "seed 003",
    ),
    Promise("policy.allowances", "A turn's reads are under the same rules, asked for once", "seed 003"),
    Promise("policy.report_only", "A report-only rule is reported and changes nothing", "seed 003"),
    Promise("policy.unproven", "What only the request says sets a rule off and clears none", "I2"),
    Promise("policy.text_rules", "A text complies or not by its rules alone", "seed 001, Policy Enforcement"),
    Promise("policy.prose", "A translated rule cites its source and adds nothing to it", "seed 003"),
    Promise("policy.speed", "The language and the service are measured against their rivals", "quality"),
    # --- tools and models
    Promise("tools.class_by_name", "A tool's name says what calling it may do", "I1; seed 002, hitl_guard.py"),
    Promise("tools.annotation_never_lowers", "A server's annotation never lowers a tool's class", "I1"),
    Promise("tools.catalogue_lowers", "Only the operator's catalogue lowers a class", "I1"),
    Promise("tools.unknown_changes", "An unknown tool counts as one that changes", "I1"),
    Promise("tools.silent_unless_certain", "A call counts as unsent only if that is certain", "I3"),
    Promise(
        "tools.shared_session_survives", "A failing call leaves the shared session whole", "seed 003, mcp_bridge.py"
    ),
    Promise("tools.exact_answers", "Numbers in tool answers stay exact", "I8"),
    Promise("tools.bad_tools_dropped", "Tools that cannot be used are dropped, the others stay", "bad input"),
    Promise("planner.knows_no_company", "The planner knows no company, task or test", "seed 000, Overview"),
    Promise("model.request", "A request is what the API accepts now, its stable part first", "seed 000, Token Budget"),
    Promise("model.failures", "A model that fails is told apart and named", "bad input"),
    Promise("model.retries", "What may pass is tried again, within bounds", "seed 000, Execution Pipeline"),
    Promise(
        "model.fallback", "The fallback model serves when a tier's model cannot", "seed 000, Environment Variables"
    ),
    Promise("money.exact_from_the_model", "Figures that a model hands over stay exact", "I8"),
    Promise(
        "company.applied_writes_counted", "The example company counts each write it applied", "seed 000, decision 3"
    ),
    # --- learner
    Promise("learner.counted_once", "An ended task is counted once, whenever a learner dies", "I5; seed 000, RL Loop"),
    Promise("learner.shared_work", "Learners share the work, and a session's tasks stay in order", "seed 000, RL Loop"),
    Promise("learner.poison", "What cannot be learned goes to the dead letters with its error", "seed 000, RL Loop"),
    Promise("bandit.ucb1", "Arms are scored by UCB1, and their means are exact", "seed 000, Strategy Bandit"),
    Promise("bandit.cold_start", "The first task of a process type is carried out by fsm", "seed 000, Strategy Bandit"),
    Promise("bandit.leaves_the_worse_arm", "The better strategy comes to be used most", "seed 000, Strategy Bandit"),
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
    Promise("rl.status", "/rl/status shows case log, arms, tools and synthesis cache of the tenant", "seed 000, A2A"),
    Promise("cases.relevant", "A task sees the three past cases most like it", "seed 000, PRIME injection"),
    Promise(
        "cases.keywords", "Cases are compared by at most 15 stemmed words that say something", "seed 000, Case log"
    ),
    # --- example company
    Promise("company.honest", "Its tools are by name and annotation what they are", "I1"),
    Promise("company.writes_can_be_read_back", "Each of its writes shows in a read, and once only means once", "I4"),
    Promise("company.consistent", "Its rows agree with each other, over all tables", "seed 000, Overview"),
    Promise("company.pages", "Long lists come in each usual shape of pages, none lost or doubled", "seed 003"),
    Promise("company.drift", "A column can be renamed while it runs, everywhere at once", "seed 003, schema_drift.py"),
    Promise("company.both_protocols", "Its tools act the same over MCP and the REST bridge", "seed 003, mcp_bridge.py"),
    # --- command line and launcher
    Promise("launcher.defaults", "Only the launcher supplies Redis, planner and company", "seed 000, Running"),
    Promise("launcher.notice", "The rule-based planner is never taken for a model", "seed 000, Running"),
    Promise("launcher.explains", "A service that does not start is explained by its last words", "seed 000, Running"),
    Promise("launcher.no_orphans", "Children die with the launcher, even when it is killed", "seed 000, Running"),
    Promise("secrets.model_key", "The model's key is handed to the process that needs it, and to no other", "I12"),
    Promise("cli.send", "A task's phases are shown as they happen", "seed 000, Execution Pipeline"),
    Promise("demo.checks", "The demo names each thing in the database that is not as it should be", "seed 000"),
    Promise("demo.end_to_end", "One command does real business tasks end to end and checks the database", "seed 000"),
    Promise("demo.fails_loudly", "The demo's exit code is non-zero if any check of any task fails", "seed 000"),
    # --- tool protocols and drift
    Promise(
        "tools.legacy_client", "A client and a tool server of the original kind are served unchanged", "seed 000, A2A"
    ),
    Promise(
        "tools.rest_bridge",
        "The REST bridge's results, refusals and silences are told apart",
        "seed 003, mcp_bridge.py",
    ),
    Promise(
        "tools.protocol_detected",
        "A server's protocol is found out and never held against it",
        "seed 003, mcp_bridge.py",
    ),
    Promise(
        "tools.named_by_task",
        "An unlisted tool that the task names may be called; an invented one may not",
        "I1; seed 003, mcp_bridge.py",
    ),
    Promise(
        "drift.recognised",
        "An error about a missing column is known as one, and no other is",
        "seed 002, schema_adapter.py",
    ),
    Promise(
        "drift.recovers",
        "A read that meets a renamed column recovers: exactly, by alias, by likeness, by beginning",
        "seed 002, schema_adapter.py",
    ),
    Promise("drift.never_two_to_one", "A correction alters no value and makes no two columns one", "seed 002, adapter"),
    Promise("tools.breaker", "A server that fails is left alone for a while, and always found again", "seed 002"),
    Promise("drift.results", "A renamed field of what came back is shown under the expected name", "seed 002"),
    Promise("recover.kinds", "A failure is met by its kind; nothing found and nothing there are answers", "seed 002"),
    Promise("recover.synonyms", "A read whose tool is gone is put to one that asks the same", "seed 002, self-healing"),
    Promise("recover.advice", "A small model may name a read that stands in, one of those offered or none", "seed 002"),
    Promise("recover.one_by_one", "A read of several is taken apart where single reads exist", "seed 002"),
    Promise("recover.never_stronger", "No opposite, write or stronger tool ever stands in", "I1; seed 002"),
    Promise("recover.says_so", "What could not be read says what was tried", "seed 002, self-healing"),
    Promise("tools.echoes", "An answer that only repeats the call proves nothing and is no source", "I4; seed 003"),
    Promise("drift.remembered", "A session remembers renamed columns", "seed 002, schema_adapter.py"),
    Promise("drift.approved_writes_stay", "Names are corrected before a plan is approved, never after", "I7"),
    # --- the project itself
    Promise("promises.tied", "Every promise has a test, and every mark names a known promise", "quality"),
    Promise("imports.directions", "Services stand on shared, never import each other; a core does no I/O", "quality"),
    # --- planner
    Promise("planner.generated_worlds", "Tasks of worlds nobody wrote code for are carried out exactly", "seed 000"),
    Promise("planner.generalises", "The five states succeed on tools generated from a seed", "seed 000"),
    Promise("planner.refuses_as_the_api", "The planner rejects what the real API rejects", "bad input"),
    Promise("planner.heeds_not", "What a task forbids is not planned", "seed 000, Key Design Decisions"),
    Promise("planner.never_invents", "What cannot be planned is said, and nothing is invented", "seed 000"),
    Promise("planner.reads_all_parts", "A list given in parts is read to its end before it decides", "seed 000"),
    Promise("planner.each_of_many", "Every one means each that fits, in the order asked, and no other", "I2"),
    Promise("planner.yes_or_no", "A question for yes or no gets one, with its ground", "seed 000"),
    Promise("planner.heeds_corrections", "A refused answer is changed or given up, never put again", "bad input"),
    Promise(
        "planner.new_things", "Later calls of a plan refer to what an earlier one makes, by its result", "seed 000"
    ),
    Promise("planner.tells_whom_a_process_names", "Whoever a process wants told of a change is told", "seed 002"),
    Promise("planner.reads_what_a_process_names", "What a process says to read is read, if it belongs", "seed 002"),
    Promise("planner.unjudged", "A criterion that no model is there to judge is marked unjudged", "seed 004"),
    # --- deployment
    Promise(
        "deploy.image_is_enough",
        "A service runs on what its image copies and installs, and stops on SIGTERM",
        "seed 000, Running",
    ),
    Promise(
        "deploy.same_names",
        "Images, compose file, manifests and settings name the same variables, ports and paths",
        "seed 000, Environment Variables",
    ),
    Promise(
        "deploy.one_command",
        "The image of the whole stack serves on port 9010 with the two documented commands",
        "seed 000, Running",
    ),
    Promise(
        "deploy.manifests_valid",
        "Every manifest fits the current Kubernetes version's schema, and is confined",
        "quality",
    ),
    # the command line and the demo
    Promise("demo.rest_bridge", "The demo holds over the REST bridge as it does over MCP", "seed 003, mcp_bridge.py"),
    Promise("demo.any_model", "The demo holds with any endpoint that speaks the Messages API", "seed 000, Running"),
    Promise("tools.command", "People see each tool's class and what decided it before they trust a server", "I1"),
    Promise(
        "company.misfortunes",
        "With renamed columns, failing and slow calls a task ends right or honestly not done; no write is wrong",
        "seed 002; I4",
    ),
    # what an operator knows of a tool server
    Promise(
        "I4.partners", "A write is paired with a read that can be asked about it by schema, never by name alone", "I4"
    ),
    Promise(
        "tools.catalogue_pairs", "The read that the operator's catalogue names proves the write, and no other", "I4"
    ),
    Promise(
        "tools.catalogue_written",
        "What is found at a server is written as a catalogue, whose corrections hold once it is loaded",
        "I1; I4",
    ),
    Promise(
        "fsm.escalate_as_own_end",
        "A broken service level that a rule escalates ends completed and marked escalated; elsewhere a person decides",
        "seed 000",
    ),
    # --- when Redis fails
    Promise("redis.no_double_effect", "A call whose reply was lost is repeated and takes hold once", "I3; I5"),
    Promise("redis.short_cut", "A short cut or restart of Redis costs a running turn no attempt", "I5"),
    Promise("redis.scripts_flushed", "A server that forgot its scripts is sent them again", "I5"),
    Promise("redis.restart_loses_nothing", "What Redis acknowledged is there after it was killed under load", "I5"),
    Promise(
        "redis.out_of_memory", "Without memory work is refused whole, to be tried later, and goes on by itself", "I5"
    ),
    Promise("redis.queue_may_go", "Tasks end though the queue forgets every wake", "I5"),
    Promise("redis.sentinel", "A service that sentinels watch is used through a failover", "I5"),
    Promise("redis.cluster", "Each step of the durable state touches one slot", "I5"),
    Promise(
        "redis.follows_primary", "A connection to a primary that became a replica is dropped, its name asked", "I5"
    ),
    Promise("redis.failover_noticed", "A failover is noticed before the first command after it", "I3"),
    Promise("redis.failover_unknown", "A server that cannot tell of failovers is not relied on for a write", "I3"),
    Promise("upkeep.goes_on", "One row that cannot be read, or look that fails, holds up nothing else", "bad input"),
    Promise(
        "model.outage", "A model endpoint that is away for about 5 s fails no task; no reply is paid for twice", "I11"
    ),
    Promise("tools.read_again", "A read that met a cut or a restart is made again, any other call never", "I3"),
    Promise("redis.intent_in_doubt", "After a failover a write that may have been sent is left to an operator", "I3"),
    Promise("redis.intent_confirmed", "Where replicas confirm intents, no request leaves before they have", "I3"),
    Promise(
        "policy.request_values",
        "A value that only the request gives triggers a rule, and clears none in production",
        "I2",
    ),
    Promise("I3.held_up", "A process that froze after a write's intent does not send it late", "I3"),
    Promise("policy.says_nothing", "A rule that means nothing is said or refused, never silently idle", "bad input"),
    Promise("plan.as_made", "Policy and people see a plan in the order in which it is made", "I7"),
    # trying policies
    Promise("policy.backtest", "A changed policy is tried on archived plans: what would differ", "seed 002"),
    Promise("policy.check_command", "People see how a policy is understood, its verdict and why", "seed 002"),
    # rules about tools, and prose
    Promise("prose.plain_forms", "Plain sentences become rules without a model, others are listed", "seed 001"),
    Promise("prose.listed", "A prose policy shows the rules it became, and what became none", "seed 001; seed 003"),
    Promise("prose.enforced", "Rules translated from prose are enforced where the tenant says so", "seed 001"),
    Promise("tools.only_after", "A call that a rule puts after another is not made before that one succeeded", "I2"),
    Promise("tools.once_beside_a_doubt", "A write in doubt counts for the other tasks of its session", "I3; seed 003"),
    Promise("tools.reads_under_rules", "A once-only read is made once, however often a model asks for it", "I2"),
    Promise(
        "tools.once_only", "A once-only tool that the model calls twice is called once, a session long", "seed 003"
    ),
    Promise("tools.order", "A forbidden order is refused, and the model recovers", "seed 003"),
    Promise("prose.shown", "A prose policy of eight sentences shows the rules it became", "seed 001"),
    Promise("solver.ground_truth", "Whether a task keeps the policy is decided without the model", "seed 001"),
    Promise("tools.rules_retold", "A call that a rule forbids is told to the model and not made", "I2"),
    # the solver endpoint
    Promise(
        "solver.parser_chain", "Arrays, lists and separated words become sorted answers", "seed 001, Structured Output"
    ),
    Promise("solver.history", "A long history becomes recent turns and one summary", "seed 001, Multi-Turn Memory"),
    Promise("solver.endpoint", "The solver endpoint answers and refuses in its documented shapes", "seed 001, Schema"),
    # the archive of ended tasks
    Promise("archive.adapters", "A folder and a bucket keep whole what was stored last, apart by tenant", "I10"),
    Promise("archive.encrypted", "Nothing archived can be read without a key, and keys rotate", "I12"),
    Promise("archive.versions", "What an earlier release archived is read by this one", "I5"),
    Promise("journal.bounded", "No task's journal and no session's memory grows without bound", "I5"),
    Promise("dry_run.no_writes", "A dry run writes nothing, tells nobody, and answers with the plan", "seed 000"),
    Promise("dry_run.not_learned_from", "A dry run is counted, and nothing is learned from it", "seed 000"),
    Promise("replay.same_end", "An archived task runs again to the same end, and nobody is called", "seed 000"),
    Promise("replay.first_difference", "A replay names the first step that would differ today", "seed 000"),
    Promise(
        "archive.named_in_production", "No executor of a production profile forgets tasks unless told so", "bad input"
    ),
    Promise(
        "archive.off_the_path",
        "An ended task stays in Redis until it is archived, whatever dies, and leaves in the stated time then",
        "I5",
    ),
    # --- the write ledger
    Promise("I3.doubt_waits", "A write in doubt waits for an operator with what is known, until a deadline", "I3"),
    Promise("I3.operator_decides", "An operator's retry, skip, done and take-over each do what they say, once", "I3"),
    Promise("I3.retry_looks_first", "An operator's retry sends nothing if a read shows by now that it took hold", "I3"),
    Promise("I3.only_an_operator", "No word on a doubt of anybody without the role has any effect", "I3"),
    Promise("I3.our_key", "A lost call is sent again only under a key the server honours, and is bounded", "I3"),
    Promise("I3.refusal_survives", "A server's refusal is known to a successor before it is read back", "I3; I4"),
    Promise(
        "I4.unread_errors", "An error that no read can check is a doubt, unless protocol or operator say else", "I4"
    ),
    Promise("I3.given_up_looks", "Before a task is given up, what its open writes came to is read", "I3; I4"),
    Promise(
        "I3.given_up_waits", "A write in doubt of a turn that is given up waits for an operator like any doubt", "I3"
    ),
    Promise("I2.no_old_verdict", "No call goes out on a verdict of another attempt, or on an old one", "I2"),
    Promise("plan.compensates", "A plan's rule says what is taken back when a later call fails, latest first", "I3"),
    Promise("plan.continues", "A plan that may continue goes on without a call that cannot be made, and says so", "I4"),
    Promise("plan.taken_back_for_good", "A plan that is being taken back sends none of its own calls any more", "I3"),
    Promise("plan.never_blindly", "What is not proved is never taken back; a person is told", "I3; I4"),
    Promise("audit.each_write", "Each write is shown with who asked, what let it pass, and its proof", "I4"),
    Promise("plan.compensations_are_approved", "Compensations are judged, hashed and shown to the approver", "I7"),
    # chaos
    Promise("chaos.nothing_lost", "Whatever is killed or cut, every accepted task ends and counts once", "I5"),
    Promise("chaos.nothing_twice", "Whatever is killed or cut, no write is made twice or falsely called proved", "I3"),
    Promise("chaos.finds_harm", "A chaos run finds each harm where there is one, and none where there is none", "I5"),
    Promise("chaos.given_up_tells", "A task given up after crashes tells of each write that was begun", "I4"),
    Promise("redis.awaited_at_start", "A process that starts while Redis restarts waits for it a little", "I5"),
    Promise("dlq.repeats_no_write", "A dead task that wrote is begun anew only where an operator insists", "I3"),
    Promise("reaper.near_first", "A dead executor's turns go on although the queue stands still", "I5"),
    Promise("chaos.patience", "A verdict or a tool list is asked for again while its server is replaced", "seed 000"),
    Promise("chaos.replayable", "A chaos run's tasks and strikes are a pure function of its seed", "quality"),
    # --- leases, reaper, dead letters, drain
    Promise("state.drained", "A stopped executor ends its steps in time, and its tasks end elsewhere", "I5"),
    Promise("state.sessions_leave", "A session leaves Redis in time, wherever its last owner died", "seed 002"),
    Promise("state.recovery", "The turns of a killed executor run elsewhere within ten seconds", "I5"),
    Promise("dlq.operator", "Only an operator of the tenant sees or moves its dead letters", "I10"),
    Promise("dlq.requeue_turn", "A dead turn is begun anew once, as a linked task of its session", "I5"),
    Promise("dlq.requeue_outcome", "A dead outcome goes back to the learner and is counted once", "I5"),
    Promise(
        "state.two_believers", "Of two executors that believe they own a session only the newest fence writes", "I6"
    ),
    Promise("state.faults_mended", "Each kind of fault of leases, wakes and outcomes is found, mended, counted", "I5"),
    Promise("state.dead_letters", "A turn that is given up is kept with its reason and its last error", "I5"),
    # stop, ceilings, fair shares
    Promise(
        "budget.reserved_first", "A model call is paid for before it is made; what died in one stays counted", "I11"
    ),
    Promise(
        "budget.task", "A task whose budget is spent ends with what is known, partial or failed, and says so", "I11"
    ),
    Promise(
        "budget.tenant_day", "A tenant's day has a ceiling over all its tasks, counted once wherever a run dies", "I11"
    ),
    Promise("tenant.stop", "A stopped tenant's work stops before its next call and goes on from its journal", "I6"),
    Promise("tenant.operator", "Only an operator of a tenant stops it, lets it go on, or sees what it spends", "I10"),
    Promise(
        "tenant.fair_shares", "One tenant's flood leaves room for another; who waits is woken, not polled", "quality"
    ),
    # lists in parts
    Promise("pages.exactly", "Whatever a list's shape, page size, cap and length: its rows, once each", "seed 002"),
    Promise("pages.read", "A read takes all parts of a list, in journaled steps; a model sees a part", "seed 002"),
    Promise("pages.proof", "A read-back takes all pages of its list; a part of one proves nothing", "I4; seed 002"),
    Promise("pages.says_what_is_missing", "What is missing of a list, and why, stands in what was read", "seed 002"),
    Promise("lists.aggregates", "Sums and groups over a list are exact and computed again by the audit", "seed 002"),
    # kills and footprint
    Promise(
        "I3.killed_at_every_step", "Killed at any step boundary, a task leaves what it leaves undisturbed", "I3; I5"
    ),
    Promise("footprint.finished_session", "A finished session takes a stated, bounded number of bytes", "seed 002"),
    Promise("footprint.long_session", "A session of many turns does not slow its next turn", "seed 002"),
    # privacy guard and redaction
    Promise(
        "privacy.refuses", "A request that asks for protected data is refused: a table, and generated variants", "I12"
    ),
    Promise(
        "privacy.ordinary", "A task that only mentions a password reset, a card or a prescription is done", "seed 000"
    ),
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
    # which process a task is
    Promise(
        "prime.classify_model",
        "Where words leave room, one call of the lower tier names the process",
        "seed 000, PRIME",
    ),
    Promise(
        "prime.classify_free",
        "Where words settle the process, or nothing changes, no model is asked",
        "seed 000, PRIME",
    ),
    Promise(
        "prime.classify_fallback",
        "Without a usable answer in time the words decide, and it is said",
        "seed 000, smart_classifier.py",
    ),
    Promise("prime.classify_replayed", "A classified task is replayed without asking anybody", "seed 000, PRIME"),
    Promise("prime.classify_resumed", "A task that goes on keeps the process it began with", "seed 000, PRIME"),
    Promise("prime.classify_given", "A worker knows the processes that it is given", "seed 000, 8-State FSM"),
    Promise(
        "synthesis.once",
        "A kind no template covers is designed by one call and kept for good",
        "seed 000, dynamic_fsm.py",
    ),
    Promise(
        "synthesis.fallback",
        "A failed or unusable design is not kept; the task is general and says so",
        "seed 000, dynamic_fsm.py",
    ),
    Promise(
        "synthesis.keeps_its_person",
        "A kept process that cannot be followed and may ask for a person is not passed by: one is asked",
        "I7",
    ),
    Promise(
        "synthesis.validated",
        "No design is followed that cannot be walked or writes unchecked",
        "I2; seed 000, dynamic_fsm.py",
    ),
    Promise(
        "synthesis.high_risk_asks", "A design of high risk asks a person before it writes", "seed 000, dynamic_fsm.py"
    ),
    Promise(
        "prime.thresholds",
        "Limits of rules and texts stand in the prompts with their source, none guessed",
        "seed 000, PRIME",
    ),
    Promise(
        "outcome.thresholds",
        "What was predicted and what was verified go into the outcome, never from words",
        "seed 000, context accuracy feedback",
    ),
    Promise("synthesis.general", "Nothing of the task that a design was made for is told to later tasks", "I12"),
    Promise("synthesis.data", "What a design says is quoted as data, never system text", "seed 000, dynamic_fsm.py"),
    Promise(
        "synthesis.replayed", "A task of a synthesized process is resumed and replayed", "seed 000, dynamic_fsm.py"
    ),
    Promise("I10.synthesized_by_tenant", "A process designed for one tenant is not seen by another", "I10"),
    Promise(
        "planner.classifies",
        "The planner names a task's kind and designs one, by words alone",
        "seed 000, smart_classifier.py",
    ),
    # what a kind of process brings with it: its file, figures and rules
    Promise("policy.recorded", "What a call denies of its record is judged as well, where a policy asks for it", "I2"),
    Promise("policy.if_known", "A rule for what is known does not act where a field that decides is missing", "I2"),
    Promise("process.said_twice", "A plan that makes the same change twice asks a person", "I3"),
    Promise("process.only_tightens", "The rules of a process never loosen what the tenant's rules find", "I2"),
    Promise(
        "process.files", "A process is a file; what could not be walked or computed is refused when read", "seed 002"
    ),
    Promise("process.walks", "Every template that passes its check walks to its end, nothing unchecked", "I2"),
    Promise("process.figures", "The executor computes a process's figures itself, exact to the cent", "seed 002; I8"),
    Promise(
        "process.figures.plain", "A figure has one plain source for each operand, or is not computed, and said", "I8"
    ),
    Promise(
        "process.rules", "A process's own rules decide with the tenant's, on its figures, in one verdict", "I2; I7"
    ),
    Promise("process.governs", "A written amount that is not the process's own figure asks a person", "I2; I8"),
    Promise(
        "process.record_stands",
        "An argument against the record keeps no rule of the process from acting",
        "I2",
    ),
    Promise("process.required", "A change that rests on a figure or list not fully known asks a person", "seed 002"),
    Promise("process.needs_read", "A rule's figure or field that was not read or is ambiguous asks a person", "I2"),
    Promise("process.several_subjects", "A figure of one record speaks for no call or budget of several", "I2"),
    Promise("process.section", "Each state's prompt says what kind of process it is and what it demands", "seed 002"),
    Promise(
        "process.routes", "Each row of a routed list has a call, or is named with the reason it has none", "seed 002"
    ),
    # at the gate of a process, and where it writes
    Promise(
        "gate.request",
        "An approver sees the frozen calls, their hash, the role, the deadline and how many decide",
        "I7",
    ),
    Promise(
        "fsm.resumed_at_any_state", "Every process goes on in the state it died in, and writes once", "seed 002; I3"
    ),
    Promise("fsm.failed_in_any_state", "Whatever state cannot go on ends FAILED there, with its reason", "seed 002"),
    Promise(
        "notify.quiet_hours",
        "Notices of a process that heeds quiet hours wait with a timer and no lease; a cancel sends nothing",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "gate.two_persons",
        "Payment data in task or facts asks for two different people; nobody counts twice, or for their own request",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "gate.two_persons_unanswered", "Where nothing that was read speaks of payment data, a person is asked", "I2"
    ),
    Promise(
        "mutate.sequence",
        "Revocations go out one after the other, each only once the one before it is verified",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "notify.proved_only", "No notice follows a change that is not verified; it is left undone and said so", "I4"
    ),
    Promise("notify.told", "A plan tells whom its process has to tell, or the answer says that nobody did", "seed 002"),
    Promise(
        "gate.confirmations",
        "Confirmations are approvals of their own, in sequence on one plan; a no ends, a changed plan starts over",
        "seed 002, fsm_runner.py",
    ),
    # the kinds of process, end to end on the example company
    Promise(
        "process.expense_approval",
        "A claim is approved and charged once; beyond its budget it waits for a person",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.procurement",
        "A vendor is told of an approval once it is proved; beyond its budget a purchase is for finance",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.hr_offboarding",
        "Access goes one right after the other, each proved before the next, the account last",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.incident_response",
        "Where payment data is concerned, two different people let the steps through",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.customer_onboarding",
        "A customer is set up, and welcomed only if every step is proved",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.invoice_reconciliation",
        "The variance is exact to the cent; a duplicate or a great variance is for finance to decide",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.compliance_audit",
        "Each KYC gap is counted and goes on record; enhanced due diligence is for legal to decide",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.dispute_resolution",
        "A dispute is decided once; an elevated review is taken to a manager",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.erring_models",
        "Whatever a model gets wrong in a kind of process, no wrong write is made",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "process.subscription_migration",
        "A subscription moves after five confirmations in sequence, on one plan; one no ends it",
        "seed 000; seed 002, fsm_runner.py",
    ),
    Promise("planner.known_figures", "A figure that is known by name is used, and none is made up for it", "seed 000"),
    Promise("planner.routes", "Each listed thing goes the way that the process has for its age", "seed 000"),
    Promise(
        "process.order_management",
        "An order is modified once its price difference is known; a large one takes a manager",
        "seed 000; seed 002, fsm_runner.py",
    ),
    Promise(
        "process.sla_breach",
        "The credit is the agreement's, notices heed quiet hours, large or third breaches end escalated",
        "seed 000; seed 002, fsm_runner.py",
    ),
    Promise(
        "process.month_end_close",
        "Revenue is recognized over every contract, exactly; a variance over 1,000 waits for finance",
        "seed 000; seed 002, fsm_runner.py",
    ),
    Promise(
        "process.payroll",
        "Gross, taxes by country and net are exact; a bank file a cent off is blocked; finance approves",
        "seed 000; seed 002, fsm_runner.py",
    ),
    Promise(
        "process.ar_collections",
        "Every row of the overdue list goes the way of its age; whoever goes none is named",
        "seed 000; seed 002, fsm_runner.py",
    ),
    Promise("process.general", "A task of no special kind is done and proved, with no process's behaviour", "seed 000"),
    # what a run spends, remembers and is told
    Promise("budget.thresholds", "Above 80 % used every call is Haiku's, save the plan of writes", "seed 000"),
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
    Promise("audit.second", "A small model audits the figures of a plan after the exact audit", "seed 000, COMPUTE"),
    Promise("audit.second.escalates", "After two objections the task escalates, with nothing written", "seed 000"),
    Promise("audit.second.fails_closed", "An audit that cannot be had or used is not a clean one", "I2; bad input"),
    Promise("audit.second.only_for_writes", "Only figures that a write rests on are audited by a model", "seed 000"),
    Promise("audit.second.setting", "COMPUTE_AUDIT is on or off; another word stops the start", "bad input"),
    Promise("audit.second.switch", "COMPUTE_AUDIT switches the model's audit, never the exact one", "bad input"),
    Promise("planner.audit", "The rule-based planner audits by computing again", "bad input"),
    Promise("strategy.three", "fsm, five_phase and moa can carry a task, as the bandit chooses", "seed 000"),
    Promise("strategy.setting", "STRATEGIES names those the bandit chooses among", "seed 000, Strategy Bandit"),
    Promise("strategy.tiers", "Plan, drafts and answer are Haiku's; synthesis and WritePlan Sonnet's", "seed 000"),
    Promise("strategy.obeys_the_gate", "No strategy's thinking can call a write", "I1"),
    Promise("strategy.audited", "Every strategy's figures are audited before a plan is built on them", "I2; seed 000"),
    Promise("strategy.findings_in_plan", "The WritePlan and the answer see a strategy's findings", "seed 000"),
    Promise("strategy.same_replay", "A run of any strategy is resumed, and replayed to the same end", "I5"),
    Promise("strategy.five_phase", "PLAN, GATHER, SYNTHESIZE, ARTIFACT, INSIGHT carry a task to its end", "seed 000"),
    Promise("strategy.five_phase.sees_tools", "PLAN sees the tools that read, with their schemas", "bad input"),
    Promise("strategy.five_phase.at_once", "GATHER makes up to 8 reads at once", "seed 000, Strategy Bandit"),
    Promise("strategy.five_phase.dependent", "A read can wait for what another one gives", "bad input"),
    Promise("strategy.five_phase.insight", "INSIGHT is an event stored with the end of the turn", "seed 000"),
    Promise("strategy.moa", "Two drafts that agree are taken as they are", "seed 000, Strategy Bandit"),
    Promise("strategy.moa.two_drafts", "Two drafts at once differ by framing and effort alone", "seed 000"),
    Promise("strategy.moa.consensus", "Words overlap by 0.70, figures and identifiers are the same", "seed 000"),
    Promise("strategy.moa.synthesis", "Drafts that diverge are synthesized by Sonnet", "seed 000, Strategy Bandit"),
    Promise("strategy.moa.one_away", "A draft that cannot be had fails no task: the other one is taken", "seed 000"),
    Promise("strategy.moa.budget", "Two drafts stay within the budget, or one is made", "I11"),
    Promise("I9.moa", "A drafted list is agreed to the byte or synthesized, and never touched", "I9"),
    Promise("loop.limits", "A state asks its model 20 times and calls 18 tools at most, or as it is set", "seed 000"),
    Promise("loop.side_by_side", "The reads of one reply run side by side", "seed 000, five_phase"),
    Promise("loop.retry_or_over", "A model is told whether a call may be made again, and of one that is over", "I1"),
    Promise("loop.reads_once", "The same read again is answered from the first, and asked of no server", "seed 003"),
    Promise("loop.trimmed", "A long result is cut to fit a prompt, whatever its shape, and says so", "seed 002"),
    Promise("prime.knowledge", "Learned facts and entities that are about a task are shown to it", "seed 000"),
    Promise("prompts.phases", "Each phase shows its role, instructions, experience and own tools", "seed 000"),
    Promise("prompts.cacheable", "What stands first in a request is the same for every task of a state", "seed 000"),
    Promise("prompts.planted", "Instructions planted in data reach no tool and leave no section", "bad input"),
    Promise("session.evicted", "A session idle for an hour leaves Redis and is restored when it speaks", "seed 003"),
    Promise("session.archive_waited_for", "An archive that is away uses up no attempts of a turn", "I5"),
    Promise("session.waiting_stays", "Nothing that waits or works is evicted, nor what was said meanwhile", "seed 003"),
    Promise("session.archive_down", "No memory leaves, or is taken for none, while it cannot be archived", "seed 003"),
    Promise("session.own", "What a session left in the archive is given to its owner alone", "I10"),
    Promise("budget.plan_tier", "No plan of writes is made by the lower tier's model for want of its own", "seed 000"),
    # tools made at run time
    Promise("made.sandbox", "A made tool reaches no file, network, process, environment or other run", "seed 000"),
    Promise("made.sandbox.limits", "Endless loops, memory bombs and blow-ups are stopped within limits", "bad input"),
    Promise("made.sandbox.undisturbed", "Other tasks go on while made code is stopped", "bad input"),
    Promise("made.sandbox.property", "No chain of attributes reads environment, files or other data", "bad input"),
    Promise("I8.made_tools", "No binary floating point comes of a made tool", "I8"),
    Promise("planner.made_tools", "The planner makes tools of stated formulas; others need a model", "bad input"),
    Promise("made.off", "No tool is made at run time unless the tenant switches it on", "seed 000, Dynamic Tools"),
    Promise("made.used", "A made tool is an operation of COMPUTE; its values say name, version and hash", "seed 000"),
    Promise("made.independent", "A tool counts only if all cases of an independent call come out", "bad input"),
    Promise("made.audited", "A value of a made tool is worked out again in the sandbox, or refused", "I2"),
    Promise("made.shadow", "A made tool never takes the name of a tool that exists", "bad input"),
    Promise("made.kept", "A made tool is kept for its tenant, in versions, and used again", "seed 000; I10"),
    Promise("made.needs_a_model", "Where no tool can be made the gap is said, and the task goes on", "bad input"),
    Promise("made.removed", "An operator sees made tools and removes them; the same code stays away", "bad input"),
    Promise("made.replayable", "The code a run used, and each result, stand in its journal", "I5"),
    Promise("made.gap", "Gaps are found by words, three at most, else by a model, two at most", "seed 000"),
    Promise("prompts.violations", "What a task violates stands in every request as a hard constraint", "seed 001"),
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


if __name__ == "__main__":
    from tests.architecture.promise_report import main

    sys.exit(main(PROMISES, sys.argv[1:]))
