"""How agents are measured."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "assessor.ues_client",
        "A typed client for simulators: refusals by type, older servers read, nothing sent twice",
        "seed 004, 2 and 9",
    ),
    Promise("assessor.lifecycle", "Six phases, turns in order, the task in the chat alone", "seed 004, 3, 6 and 12"),
    Promise("assessor.own_process", "Each agent owns a simulator process and leaves none behind", "seed 004, 4"),
    Promise("assessor.two_phases", "Answers come inside the turn that asked for them", "seed 004, 7 and 9"),
    Promise("assessor.errors", "Time-outs, nonsense and absence are results of turns; a crash ends it", "seed 004, 10"),
    Promise(
        "assessor.action_log", "What was done, failed, read and refused is logged, the last turn too", "seed 004, 5"
    ),
    Promise(
        "assessor.characters", "Others answer by script or as a model plays them, in their own time", "seed 004, 9"
    ),
    Promise("assessor.judge", "Code first, a model second, guarded; what nobody can judge says so", "seed 004, 6"),
    Promise(
        "assessor.foreign_scenarios",
        "A published scenario's code finds its imports while it loads, and its model as it calls it",
        "seed 004, 12",
    ),
    Promise(
        "assessor.judging_ends",
        "Judging ends, whatever a judge does: what was not judged in time is marked as unjudged",
        "seed 004, 10",
    ),
    Promise(
        "assessor.queue",
        "More assessments than run at once wait for their turn, in worlds of one simulator, and are told their place",
        "seed 004, 10",
    ),
    Promise("assessor.repeatable", "The same agent, scenario and seed give the same results", "seed 004, 6"),
    Promise("assessor.scenarios", "A scenario is read whole and refused with its place if it is unsound", "bad input"),
    Promise("assessor.replies", "An agent's answer is found in every shape that agents give it", "seed 004, 8"),
    Promise("assessor.a2a", "Requests as data or JSON text; updates, results, cancel, refusals", "seed 004, 2"),
    Promise("assessor.permissions", "An agent's key does what a user's assistant does, nothing else", "seed 004, 5"),
    Promise(
        "assessor.as_published", "Parts have the names, constructors and methods of published ones", "seed 004, 12"
    ),
    Promise(
        "assessor.providers", "Models of other providers by an optional library, named when missing", "seed 004, 11"
    ),
    Promise("assessor.differences", "What a run changed in the world is told row by row", "seed 004, 6"),
    Promise(
        "assessor.world_looks", "Results tell how the world stood after each turn and who changed what", "seed 004, 6"
    ),
    Promise(
        "assessor.beyond_published", "What published assessors leave undone is done or said why not", "seed 004, 6"
    ),
    Promise(
        "assess.command",
        "`purple assess` ends by itself with results or a reason, also if the agent dies",
        "seed 004, 10",
    ),
    Promise(
        "assessor.agent_key",
        "An agent behind keys is measured; its key goes to its own origin alone and is kept nowhere",
        "I12",
    ),
    Promise(
        "assessor.patience",
        "An agent that takes no connection is asked again for a while, with the same message",
        "seed 004, 10",
    ),
    Promise("assessor.one_trace", "An assessment is one trace, which its agent is told of", "seed 004, 2"),
    Promise("scenarios.tutorial", "Each command of the authors' tutorial does and shows what the page says", "authors"),
    Promise("assess.new", "`purple assess new` writes a scenario that runs and tells gold from wrong", "authors"),
    Promise(
        "assess.check",
        "`purple assess check` boots each world to the end of its day, plays its courses and names the wrong field",
        "authors",
    ),
    Promise("assess.usual_values", "What has a usual value may be left out of a scenario's world", "authors"),
    Promise("assess.pass_hat", "pass^k is the share of draws of k runs in which all passed", "seed 004, 6"),
    Promise("assess.intervals", "Passing, points and differences are told with their 95 % confidence", "authors"),
    Promise(
        "assess.generated_days",
        "Days from a seed: gold by the public API alone, three wrong variants a day under half the points",
        "authors",
    ),
    Promise("assess.results", "Results are kept, shown with their reasons, and compared with others", "seed 004, 6"),
    Promise(
        "assessor.scenario_bounds",
        "Careful work earns at least 95 of 100 points, idleness and harm at most 10, the same in every run",
        "seed 004, 6",
    ),
)
