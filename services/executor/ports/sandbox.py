"""The sandbox that runs code written by a model, and the store of made tools."""

from collections.abc import Sequence
from typing import Protocol

from typing_extensions import override

from shared.contracts.made_tool import MadeTool
from shared.ports.store import StoreUnavailable


class CodeFailed(Exception):
    """The code raised, broke a limit, or answered with anything but a text. The message is short and says which."""


class SandboxUnavailable(Exception):
    """The sandbox cannot run anything now."""


class Sandbox(Protocol):
    """Runs a program in a fresh interpreter: no files, network, processes, environment; bounded in all it uses.

    The event loop goes on meanwhile, and nothing stays of one run for the next.
    """

    async def run(self, program: str, inputs: Sequence[str]) -> str:
        """The text that the program's last expression gives; ``inputs`` is a list of texts to it.

        Raises ``CodeFailed`` or ``SandboxUnavailable``.
        """


class MadeTools(Protocol):
    """A tenant's made tools. Every method may raise ``StoreUnavailable``."""

    async def all(self, tenant: str) -> tuple[MadeTool, ...]:
        """Every version of every tool, the removed ones too."""

    async def keep(self, tenant: str, tool: MadeTool) -> MadeTool:
        """Keep it as the next version of its name, and return it so; kept again, it is the version it was.

        Where the tenant has too many it stays unkept, with the version that it would have had.
        """


class NoSandbox(Sandbox):
    """A sandbox that never runs anything."""

    @override
    async def run(self, program: str, inputs: Sequence[str]) -> str:
        raise SandboxUnavailable("this process runs no code")


class NoMadeTools(MadeTools):
    """A store that keeps no made tools."""

    @override
    async def all(self, tenant: str) -> tuple[MadeTool, ...]:
        return ()

    @override
    async def keep(self, tenant: str, tool: MadeTool) -> MadeTool:
        raise StoreUnavailable("no tools are kept here")
