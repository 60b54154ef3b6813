"""One tool call: its faults, its arguments, its work, and the answer in MCP's words."""

from collections.abc import Mapping

import anyio
import structlog
from mcp.types import CallToolResult, TextContent
from pydantic import JsonValue, ValidationError

from examples.company.books import Books, Refused
from examples.company.catalogue import TOOLS
from examples.company.faults import Fault, Faults
from examples.company.lost_reply import lose_reply
from examples.company.toolbox import AnyTool
from shared.domain.exact_json import dumps

log = structlog.get_logger()


class Calls:
    """Runs the tools over the books, one effect at a time."""

    def __init__(self, books: Books, faults: Faults) -> None:
        self._books = books
        self._faults = faults

    async def run(self, name: str, raw: Mapping[str, JsonValue]) -> CallToolResult:
        """The answer as JSON text; a refusal, a bad argument and an unknown tool are errors with a sentence."""
        tool = TOOLS.get(name)
        if tool is None:
            return _error(f"There is no tool {name}.")
        fault = self._faults.take(name)
        if not fault.ignore_disconnect:
            return await self._with_fault(tool, raw, fault)
        return await self._to_the_end(tool, raw, fault)

    async def _to_the_end(self, tool: AnyTool, raw: Mapping[str, JsonValue], fault: Fault) -> CallToolResult:
        answer = _error("The call was cut short.")
        with anyio.CancelScope(shield=True):
            answer = await self._with_fault(tool, raw, fault)
        return answer  # noqa: RET504 - the type checker holds that the scope may swallow

    async def _with_fault(self, tool: AnyTool, raw: Mapping[str, JsonValue], fault: Fault) -> CallToolResult:
        if fault.delay_before_ms:
            await anyio.sleep(fault.delay_before_ms / 1000)
        answer = _error(fault.fail) if fault.fail else self._answer(tool, raw)
        if fault.delay_after_ms:
            await anyio.sleep(fault.delay_after_ms / 1000)
        if fault.lose_reply:
            lose_reply()
        return answer

    def _answer(self, tool: AnyTool, raw: Mapping[str, JsonValue]) -> CallToolResult:
        try:
            result = tool.call(self._books, raw)
        except Refused as refusal:
            log.info("call_refused", tool=tool.name, reason=str(refusal))
            return _error(str(refusal))
        except ValidationError as error:
            return _error(_sentence(tool.name, error))
        return CallToolResult(content=[TextContent(text=dumps(result))])


def _sentence(tool: str, error: ValidationError) -> str:
    faults = "; ".join(f"{'.'.join(map(str, fault['loc'])) or 'arguments'}: {fault['msg']}" for fault in error.errors())
    return f"Bad arguments for {tool}: {faults}."


def _error(sentence: str) -> CallToolResult:
    return CallToolResult(content=[TextContent(text=sentence)], is_error=True)
