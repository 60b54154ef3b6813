"""Durable state, the queue, failures and recovery."""

from tests.requirements.promise import Promise

PROMISES = (
    # state and queue
    Promise("state.accept_once", "A message sent many times at once makes one task", "I5"),
    Promise("state.session_owner", "A session takes no task of another principal", "I10"),
    Promise("state.stored_json", "What stands at its default is not stored, and is read as it was", "I5"),
    Promise("state.shared_trips", "Commands asked at once share a round trip, and no error", "I5"),
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
    Promise(
        "state.watch_costs", "An event is read once a process, however many watch; streams cost no connections", "I5"
    ),
    Promise("state.watch_gapless", "Whoever watches a task sees each event once", "seed 000, Execution Pipeline"),
    Promise(
        "state.keys_listed", "Every key is listed with its lifetime, and keeps to it", "seed 002, Multi-Turn Memory"
    ),
    Promise("state.refuses_volatile", "A Redis that may forget is refused by name", "I5"),
    Promise("state.embedded_durable", "The embedded server keeps what it acknowledged through a kill", "I5"),
    Promise("state.embedded_no_orphan", "The embedded server ends when its parent is killed", "seed 000, Running"),
    Promise("state.refuses_to_start", "An executor that lacks something says what, and stops", "seed 000, Running"),
    # when Redis fails
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
    # the archive of ended tasks
    Promise("archive.adapters", "A folder and a bucket keep whole what was stored last, apart by tenant", "I10"),
    Promise("archive.encrypted", "Nothing archived can be read without a key, and keys rotate", "I12"),
    Promise("archive.versions", "What an earlier release archived is read by this one", "I5"),
    Promise("journal.bounded", "No task's journal and no session's memory grows without bound", "I5"),
    Promise(
        "journal.texts_once", "What many tasks have in common is stored once, and no task goes on without it", "I5"
    ),
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
    # the write ledger
    Promise("I3.doubt_waits", "A write in doubt waits for an operator with what is known, until a deadline", "I3"),
    Promise("I3.operator_decides", "An operator's retry, skip, done and take-over each do what they say, once", "I3"),
    Promise("I3.retry_looks_first", "An operator's retry sends nothing if a read shows by now that it took hold", "I3"),
    Promise("I3.only_an_operator", "No word on a doubt of anybody without the role has any effect", "I3"),
    Promise("I3.our_key", "A lost call is sent again only under a key the server honours, and is bounded", "I3"),
    Promise("I3.refusal_survives", "A server's refusal is known to a successor before it is read back", "I3; I4"),
    Promise(
        "I4.unread_errors",
        "An error that no read can check is a doubt, unless protocol, operator or reason say else",
        "I4",
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
    Promise(
        "chaos.judges_itself",
        "A chaos run fails that sent too little, struck a listed fault too seldom or recovered too late",
        "quality",
    ),
    Promise("chaos.tail_counted", "What lay in a cut tail of Redis is counted by name, and its resend works", "I5"),
    Promise("chaos.finds_seeded_bugs", "A chaos run finds each bug that was planted in its own stack", "quality"),
    Promise("chaos.given_up_tells", "A task given up after crashes tells of each write that was begun", "I4"),
    Promise("redis.awaited_at_start", "A process that starts while Redis restarts waits for it a little", "I5"),
    Promise("dlq.repeats_no_write", "A dead task that wrote is begun anew only where an operator insists", "I3"),
    Promise("reaper.near_first", "A dead executor's turns go on although the queue stands still", "I5"),
    Promise("chaos.patience", "A verdict or a tool list is asked for again while its server is replaced", "seed 000"),
    Promise("chaos.replayable", "A chaos run's tasks and strikes are a pure function of its seed", "quality"),
    # leases, reaper, dead letters, drain
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
    # kills and footprint
    Promise(
        "I3.killed_at_every_step", "Killed at any step boundary, a task leaves what it leaves undisturbed", "I3; I5"
    ),
    Promise("footprint.finished_session", "A finished session takes a stated, bounded number of bytes", "seed 002"),
    Promise("footprint.long_session", "A session of many turns does not slow its next turn", "seed 002"),
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
    Promise("state.heartbeat_beside_work", "A long calculation in one session costs no other its lease", "I6; quality"),
    Promise("ready.refused_writes", "`/ready` tells when Redis refuses writes for want of memory", "I5"),
    Promise("model.reply_bounded", "A reply that is too large or asks for too many calls is no reply", "bad input"),
    Promise(
        "queue.one_wake",
        "A session that waits has one wake; the reaper wakes only who stands in no queue",
        "I5; quality",
    ),
    Promise(
        "tenant.fair_shares", "One tenant's flood leaves room for another; who waits is woken, not polled", "quality"
    ),
)
