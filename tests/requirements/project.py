"""The project, its planner, its example company and its deployment."""

from tests.requirements.promise import Promise

PROMISES = (
    # the project itself
    Promise("promises.tied", "Every promise has a test, and every mark names a known promise", "quality"),
    Promise("parts.optional", "A service starts and serves without the optional parts that nobody named", "quality"),
    Promise("imports.directions", "Services stand on shared, never import each other; a core does no I/O", "quality"),
    # planner
    Promise("planner.several", "A question about several things is answered with their names", "seed 000"),
    Promise("planner.generated_worlds", "Tasks of worlds nobody wrote code for are carried out exactly", "seed 000"),
    Promise("planner.generalises", "Tasks succeed on tools generated from a seed", "seed 000"),
    Promise("planner.plain_words", "Tasks in plain words are carried out or refused by name, none wrongly", "seed 000"),
    Promise("planner.refuses_as_the_api", "The planner rejects what the real API rejects", "bad input"),
    Promise("planner.heeds_not", "What a task forbids is not planned", "seed 000, Key Design Decisions"),
    Promise("planner.never_invents", "What cannot be planned is said, and nothing is invented", "seed 000"),
    Promise("planner.compares_what_is_said", "A condition compares the figure that it names, or none", "bad input"),
    Promise("planner.loses_no_part", "Each part of a sentence is read with its own reason, or named", "bad input"),
    Promise("planner.answers_each_question", "Each half of a question is answered, or said to be open", "bad input"),
    Promise("planner.spoken_days", "A day without a year is the next one, and no piece of an identifier", "bad input"),
    Promise("planner.points_back", "`They` means what the clause before it names", "bad input"),
    Promise("planner.leaves_questions", "A question that nothing answers is left as its part, once", "bad input"),
    Promise("planner.reads_all_parts", "A list given in parts is read to its end before it decides", "seed 000"),
    Promise("planner.each_of_many", "Every one means each that fits, in the order asked, and no other", "I2"),
    Promise("planner.yes_or_no", "A question for yes or no gets one, with its ground", "seed 000"),
    Promise("planner.heeds_corrections", "A refused answer is changed or given up, never put again", "bad input"),
    Promise(
        "planner.new_things", "Later calls of a plan refer to what an earlier one makes, by its result", "seed 000"
    ),
    Promise("planner.tells_whom_a_process_names", "Whoever a process wants told of a change is told", "seed 002"),
    Promise("planner.reads_what_a_process_names", "What a process says to read is read, if it belongs", "seed 002"),
    Promise("planner.reads_for_each_named", "What several named things refer to is read for each of them", "seed 000"),
    Promise("planner.unjudged", "A criterion that no model is there to judge is marked unjudged", "seed 004"),
    # deployment
    Promise(
        "deploy.image_is_enough",
        "A service runs on what its image copies and installs, and stops on SIGTERM",
        "seed 000, Running",
    ),
    Promise(
        "deploy.demo_on_images",
        "The whole demo holds on services that run on what their images hold, and nothing else",
        "seed 000, Running",
    ),
    Promise(
        "deploy.tried_on_an_engine",
        "An engine builds, starts, uses and stops images and compose file; where there is none it is said",
        "seed 000, Running",
    ),
    Promise(
        "deploy.build_context",
        "What no image holds is not sent to the engine, and what an image holds is",
        "quality",
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
    Promise(
        "deploy.closed_network",
        "On Kubernetes only the gateway is reached from outside, and each pod reaches what it needs",
        "quality",
    ),
    Promise("deploy.balancer_fits", "A load balancer's times fit those of the gateway behind it", "quality"),
    Promise("deploy.scales_on_work", "Executors are scaled on the sessions there are, each scaler its own", "quality"),
    Promise(
        "upgrade.nothing_fails",
        "Every service is restarted under load, one after another, and no request and no task fails",
        "quality",
    ),
    # documentation and supply chain
    Promise(
        "docs.configuration",
        "The configuration reference says what every service reads, and what it refuses to start without",
        "seed 000, Environment Variables",
    ),
    Promise(
        "bench.overhead", "What a task costs beside model and tools is measured, with idleness taken off", "quality"
    ),
    Promise(
        "bench.throughput", "Tasks a second are measured beside agents of others on the same model and tools", "quality"
    ),
    Promise("bench.scale", "What grows with an installation is measured few and many, in turns", "quality"),
    Promise("bench.gateway", "The gateway is measured beside the official SDK's own server, in turns", "quality"),
    Promise("bench.capacity", "A burst is measured on a real stack, and each missed target is named", "quality"),
    Promise("bench.planner", "A call of the planner over many records is measured against its target", "seed 000, 3"),
    Promise("bench.days", "Points on generated days are measured, and each missed target is named", "seed 004, 6"),
    Promise("docs.links", "Links between pages of the docs lead somewhere", "quality"),
    Promise("docs.security", "Threats, controls and lifetimes stand in the docs as they are in the code", "quality"),
    Promise("supply.audit", "Licences and known vulnerabilities that nobody has explained fail the audit", "bad input"),
    Promise("supply.not_audited", "What an audit could not look up is told, and counts as clean nowhere", "bad input"),
    Promise("supply.locked", "Images hold only what is locked by hash and tested in that version", "bad input"),
    Promise("supply.sbom", "Every image has a valid bill of materials, of what its lock names", "quality"),
    Promise(
        "operations.backup",
        "What a backup of a running installation holds goes on where it is restored",
        "quality",
    ),
    Promise(
        "operations.restored_in_doubt",
        "After a restore a write that may have been made since the backup is in doubt, not repeated",
        "I3",
    ),
    Promise(
        "redis.tail_lost",
        "After a crash of Redis a write that a read already shows is in doubt, not made again",
        "I3",
    ),
    Promise(
        "doubt.late_application",
        "Before a retry an operator is told until when an answer was waited for, and that it may be applied later",
        "I3",
    ),
    Promise(
        "upgrade.opened",
        "What an earlier revision stored is opened: approvals that wait, open turns and writes, archives",
        "I5",
    ),
    # example company
    Promise("company.honest", "Its tools are by name and annotation what they are", "I1"),
    Promise("company.writes_can_be_read_back", "Each of its writes shows in a read, and once only means once", "I4"),
    Promise("company.consistent", "Its rows agree with each other, over all tables", "seed 000, Overview"),
    Promise("company.pages", "Long lists come in each usual shape of pages, none lost or doubled", "seed 003"),
    Promise("company.drift", "A column can be renamed while it runs, everywhere at once", "seed 003, schema_drift.py"),
    Promise("company.both_protocols", "Its tools act the same over MCP and the REST bridge", "seed 003, mcp_bridge.py"),
)
