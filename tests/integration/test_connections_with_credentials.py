"""Tool servers that demand a credential: each kind of it, over MCP and over the REST bridge, on real sockets."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from examples.company.protocols import ToolProtocol
from services.executor.adapters.credentials import open_credentials
from services.executor.ports.tools import CredentialHeader, ToolServers, ToolSilent, ToolUnreachable
from shared.contracts.tenant import Connection, TenantRecord
from shared.domain.exact_json import Json, JsonObject
from shared.domain.words import TaskState
from tests.demanding import Demanding, Guarded, TokenServer, guarded_company, showing
from tests.legacy_bridge import LegacyBridge, bridge
from tests.serving import serving
from tests.unit.executor.stage import Stage

SECRET = "s3cr3t-of-the-erp"
BOTH = pytest.mark.parametrize("protocol", [ToolProtocol.MCP, ToolProtocol.REST])
MCP_AND_LONG = pytest.mark.parametrize(
    "protocol", [ToolProtocol.MCP, pytest.param(ToolProtocol.REST, marks=pytest.mark.long)]
)
REFERENCE = "file:erp-token"
BEARER = {"type": "bearer", "from": REFERENCE}
FIRST, SECOND = "Bearer token-number-1", "Bearer token-number-2"


def kept(folder: Path, secret: str, name: str = "erp-token") -> Path:
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(secret)
    return folder


class WithTokens(NamedTuple):
    """The example company behind a door, and a connection to it that shows tokens of a token server."""

    erp: Guarded
    servers: ToolServers
    connection: Connection


@asynccontextmanager
async def with_tokens(
    folder: Path, protocol: ToolProtocol, tokens: TokenServer, value: str, **more: str
) -> AsyncIterator[WithTokens]:
    """The door is passed with that value; what a connection says more of its tokens is in ``more``."""
    async with (
        serving(tokens.app) as url,
        guarded_company(folder, protocol, value) as erp,
        showing(kept(folder / "secrets", tokens.secret)) as servers,
    ):
        given = {"type": "oauth_client_credentials", "token_url": f"{url}/token", "client_id": tokens.client_id}
        yield WithTokens(erp, servers, erp.connection(**given, **{"from": REFERENCE}, **more))


def _tokens(client_id: str = "purple", secret: str = SECRET, life: object = 3600) -> TokenServer:
    return TokenServer(client_id, secret, lambda number: f"token-number-{number}", life)


async def read(servers: ToolServers, connection: Connection) -> bool:
    """Whether the server showed the record that it was asked for."""
    answer = await servers.call(connection, "get_expense", {"expense_id": "EXP-1001"}, 5)
    return "EXP-1001" in str(answer.content) and not answer.is_error


@BOTH
@pytest.mark.promise("connections.credential_kinds")
@pytest.mark.parametrize(
    ("kind", "header", "value"), [("bearer", "authorization", f"Bearer {SECRET}"), ("header", "x-api-key", SECRET)]
)
async def test_a_server_gets_its_header(
    tmp_path: Path, protocol: ToolProtocol, kind: str, header: str, value: str
) -> None:
    """Discovery, calls and the end of the session alike; the file's last line break is not part of the secret."""
    given = {"type": kind, "from": REFERENCE} | ({"header": "X-Api-Key"} if kind == "header" else {})
    secrets = kept(tmp_path / "secrets", f"{SECRET}\n")
    async with guarded_company(tmp_path, protocol, value, header) as erp, showing(secrets) as servers:
        tools = await servers.discover(erp.connection(**given))
        assert await read(servers, erp.connection(**given))
    assert len(tools) > 5
    assert set(erp.door.shown) == {value}


@MCP_AND_LONG
@pytest.mark.promise("connections.credential_kinds")
@pytest.mark.parametrize("auth", ["basic", "post"])
async def test_an_oauth_token_is_had_once_for_many_callers(tmp_path: Path, protocol: ToolProtocol, auth: str) -> None:
    """The client's secret goes to the token endpoint, the token to the server, and neither anywhere else."""
    tokens = _tokens("purple:client", "s&cr+t: of the client")
    asked = {"scope": "erp.write", "audience": "erp", "client_auth": auth}
    async with with_tokens(tmp_path, protocol, tokens, FIRST, **asked) as (erp, servers, connection):
        await servers.discover(connection)
        async with asyncio.TaskGroup() as group:
            for _ in range(20):
                group.create_task(read(servers, connection))
    assert set(erp.door.shown) == {FIRST}
    assert [(form["grant_type"], form["scope"], form["audience"]) for form in tokens.forms] == [
        ("client_credentials", "erp.write", "erp")
    ]


@BOTH
@pytest.mark.promise("connections.refreshed_once")
async def test_a_refused_token_is_replaced_once_for_all_who_hold_it(tmp_path: Path, protocol: ToolProtocol) -> None:
    """The server forgets the first token: each call is sent once more with the second, and nobody asks for a third."""
    tokens = _tokens()
    async with with_tokens(tmp_path, protocol, tokens, FIRST) as (erp, servers, connection):
        await servers.discover(connection)
        erp.door.shown.clear()
        erp.door.value = SECOND
        async with asyncio.TaskGroup() as group:
            answers = [group.create_task(read(servers, connection)) for _ in range(10)]
        assert all(answer.result() for answer in answers)
    assert len(tokens.forms) == 2
    assert erp.door.shown.count(FIRST) <= 10
    assert erp.door.accepted == 10


@MCP_AND_LONG
@pytest.mark.promise("connections.refreshed_once")
async def test_a_token_refused_again_ends_the_call_without_a_third_try(tmp_path: Path, protocol: ToolProtocol) -> None:
    tokens = _tokens()
    async with with_tokens(tmp_path, protocol, tokens, "Bearer another") as (erp, servers, connection):
        with pytest.raises(ToolUnreachable, match=r"does not take the credential file:erp-token \(HTTP 401\)") as told:
            await read(servers, connection)
    assert len(tokens.forms) == 2
    assert set(erp.door.shown) == {FIRST, SECOND}
    assert "token-number" not in str(told.value)


@pytest.mark.promise("connections.refreshed_once")
async def test_a_token_is_replaced_shortly_before_it_expires(tmp_path: Path) -> None:
    """A token of one second is good for nine tenths of it; some servers write the number as a text."""
    tokens = _tokens(life="1")
    async with with_tokens(tmp_path, ToolProtocol.REST, tokens, FIRST) as (erp, servers, connection):
        await servers.discover(connection)
        async with asyncio.timeout(10):
            while len(tokens.forms) < 2:
                erp.door.value = f"Bearer token-number-{len(tokens.forms) + 1}"
                await _tried(servers, connection)
    assert len(tokens.forms) == 2


@MCP_AND_LONG
@pytest.mark.promise("connections.rotation")
async def test_a_secret_replaced_in_its_file_is_used_from_the_next_call(tmp_path: Path, protocol: ToolProtocol) -> None:
    """Also while a session with the server is open, and by a rename as Kubernetes does it."""
    secrets = kept(tmp_path / "secrets", "the-old-secret")
    async with guarded_company(tmp_path, protocol, "Bearer the-old-secret") as erp, showing(secrets) as servers:
        connection = erp.connection(**BEARER)
        await servers.discover(connection)
        (secrets / "new").write_text("the-new-secret")
        (secrets / "new").replace(secrets / "erp-token")
        erp.door.value = "Bearer the-new-secret"
        assert await read(servers, connection)
    assert set(erp.door.shown) == {"Bearer the-old-secret", "Bearer the-new-secret"}
    assert erp.door.shown[-1] == "Bearer the-new-secret"


@BOTH
@pytest.mark.promise("connections.fails_closed")
async def test_without_its_credential_a_server_is_asked_nothing(tmp_path: Path, protocol: ToolProtocol) -> None:
    """The sentence names the reference, and of the secret nothing."""
    async with guarded_company(tmp_path, protocol, "Bearer x") as erp, showing(tmp_path) as servers:
        connection = erp.connection(**BEARER)
        with pytest.raises(ToolUnreachable, match="the credential file:erp-token cannot be read: No such file"):
            await servers.discover(connection)
        kept(tmp_path, f"line one\nline two: {SECRET}")
        with pytest.raises(ToolUnreachable, match="file:erp-token holds what no header can carry") as told:
            await read(servers, connection)
    assert erp.door.shown == []
    assert SECRET not in str(told.value)


@pytest.mark.promise("connections.fails_closed")
@pytest.mark.parametrize(
    ("answer", "sentence"),
    [
        (JSONResponse({"error": "invalid_scope"}, 400), "refused with HTTP 400, invalid_scope"),
        (JSONResponse({"error": f"no {SECRET}"}, 400), r"refused with HTTP 400 \("),
        pytest.param(JSONResponse({"token": SECRET}), "without a usable access_token", marks=pytest.mark.long),
        pytest.param(JSONResponse({"access_token": "a b"}), "without a usable access_token", marks=pytest.mark.long),
        pytest.param(
            JSONResponse({"access_token": "t", "token_type": "mac"}), "no bearer token", marks=pytest.mark.long
        ),
        (JSONResponse({}, 302, {"location": "http://127.0.0.1:1/"}), "refused with HTTP 302"),
    ],
)
async def test_a_token_endpoint_that_gives_none_is_named_why(
    tmp_path: Path, answer: JSONResponse, sentence: str
) -> None:
    """A redirect is not followed: it would carry the client's secret to another place."""
    tokens = _tokens()
    tokens.failing = answer
    async with with_tokens(tmp_path, ToolProtocol.REST, tokens, "Bearer x") as (erp, servers, connection):
        with pytest.raises(ToolUnreachable, match=sentence) as told:
            await servers.discover(connection)
    assert erp.door.shown == []
    assert SECRET not in str(told.value)
    assert "file:erp-token" in str(told.value)


@pytest.mark.promise("connections.refreshed_once")
async def test_one_failure_of_a_token_endpoint_answers_all_who_waited_for_it(tmp_path: Path) -> None:
    """Who asks later is not told of it: the endpoint is asked again."""
    tokens = _tokens()
    tokens.failing = JSONResponse({}, 503)
    async with serving(tokens.app) as url, open_credentials(kept(tmp_path / "secrets", SECRET)) as credentials:
        given = {"type": "oauth_client_credentials", "token_url": f"{url}/token", "client_id": "purple"}
        erp = Connection.model_validate({"id": "erp", "url": url, "credential": {**given, "from": REFERENCE}})
        told = await asyncio.gather(*(credentials.resolve_header(erp) for _ in range(5)), return_exceptions=True)
        asked = len(tokens.forms)
        tokens.failing = None
        header = await credentials.resolve_header(erp)
    assert ["refused with HTTP 503" in str(problem) for problem in told] == [True] * 5
    assert (asked, len(tokens.forms)) == (1, 2)
    assert header == CredentialHeader("authorization", SECOND)


@MCP_AND_LONG
@pytest.mark.promise("connections.own_origin")
async def test_a_redirect_carries_no_credential_elsewhere(tmp_path: Path, protocol: ToolProtocol) -> None:
    """The server sends us to another one, which sees nothing of us; nor does one that a request names."""
    seen: list[str] = []

    async def elsewhere(request: Request) -> Response:
        seen.append(request.url.path)
        return Response(status_code=500)

    stranger = Starlette(routes=[Route("/{path:path}", elsewhere, methods=["GET", "POST", "DELETE"])])
    async with serving(stranger) as target, showing(kept(tmp_path / "secrets", SECRET)) as servers:

        async def away(_: Request) -> Response:
            return Response(status_code=307, headers={"location": f"{target}/mcp"})

        async with serving(Starlette(routes=[Route("/{path:path}", away, methods=["GET", "POST"])])) as url:
            connection = Connection.model_validate(
                {"id": "erp", "url": url, "protocol": protocol.value, "credential": BEARER}
            )
            with pytest.raises((ToolSilent, ToolUnreachable)):
                await servers.discover(connection)
            with pytest.raises((ToolSilent, ToolUnreachable)):
                await read(servers, connection)
    assert seen == []


@MCP_AND_LONG
@pytest.mark.promise("connections.own_origin")
async def test_an_endpoint_that_a_request_names_is_shown_nothing(tmp_path: Path, protocol: ToolProtocol) -> None:
    """Not even if somebody slipped a credential into such a connection."""
    async with guarded_company(tmp_path, protocol, "Bearer x") as erp, showing(kept(tmp_path / "s", SECRET)) as servers:
        connection = erp.connection(**BEARER).model_copy(update={"from_request": True})
        with pytest.raises((ToolSilent, ToolUnreachable)):
            await servers.discover(connection)
    assert set(erp.door.shown) == {None}


@MCP_AND_LONG
@pytest.mark.promise("connections.tenants_apart")
async def test_two_tenants_at_one_server_are_never_taken_for_each_other(tmp_path: Path, protocol: ToolProtocol) -> None:
    """Each shows its own secret, over a line of its own; what one may not read is not read for it."""
    for tenant in ("acme", "globex"):
        kept(tmp_path / "secrets", "").joinpath(tenant).mkdir()
        (tmp_path / "secrets" / tenant / "erp-token").write_text(f"secret-of-{tenant}")
    async with guarded_company(tmp_path, protocol, "Bearer secret-of-acme") as erp:
        plain = erp.connection(**BEARER)
        acme, globex = (plain.model_copy(update={"author_tenant": name}) for name in ("acme", "globex"))
        stolen = erp.connection(type="bearer", **{"from": f"file:{tmp_path}/secrets/acme/erp-token"})
        async with showing(tmp_path / "secrets") as servers:
            await servers.discover(acme)
            with pytest.raises(ToolUnreachable, match="does not take the credential"):
                await servers.discover(globex)
            assert await read(servers, acme)
            with pytest.raises(ToolUnreachable, match="without a leading slash"):
                await servers.discover(stolen.model_copy(update={"author_tenant": "globex"}))
    assert set(erp.door.shown) == {"Bearer secret-of-acme", "Bearer secret-of-globex"}


@pytest.mark.promise("connections.secret_kept")
async def test_a_server_that_repeats_the_secret_does_not_spread_it(tmp_path: Path) -> None:
    """Whoever echoes a request's headers in an answer, in a tool's description or in an error is quoted without it."""

    def echo(_: JsonObject) -> Json:
        return {"headers": {"authorization": f"Bearer {SECRET}"}, "list": [SECRET]}

    async with bridge(LegacyBridge({"get_debug": echo}, {"get_debug": ()})) as there:
        connection = Connection.model_validate({"id": "erp", "url": there.url, "credential": BEARER})
        async with showing(kept(tmp_path / "secrets", SECRET)) as servers:
            await servers.discover(connection)
            answer = await servers.call(connection, "get_debug", {}, 5)
    assert SECRET not in str(answer)
    assert "[credential]" in str(answer)


async def _tried(servers: ToolServers, connection: Connection) -> None:
    with suppress(ToolUnreachable):
        await read(servers, connection)


@pytest.mark.promise("connections.several")
async def test_one_task_reads_at_one_server_and_writes_at_another(tmp_path: Path) -> None:
    """Each demands its own credential, in a way of its own, and neither sees the other's."""
    play = Stage()
    crm = LegacyBridge({"get_claim": play.claims.get}, {"get_claim": ("claim_id",)})
    erp = LegacyBridge(
        {"approve_claim": play.claims.approve, "look_up_claim": play.claims.get},
        {"approve_claim": ("claim_id",), "look_up_claim": ("claim_id",)},
    )
    doors = Demanding(crm.app, "x-api-key", SECRET), Demanding(erp.app, "authorization", "Bearer of-the-other")
    kept(tmp_path, SECRET), kept(tmp_path, "of-the-other", "other")
    async with serving(doors[0]) as crm_url, serving(doors[1]) as erp_url, showing(tmp_path) as servers:
        one = {"type": "header", "header": "X-Api-Key", "from": REFERENCE}
        other = {"type": "bearer", "from": "file:other"}
        connections = [
            {"id": "crm", "url": crm_url, "credential": one},
            {"id": "office", "url": erp_url, "credential": other},
        ]
        play.tenants.record = TenantRecord.model_validate(
            {"id": "acme", "unruled_writes": "allow", "connections": connections}
        )
        play.servers = servers  # type: ignore[assignment]  # the real ones in place of the double
        play.limits = play.limits._replace(tool_seconds=5.0)
        record = await play.run()
    assert (record.state, play.claims.applied) == (TaskState.COMPLETED, ["C-1"]), record.reason
    assert (set(doors[0].shown), set(doors[1].shown)) == ({SECRET}, {"Bearer of-the-other"})
    assert ({call.tool for call in crm.calls}, {call.tool for call in erp.calls}) == (
        {"get_claim"},
        {"approve_claim", "look_up_claim"},
    )
