"""Dispatches the calls of one reply: reads side by side, local tools, and writes as proposals."""

from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from typing import NamedTuple, Protocol

from services.executor.core.conversation.understanding import UNDERSTAND
from services.executor.core.figures.identifiers import opened_addresses
from services.executor.core.plan.proposals import NotProposed, Proposal, ProposalContext, propose
from services.executor.core.plan.sources import KnownSources, SourceFinder
from services.executor.core.plan.stated_amounts import PartOfCall
from services.executor.core.reads.reader import CallRefused, TaskReader
from services.executor.core.session.context import TurnContext, side_by_side
from services.executor.core.session.values import Fact, parts_with_conditions
from services.executor.core.tools.paginate import shorten_result
from services.executor.core.tools.toolbox import WRITES, unwrap
from services.executor.ports.tools import Tool
from shared.contracts.base import Contract
from shared.contracts.plan import PlannedCall
from shared.domain.exact_json import Json, dumps, loads
from shared.ports.models import ToolResult, ToolUse

_SHOWN = 120
PROPOSE_AGAIN = "Not made: propose it again."


class ReplyProposals(Contract):
    """What a reply proposed for the plan, as its journal step stores it; ``wrong``: by call id, why a write is not
    proposed; ``doubts``: about values that may be the model's own choice.
    """

    proposals: tuple[Proposal, ...] = ()
    wrong: dict[str, str] = {}
    doubts: tuple[str, ...] = ()

    @property
    def use_ids(self) -> tuple[str, ...]:
        """The ids of all calls that write, proposed or wrong."""
        return (*(one.use_id for one in self.proposals), *self.wrong)


class DispatchedReply(NamedTuple):
    """What became of a reply's calls: ``results`` of those that are answered, and what it ``proposed``."""

    results: Mapping[str, ToolResult]
    shown: tuple[Json, ...]  # the reads and local calls as data, for a history that begins anew
    proposed: ReplyProposals


class _Sorted(NamedTuple):
    """The calls of a reply by their kind."""

    local: tuple[ToolUse, ...]
    reads: tuple[tuple[ToolUse, Tool | None], ...]  # no tool: it was a read when the reply was heard, and is none now
    writes: tuple[tuple[ToolUse, Tool], ...]
    unknown: tuple[ToolUse, ...]


class AnswersLocally(Protocol):
    """The local tools, as the dispatch of a reply's calls needs them. ``unmet`` and ``unexcused``: what calls said of
    the parts.
    """

    @property
    def unmet(self) -> Mapping[int, str]: ...

    @property
    def unexcused(self) -> Collection[int]: ...

    def has(self, name: str) -> bool: ...

    async def call(self, key: str, use: ToolUse, facts: Sequence[Fact]) -> ToolResult: ...


class Dispatch:
    """Carries out the calls of one reply. ``key`` begins the names of its journal steps."""

    def __init__(self, ctx: TurnContext, reader: TaskReader, local: AnswersLocally, key: str) -> None:
        self._ctx = ctx
        self._reader = reader
        self._local = local
        self._key = key

    async def run(
        self,
        uses: Sequence[ToolUse],
        before: Sequence[Proposal],
        setting: ProposalContext,
        known: Callable[[], KnownSources],
        look_up: Callable[[Sequence[PlannedCall]], Awaitable[bool]],
    ) -> DispatchedReply:
        """Carries out the reply's calls and returns what became of them.

        ``before``: the proposals that are held already; ``known`` is called once the reply has calculated. ``look_up``:
        reads the records that calls name and nobody read; whether anything was read.
        """
        places = {use.id: place for place, use in enumerate(uses)}  # the same whatever the servers list by now
        heard = self._read_earlier()
        calls = self._sort([unwrap(use) for use in uses if use.id not in heard.use_ids], places)
        new_reads = [use.name for use, tool in calls.reads if tool and not self._reader.is_known(use, tool)]
        read = await self._read_all(calls.reads, places, self._find_misled([use for use, _ in calls.reads], known))
        results, shown = dict[str, ToolResult](), list[Json]()
        for (use, _), made in zip(calls.reads, read, strict=True):
            results[use.id], data = _present_read(use, made)
            shown.append(data)
        for use in calls.local:
            results[use.id] = await self._local.call(f"{self._key}:local:{places[use.id]}", use, self._reader.facts)
            if use.name != UNDERSTAND:
                shown.append(_said_as_data(use, results[use.id]))
        for use in calls.unknown:
            results[use.id] = _error(use, f"There is no tool named {use.name!r}.")
            shown.append(_said_as_data(use, results[use.id]))
        proposed = heard
        if heard.use_ids:
            await look_up(())  # what was read for them then is known again
        elif calls.writes:
            # as this reply left them
            setting = setting._replace(
                parts=parts_with_conditions(setting.parts, self._local.unmet, self._local.unexcused)
            )
            proposed, sourceless = self._propose(calls.writes, before, setting, known(), new_reads)
            if sourceless and await look_up(sourceless):
                proposed, _ = self._propose(calls.writes, before, setting, known(), new_reads)
            self._ctx.journal.decide_once(self._proposed_key, proposed.model_dump_json)
        return DispatchedReply(results, tuple(shown), proposed)

    @property
    def _proposed_key(self) -> str:
        return f"{self._key}:proposed"

    def _read_earlier(self) -> ReplyProposals:
        """What the reply proposed in an earlier attempt, so that nothing of it is decided again; empty if it was not
        heard.
        """
        stored = self._ctx.journal.of_earlier_attempt(self._proposed_key)
        return ReplyProposals.model_validate_json(stored) if stored is not None else ReplyProposals()

    def _sort(self, uses: Sequence[ToolUse], places: Mapping[str, int]) -> _Sorted:
        tools, local, unknown = self._ctx.toolbox.tools, list[ToolUse](), list[ToolUse]()
        reads, writes = list[tuple[ToolUse, Tool | None]](), list[tuple[ToolUse, Tool]]()
        for use in uses:
            tool = tools.get(use.name)
            if tool is not None and tool.tool_class not in WRITES:
                reads.append((use, tool))
            elif self._ctx.journal.of_earlier_attempt(self._read_key(places[use.id])) is not None:
                reads.append((use, None))
            elif tool is not None:
                writes.append((use, tool))
            elif self._local.has(use.name):
                local.append(use)
            else:
                unknown.append(use)
        return _Sorted(tuple(local), tuple(reads), tuple(writes), tuple(unknown))

    def _find_misled(self, reads: Sequence[ToolUse], known: Callable[[], KnownSources]) -> dict[str, str]:
        """By call id, why a read is not made: it would open an address that stands only in somebody's text, and so
        reveal what the address names.
        """
        opened = [(use, address) for use in reads for address in opened_addresses(use.input)]
        finder = SourceFinder(known()) if opened else None
        return {
            use.id: f"Not called: {address[:_SHOWN]} stands only in a text that somebody wrote, and the task does not "
            "say to open it."
            for use, address in opened
            if finder and finder.is_address_of_free_text(address)
        }

    def _read_key(self, place: int) -> str:
        return f"{self._key}:tool:{place}"

    async def _read_all(
        self, reads: Sequence[tuple[ToolUse, Tool | None]], places: Mapping[str, int], misled: Mapping[str, str]
    ) -> list[Fact | str]:
        """For each read its fact, or why it was not made; of equal ones only one is made.

        ``misled``: by call id, why a read is not made, unless its result is known already.
        """
        refs = [self._reader.reserve(use, tool) if tool else self._reader.restore(use) for use, tool in reads]
        firsts = {ref: place for place, ref in reversed(list(enumerate(refs)))}
        most = self._ctx.limits.tool_calls

        async def read(place: int) -> Fact | str:
            use, tool = reads[place]
            if tool is None:
                return self._reader.fact(refs[place]) or f"Not called: {use.name} is not there any more."
            if place >= most:
                self._reader.forget(refs[place])
                return f"Not called: one reply makes {most} reads at most."
            if use.id in misled and self._ctx.journal.get(self._read_key(places[use.id])) is None:
                self._reader.forget(refs[place])
                return misled[use.id]
            try:
                return await self._reader.read(self._read_key(places[use.id]), refs[place], use, tool)
            except CallRefused as why:
                self._reader.forget(refs[place])
                return str(why)

        made = await side_by_side(read(place) for place in sorted(firsts.values()))
        by_ref = dict(zip((refs[place] for place in sorted(firsts.values())), made, strict=True))
        return [by_ref[ref] if firsts[ref] == place else await read(place) for place, ref in enumerate(refs)]

    def _propose(
        self,
        writes: Sequence[tuple[ToolUse, Tool]],
        before: Sequence[Proposal],
        setting: ProposalContext,
        known: KnownSources,
        new_reads: Sequence[str],
    ) -> tuple[ReplyProposals, Sequence[PlannedCall]]:
        """The proposals of the reply, or what is wrong with them: one error holds them all. Beside it the reply's calls
        if an argument of one has no source.
        """
        proposals: list[Proposal] = []
        wrong: dict[str, str] = {}
        doubts: list[str] = []
        read, lacks_source = list[PlannedCall](), False
        finder = SourceFinder(known)
        called = [
            *((tool.name, use.input) for use, tool in writes),
            *((one.call.tool, one.call.arguments) for one in before),
        ]
        for use, tool in writes:
            try:
                if new_reads:
                    seen = ", ".join(dict.fromkeys(new_reads))
                    raise NotProposed(f"propose it once you have seen what {seen} gives")
                made = propose(use, tool, (*before, *proposals), setting)
                quote = next((part.quote for part in setting.parts if part.number == made.call.part), "")
                others = [one.quote for one in setting.parts if one.number != made.call.part]
                part = PartOfCall(quote, others, self._names_of_writes(tool.connection_id), called)
                sourced = finder.find(made.call, tool, part)
                read.append(made.call)
                lacks_source |= sourced.lacks_source
                if sourced.problems:
                    raise NotProposed("; ".join(sourced.problems))
                if fresh := [one for one in sourced.doubts if one not in setting.sent_back]:
                    doubts += fresh
                    raise NotProposed("; ".join(fresh))
                proposals.append(made._replace(call=sourced.call))
            except NotProposed as why:
                wrong[use.id] = f"Not made: {why}"
        if wrong:
            again = {one.use_id: PROPOSE_AGAIN for one in proposals}
            return ReplyProposals(wrong={**wrong, **again}, doubts=tuple(doubts)), read if lacks_source else ()
        return ReplyProposals(proposals=tuple(proposals)), ()

    def _names_of_writes(self, connection: str) -> list[str]:
        tools = self._ctx.toolbox.tools.values()
        return [one.name for one in tools if one.connection_id == connection and one.tool_class in WRITES]


def _present_read(use: ToolUse, made: Fact | str) -> tuple[ToolResult, Json]:
    """A read as the result of its call, and as data for a history that begins anew."""
    asked: dict[str, Json] = {"tool": use.name, "arguments": use.input}
    if isinstance(made, str):
        return _error(use, made), {**asked, "error": made}
    seen, note = shorten_result(made.result)
    said = " ".join(filter(None, (made.note, note)))
    told: dict[str, Json] = {"note": said} if said else {}
    text = f"{dumps(seen)}\n[{made.ref}{f': {said}' if said else ''}]"
    return ToolResult(use.id, text, is_error=not made.ok), {"ref": made.ref, **asked, "result": seen, **told}


def _error(use: ToolUse, why: str) -> ToolResult:
    return ToolResult(use.id, why, is_error=True)


def _said_as_data(use: ToolUse, result: ToolResult) -> Json:
    told: Json = result.content if result.is_error else loads(result.content)
    return {"tool": use.name, "arguments": use.input, "error" if result.is_error else "result": told}
