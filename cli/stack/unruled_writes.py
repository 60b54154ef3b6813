"""What a write needs that no rule speaks about: said once for a tool server that is not the example company."""

from dataclasses import replace
from pathlib import Path

from cli.console import Complaint, indent_json
from cli.stack.plan import StackOptions, default_tenant_file
from shared.domain.exact_json import loads_object

UNRULED_WRITES = "UNRULED_WRITES"
WORDS = ("approve", "allow")


def asks_for_unruled_writes(options: StackOptions) -> bool:
    """Whether nobody has said it: no record of the caller's own, no word in the environment, none from before."""
    said = options.uses_company or options.environ.get("TENANT_FILE") or options.environ.get(UNRULED_WRITES)
    return not said and not _record_of(options).exists()


def settle_unruled_writes(options: StackOptions) -> StackOptions:
    """The options with a ``TENANT_FILE`` that says it, which is kept in the stack's folder. Raises ``Complaint``.

    For the example company, whose record says ``allow``, one is made only where a word changes that.
    """
    word = options.environ.get(UNRULED_WRITES, "")
    if word and options.environ.get("TENANT_FILE"):
        raise Complaint(f"{UNRULED_WRITES} and TENANT_FILE are both set: the record says it, in its unruled_writes.")
    if word and word not in WORDS:
        raise Complaint(f"{UNRULED_WRITES} cannot be {word!r}: it is {WORDS[0]} or {WORDS[1]}.")
    if asks_for_unruled_writes(options):
        raise Complaint(_sentence(options.environ["GREEN_AGENT_MCP_URL"]), _ELSE)
    if options.environ.get("TENANT_FILE") or (options.uses_company and not word):
        return options
    return replace(options, environ={**options.environ, "TENANT_FILE": str(_write_record(options, word))})


def _sentence(server: str) -> str:
    return (
        f"{UNRULED_WRITES} must say what a write at {server} needs that no rule speaks about: approve (a person's yes) "
        "or allow (nothing)."
    )


_ELSE = "At a terminal `purple up` asks for it, once. A record of your own in TENANT_FILE says it in unruled_writes."


def _record_of(options: StackOptions) -> Path:
    return options.folder / default_tenant_file(options).name


def _write_record(options: StackOptions, word: str) -> Path:
    """The record of before, which its owner may have edited, else the default one; with that word, if there is one."""
    record = _record_of(options)
    before = record if record.exists() and not options.uses_company else default_tenant_file(options)
    try:
        content = loads_object(before.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise Complaint(f"{before} cannot be read: {error}") from error
    if word:
        options.folder.mkdir(parents=True, exist_ok=True)
        record.write_text(indent_json({**content, "unruled_writes": word}) + "\n", "utf-8")
    return record
