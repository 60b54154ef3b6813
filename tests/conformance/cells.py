"""Who speaks to the replicas, in which version, over which binding."""

from typing import NamedTuple


class Cell(NamedTuple):
    """``who``: ``wire`` is a test's own words, ``new`` and ``old`` the official clients of 1.x and of the 0.3 line."""

    version: str
    binding: str
    who: str

    @property
    def name(self) -> str:
        return f"{self.version}-{self.binding}-{self.who}"


TRANSPORTS = {"jsonrpc": "JSONRPC", "rest": "HTTP+JSON"}
WIRE = tuple(Cell("1.0", binding, "wire") for binding in TRANSPORTS)
OF_1_0 = (*WIRE, *(Cell("1.0", binding, "new") for binding in TRANSPORTS))
OF_0_3 = tuple(Cell("0.3", binding, who) for who in ("new", "old") for binding in TRANSPORTS)
