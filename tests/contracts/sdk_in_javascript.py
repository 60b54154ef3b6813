"""The official JavaScript SDK from npm, in a folder of its own that is made once and kept."""

import shutil
from pathlib import Path

from tests.contracts.sdk_of_0_3 import ROOT, UNREACHABLE, run

FOLDER = ROOT / ".javascript-sdk"
SCRIPT = FOLDER / "client.mjs"
SDK = "@a2a-js/sdk@1.3.0"
_MARK = FOLDER / "complete"
_SOURCE = Path(__file__).with_name("client_in_javascript.mjs")
_AWAY = (*UNREACHABLE, "econn", "enotfound", "etimedout", "eai_again", "network")


async def make_folder() -> str | None:
    """Make the folder once, and put the client beside the SDK; the reason if that cannot be done here."""
    if not shutil.which("node") or not shutil.which("npm"):
        return "node and npm are not installed"
    FOLDER.mkdir(exist_ok=True)
    shutil.copy(_SOURCE, SCRIPT)
    if _MARK.exists():
        return None
    code, out = await run("npm", "install", "--prefix", FOLDER, "--no-audit", "--no-fund", "--ignore-scripts", SDK)
    if code and any(sign in out.lower() for sign in _AWAY):
        return out.strip()[-300:]
    assert code == 0, out
    _MARK.touch()
    return None
