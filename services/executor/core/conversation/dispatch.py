"""Dispatches the tool calls of one reply: reads run in parallel, writes become proposals."""

from collections.abc import Mapping, Sequence

from services.executor.core.conversation.understanding import UNDERSTAND_TOOL_NAME
from services.executor.core.figures.identifiers import addresses_to_open
from services.executor.core.model.message_history import PROPOSE_AGAIN_TEXT
from services.executor.core.plan.draft import InvalidProposal, Proposal, ProposalContext, build_proposal
from services.executor.core.plan.faults import PartContext
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.session.context import TurnContext, run_in_parallel
from services.executor.core.session.values import Fact
from services.executor.core.tools.shorten import shorten_result
from services.executor.core.tools.toolbox import WRITE_CLASSES, unwrap_use_tool
from services.executor.ports.tools import Tool
from shared.contracts.base import Contract
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.ports.models import ToolResult, ToolUse

_LONGEST_ADDRESS = 120


class CheckedProposals(Contract):
    """The writes that one reply of the model proposed, once checked, as their journal step stores them. ``wrong``: by
    call id, why a write is not accepted; ``doubts``: values that may be the model's own invention.
    """

    proposals: tuple[Proposal, ...] = ()
    wrong: dict[str, str] = {}
    doubts: tuple[str, ...] = ()

    @property
    def write_call_ids(self) -> tuple[str, ...]:
        """The ids of all calls that write, accepted or not."""
        return (*(proposal.use_id for proposal in self.proposals), *self.wrong)


class ReplyDispatch:
    """Carries out the calls of one reply: reads, local tools and proposals.

    ``results``: by call id, the results so far. ``calls_as_data``: reads and local calls, for a message history that
    starts again. ``proposed``: from the journal if an earlier attempt decided it, else from
    ``check_writes_and_find_unsourced``.
    """

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, uses: Sequence[ToolUse]) -> None:
        """``key`` is the prefix of this reply's journal keys."""
        self._ctx = ctx
        self._reader = reader
        self._key = key
        self._place_by_use_id = {use.id: index for index, use in enumerate(uses)}
        self.results: dict[str, ToolResult] = {}
        self.calls_as_data: list[Json] = []
        self._proposals_key = f"{key}:proposed"
        earlier = ctx.journal.get_from_earlier_attempt(self._proposals_key)
        self.proposed = CheckedProposals() if earlier is None else CheckedProposals.model_validate_json(earlier)
        self.writes: list[tuple[ToolUse, Tool]] = []  # that are not proposed yet
        self.other_uses: list[ToolUse] = []  # of local tools, or of tools that do not exist
        self._reads: list[tuple[ToolUse, Tool | None]] = []  # no tool: it was a read when the reply was heard
        self._group_calls_by_kind([unwrap_use_tool(use) for use in uses if use.id not in self.proposed.write_call_ids])
        self._new_reads = [use.name for use, tool in self._reads if tool and not reader.find_current_fact(use, tool)]

    async def read_all(self, sources_before: KnownSources) -> None:
        """Makes the reads in parallel; equal reads are made once. ``sources_before``: those known before the reads."""
        refused_reads = self._find_refused_reads(sources_before)
        refs = [
            self._reader.reserve_reference(use, tool) if tool else self._reader.restore_reference(use)
            for use, tool in self._reads
        ]
        first_place_by_ref = {ref: refs.index(ref) for ref in refs}
        results = await run_in_parallel(
            self._read_or_explain(index, ref, refused_reads) for ref, index in first_place_by_ref.items()
        )
        result_by_ref = dict(zip(first_place_by_ref, results, strict=True))
        for index, (ref, (use, _)) in enumerate(zip(refs, self._reads, strict=True)):
            result = result_by_ref[ref]
            if first_place_by_ref[ref] != index:
                result = await self._read_or_explain(index, ref, refused_reads)
            self.results[use.id], data = _format_for_model_and_history(use, result)
            self.calls_as_data.append(data)

    def build_local_step_key(self, use: ToolUse) -> str:
        return f"{self._key}:local:{self._place_by_use_id[use.id]}"

    def add_local_result(self, use: ToolUse, result: ToolResult) -> None:
        """Adds the result of a local tool."""
        self.results[use.id] = result
        if use.name != UNDERSTAND_TOOL_NAME:
            content = result.content if result.is_error else loads(result.content)
            outcome = "error" if result.is_error else "result"
            self.calls_as_data.append({"tool": use.name, "arguments": use.input, outcome: content})

    def check_writes_and_find_unsourced(
        self, waiting: Sequence[Proposal], context: ProposalContext, sources: KnownSources
    ) -> Sequence[PlannedCall]:
        """Checks all writes of the reply; if one is wrong, none is accepted.

        If an argument has no source, returns the checked calls, so that the caller reads what they name and checks
        again; else returns no call.

        ``waiting``: earlier proposals. ``sources``: those known after the reply's reads and calculations.
        """
        proposals, checked_calls = list[Proposal](), list[PlannedCall]()
        errors = dict[str, str]()
        doubts = list[str]()
        lacks_source = False
        finder = SourceFinder(sources)
        proposed_calls = [
            *((proposal.call.tool, proposal.call.arguments) for proposal in waiting),
            *((tool.name, use.input) for use, tool in self.writes),
        ]
        for use, tool in self.writes:
            try:
                if self._new_reads:
                    read_names = ", ".join(dict.fromkeys(self._new_reads))
                    raise InvalidProposal(f"propose it once you have seen what {read_names} gives")
                proposal = build_proposal(use, tool, (*waiting, *proposals), context)
                call = proposal.call
                part = self._build_part_context(proposal.call, context, proposed_calls)
                findings = finder.find_sources(call, tool, part)
                checked_calls.append(call)
                lacks_source |= findings.lacks_source
                if findings.problems:
                    raise InvalidProposal("; ".join(findings.problems))
                if new_doubts := [doubt for doubt in findings.doubts if doubt not in context.told_doubts]:
                    doubts += new_doubts
                    raise InvalidProposal("; ".join(new_doubts))
                proposals.append(proposal._replace(call=findings.call))
            except InvalidProposal as error:
                errors[use.id] = f"Not made: {error}"
        if not errors:
            self.proposed = CheckedProposals(proposals=tuple(proposals))
            return ()
        sent_back = {proposal.use_id: PROPOSE_AGAIN_TEXT for proposal in proposals}
        self.proposed = CheckedProposals(wrong={**errors, **sent_back}, doubts=tuple(doubts))
        return checked_calls if lacks_source else ()

    def _build_part_context(
        self, call: PlannedCall, context: ProposalContext, proposed_calls: Sequence[tuple[str, JsonObject]]
    ) -> PartContext:
        quote = next((part.quote for part in context.parts if part.number == call.part), "")
        other_quotes = [part.quote for part in context.parts if part.number != call.part]
        tools = (tool for tool in self._ctx.toolbox.tools.values() if tool.connection_id == call.connection_id)
        return PartContext(
            quote, other_quotes, [tool for tool in tools if tool.tool_class in WRITE_CLASSES], proposed_calls
        )

    def journal_proposals(self) -> None:
        """Stores the reply's proposals in the journal."""
        self._ctx.journal.decide_once(self._proposals_key, self.proposed.model_dump_json)

    def _group_calls_by_kind(self, uses: Sequence[ToolUse]) -> None:
        for use in uses:
            tool = self._ctx.toolbox.tools.get(use.name)
            if tool is not None and tool.tool_class not in WRITE_CLASSES:
                self._reads.append((use, tool))
            elif self._ctx.journal.get_from_earlier_attempt(self._build_read_step_key(use)) is not None:
                self._reads.append((use, None))
            elif tool is not None:
                self.writes.append((use, tool))
            else:
                self.other_uses.append(use)

    def _find_refused_reads(self, sources: KnownSources) -> dict[str, str]:
        """By call id, why a read is refused: it would open an address that only somebody's free text has."""
        opened_addresses = [(use, address) for use, _ in self._reads for address in addresses_to_open(use.input)]
        finder = SourceFinder(sources) if opened_addresses else None
        return {
            use.id: f"Not called: {address[:_LONGEST_ADDRESS]} stands only in a text that somebody wrote, and the task "
            "does not say to open it."
            for use, address in opened_addresses
            if finder and finder.is_address_of_free_text(address)
        }

    def _build_read_step_key(self, use: ToolUse) -> str:
        return f"{self._key}:tool:{self._place_by_use_id[use.id]}"

    async def _read_or_explain(self, place: int, ref: str, refused_reads: Mapping[str, str]) -> Fact | str:
        """The fact that was read, or why it was not. ``refused_reads``: reasons by call id for reads not yet stored."""
        use, tool = self._reads[place]
        if tool is None:
            return self._reader.find_fact(ref) or f"Not called: {use.name} is not there any more."
        key, most_reads = self._build_read_step_key(use), self._ctx.limits.tool_calls
        try:
            if place >= most_reads:
                raise CallRefused(f"Not called: one reply makes {most_reads} reads at most.")
            if use.id in refused_reads and self._ctx.journal.get(key) is None:
                raise CallRefused(refused_reads[use.id])
            return await self._reader.read_or_reuse(key, ref, use, tool)
        except CallRefused as refusal:
            self._reader.drop_reference(ref)
            return str(refusal)


def _format_for_model_and_history(use: ToolUse, fact_or_reason: Fact | str) -> tuple[ToolResult, Json]:
    """A read as the tool result for the model, and as data for a message history that starts again."""
    call: dict[str, Json] = {"tool": use.name, "arguments": use.input}
    if isinstance(fact_or_reason, str):
        return ToolResult(use.id, fact_or_reason, is_error=True), {**call, "error": fact_or_reason}
    fact = fact_or_reason
    result, shortening = shorten_result(fact.result)
    note = " ".join(filter(None, (fact.note, shortening)))
    data: dict[str, Json] = {"ref": fact.ref, **call, "result": result}
    if note:
        data["note"] = note
    text = f"{dumps(result)}\n[{fact.ref}{f': {note}' if note else ''}]"
    return ToolResult(use.id, text, is_error=not fact.ok), data
