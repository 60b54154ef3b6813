"""The official JavaScript client, over both bindings, against two replicas with everything on. Those in Python are
speakers of the other tests.
"""

import json

import pytest

from tests.conformance.replicas import HOOKS, Replicas
from tests.contracts import sdk_in_javascript
from tests.contracts.sdk_of_0_3 import run

pytestmark = pytest.mark.asyncio(loop_scope="module")
_HOOK = f"https://{HOOKS}/hook"


@pytest.mark.promise("gateway.official_clients")
@pytest.mark.parametrize("binding", ["JSONRPC", pytest.param("HTTP+JSON", marks=pytest.mark.long)])
async def test_the_javascript_client(full: Replicas, binding: str) -> None:
    if reason := await sdk_in_javascript.make_folder():
        pytest.skip(f"the JavaScript SDK could not be installed: {reason}")
    code, out = await run("node", sdk_in_javascript.SCRIPT, full.url, binding, full.tokens["casey"], _HOOK)
    assert code == 0, out
    told = json.loads(out)
    assert told["version"] == "1.0"
    assert [state.removeprefix("TASK_STATE_") for state in told["states"]] == [
        "COMPLETED",
        "COMPLETED",
        "INPUT_REQUIRED",
        "CANCELED",
    ]
    assert told["streamed"] == told["followed"] == ["task", "statusUpdate"]
    assert (told["listed"], told["webhooks"]) == ([True], [_HOOK])
    assert told["unknown"].endswith("TaskNotFoundError")
