"""Tool servers, and tools made at run time."""

from tests.requirements.promise import Promise

PROMISES = (
    # tools and models
    Promise("tools.class_by_name", "A tool's name says what calling it may do", "I1; seed 002, hitl_guard.py"),
    Promise("tools.annotation_never_lowers", "A server's annotation never lowers a tool's class", "I1"),
    Promise("tools.catalogue_lowers", "Only the operator's catalogue lowers a class", "I1"),
    Promise(
        "tools.own_annotation",
        "Where a tool's name says nothing, a connection of the tenant's own may say that it only reads",
        "I1",
    ),
    Promise(
        "tools.agents", "A remote agent's skill is a tool, its question a person's, and no message is sent twice", "I3"
    ),
    Promise("tools.unknown_changes", "An unknown tool counts as one that changes", "I1"),
    Promise("tools.silent_unless_certain", "A call counts as unsent only if that is certain", "I3"),
    Promise(
        "tools.shared_session_survives", "A failing call leaves the shared session whole", "seed 003, mcp_bridge.py"
    ),
    Promise("tools.exact_answers", "Numbers in tool answers stay exact", "I8"),
    Promise("tools.bad_tools_dropped", "Tools that cannot be used are dropped, the others stay", "bad input"),
    Promise("planner.knows_no_company", "The planner knows no company, task or test", "seed 000, Overview"),
    Promise("model.request", "A request is what the API accepts now, its stable part first", "seed 000, Token Budget"),
    Promise("model.words_in_the_log", "What a provider says of a failure goes into the operator's log alone", "I12"),
    Promise("model.failures", "A model that fails is told apart and named", "bad input"),
    Promise("model.away", "A model that may come back leaves its task at rest, asked again within a deadline", "I5"),
    Promise("model.own_blocks", "A model's own blocks go back to it byte for byte, and to no other", "quality"),
    Promise("model.any_endpoint", "A field that an endpoint does not take is left out, then and later", "bad input"),
    Promise("model.retries", "What may pass is tried again, within bounds", "seed 000, Execution Pipeline"),
    Promise(
        "model.fallback", "The fallback model serves when a tier's model cannot", "seed 000, Environment Variables"
    ),
    Promise("money.exact_from_the_model", "Figures that a model hands over stay exact", "I8"),
    Promise(
        "company.applied_writes_counted", "The example company counts each write it applied", "seed 000, decision 3"
    ),
    # tool protocols and drift
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
    Promise(
        "drift.described",
        "A column is found by short forms, by what its server says of it and by the tool's own schema",
        "seed 002",
    ),
    Promise("tools.forbidden", "An address that is never called is refused at once", "bad input"),
    Promise("tools.breaker", "A server that fails is left alone for a while, and always found again", "seed 002"),
    Promise("drift.results", "A renamed field of what came back is shown under the expected name", "seed 002"),
    Promise("recover.kinds", "A failure is met by its kind; nothing found and nothing there are answers", "seed 002"),
    Promise(
        "recover.types", "A value of the wrong type is sent as the server wants it, if it stays the same", "seed 002"
    ),
    Promise("recover.silence", "A read without an answer is asked once more, a write never", "seed 002"),
    Promise("recover.synonyms", "A read whose tool is gone is put to one that asks the same", "seed 002, self-healing"),
    Promise("recover.advice", "A small model may name a read that stands in, one of those offered or none", "seed 002"),
    Promise("recover.one_by_one", "A read of several is taken apart where single reads exist", "seed 002"),
    Promise("recover.never_stronger", "No opposite, write or stronger tool ever stands in", "I1; seed 002"),
    Promise("recover.says_so", "What could not be read says what was tried", "seed 002, self-healing"),
    Promise("tools.echoes", "An answer that only repeats the call proves nothing and is no source", "I4; seed 003"),
    Promise("drift.remembered", "A session remembers renamed columns", "seed 002, schema_adapter.py"),
    Promise("drift.approved_writes_stay", "Names are corrected before a plan is approved, never after", "I7"),
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
    # lists in parts
    Promise("pages.exactly", "Whatever a list's shape, page size, cap and length: its rows, once each", "seed 002"),
    Promise("pages.read", "A read takes all parts of a list, in journaled steps; a model sees a part", "seed 002"),
    Promise("pages.proof", "A read-back takes all pages of its list; a part of one proves nothing", "I4; seed 002"),
    Promise("pages.says_what_is_missing", "What is missing of a list, and why, stands in what was read", "seed 002"),
    Promise("lists.aggregates", "Sums and groups over a list are exact and computed again by the audit", "seed 002"),
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
)
