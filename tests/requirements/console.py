"""The console: what people see and do in a browser."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "console.approval_story",
        "In the browser an approver sees the exact calls and answers; the write happens once, or never",
        "I7; seed 002, Multi-Turn Memory",
    ),
    Promise("console.looks", "Open pages of people who see the same cost the store one look a second", "bad input"),
    Promise("console.walls", "The console shows a tenant, and a client, nothing of anybody else", "I10"),
    Promise("console.sign_in", "A key becomes a cookie that no script reads; a revoked key is out at once", "I12"),
    Promise("console.forms", "A form that no page of ours gave to this browser does nothing", "bad input"),
    Promise("console.second_answer", "An answer that comes too late is refused in words that people understand", "I7"),
    Promise("console.without_scripts", "The inbox and its answers work without scripts", "seed 002, Deployment"),
    Promise("console.everybody", "Phone and desktop, light and dark, keyboard alone: all can be read and used", "I7"),
    Promise("console.nothing_foreign", "Pages load nothing foreign, and their content policy is never broken", "I12"),
    Promise("console.any_replica", "Whoever signed in at one replica is signed in at every other", "seed 000, Scale"),
    Promise("console.doubts", "An operator settles a write in doubt in the browser, once", "I3"),
    Promise("console.timeline", "A task's states, calls, proofs and cost can be followed while it runs", "seed 000"),
    Promise(
        "console.first_screen",
        "A manager's first screen says whether it works, gets better, needs somebody, and what it costs",
        "seed 000, Strategy Bandit; seed 000, Scale",
    ),
    Promise("console.learning", "Quality and the arms of each process over time, as charts and as tables", "seed 000"),
    Promise(
        "console.memory", "Operators find cases, facts and entities, and the tasks they come from", "seed 000; I10"
    ),
    Promise(
        "console.operations", "Operators see load, latency, failures, spending and dead letters", "seed 000, Scale"
    ),
    Promise(
        "console.dead_letters",
        "In the browser a dead letter goes back to work; its writes are repeated only where an operator says so",
        "I3, I5",
    ),
    Promise(
        "console.evidence",
        "A task's page shows its writes with proof, the origin of their arguments, the verdict and why, and its cost",
        "seed 000; I4, I7",
    ),
    Promise(
        "console.assessments",
        "Assessments are kept for their owner and operators alone: bounded, without secrets, compared, removed",
        "seed 004, 6; I10, I12",
    ),
    Promise(
        "console.replay",
        "A run is watched turn by turn, world, actions and time side by side, by keyboard and without scripts",
        "seed 004, 6",
    ),
)
