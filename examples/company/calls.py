"""One tool call: its faults, its arguments, its work, and what came of it in no protocol's words."""

from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple

import anyio
import structlog
from pydantic import JsonValue, ValidationError

from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.catalogue import TOOLS
from examples.company.drift import rename_columns
from examples.company.faults import ToolFault, ToolFaults
from examples.company.hang_up import wait_if_connected
from examples.company.lost_reply import lose_reply
from examples.company.toolbox import AnyTool
from shared.domain.exact_json import Json

_CUT_SHORT = "The call was cut short."

log = structlog.get_logger()


class ToolOutcome(StrEnum):
    DONE = "done"
    REFUSED = "refused"
    REPEATED = "repeated"  # refused, because it happens once only
    MALFORMED = "malformed"  # there is no such tool, or its arguments are wrong


class CallReply(NamedTuple):
    """What came of a call: the tool's answer if it is done, else a sentence for people."""

    outcome: ToolOutcome
    content: Json


class ToolCaller:
    """Runs the tools over the books, one effect at a time."""

    def __init__(self, books: CompanyBooks, faults: ToolFaults) -> None:
        self._books = books
        self._faults = faults
        books.renamed = faults.renamed

    async def run(self, name: str, raw: Mapping[str, JsonValue], key: str | None = None) -> CallReply:
        """One call with its faults; whatever is wrong with it comes back as a sentence.

        ``key``: what is done under one idempotency key is done once.
        """
        tool = TOOLS.get(name)
        if tool is None:
            return CallReply(ToolOutcome.MALFORMED, f"There is no tool {name}.")
        fault = self._faults.take_fault(name)
        if fault.ignore_disconnect:
            return await self._run_shielded(tool, raw, key, fault)
        if fault.delay_before_ms and not await wait_if_connected(fault.delay_before_ms / 1000):
            return CallReply(ToolOutcome.REFUSED, _CUT_SHORT)
        return await self._run_with_fault(tool, raw, key, fault)

    async def _run_shielded(
        self, tool: AnyTool, raw: Mapping[str, JsonValue], key: str | None, fault: ToolFault
    ) -> CallReply:
        reply = CallReply(ToolOutcome.REFUSED, _CUT_SHORT)
        with anyio.CancelScope(shield=True):
            await anyio.sleep(fault.delay_before_ms / 1000)
            reply = await self._run_with_fault(tool, raw, key, fault)
        return reply  # noqa: RET504 - the type checker holds that the scope may swallow

    async def _run_with_fault(
        self, tool: AnyTool, raw: Mapping[str, JsonValue], key: str | None, fault: ToolFault
    ) -> CallReply:
        self._books.pretends = fault.lie
        reply = CallReply(ToolOutcome.REFUSED, fault.fail) if fault.fail else self._call_tool(tool, raw, key)
        self._books.pretends = False
        if fault.twice and reply.outcome is ToolOutcome.DONE:
            self._call_tool(tool, raw, None)
        if fault.delay_after_ms:
            await anyio.sleep(fault.delay_after_ms / 1000)
        if fault.lose_reply:
            lose_reply()
        return reply

    def _call_tool(self, tool: AnyTool, raw: Mapping[str, JsonValue], key: str | None) -> CallReply:
        try:
            return CallReply(ToolOutcome.DONE, rename_columns(tool.call(self._books, raw, key), self._faults.renamed))
        except ToolRefused as refusal:
            log.info("call_refused", tool=tool.name, reason=str(refusal))
            return CallReply(
                ToolOutcome.REPEATED if isinstance(refusal, AlreadyDone) else ToolOutcome.REFUSED, str(refusal)
            )
        except ValidationError as error:
            return CallReply(ToolOutcome.MALFORMED, _describe_bad_arguments(tool.name, error))


def _describe_bad_arguments(tool: str, error: ValidationError) -> str:
    faults = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in error.errors())
    return f"Bad arguments for {tool}: {faults}."
