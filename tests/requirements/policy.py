"""Policies and rules."""

from tests.requirements.promise import Promise

PROMISES = (
    # policy
    Promise("policy.conditions", "Conditions mean what a reader expects", "seed 002, policy_checker.py"),
    Promise(
        "policy.missing", "A missing field leaves undecided exactly what depends on it", "seed 002, policy_checker.py"
    ),
    Promise("policy.exact", "Amounts are compared exactly, over the wire too", "I8"),
    Promise("policy.undecided_block", "What a rule may forbid is let pass only by whom the rule names", "I2"),
    Promise("policy.named_reads_open_no_way", "A read that the machine makes by itself satisfies no only_after", "I2"),
    Promise("policy.verdict_in_its_state", "Who watches is told a verdict once POLICY_CHECK is entered", "I2"),
    Promise("policy.no_news_of_blocked", "No letter of a plan tells of a change of it that is blocked", "I4"),
    Promise("policy.unfound_records_stop", "A call on a record that its own read does not find is not made", "I2"),
    Promise("policy.verdict", "Block, escalation, approval and pass are told apart", "seed 003, policy_checker.py"),
    Promise("policy.calls", "Rules see each planned call with what is known about it", "I2"),
    Promise("policy.never_by_a_sibling", "No rule is decided by a record that the call does not name", "I2"),
    Promise(
        "policy.binding", "A field is the call's own, its record's, or that of the nearest record it leads to", "I2"
    ),
    Promise("policy.named_records_are_read", "What a call names and nobody read is read before the verdict", "I2"),
    Promise("policy.applies", "A rule applies to the calls it names, else to changes that have its fields", "I2"),
    Promise("policy.unruled", "A call to which no rule applies is unruled, and the tenant says what it needs", "I2"),
    Promise("policy.by_hash", "Policies named by hash decide as if sent, or are asked for", "I2"),
    Promise("policy.index", "A rule that a call has nothing to do with is passed over, and changes nothing", "quality"),
    Promise("policy.hashes", "A verdict is bound to policy, context and plan", "I2"),
    Promise(
        "policy.monotone", "A further blocking rule never turns a refusal into a pass", "seed 003, policy_checker.py"
    ),
    Promise("policy.probes", "Known ways to misread a rule are closed", "seed 002, policy_checker.py"),
    Promise("policy.errors", "A rule that cannot be read is refused with position and cause", "bad input"),
    Promise("policy.unknown_shape", "Rules with a field that nobody reads are refused, and it is named", "bad input"),
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
    Promise(
        "prose.nothing_dropped",
        "Enforced prose with a command that became no rule ends the task, unwritten",
        "seed 001",
    ),
    Promise("prose.said", "What of a request's own prose is not enforced is said", "seed 001"),
    Promise("prose.shown", "A prose policy of eight sentences shows the rules it became", "seed 001"),
    Promise("solver.ground_truth", "Whether a task keeps the policy is decided without the model", "seed 001"),
    Promise("tools.rules_retold", "A call that a rule forbids is told to the model and not made", "I2"),
)
