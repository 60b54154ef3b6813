"""The reads of a conversation: each is checked for permission and against the rules, made once, and kept as a fact."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from services.executor.core.reads.recovering import read_with_recovery
from services.executor.core.reads.server_call import with_expected_names
from services.executor.core.session.context import DispatchRefused, TurnContext, require_tool_permitted
from services.executor.core.session.ledger import classify_read_outcome, list_past_calls_of_session, select_rule_fields
from services.executor.core.session.recorded_answers import request_recorded_verdict
from services.executor.core.session.values import Fact
from services.executor.core.states.machine import PERMITTED_CLASSES, Failed
from services.executor.core.tools.schema_drift import SchemaRenames
from services.executor.core.tools.toolbox import find_argument_problems, has_tool_rules
from services.executor.ports.services import PolicyUnavailable
from services.executor.ports.tools import Tool
from shared.contracts.allowance import AllowanceRequest, Allowances, OfferedTool, ToolAllowance
from shared.contracts.policy import CallContext, CallOutcome, EvaluateRequest, PastCall, Verdict
from shared.domain.exact_json import JsonObject, dumps, loads_object
from shared.domain.words import FsmState
from shared.ports.models import ToolUse

_READ_CALL_ID = "read"
_FIELDS_WITHOUT_OTHER_RULES = {"rules": (), "text_rules": (), "text_default": "allow"}


async def fetch_allowances(ctx: TurnContext) -> tuple[ToolAllowance, ...]:
    """What the rules about tools say of each tool that reads; fetched once in a turn as a journal step, since other
    tasks of the session may have made calls. Raises ``Failed`` if the service does not answer or a policy is invalid.
    """
    if not has_tool_rules(ctx.policies):
        return ()

    async def ask() -> str:
        readable = [
            tool for tool in ctx.toolbox.tools.values() if tool.tool_class in PERMITTED_CLASSES[FsmState.ASSESS]
        ]
        request = AllowanceRequest(
            policies=ctx.policies,
            tools=tuple(OfferedTool(tool=tool.name, tool_class=tool.tool_class) for tool in readable),
            history=list_past_calls_of_session(ctx.session.calls, ctx.record.task_id),
        )
        try:
            return (await ctx.ports.policy.get_allowances(request)).to_json()
        except PolicyUnavailable as error:
            raise Failed(f"no rules for tools, so none was called: {error}", "policy_service") from error

    allowances = Allowances.from_json(await ctx.journal.run_step(f"talk:{ctx.turn.turn_id}:rules", "verdict", ask))
    if allowances.problems:
        problems = "; ".join(f"{problem.rule_id}: {problem.message}" for problem in allowances.problems)
        raise Failed(f"policy invalid, so no tool was called: {problems}")
    return allowances.tools


_MOST_EQUAL_READS = 2  # of one read: before the task's writes, and after them


class CallRefused(Exception):
    """A call that was not made; the message tells the model why."""


class TaskReader:
    """Makes the reads of one task and keeps their results as facts, numbered r1, r2 and so on as asked."""

    def __init__(
        self,
        ctx: TurnContext,
        corrections: SchemaRenames,
        allowances: Iterable[ToolAllowance],
        earlier_facts: Iterable[Fact],
        earlier_calls: Iterable[PastCall],
    ) -> None:
        """``allowances``: of the tools that a rule is about.

        ``earlier_facts``: those of earlier attempts, from their last checkpoint. ``earlier_calls``: the reads of an
        orchestrator that worked on the task before; rules about reads count them.
        """
        self._ctx = ctx
        self._allowance_by_tool = {allowance.tool: allowance for allowance in allowances}
        self._earlier_facts = {(fact.tool, fact.arguments_json): fact for fact in earlier_facts}
        self._facts: dict[str, Fact] = {}
        self._references_given = 0
        self._outdated_refs: set[str] = set()  # references of what was read before the last writes
        self._calls: list[PastCall] = [*earlier_calls]
        self._read_counts: Counter[tuple[str, str, str]] = Counter()
        self.corrections = corrections

    @property
    def facts(self) -> tuple[Fact, ...]:
        return tuple(fact for fact in self._facts.values() if fact.result_json)

    @property
    def outdated_facts(self) -> tuple[Fact, ...]:
        """The facts that were read before the task's last writes, and not again since."""
        current_reads = {fact.call for fact in self.facts if fact.ref not in self._outdated_refs}
        return tuple(fact for fact in self.facts if fact.ref in self._outdated_refs and fact.call not in current_reads)

    @property
    def calls_made(self) -> tuple[PastCall, ...]:
        """The calls made so far, which rules about reads count."""
        return tuple(self._calls)

    @property
    def repeated_reads(self) -> int:
        """How many reads had exactly the arguments of an earlier one."""
        return self._read_counts.total() - len(self._read_counts)

    def adopt_process(self, ctx: TurnContext) -> None:
        """Takes the context with the task's process; facts read before now show the field names that it expects."""
        self._ctx = ctx
        for ref, fact in self._facts.items():
            content, added_note = with_expected_names(ctx, fact) if fact.ok and fact.result_json else (None, "")
            if added_note:
                note = " ".join(filter(None, (fact.note, added_note)))
                self._facts[ref] = fact.model_copy(update={"result_json": dumps(content), "note": note})

    def find_current_fact(self, use: ToolUse, tool: Tool) -> Fact | None:
        """The fact of the same read, if it was made since the last writes; else None."""
        same_reads = self._find_facts_of_same_read(use, tool)
        return next((fact for fact in same_reads if fact.result_json and fact.ref not in self._outdated_refs), None)

    def mark_outdated_by_writes(self, calls: Iterable[PastCall]) -> None:
        """Marks all facts as older than these writes, so that reads are made again; adds the writes to the calls."""
        self._outdated_refs.update(self._facts)
        self._calls.extend(calls)

    def reserve_reference(self, use: ToolUse, tool: Tool, *, must_be_current: bool = False) -> str:
        """The reference for a read that is about to be made, in the order of the model's calls; that of the same read
        if it was made before. With ``must_be_current``, a read from before the last writes does not count, so that the
        model keeps both.
        """
        same_reads = self._find_facts_of_same_read(use, tool)
        for fact in same_reads:
            if not must_be_current or fact.ref not in self._outdated_refs:
                return fact.ref
        self._references_given += 1
        ref = f"r{self._references_given}"
        self._facts[ref] = _build_reserved_fact(ref, use, tool)
        return ref

    def restore_reference(self, use: ToolUse) -> str:
        """The earlier attempt's reference of a read whose tool is gone or may change things by now; else a new one."""
        self._references_given += 1
        fact = self._earlier_facts.get((use.name, dumps(use.input)))
        if fact is None:
            return f"r{self._references_given}"
        self._facts[fact.ref] = fact
        return fact.ref

    def find_barring_rule(self, tool: str) -> str | None:
        """The rule, with its reason, that forbids every call of the tool, whatever came before; else None."""
        bars = self._allowance_by_tool[tool].bars if tool in self._allowance_by_tool else ()
        return f"{bars[0].rule_id}: {bars[0].reason}" if bars else None

    def find_fact(self, ref: str) -> Fact | None:
        """The fact of that reference; None if nothing was read under it."""
        return self._facts.get(ref)

    async def read_or_reuse(self, key: str, ref: str, use: ToolUse, tool: Tool, *, by_machine: bool = False) -> Fact:
        """Makes one read, unless its result is known, and returns its fact.

        Raises ``CallRefused``, or ``Failed`` if the server does not answer. ``by_machine``: code asked for it, and no
        model; a model that asks for the same later gets this fact, which then counts as read by the model.
        """
        self._read_counts[_key_of_call(use, tool)] += 1
        current_fact = self.find_current_fact(use, tool)
        if current_fact is not None:
            return current_fact if by_machine or not current_fact.by_machine else self._mark_read_by_model(current_fact)
        if self._ctx.journal.get(key) is None:  # what was read is known, whatever its server takes by now
            self._refuse_forbidden(use, tool)
        call_index = len(self._calls)
        self._calls.append(PastCall(tool=tool.name, outcome=CallOutcome.UNKNOWN, fields=select_rule_fields(use.input)))
        await self._refuse_by_rule(key, use, tool, call_index)
        reading = await read_with_recovery(self._ctx, key, tool, use.input, self.corrections)
        self.corrections = self.corrections.with_renames(tool, use.input, reading.learned)
        fact = _build_reserved_fact(ref, use, tool).model_copy(
            update={
                "result_json": dumps(reading.answer.content),
                "ok": reading.is_source_of_facts,
                "note": reading.note,
                "by_machine": by_machine,
                "again": by_machine and any(other.ref != ref for other in self._find_facts_of_same_read(use, tool)),
            }
        )
        if ref in self._outdated_refs:  # the latest sight is the last of the facts
            self._outdated_refs.discard(ref)
            del self._facts[ref]
        self._facts[ref] = fact
        self._set_outcome(call_index, classify_read_outcome(fact))
        return fact

    def _mark_read_by_model(self, fact: Fact) -> Fact:
        """The fact that code had read, now marked as read by the model; its call is counted."""
        marked_fact = fact.model_copy(update={"by_machine": False})
        self._facts[fact.ref] = marked_fact
        fields = select_rule_fields(loads_object(fact.arguments_json))
        self._calls.append(PastCall(tool=fact.tool, outcome=classify_read_outcome(marked_fact), fields=fields))
        return marked_fact

    def drop_reference(self, ref: str) -> None:
        """Drops the reference of a read that was not made after all; no other read gets it."""
        if ref in self._facts and not self._facts[ref].result_json:
            del self._facts[ref]

    def record_failed_repetition(self, ref: str, reason: str) -> None:
        """Records under ``ref`` that a read could not be repeated: ``ok`` is false, and ``reason`` the result, so that
        the old one no longer counts. If the read was never made before, the reference is dropped.
        """
        key = self._facts[ref].call
        if sum(fact.call == key for fact in self._facts.values()) < _MOST_EQUAL_READS:
            self.drop_reference(ref)
        else:
            update = {"result_json": dumps(reason), "ok": False, "by_machine": True, "again": True}
            self._facts[ref] = self._facts[ref].model_copy(update=update)

    def _refuse_forbidden(self, use: ToolUse, tool: Tool) -> None:
        try:
            require_tool_permitted(FsmState.ASSESS, tool)
        except DispatchRefused as refusal:
            self._ctx.journal.add_event("tool", tool=use.name, state=FsmState.ASSESS.value, refused=str(refusal))
            raise CallRefused(str(refusal)) from refusal
        if problems := find_argument_problems(use.input, tool):
            raise CallRefused(f"Not called, the arguments do not fit: {problems}")

    async def _refuse_by_rule(self, key: str, use: ToolUse, tool: Tool, index: int) -> None:
        refusal = await self._find_refusal(key, tool, use.input, self._calls[:index])
        if refusal is not None:
            self._ctx.journal.add_event("tool", tool=use.name, state=FsmState.ASSESS.value, refused=refusal)
            self._set_outcome(index, CallOutcome.UNSENT)
            raise CallRefused(f"Refused by policy rule {refusal}. It was not called.")

    async def _find_refusal(self, key: str, tool: Tool, arguments: JsonObject, calls: Sequence[PastCall]) -> str | None:
        """Why policy forbids the call, ``rule id: reason``, else None; raises ``Failed`` if the service cannot say.

        ``key``: the read's journal step; ``calls``: this task's so far, also those under way.
        """
        allowance, journal = self._allowance_by_tool.get(tool.name), self._ctx.journal
        refusal = journal.get(f"{key}:barred")
        if allowance is None or refusal is not None or journal.get(key) is not None:
            return refusal  # what an earlier turn was refused or has read stays so, whatever was called since
        prohibition = allowance.find_prohibition(calls)
        if prohibition is not None:
            journal.add_entry(f"{key}:barred", "verdict", f"{prohibition.rule_id}: {prohibition.reason}")
            return f"{prohibition.rule_id}: {prohibition.reason}"
        return await self._ask_why_forbidden(key, tool, arguments, calls) if allowance.ask else None

    async def _ask_why_forbidden(
        self, key: str, tool: Tool, arguments: JsonObject, calls: Sequence[PastCall]
    ) -> str | None:
        """Why policy forbids this call by its arguments, from a verdict on this call alone; None if it does not."""
        ctx = self._ctx
        call = CallContext(
            call_id=_READ_CALL_ID, tool=tool.name, fields=select_rule_fields(arguments), tool_class=tool.tool_class
        )

        async def ask() -> str:
            request = EvaluateRequest(
                policies=tuple(policy.model_copy(update=_FIELDS_WITHOUT_OTHER_RULES) for policy in ctx.policies),
                calls=(call,),
                history=(*list_past_calls_of_session(ctx.session.calls, ctx.record.task_id), *calls),
                binding=True,
            )
            try:
                return (await request_recorded_verdict(ctx.ports.policy, ctx.journal, request)).to_json()
            except PolicyUnavailable as error:
                reason = f"no policy verdict on {tool.name}, so it was not called: {error}"
                raise Failed(reason, "policy_service") from error

        verdict = Verdict.from_json(await ctx.journal.run_step(f"{key}:rule", "verdict", ask))
        return next((refusal.sentence for refusal in verdict.refusals), None)

    def _set_outcome(self, index: int, outcome: CallOutcome) -> None:
        self._calls[index] = self._calls[index].model_copy(update={"outcome": outcome})

    def _find_facts_of_same_read(self, use: ToolUse, tool: Tool) -> Iterator[Fact]:
        key = _key_of_call(use, tool)
        return (fact for fact in self._facts.values() if fact.call == key)


def _build_reserved_fact(ref: str, use: ToolUse, tool: Tool) -> Fact:
    connection, name, arguments = _key_of_call(use, tool)
    return Fact(ref=ref, connection_id=connection, tool=name, arguments_json=arguments, result_json="")


def _key_of_call(use: ToolUse, tool: Tool) -> tuple[str, str, str]:
    return (tool.connection_id, tool.name, dumps(use.input))
