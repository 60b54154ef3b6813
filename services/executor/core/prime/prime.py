"""PRIME: gathers in parallel everything that a run needs before it begins."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.prime.known import build_learned_sections, recall, record_tool_names
from services.executor.core.session.context import (
    MISSING_SERVERS_KEY,
    Limits,
    Ports,
    TurnContext,
    build_file_notes,
    build_files_section,
    get_session_for_task,
    load_pictures,
    read_files,
    run_in_parallel,
    run_pair_in_parallel,
    with_practice_rules,
)
from services.executor.core.session.dossier import Progress
from services.executor.core.session.journal import Journal
from services.executor.core.session.recorded_answers import (
    build_tools_input_name,
    list_and_record_tools,
    read_recorded_tools,
    request_recorded_verdict,
)
from services.executor.core.states.machine import GENERAL_TEMPLATE, Failed, Processes
from services.executor.core.states.prompts import Prompts
from services.executor.core.tools import classes as verbs
from services.executor.core.tools.classes import classify_tool
from services.executor.core.tools.name_similarity import words_of
from services.executor.core.tools.toolbox import (
    build_toolbox,
    describe_rules_about_unknown_tools,
    list_tools_in_rules,
    mark_ruled_reads_as_changes,
)
from services.executor.ports.services import PolicyUnavailable, UnknownTenant
from services.executor.ports.tools import Tool, ToolServers, ToolSilent, ToolUnreachable
from services.executor.ports.turns import TurnStore, TurnWork
from shared.contracts.policy import EvaluateRequest, Policy
from shared.contracts.policy_document import BadPolicyDocument, parse_rules, parse_rules_in_text
from shared.contracts.task import TaskRecord
from shared.contracts.tenant import CatalogueEntry, Connection, TenantRecord
from shared.domain.exact_json import to_exact
from shared.domain.identity_cache import IdentityCache

_NO_TOOLS_CONSTRAINT = "Nothing is written, and nothing can be read: the tool server offers no tools."


class WorkerDependencies(NamedTuple):
    """What a worker uses in every turn. ``processes``: the known process templates by name."""

    ports: Ports
    limits: Limits
    prompts: Prompts
    processes: Processes


class OpenedTurn(NamedTuple):
    """A turn that is being run, with its store and journal."""

    work: TurnWork
    store: TurnStore
    journal: Journal


async def prime(dependencies: WorkerDependencies, opened: OpenedTurn) -> TurnContext:
    """Builds the context of one turn.

    Raises ``Failed`` if a tool server, the tenant's record or a needed verdict cannot be had, or the request's rules
    cannot be read; ``Rejected`` for practice that the tenant refuses.
    """
    ports, limits, prompts, processes = dependencies
    work, store, journal = opened
    request, earlier = work.record.request, journal.progress
    request_policy = parse_request_policy(request.policy_doc)
    template = earlier.template if earlier else processes.get(GENERAL_TEMPLATE.process_type, GENERAL_TEMPLATE)
    tenant_id = work.record.tenant
    tenant, experience = await run_pair_in_parallel(
        _read_tenant(ports, tenant_id, earlier.tenant_version if earlier else "", journal),
        recall(ports.learned, tenant_id, template.process_type, journal, request.text),
    )
    tenant = with_practice_rules(tenant, work.record, limits.practice_servers)
    policies = (*tenant.policies, *((request_policy.rules,) if request_policy.rules else ()))
    discovered, (constraints, text_policy) = await run_pair_in_parallel(
        discover_tools(ports, tenant, work.record, journal),
        _request_provisional_verdict(ports, policies, request.text, journal),
    )
    session = get_session_for_task(await store.read_session(), work.record)
    files = await read_files(ports.files, work.record, work.turn, journal)
    toolbox = mark_ruled_reads_as_changes(build_toolbox(discovered.servers, tenant.records), policies)
    names = frozenset(tool.name for tool in toolbox.tools.values())
    await record_tool_names(ports.learned, tenant_id, names, journal)
    return TurnContext(
        ports=ports,
        limits=limits,
        prompts=prompts,
        store=store,
        journal=journal,
        record=work.record,
        turn=work.turn,
        tenant=tenant,
        policies=policies,
        toolbox=toolbox,
        session=session,
        experience=experience,
        sections={
            "task": request.text,
            "files": build_files_section(files, limits.file_characters),
            **build_learned_sections(experience, journal),
            "policy_advice": request_policy.advice,
            "constraints": "\n".join((*constraints, *discovered.missing, *(() if names else (_NO_TOOLS_CONSTRAINT,)))),
        },
        notes={
            **text_policy,
            **_note_ineffective_rules(policies, names, request_policy.unread),
            **build_file_notes(files),
            **({MISSING_SERVERS_KEY: [*discovered.missing]} if discovered.missing else {}),
        },
        processes=processes,
        template=template,
        files=files,
        pictures=await load_pictures(ports.files, work.record, files),
    )


def build_first_progress(ctx: TurnContext) -> Progress:
    """The progress of a new task in its first state. The process is chosen later, with the model's first reply."""
    template = ctx.template
    return Progress(
        template=template,
        path=template.states,
        visited=(template.states[0],),
        orchestrators=ctx.limits.orchestrators,
        thresholds=ctx.thresholds,
        notes={**ctx.notes, "classification": {"by": "model", "why": "the first reply says it"}},
        ruled_tools=list_tools_in_rules(ctx.policies),
        tenant_version=ctx.tenant.version,
        policy_versions=tuple(f"{policy.id}@{policy.version}" for policy in ctx.policies),
    )


def _note_ineffective_rules(
    policies: tuple[Policy, ...], names: frozenset[str], unread: Iterable[str]
) -> dict[str, JsonValue]:
    """A note for clients on fields and rules of the policies that have no effect."""
    notes: list[JsonValue] = [f"nobody reads the field {name}" for name in unread]
    notes += describe_rules_about_unknown_tools(policies, names)
    return {"policy_notes": notes} if notes else {}


async def _read_tenant(ports: Ports, tenant: str, version: str, journal: Journal) -> TenantRecord:
    """The tenant's record, with the policies that the task began with; noted for a replay. Raises ``Failed``."""
    try:
        record = await (ports.tenants.get_at_version(tenant, version) if version else ports.tenants.get(tenant))
    except UnknownTenant as error:
        raise Failed(str(error)) from error
    text = _encode_record(record)
    journal.record_input("tenant", text, (text,))
    return record


_encode_record = IdentityCache[TenantRecord, str](lambda record: record.model_dump_json(), 256)


async def _request_provisional_verdict(
    ports: Ports, policies: tuple[Policy, ...], text: str, journal: Journal
) -> tuple[list[str], dict[str, JsonValue]]:
    """The provisional verdict on the task's text: sentences for every prompt, and ``{"text_policy": note}`` for
    clients. Both are empty if the policy service is unavailable; but if rules judge texts, raises ``Failed``.
    """
    if not policies:
        return [], {}
    try:
        verdict = await request_recorded_verdict(ports.policy, journal, EvaluateRequest(policies=policies, text=text))
    except PolicyUnavailable as error:
        if any(policy.judges_texts for policy in policies):
            raise Failed(f"no policy verdict on the task's text: {error}", "policy_service") from error
        journal.add_event("note", problem=f"no provisional policy verdict: {error}")
        return [], {}
    constraints = [f"{rule.action.value}: {rule.reason}" for rule in verdict.triggered_rules]
    judged = verdict.text
    if judged is None:  # no rule is about texts; no text complies with rules that cannot be read
        violations: list[JsonValue] = [problem.message for problem in verdict.problems]
        return constraints, {"text_policy": {"compliant": False, "violations": violations}} if violations else {}
    constraints += [f"HARD CONSTRAINT, the task as written violates it: {sentence}" for sentence in judged.violations]
    note = judged.model_dump(mode="json", include={"compliant", "violations", "applied_rules"})
    return constraints, {"text_policy": note} if note else {}


class RequestPolicy(NamedTuple):
    """A request's policy: ``rules`` beside the tenant's, ``advice`` for the model, ``unread`` fields without effect."""

    rules: Policy | None = None
    advice: str = ""
    unread: tuple[str, ...] = ()


def parse_request_policy(document: str | Mapping[str, JsonValue] | None) -> RequestPolicy:
    """The policy that came with a request.

    An object or a text with JSON is read as rules; any other text is advice. Raises ``Failed`` for rules that cannot be
    read.
    """
    if document is None or not document:
        return RequestPolicy()
    try:
        content = parse_rules_in_text(document) if isinstance(document, str) else to_exact(document)
        if not isinstance(content, dict | list):
            return RequestPolicy(advice=str(document).strip())
        rules, unread = parse_rules(content, "request")
    except BadPolicyDocument as error:
        raise Failed(f"metadata.policy_doc cannot be read as rules: {error}") from error
    return RequestPolicy(rules=rules, unread=unread)


_TOOL_NAME_IN_TEXT_PATTERN = re.compile(r"(?<![\w./-])[A-Za-z][A-Za-z0-9]*(?:_[A-Za-z0-9]+)+(?![\w/-])")
_WORD_FOR_CALL_BEFORE_PATTERN = re.compile(r"\b(?:call|run|invoke|tools?|functions?)\s+[`'\"]?$", re.IGNORECASE)
_WORD_FOR_USE_BEFORE_PATTERN = re.compile(r"\b(?:use|using)\s+[`'\"]?$", re.IGNORECASE)
_CALL_SYNTAX_AFTER_NAME_PATTERN = re.compile(r"[`'\"]?(?:\(|\s+(?:tool|function)\b)", re.IGNORECASE)
_PROHIBITION_BEFORE_PATTERN = re.compile(
    r"\b(?:not|never|don't|without|avoid|instead of)\b[^.,;\n]{0,40}$", re.IGNORECASE
)
_LOOKBACK_FROM_TOOL_NAME = 60  # characters before a name in which a word may speak of it: no pattern above is longer
# Verbs that are as often nouns (order, plan) are not among them.
_TOOL_VERBS = verbs.READ_VERBS | verbs.COMPUTE_VERBS | verbs.NOTIFY_VERBS | verbs.DELIVERY_VERBS | verbs.CHANGE_VERBS
# Two words of which the second is one of these name a field sooner than a tool: ``update_date``, ``display_name``.
_FIELD_WORDS = frozenset("id ids name names date at by time number no code type status total amount count key".split())


ServerTools = tuple[Connection, tuple[Tool, ...]]  # the tools that one server offers this task


class DiscoveredTools(NamedTuple):
    """The tools that a task may use. ``missing``: a sentence on each server whose tools cannot be had now."""

    servers: tuple[ServerTools, ...]
    missing: tuple[str, ...] = ()


def find_unlisted_tools_in_text(text: str, connection: Connection, known_names: Collection[str]) -> tuple[Tool, ...]:
    """Tools that the text names and no server lists, classified by their names, without those that it says not to use.

    ``known_names``: the names of listed tools and of their arguments.
    """
    return tuple(_build_tool(name, connection) for name in sorted({*_find_tool_names(text)}.difference(known_names)))


async def discover_tools(ports: Ports, tenant: TenantRecord, record: TaskRecord, journal: Journal) -> DiscoveredTools:
    """Each server's tools. A server that has none is noted, and so is one that cannot be asked.

    Raises ``Failed`` if no server can be asked, or one that listed tools when this task last asked it.
    """
    connections = _find_connections(tenant, record.request.tools_endpoint)
    listings = await run_in_parallel(
        _list_tools_or_say_why(ports, journal, connection, connection.session_id_for(record.tenant, record.session_id))
        for connection in connections
    )
    missing = tuple(listing for listing in listings if isinstance(listing, str))
    if missing and len(missing) == len(connections):
        raise Failed("; ".join(missing), "tool_server")
    server_tools: list[ServerTools] = []
    for connection, listing in zip(connections, listings, strict=True):
        problem, tools = (listing, ()) if isinstance(listing, str) else ("", listing)
        if not tools:
            journal.add_event("note", connection=connection.id, problem=problem or "the tool server lists no tools")
        server_tools.append((connection, tools))
    if missing:  # a tool that the task names may be one of theirs
        return DiscoveredTools(tuple(server_tools), missing)
    return DiscoveredTools(_add_named_tools(ports.tools, server_tools, record.request.text, journal))


def _find_tool_names(text: str) -> Iterator[str]:
    for match in _TOOL_NAME_IN_TEXT_PATTERN.finditer(text):
        span_before = (text, max(0, match.start() - _LOOKBACK_FROM_TOOL_NAME), match.start())
        is_called = _WORD_FOR_CALL_BEFORE_PATTERN.search(*span_before) or _CALL_SYNTAX_AFTER_NAME_PATTERN.match(
            text, match.end()
        )
        words = words_of(match[0])
        is_field = len(words) == 2 and words[1] in _FIELD_WORDS
        is_meant = not is_field and (words[0] in _TOOL_VERBS or _WORD_FOR_USE_BEFORE_PATTERN.search(*span_before))
        if (is_called or is_meant) and not _PROHIBITION_BEFORE_PATTERN.search(*span_before):
            yield match[0]


def _build_tool(name: str, connection: Connection) -> Tool:
    entry = connection.catalogue.get(name, CatalogueEntry())
    classified = classify_tool(name, None, entry)
    return Tool(
        connection_id=connection.id,
        name=name,
        description="Named by the task; the server does not list it.",
        input_schema={"type": "object"},
        tool_class=classified.tool_class,
        why_class=classified.reason,
        catalogue=entry,
    )


def _find_connections(tenant: TenantRecord, endpoint: str | None) -> Sequence[Connection]:
    """The tenant's connections, or only the one to the endpoint that the request names."""
    if endpoint is None:
        return tenant.connections
    matching = [connection for connection in tenant.connections if connection.url.rstrip("/") == endpoint.rstrip("/")]
    return matching or [Connection(id="request", url=endpoint, from_request=True, author_tenant=tenant.id)]


async def _list_tools_or_say_why(
    ports: Ports, journal: Journal, connection: Connection, session_id: str
) -> tuple[Tool, ...] | str:
    """The server's tools, recorded for a replay; a sentence that says why, if they cannot be had.

    Raises ``Failed`` instead if the server listed tools when this task last asked it: what was begun may need them.
    """
    recorded = journal.find_last_input(build_tools_input_name(connection))
    try:
        return await list_and_record_tools(ports.tools, journal, ports.tracer, connection, session_id)
    except (ToolUnreachable, ToolSilent) as error:
        sentence = f"the tool server {connection.id!r} at {connection.url} cannot be used: {error}"
        if read_recorded_tools(recorded, connection):
            raise Failed(sentence, "tool_server") from error
        return sentence


def _add_named_tools(
    tools: ToolServers, server_tools: Sequence[ServerTools], text: str, journal: Journal
) -> tuple[ServerTools, ...]:
    """Adds the tools that the task's text names, if exactly one server may have unlisted tools."""
    open_ended = [connection for connection, _ in server_tools if tools.may_have_unlisted_tools(connection)]
    if len(open_ended) != 1:
        return tuple(server_tools)
    listed = [tool for _, listed_tools in server_tools for tool in listed_tools]
    known_names = {tool.name for tool in listed}.union(*(tool.parameters for tool in listed))
    named_tools = find_unlisted_tools_in_text(text, open_ended[0], known_names)
    for tool in named_tools:
        journal.add_event("note", tool=tool.name, tool_class=tool.tool_class.value, why="named by the task, not listed")
    return tuple(
        (connection, (*listed_tools, *named_tools) if connection is open_ended[0] else listed_tools)
        for connection, listed_tools in server_tools
    )
