"""A task's way through all processes, told to a collector."""

from tests.requirements.promise import Promise

PROMISES = (
    Promise(
        "trace.one_tree",
        "A task's spans form one tree over gateway, queue, executor, policy, planner and learner",
        "quality",
    ),
    Promise("trace.after_a_crash", "A turn that another executor takes over stays in its task's trace", "quality"),
    Promise("trace.says_nothing", "No trace holds a prompt, an argument, a word of a user or a secret", "I12"),
    Promise("trace.context", "W3C trace context is taken from callers, and what is none begins a trace", "bad input"),
    Promise("trace.told_to_whom_asks", "Outside models and tool servers are told of a trace only by choice", "quality"),
    Promise("trace.off_costs_nothing", "Without a collector no SDK is loaded and no span is made", "quality"),
    Promise("trace.collector_away", "A collector that is away slows and fails no task, and is told of once", "quality"),
    Promise("trace.standard_variables", "OpenTelemetry's own variables say where spans go", "quality"),
    Promise("trace.in_logs", "A log line names the trace and the span in which it was written", "quality"),
    Promise("trace.names", "The documented names of spans and attributes are those of the code", "quality"),
)
