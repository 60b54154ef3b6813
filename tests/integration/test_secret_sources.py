"""Where secrets lie: AWS Secrets Manager (a real local HTTP server), the environment, files within a tenant's walls."""

from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest

from services.executor.adapters.credentials import AccessTokenCache, CredentialResolver, Secrets, open_credentials
from services.executor.ports.tools import CredentialHeader, CredentialUnavailable
from shared.contracts.credential import (
    name_aws_secret_prefix,
    name_env_variable_prefix,
    name_secrets_folder,
    parse_secret_reference,
    why_not_own_secret,
)
from shared.contracts.tenant import Connection
from tests.doubles.connected import connected
from tests.doubles.fake_tool_servers import FakeToolServers
from tests.each_row import each_row
from tests.integration.bucket_stage import BucketServer, bucket_server

SECRET = "s3cr3t-of-the-erp"
TENANTS = ("a", "acme", "acme-eu", "acme_eu", "Acme", "a__b", "x61", "x-61", "../a", "", "a/b", "ACME", "ümlaut")


@pytest.fixture(scope="module")
def aws_server() -> Iterator[BucketServer]:
    with bucket_server() as server:
        yield server


@pytest.fixture
def aws(aws_server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in aws_server.environ.items():
        monkeypatch.setenv(name, value)
    return aws_server.url


def connection(source: str, owner: str = "") -> Connection:
    given = {"type": "bearer", "from": source}
    return Connection.model_validate({"id": "erp", "url": "http://erp", "credential": given, "author_tenant": owner})


@pytest.mark.promise("connections.aws")
async def test_a_secret_of_aws_is_found_by_name_and_by_arn_and_inside_json(aws: str, tmp_path: Path) -> None:
    client = boto3.client("secretsmanager")
    arn = client.create_secret(Name="purple/acme/erp", SecretString=f'{{"token": "{SECRET}", "n": 1}}')["ARN"]
    client.create_secret(Name="plain/erp", SecretString=SECRET)
    secrets = Secrets(tmp_path, {})
    found = [
        await secrets.read_secret(parse_secret_reference(source), owner)
        for source, owner in [
            ("aws-sm:plain/erp", ""),
            ("aws-sm:purple/acme/erp#token", "acme"),
            (f"aws-sm:{arn}#token", "acme"),
        ]
    ]
    assert found == [SECRET] * 3


@pytest.mark.promise("connections.aws")
@each_row(
    ("source", "owner", "sentence"),
    ("aws-sm:nobody/erp", "", "cannot be had: ResourceNotFoundException"),
    ("aws-sm:two/erp#password", "", "names a key that the secret has not as a text"),
    ("aws-sm:two/erp#n", "", "names a key that the secret has not as a text"),
    ("aws-sm:three/erp#token", "", "names a key, and the secret is no JSON"),
    ("aws-sm:two/erp#token", "acme", "a secret of this tenant begins with purple/acme/"),
)
async def test_aws_secrets_of_no_use_are_named(
    aws: str, tmp_path: Path, source: str, owner: str, sentence: str
) -> None:
    client = boto3.client("secretsmanager")
    for name, text in (("two/erp", f'{{"token": "{SECRET}", "n": 1}}'), ("three/erp", SECRET)):
        if name not in {one["Name"] for one in client.list_secrets()["SecretList"]}:
            client.create_secret(Name=name, SecretString=text)
    with pytest.raises(CredentialUnavailable, match=sentence) as told:
        await Secrets(tmp_path, {}).read_secret(parse_secret_reference(source), owner)
    assert source in str(told.value)
    assert SECRET not in str(told.value)


@pytest.mark.promise("connections.rotation")
async def test_a_secret_of_aws_is_kept_for_a_while_and_read_anew_once_it_is_refused(aws: str, tmp_path: Path) -> None:
    client = boto3.client("secretsmanager")
    client.create_secret(Name="rotating/erp", SecretString="the-old-secret")
    async with AccessTokenCache() as tokens:
        credentials = CredentialResolver(Secrets(tmp_path, {}), tokens)
        erp = connection("aws-sm:rotating/erp")
        before = await credentials.resolve_header(erp)
        client.put_secret_value(SecretId="rotating/erp", SecretString="the-new-secret")
        meanwhile = await credentials.resolve_header(erp)
        after = await credentials.resolve_header(erp, refused_header=before)
        then = await credentials.resolve_header(erp)
    assert before == meanwhile == CredentialHeader("authorization", "Bearer the-old-secret")
    assert after == then == CredentialHeader("authorization", "Bearer the-new-secret")


@pytest.mark.promise("connections.secret_kept")
async def test_what_a_badge_looks_like_in_a_trace_holds_no_secret(tmp_path: Path) -> None:
    async with AccessTokenCache() as tokens:
        credentials = CredentialResolver(Secrets(tmp_path, {"ERP": SECRET}), tokens)
        badge = await credentials.resolve_header(connection("env:ERP"))
    assert badge == CredentialHeader("authorization", f"Bearer {SECRET}")
    assert SECRET not in repr(badge)
    assert SECRET not in f"{badge}"


@pytest.mark.promise("connections.secret_kept")
async def test_a_shown_secret_stays_known_however_many_connections_are_used_after_it(tmp_path: Path) -> None:
    async with AccessTokenCache() as tokens:
        credentials = CredentialResolver(Secrets(tmp_path, {"ERP": SECRET}), tokens)
        first = connection("env:ERP")
        await credentials.resolve_header(first)
        for number in range(2_000):
            await credentials.resolve_header(first.model_copy(update={"url": f"http://erp-{number}"}))
        assert credentials.list_recently_sent_secrets(first) == (SECRET,)


@pytest.mark.promise("connections.tenants_apart")
@each_row(
    "source",
    "env:ANTHROPIC_API_KEY",
    "env:TOOL_CREDENTIAL__GLOBEX__ERP",
    "env:TOOL_CREDENTIAL__ACME_EU__ERP",
    "file:/etc/passwd",
    "aws-sm:purple/globex/erp",
    "aws-sm:purple/acme-eu/erp",
    "aws-sm:arn:aws:secretsmanager:eu-west-1:123456789012:secret:purple/globex/erp-AbCdEf",
)
async def test_a_tenant_reads_no_secret_beyond_its_walls(tmp_path: Path, source: str) -> None:
    """Though they lie within the executor's reach, which the operator's own file may name."""
    environ = {"ANTHROPIC_API_KEY": "k", "TOOL_CREDENTIAL__GLOBEX__ERP": "k", "TOOL_CREDENTIAL__ACME_EU__ERP": "k"}
    with pytest.raises(CredentialUnavailable, match="may not be used"):
        await Secrets(tmp_path, environ).read_secret(parse_secret_reference(source), "acme")


@pytest.mark.promise("connections.tenants_apart")
def test_no_two_tenants_share_a_place_for_their_secrets() -> None:
    """Whatever their ids look like: no folder, variable or name of one is within another's."""
    for one in TENANTS:
        for other in TENANTS:
            if one == other:
                continue
            assert name_secrets_folder(one) != name_secrets_folder(other)
            assert "/" not in name_secrets_folder(one)
            assert name_secrets_folder(one) not in {"", ".", ".."}
            assert not name_aws_secret_prefix(one).startswith(name_aws_secret_prefix(other))
            assert not name_env_variable_prefix(one).startswith(name_env_variable_prefix(other))
            assert why_not_own_secret(parse_secret_reference(f"env:{name_env_variable_prefix(one)}ERP"), other)


@pytest.mark.promise("connections.tenants_apart")
async def test_a_link_out_of_a_tenants_folder_is_the_operators_own_doing(tmp_path: Path) -> None:
    """Names with ``..`` are refused before anything is read; Kubernetes' own links (``..data``) work."""
    for bad in ("file:../globex/erp", "file:a/../../b", "file:", "file:/", "env:", "env:A B", "vault:x", "aws-sm:"):
        with pytest.raises(ValueError, match="never the secret itself"):
            parse_secret_reference(bad)
    folder = tmp_path / "acme" / "..2026"
    folder.mkdir(parents=True)
    (folder / "erp").write_text(SECRET)
    (tmp_path / "acme" / "..data").symlink_to(folder)
    (tmp_path / "acme" / "erp").symlink_to(Path("..data") / "erp")
    assert await Secrets(tmp_path, {}).read_secret(parse_secret_reference("file:erp"), "acme") == SECRET


@pytest.mark.promise("connections.fails_closed")
@each_row(
    ("content", "sentence"),
    (b"", "is empty"),
    (b" \n", "is empty"),
    (b"one\ntwo: s3cr3t", "holds what no header can carry"),
    ("schlüssel s3cr3t".encode(), "holds what no header can carry"),
    (b"\xff s3cr3t", "cannot be read: UnicodeDecodeError"),
    (b"s3cr3t" * 3000, "holds what no header can carry"),
)
async def test_a_file_that_holds_no_usable_secret_is_named(tmp_path: Path, content: bytes, sentence: str) -> None:
    (tmp_path / "erp").write_bytes(content)
    with pytest.raises(CredentialUnavailable, match=f"the credential file:erp {sentence}") as told:
        await Secrets(tmp_path, {}).read_secret(parse_secret_reference("file:erp"), "")
    assert "s3cr3t" not in str(told.value)


@pytest.mark.promise("connections.fails_closed")
async def test_health_counts_the_connections_that_have_no_credential_to_show(tmp_path: Path) -> None:
    """Once each, and until they have one; no address, no reference."""
    async with open_credentials(tmp_path) as credentials:
        standing = connected(FakeToolServers(), credentials=credentials)
        for _ in range(3):
            with pytest.raises(CredentialUnavailable):
                await credentials.resolve_header(connection("file:erp"))
        lacking = standing.circuit_counts
        (tmp_path / "erp").write_text(SECRET)
        await credentials.resolve_header(connection("file:erp"))
        assert (lacking, standing.circuit_counts) == ({"without_credential": 1}, {})
