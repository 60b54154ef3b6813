"""The kinds of business process."""

from tests.requirements.promise import Promise

PROMISES = (
    # which process a task is
    Promise(
        "prime.classify_model",
        "The model's first reply, on the lower tier, names the process; no call is made for that alone",
        "seed 000, PRIME",
    ),
    Promise(
        "prime.classify_free",
        "A task that only asks takes the short way, and no process is designed for it",
        "seed 000, PRIME",
    ),
    Promise(
        "prime.classify_fallback",
        "Without a usable name the task is general, and the first reply alone settles it",
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
    Promise("process.figures_bind", "A figure judges only calls that name what it rests on", "I2"),
    Promise("process.calculated_stands_in", "A calculated value of a missing figure's name stands in for it", "I2"),
    Promise("process.asks_nobody", "What a process cannot know of a change is told, and asks nobody", "I2"),
    Promise("process.required", "A strict tenant is asked where a figure or list is not fully known", "seed 002"),
    Promise("process.needs_read", "A strict tenant is asked where a rule's figure or field was not read", "I2"),
    Promise("process.several_subjects", "A figure of one record speaks for no call or budget of several", "I2"),
    Promise("process.drawn_together", "Changes that draw on one budget ask only if it does not hold all of them", "I2"),
    Promise("process.section", "The model is told what kind of process it works in and what that demands", "seed 002"),
    Promise("process.own_way", "No row goes the way of another age, unless the user says so", "seed 002"),
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
        "Payment data that a plan touches asks for two different people; nobody counts twice, or for their own request",
        "seed 002, fsm_runner.py",
    ),
    Promise("gate.two_persons_unanswered", "Where nothing speaks of payment data, a strict tenant is asked", "I2"),
    Promise(
        "mutate.sequence",
        "Revocations go out one after the other, each only once the one before it is verified",
        "seed 002, fsm_runner.py",
    ),
    Promise(
        "notify.proved_only",
        "No notice follows a change that is not verified, unless it says so in words that were frozen with the plan",
        "I4",
    ),
    Promise("notify.after_proof", "A tenant may have notices wait for proof and nothing less", "I4"),
    Promise(
        "notify.own_part",
        "The changes of its own part of the task hold a notice back; those of others only where its part has none",
        "I4",
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
)
