"""The official JavaScript SDK from npm, in a folder of its own that is made once and kept."""

import asyncio
import fcntl
import shutil
from pathlib import Path

from tests.contracts.sdk_of_0_3 import ROOT, UNREACHABLE, run

FOLDER = ROOT / ".javascript-sdk"
SCRIPT = FOLDER / "client.mjs"
_MARK = FOLDER / "complete"
_SOURCE = Path(__file__).with_name("javascript")  # the client, and the SDK that it needs, locked by hashes
_AWAY = (*UNREACHABLE, "econn", "enotfound", "etimedout", "eai_again", "network", "cert")


async def make_folder() -> str | None:
    """Make the folder once for each lock, and put the client beside the SDK; the reason if that cannot be done here."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not installed"
    FOLDER.mkdir(exist_ok=True)
    with (FOLDER / "making").open("w") as making:
        await asyncio.to_thread(fcntl.flock, making, fcntl.LOCK_EX)  # another worker's test may need it, too
        return await _fill_folder()


async def _fill_folder() -> str | None:
    shutil.copytree(_SOURCE, FOLDER, dirs_exist_ok=True)
    lock = (_SOURCE / "package-lock.json").read_text()
    if _MARK.exists() and _MARK.read_text() == lock:
        return None
    code, out = await run("npm", "ci", "--prefix", FOLDER, "--no-audit", "--no-fund", "--ignore-scripts")
    if code and any(sign in out.lower() for sign in _AWAY):
        return out.strip()[-300:]
    assert code == 0, out
    _MARK.write_text(lock)
    return None
