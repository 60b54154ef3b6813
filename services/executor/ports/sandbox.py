"""The sandbox that runs code written by a model, and the store of made tools."""

from collections.abc import Sequence
from typing import Protocol

from typing_extensions import override

from shared.contracts.made_tool import MadeTool
from shared.ports.store import StoreUnavailable


class CodeFailed(Exception):
    """The code raised an error, broke a limit, or returned something other than text. The short message says which."""


class SandboxUnavailable(Exception):
    """The sandbox cannot run anything now."""


class Sandbox(Protocol):
    """Runs a program in a fresh interpreter without files, network, processes or environment, within limits on time and
    memory.

    The event loop is not blocked, and nothing of one run is visible to the next.
    """

    async def run(self, program: str, inputs: Sequence[str]) -> str:
        """The text that the program's last expression returns; ``inputs`` are texts that it can read.

        Raises ``CodeFailed`` or ``SandboxUnavailable``.
        """


class MadeTools(Protocol):
    """A tenant's made tools. Every method may raise ``StoreUnavailable``."""

    async def list_versions(self, tenant: str) -> tuple[MadeTool, ...]:
        """All versions of all tools, including removed ones."""

    async def store_version(self, tenant: str, tool: MadeTool) -> MadeTool:
        """Stores the tool as the next version of its name, and returns it with that version. Storing the same code
        again returns the existing version.

        If the tenant has too many tools, nothing is stored; the returned version is the one it would have had.
        """


class NoSandbox(Sandbox):
    """A sandbox that never runs anything."""

    @override
    async def run(self, program: str, inputs: Sequence[str]) -> str:
        raise SandboxUnavailable("this process runs no code")


class NoMadeTools(MadeTools):
    """A store that keeps no made tools."""

    @override
    async def list_versions(self, tenant: str) -> tuple[MadeTool, ...]:
        return ()

    @override
    async def store_version(self, tenant: str, tool: MadeTool) -> MadeTool:
        raise StoreUnavailable("no tools are kept here")
