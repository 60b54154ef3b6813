"""Dispatches the tool calls of one reply: reads run in parallel, writes become proposals."""

from collections.abc import Mapping, Sequence

from services.executor.core.conversation.understanding import UNDERSTAND
from services.executor.core.figures.identifiers import addresses_to_open
from services.executor.core.model.talk import PROPOSE_AGAIN
from services.executor.core.plan.faults import PartContext
from services.executor.core.plan.proposals import InvalidProposal, Proposal, ProposalContext, build_proposal
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.session.context import TurnContext, run_in_parallel
from services.executor.core.session.values import Fact
from services.executor.core.tools.shorten import shorten_result
from services.executor.core.tools.toolbox import WRITES, unwrap_use_tool
from services.executor.ports.tools import Tool
from shared.contracts.base import Contract
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, JsonObject, dumps, loads
from shared.ports.models import ToolResult, ToolUse

_LONGEST_ADDRESS = 120


class ReplyProposals(Contract):
    """The writes that one reply proposed, as their journal step stores them. ``wrong``: by call id, why a write is not
    accepted; ``doubts``: values that may be the model's own invention.
    """

    proposals: tuple[Proposal, ...] = ()
    wrong: dict[str, str] = {}
    doubts: tuple[str, ...] = ()

    @property
    def use_ids(self) -> tuple[str, ...]:
        """The ids of all calls that write, accepted or not."""
        return (*(one.use_id for one in self.proposals), *self.wrong)


class ReplyDispatch:
    """Carries out the calls of one reply: reads, local tools and proposals.

    ``results``: by call id, the results so far. ``shown``: reads and local calls as data, for a message history that
    starts again. ``proposed``: from the journal if an earlier attempt decided it, else from ``check_writes``.
    """

    def __init__(self, ctx: TurnContext, reader: TaskReader, key: str, uses: Sequence[ToolUse]) -> None:
        """``key`` is the prefix of this reply's journal keys."""
        self._ctx = ctx
        self._reader = reader
        self._key = key
        self._places = {use.id: place for place, use in enumerate(uses)}  # the same whatever the servers list by now
        self.results: dict[str, ToolResult] = {}
        self.shown: list[Json] = []
        stored = ctx.journal.get_from_earlier_attempt(self._proposals_journal_key)
        self.proposed = ReplyProposals.model_validate_json(stored) if stored is not None else ReplyProposals()
        self.was_heard = bool(self.proposed.use_ids)
        self.writes: list[tuple[ToolUse, Tool]] = []  # that are not proposed yet
        self.others: list[ToolUse] = []  # that no server has: local tools, if there is such a tool at all
        self._reads: list[tuple[ToolUse, Tool | None]] = []  # no tool: it was a read when the reply was heard
        self._group_calls_by_kind([unwrap_use_tool(use) for use in uses if use.id not in self.proposed.use_ids])
        self._new_reads = [use.name for use, tool in self._reads if tool and not reader.has_current_result(use, tool)]

    async def read_all(self, known: KnownSources) -> None:
        """Makes the reads in parallel; equal reads are made once. ``known``: the sources known before them."""
        refused_reads = self._find_refused_reads(known)
        refs = [
            self._reader.reserve_reference(use, tool) if tool else self._reader.restore_reference(use)
            for use, tool in self._reads
        ]
        firsts = {ref: place for place, ref in reversed(list(enumerate(refs)))}
        made = await run_in_parallel(
            self._read_or_explain(place, refs[place], refused_reads) for place in sorted(firsts.values())
        )
        by_ref = dict(zip((refs[place] for place in sorted(firsts.values())), made, strict=True))
        for place, (ref, (use, _)) in enumerate(zip(refs, self._reads, strict=True)):
            found = by_ref[ref] if firsts[ref] == place else await self._read_or_explain(place, ref, refused_reads)
            self.results[use.id], data = _format_read_result(use, found)
            self.shown.append(data)

    def local_step_key(self, use: ToolUse) -> str:
        return f"{self._key}:local:{self._places[use.id]}"

    def add_local_result(self, use: ToolUse, result: ToolResult) -> None:
        """Adds the result of a local tool."""
        self.results[use.id] = result
        if use.name != UNDERSTAND:
            self.shown.append(_call_as_data(use, result))

    def check_writes(
        self, before: Sequence[Proposal], setting: ProposalContext, known: KnownSources
    ) -> Sequence[PlannedCall]:
        """Checks all writes of the reply; if one is wrong, none is accepted. If an argument has
        no source, returns the checked calls, so that the caller reads what they name and checks again; else nothing.

        ``before``: the proposals that wait already. ``known``: the sources after the reply's reads and calculations.
        """
        proposals, tried = list[Proposal](), list[PlannedCall]()
        wrong, doubts, lacks_source = dict[str, str](), list[str](), False
        finder = SourceFinder(known)
        called = [
            *((one.call.tool, one.call.arguments) for one in before),
            *((tool.name, use.input) for use, tool in self.writes),
        ]
        for use, tool in self.writes:
            try:
                if self._new_reads:
                    seen = ", ".join(dict.fromkeys(self._new_reads))
                    raise InvalidProposal(f"propose it once you have seen what {seen} gives")
                made = build_proposal(use, tool, (*before, *proposals), setting)
                sourced = finder.find_sources(made.call, tool, self._build_part_context(made.call, setting, called))
                tried.append(made.call)
                lacks_source |= sourced.lacks_source
                if sourced.problems:
                    raise InvalidProposal("; ".join(sourced.problems))
                if fresh := [one for one in sourced.doubts if one not in setting.sent_back]:
                    doubts += fresh
                    raise InvalidProposal("; ".join(fresh))
                proposals.append(made._replace(call=sourced.call))
            except InvalidProposal as why:
                wrong[use.id] = f"Not made: {why}"
        if not wrong:
            self.proposed = ReplyProposals(proposals=tuple(proposals))
            return ()
        again = {one.use_id: PROPOSE_AGAIN for one in proposals}
        self.proposed = ReplyProposals(wrong={**wrong, **again}, doubts=tuple(doubts))
        return tried if lacks_source else ()

    def _build_part_context(
        self, call: PlannedCall, setting: ProposalContext, called: Sequence[tuple[str, JsonObject]]
    ) -> PartContext:
        quote = next((part.quote for part in setting.parts if part.number == call.part), "")
        others = [one.quote for one in setting.parts if one.number != call.part]
        own = (one for one in self._ctx.toolbox.tools.values() if one.connection_id == call.connection_id)
        return PartContext(quote, others, [one for one in own if one.tool_class in WRITES], called)

    def journal_proposals(self) -> None:
        """Stores the reply's proposals in the journal."""
        self._ctx.journal.decide_once(self._proposals_journal_key, self.proposed.model_dump_json)

    @property
    def _proposals_journal_key(self) -> str:
        return f"{self._key}:proposed"

    def _group_calls_by_kind(self, uses: Sequence[ToolUse]) -> None:
        for use in uses:
            tool = self._ctx.toolbox.tools.get(use.name)
            if tool is not None and tool.tool_class not in WRITES:
                self._reads.append((use, tool))
            elif self._ctx.journal.get_from_earlier_attempt(self._read_step_key(use)) is not None:
                self._reads.append((use, None))
            elif tool is not None:
                self.writes.append((use, tool))
            else:
                self.others.append(use)

    def _find_refused_reads(self, known: KnownSources) -> dict[str, str]:
        """By call id, why a read is refused: it would open an address that occurs only in free text which somebody
        wrote, and so send that somebody what the address contains.
        """
        opened = [(use, address) for use, _ in self._reads for address in addresses_to_open(use.input)]
        finder = SourceFinder(known) if opened else None
        return {
            use.id: f"Not called: {address[:_LONGEST_ADDRESS]} stands only in a text that somebody wrote, and the task "
            "does not say to open it."
            for use, address in opened
            if finder and finder.is_address_of_free_text(address)
        }

    def _read_step_key(self, use: ToolUse) -> str:
        return f"{self._key}:tool:{self._places[use.id]}"

    async def _read_or_explain(self, place: int, ref: str, refused_reads: Mapping[str, str]) -> Fact | str:
        """The fact that was read, or the reason why it was not. ``refused_reads``: by call id, the reasons for reads
        that are not in the journal yet.
        """
        use, tool = self._reads[place]
        if tool is None:
            return self._reader.find_fact(ref) or f"Not called: {use.name} is not there any more."
        key, most = self._read_step_key(use), self._ctx.limits.tool_calls
        try:
            if place >= most:
                raise CallRefused(f"Not called: one reply makes {most} reads at most.")
            if use.id in refused_reads and self._ctx.journal.get(key) is None:
                raise CallRefused(refused_reads[use.id])
            return await self._reader.read_or_reuse(key, ref, use, tool)
        except CallRefused as why:
            self._reader.drop_reference(ref)
            return str(why)


def _format_read_result(use: ToolUse, made: Fact | str) -> tuple[ToolResult, Json]:
    """A read as the tool result for the model, and as data for a message history that starts again."""
    asked: dict[str, Json] = {"tool": use.name, "arguments": use.input}
    if isinstance(made, str):
        return _build_error(use, made), {**asked, "error": made}
    seen, note = shorten_result(made.result)
    said = " ".join(filter(None, (made.note, note)))
    told: dict[str, Json] = {"note": said} if said else {}
    text = f"{dumps(seen)}\n[{made.ref}{f': {said}' if said else ''}]"
    return ToolResult(use.id, text, is_error=not made.ok), {"ref": made.ref, **asked, "result": seen, **told}


def _build_error(use: ToolUse, why: str) -> ToolResult:
    return ToolResult(use.id, why, is_error=True)


def _call_as_data(use: ToolUse, result: ToolResult) -> Json:
    told: Json = result.content if result.is_error else loads(result.content)
    return {"tool": use.name, "arguments": use.input, "error" if result.is_error else "result": told}
