"""A whole stack whose tool server demands an OAuth token: the work is done, and no secret is found anywhere."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from examples.company import ledger
from examples.company.protocols import ToolProtocol
from shared.domain.exact_json import Json, JsonObject, loads_object
from shared.domain.words import TaskState
from tests.demanding import Guarded, TokenServer, guarded_company
from tests.doubles.otlp_receiver import receiving
from tests.e2e.archived import archived_tasks
from tests.e2e.whole_stack import TENANT, WholeStack, whole_stack
from tests.serving import serving

WRONG, RIGHT, TOKEN = "the-wrong-client-secret", "the-right-client-secret", "the-access-token-of-the-erp"
OPERATOR: JsonObject = {"principal": {"id": "olga", "roles": ["operator"]}}
TASK = "Update the phone of employee EMP-447 to +1 555 4200."
RECORD = loads_object(Path("cli/defaults/company_tenant.json").read_text())


@pytest.mark.long
@pytest.mark.promise("connections.secret_kept", "tenant.record_next_turn")
async def test_a_task_is_done_with_a_credential_that_is_found_nowhere_afterwards() -> None:
    """Refused first, with a server that repeats what it was sent; then the secret is replaced in its file.

    Looked through are Redis's own file of every command, the logs of all processes, their traces, and the archive,
    decrypted.
    """
    tokens = TokenServer("purple", RIGHT, lambda _: TOKEN)
    with tempfile.TemporaryDirectory(prefix="pa-") as name, receiving() as traces:
        folder = Path(name)
        secret = folder / "secrets" / TENANT / "erp"
        secret.parent.mkdir(parents=True)
        secret.write_text(WRONG)
        given = {"CREDENTIALS_DIR": str(folder / "secrets"), "TENANT_FILE": _empty(folder)}
        given |= {"OTEL_EXPORTER_OTLP_ENDPOINT": traces.url}
        async with (
            serving(tokens.app) as token_url,
            guarded_company(folder, ToolProtocol.MCP, f"Bearer {TOKEN}") as erp,
            whole_stack(1, folder / "s", **given) as stack,
        ):
            await _store(stack, erp, token_url)
            await stack.send(TASK, "refused")
            secret.write_text(RIGHT)
            await stack.send(TASK, "done")
            refused, done = await stack.record("refused"), await stack.record("done")
            archived = await archived_tasks(folder / "s", 2)
        kept = b"".join((*_contents(folder / "s"), *archived.values(), traces.raw))
        written = ledger.count(folder / "company.db", "update_employee_phone")
    assert (refused.state, done.state, written) == (TaskState.FAILED, TaskState.COMPLETED, 1)
    assert "no token for the credential file:erp" in str(refused.reason)
    assert set(erp.door.shown) == {f"Bearer {TOKEN}"}
    assert b"file:erp" in kept
    assert b"execute_tool update_employee_phone" in traces.raw
    assert [one for one in (WRONG, RIGHT, TOKEN) if one.encode() in kept] == []


def _contents(folder: Path) -> Iterator[bytes]:
    return (path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def _store(stack: WholeStack, erp: Guarded, token_url: str) -> None:
    connections = RECORD["connections"]
    assert isinstance(connections, list)
    assert isinstance(connections[0], dict)
    oauth: Json = {
        "type": "oauth_client_credentials",
        "from": "file:erp",
        "token_url": f"{token_url}/token",
        "client_id": "purple",
    }
    named: Json = [{**connections[0], "url": erp.url, "credential": oauth}]
    body = {"record": {**RECORD, "connections": named, "version": "0"}, "metadata": OPERATOR}
    stored = await stack.http.put(f"/tenants/{TENANT}/record", json=body)
    assert stored.status_code == 200, stored.text


def _empty(folder: Path) -> str:
    file = folder / "tenant.json"
    file.write_text('{"id": "default"}')
    return str(file)
