"""The gateway, the command line and the launcher."""

from tests.requirements.promise import Promise

PROMISES = (
    # gateway
    Promise("a2a.files", "Files come back as they were sent, bytes or address, to who may see their task", "A2A 4.1.6"),
    Promise("gateway.mcp", "Over MCP a caller sends, sees and decides what their own key permits, and no more", "I10"),
    Promise("gateway.card_signed", "The card is signed by a key that is rotated, and verified by others", "A2A 8.4"),
    Promise("gateway.conformance_table", "Each demand of the protocols has its test, in one table", "A2A"),
    Promise(
        "gateway.generated_calls", "Generated calls are refused in their protocol's form, never a fault", "bad input"
    ),
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
    # streams
    Promise("gateway.streams", "A task's updates are streamed in three dialects, errors told before", "seed 000, A2A"),
    Promise(
        "gateway.stream_resumes", "A cut stream goes on at any replica, no update missing and none twice", "seed 002"
    ),
    Promise("gateway.stream_ended", "An ended task is not subscribed to; the early protocol tells its end", "seed 000"),
    Promise(
        "gateway.drains", "A replica that leaves hands its streams over and finishes its calls", "seed 002, Deployment"
    ),
    # bindings, lists, cards, conformance
    Promise("gateway.official_clients", "The official clients do all they can do, over both bindings", "seed 000, A2A"),
    Promise("gateway.complaints", "What users of A2A servers complain about is not so here", "seed 000, A2A Protocol"),
    Promise("gateway.conformance_0_3", "What protocol 0.3 requires holds over JSON-RPC and REST", "seed 000, A2A"),
    Promise("gateway.conformance_legacy", "The methods of early 2025 answer as their clients expect", "seed 000, A2A"),
    Promise(
        "gateway.card", "The card is pure 1.0 or merged, at the public URL, and cached by tag and time", "seed 000, A2A"
    ),
    Promise("gateway.schema", "Both spellings of every field are read alike, enums by name or number", "seed 000, A2A"),
    Promise("gateway.letter", "Errors, media types, spelling and artifacts have the protocol's form", "seed 000, A2A"),
    Promise("gateway.message_id_window", "A message's id makes it the same one for a stated time, or never", "I5"),
    Promise(
        "gateway.card_facts", "The card names provider, help, release, processes and keys exactly", "seed 000, A2A"
    ),
    Promise("gateway.scripted_agent", "One command starts an agent for suites; the page's clients speak to it", "A2A"),
    Promise("gateway.task_json", "Tasks are written as JSON as the official types would write them", "seed 000, A2A"),
    Promise(
        "gateway.reads_fresh", "A changed task is never read as it was, whichever replica is asked", "seed 000, A2A"
    ),
    Promise("gateway.version", "Major and minor version must be that of the method", "seed 000, A2A Protocol"),
    Promise("gateway.media_type", "A body that is said to be no JSON is refused as such", "bad input"),
    Promise(
        "gateway.shared_path", "A shared path speaks 1.0 to those who say so, and our own to others", "seed 000, A2A"
    ),
    Promise(
        "gateway.switched_off", "What is switched off is not on the card and refused in its own words", "seed 000, A2A"
    ),
    Promise("gateway.extended_card", "The extended card is for those who have shown who they are", "seed 000, A2A"),
    Promise(
        "gateway.conformance_1_0", "What protocol 1.0 requires holds over JSON-RPC and REST", "seed 000, A2A Protocol"
    ),
    Promise("gateway.tenant_path", "A tenant's name before a path is known to that tenant alone", "I10"),
    Promise("gateway.openapi", "What the description of the HTTP paths says is what they do", "bad input"),
    Promise(
        "gateway.task_list", "Tasks are listed by page, the last changed first, to whom may see them", "seed 002, A2A"
    ),
    Promise("gateway.bad_input", "Bad input is refused with the error that fits, naming the field", "bad input"),
    Promise("gateway.inbox", "An approver sees the exact calls that wait, and an answer reaches them once", "I7"),
    Promise("gateway.keys", "An API key says who speaks for which tenant; without one nobody is let in", "I10"),
    Promise("gateway.tools_endpoint", "A request's tool server must be a permitted address", "bad input"),
    Promise("gateway.store_down", "With Redis down, each method says so, and nothing is half done", "bad input"),
    Promise("gateway.refuses_to_start", "Without what it needs it refuses to start, naming it", "seed 000, Running"),
    # who is let in, how often, and what they see
    Promise("identity.tokens", "A token that the issuer signed says who speaks for which tenant, or nobody", "I10"),
    Promise("identity.algorithms", "No token is believed by an algorithm that its key's kind does not permit", "I10"),
    Promise("identity.issuer_away", "Known keys count for a stated time while the issuer is away, then 503", "I10"),
    Promise("identity.claims", "Claims that are missing or wrong are refused with a sentence that names them", "I10"),
    Promise("walls.no_oracle", "What is another's is as unknown as what is not there, by every way in", "I10"),
    Promise("walls.every_way_in", "No route or method is without a test of its walls", "I10"),
    Promise("walls.approver", "An approver sees and decides another's task, and does nothing else to it", "I7; I10"),
    Promise("walls.ids", "A client's ids are its own: those that another used first stand in nobody's way", "I10"),
    Promise("identity.brake", "Who guesses is braked by address, told by trusted proxies alone", "bad input"),
    Promise(
        "identity.own_pages", "Where nobody needs a key, no page of another site sends or reads anything", "bad input"
    ),
    Promise(
        "gateway.open_by_name",
        "Others reach a gateway that asks nobody for a key only where AUTHENTICATION or ALLOW_OPEN says so",
        "bad input",
    ),
    Promise("gateway.threads_bounded", "What is remembered of one id of a client's stays small", "bad input"),
    Promise("gateway.keep_alive", "Idle connections outlive a balancer's, so that no request meets a dead one", "A2A"),
    Promise("limits.headers", "Each answer says what its caller may ask for and what is left of it", "seed 000, A2A"),
    Promise(
        "limits.refused",
        "What is over a limit is refused before its body is read, and told when to return",
        "bad input",
    ),
    Promise("limits.apart", "Messages are counted apart from reads, by whatever method they come", "bad input"),
    Promise(
        "limits.shared", "Replicas count a caller together, exactly, however many requests come at once", "bad input"
    ),
    Promise("limits.own", "A key may have limits of its own, and nobody else uses them up", "I10"),
    Promise("limits.flow", "A minute's allowance flows back evenly; a day's is that of its day", "bad input"),
    Promise("limits.cheap", "A key is found and its request counted in one step that waits for no disk", "bad input"),
    Promise("limits.tokens", "A token's limits are those of its principal", "bad input"),
    Promise("keys.used", "Operators see when a key was last used and which will soon expire", "I10"),
    # the solver endpoint
    Promise("solver.refusals_whole", "A refusal or a failure is one text, and never torn into a list", "seed 001"),
    Promise(
        "solver.parser_chain", "Arrays, lists and separated words become sorted answers", "seed 001, Structured Output"
    ),
    Promise("solver.history", "A long history becomes recent turns and one summary", "seed 001, Multi-Turn Memory"),
    Promise("solver.endpoint", "The solver endpoint answers and refuses in its documented shapes", "seed 001, Schema"),
    # this worker as the one that is measured
    Promise(
        "participant.session",
        "An assessment meets one session of its assessor, whether its messages name a context or none",
        "seed 004, Purple Agent Communication",
    ),
    Promise(
        "participant.shapes",
        "What an assessor tells is recognised as data or as JSON text, in every dialect",
        "seed 004, Message Exchange Pattern",
    ),
    Promise("participant.turn", "Each turn is a task, the same turn again the same task", "seed 004, Turn Loop"),
    Promise("participant.reply", "A turn's answer is found by the public assessor and by ours", "seed 004"),
    Promise("participant.key_sealed", "The key to an assessed world is kept sealed, and is nowhere else", "I12"),
    Promise("participant.no_echo", "A start that cannot be taken tells and stores nothing of its key", "I12"),
    Promise("participant.walls", "Nobody has to do with an assessment that another began", "I10"),
    Promise("participant.guarded", "An assessed world lies only where requests may go", "bad input"),
    Promise("participant.takes_over", "A second start takes over, and the turn of the first acts no more", "seed 004"),
    Promise("participant.ends", "With its end an assessment's key is gone, and its turn is cancelled", "seed 004"),
    Promise(
        "participant.whole", "`purple assess` on our own stack ends by itself with a result", "seed 004, Lifecycle"
    ),
    Promise(
        "participant.killed",
        "What dies in mid-turn costs turns, and never hangs the assessment or its result",
        "seed 004, Error Handling",
    ),
    Promise("participant.offered", "Without a key to keep others under, assessments are refused by name", "I12"),
    # command line and launcher
    Promise("launcher.defaults", "Only the launcher supplies Redis, planner and company", "seed 000, Running"),
    Promise("launcher.notice", "The rule-based planner is never taken for a model", "seed 000, Running"),
    Promise("launcher.explains", "A service that does not start is explained by its last words", "seed 000, Running"),
    Promise(
        "launcher.restarts", "A process of the stack that dies is started again, and it is said", "seed 000, Running"
    ),
    Promise(
        "launcher.unruled_writes",
        "For another's tool server the launcher is told what unruled writes need, and approvers are told that reason",
        "seed 000, Running",
    ),
    Promise("launcher.owners_files", "What the embedded store keeps can be read by its owner alone", "I12"),
    Promise("launcher.no_orphans", "Children die with the launcher, even when it is killed", "seed 000, Running"),
    Promise("secrets.model_key", "The model's key is handed to the process that needs it, and to no other", "I12"),
    Promise("cli.finds_the_stack", "Commands find the stack that runs here without being told", "seed 000, Running"),
    Promise("readme.commands", "Each command of the README does what it says, in its order", "seed 000, Running"),
    Promise("cli.version", "The command line says which version it is", "seed 000, Running"),
    Promise("cli.progress", "Work that takes a while says what it does", "seed 000, Running"),
    Promise("cli.send", "A task's phases are shown as they happen", "seed 000, Execution Pipeline"),
    Promise("demo.checks", "The demo names each thing in the database that is not as it should be", "seed 000"),
    Promise("demo.end_to_end", "One command does real business tasks end to end and checks the database", "seed 000"),
    Promise("demo.fails_loudly", "The demo's exit code is non-zero if any check of any task fails", "seed 000"),
    # the command line and the demo
    Promise("demo.rest_bridge", "The demo holds over the REST bridge as it does over MCP", "seed 003, mcp_bridge.py"),
    Promise("demo.any_model", "The demo holds with any endpoint that speaks the Messages API", "seed 000, Running"),
    Promise("tools.command", "People see each tool's class and what decided it before they trust a server", "I1"),
    Promise(
        "company.misfortunes",
        "With renamed columns, failing and slow calls a task ends right or honestly not done; no write is wrong",
        "seed 002; I4",
    ),
    # webhooks and the delivery engine
    Promise("push.retry_after", "A receiver that says when it wants to be called again is not called before", "A2A"),
    Promise("push.delivered", "A webhook is told each change of state, the results and the end, in its dialect", "A2A"),
    Promise("push.methods", "Webhooks are set, read, listed and deleted in all three dialects", "A2A"),
    Promise("push.secrets", "Tokens and credentials of webhooks are kept encrypted and never shown again", "I12"),
    Promise("push.walls", "Only who may see a task has to do with its webhooks", "I10"),
    Promise("push.capped", "A task has only so many webhooks", "bad input"),
    Promise("push.headers", "No token or credential of a webhook forges a header", "bad input"),
    Promise("push.guarded", "A webhook leads to no address inside, at no time and by no redirect", "bad input"),
    Promise("push.retried", "A delivery is tried again, the same and in its turn, until it is taken", "A2A"),
    Promise("push.disabled", "410 and too many failures disable a webhook, and its tenant sees which fail", "A2A"),
    Promise("push.killed", "A gateway that is killed loses no delivery, and replicas share them out", "I5"),
    Promise("push.signed", "Deliveries are signed with a secret of their tenant, which can be changed", "A2A"),
    Promise("push.fair", "No tenant's webhooks take more than their share of the deliveries at once", "I10"),
    Promise("push.off", "Where no webhooks are offered, the card says so and they are refused as such", "A2A"),
)
