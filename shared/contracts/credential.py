"""Credentials of connections: their type and where the secret is stored; never the secret itself."""

import re
from enum import StrEnum
from typing import NamedTuple, Self

from pydantic import ConfigDict, Field, field_validator, model_validator

from shared.contracts.base import Contract

_VARIABLE_NAME_PATTERN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_AWS_NAME_PATTERN = re.compile(r"[A-Za-z0-9/_+=.@:-]{1,2048}")
_AWS_ARN_PATTERN = re.compile(r"arn:[a-z0-9-]+:secretsmanager:[a-z0-9-]+:\d{12}:secret:(?P<name>.+)")
_HEADER_NAME_PATTERN = re.compile(r"[A-Za-z0-9!#$%&'*+.^_`|~-]{1,100}")
_TOKEN_URL_PATTERN = re.compile(r"https?://[^\s/?#@\\]+(/[^\s#@\\]*)?")
_PLAIN_ID_PATTERN = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_RESERVED_HEADERS = frozenset(  # headers that are part of how a request is made, and no place for a credential
    "accept accept-encoding connection content-encoding content-length content-type cookie expect forwarded host "
    "keep-alive last-event-id mcp-protocol-version mcp-session-id proxy-authorization te trailer transfer-encoding "
    "upgrade".split()
)
_REFERENCE_FORMS = "env:NAME, file:PATH or aws-sm:NAME-OR-ARN[#KEY]"
ENV_PREFIX = "TOOL_CREDENTIAL__"
AWS_PREFIX = "purple/"


class CredentialType(StrEnum):
    BEARER = "bearer"  # Authorization: Bearer SECRET
    HEADER = "header"  # NAME: SECRET
    OAUTH = "oauth_client_credentials"  # Authorization: Bearer TOKEN, had for the client's secret


class SecretSource(StrEnum):
    ENV = "env"
    FILE = "file"
    AWS = "aws-sm"


class SecretReference(NamedTuple):
    """Where a secret is stored. ``key``: a member of the JSON object in an AWS secret; empty for the whole secret."""

    scheme: SecretSource
    name: str
    key: str = ""

    def __str__(self) -> str:
        return f"{self.scheme.value}:{self.name}" + (f"#{self.key}" if self.key else "")


def parse_secret_reference(text: str) -> SecretReference:
    """Parses a reference to a secret. Its ``ValueError`` does not repeat the text, which may be a secret itself."""
    word, _, location = text.partition(":")
    name, _, key = location.partition("#") if word == SecretSource.AWS else (location, "", "")
    has_valid_name = {
        SecretSource.ENV: bool(_VARIABLE_NAME_PATTERN.fullmatch(name)),
        SecretSource.FILE: name.isprintable() and bool(name.strip("/")) and ".." not in name.split("/"),
        SecretSource.AWS: bool(_AWS_NAME_PATTERN.fullmatch(name)) and key.isprintable(),
    }
    if not any(word == scheme and is_valid for scheme, is_valid in has_valid_name.items()):
        raise ValueError(f"must be {_REFERENCE_FORMS}: where the secret lies, and never the secret itself")
    return SecretReference(SecretSource(word), name, key)


class Credential(Contract):
    """A credential for a tool server. ``source`` (``from`` in JSON) refers to its secret.

    The secret is a bearer token, a header's value, or an OAuth client's secret.
    """

    model_config = ConfigDict(populate_by_name=True, serialize_by_alias=True)

    type: CredentialType
    source: str = Field(alias="from")
    header: str = ""  # of type header: its name
    token_url: str = ""  # of type oauth_client_credentials, as all below
    client_id: str = ""
    scope: str = ""
    audience: str = ""
    client_auth: str = "basic"  # how the client's secret is sent: basic, or post in the form

    @field_validator("source")
    @classmethod
    def _check_reference(cls, text: str) -> str:
        parse_secret_reference(text)
        return text

    @field_validator("header")
    @classmethod
    def _check_header_name(cls, name: str) -> str:
        if name and (not _HEADER_NAME_PATTERN.fullmatch(name) or name.lower() in _RESERVED_HEADERS):
            raise ValueError("is no name of a header that may carry a credential, such as X-Api-Key")
        return name

    @field_validator("token_url")
    @classmethod
    def _check_token_url(cls, url: str) -> str:
        if url and not _TOKEN_URL_PATTERN.fullmatch(url):
            raise ValueError("must be an http or https URL without user or fragment")
        return url

    @field_validator("client_auth")
    @classmethod
    def _check_client_auth(cls, word: str) -> str:
        if word not in ("basic", "post"):
            raise ValueError("must be basic or post")
        return word

    @model_validator(mode="after")
    def _check_complete(self) -> Self:
        required_fields = {CredentialType.HEADER: ("header",), CredentialType.OAUTH: ("token_url", "client_id")}
        missing = [name for name in required_fields.get(self.type, ()) if not getattr(self, name)]
        if missing:
            raise ValueError(f"a credential of type {self.type} needs {' and '.join(missing)}")
        allowed = {CredentialType.HEADER: {"header"}, CredentialType.OAUTH: _OAUTH_FIELDS}.get(self.type, set())
        if unexpected := sorted((self.model_fields_set - {"v", "type", "source"}) - allowed):
            raise ValueError(f"a credential of type {self.type} has no {' and no '.join(unexpected)}")
        return self

    @property
    def reference(self) -> SecretReference:
        return parse_secret_reference(self.source)


_OAUTH_FIELDS = {"token_url", "client_id", "scope", "audience", "client_auth"}


def name_secrets_folder(tenant: str) -> str:
    """The name of a tenant's folder of secrets; unique to the tenant."""
    return tenant if _PLAIN_ID_PATTERN.fullmatch(tenant) else f"_x{tenant.encode().hex()}"


def name_env_variable_prefix(tenant: str) -> str:
    """The prefix of the environment variables with a tenant's secrets; unique to the tenant."""
    is_plain = _PLAIN_ID_PATTERN.fullmatch(tenant)
    return f"{ENV_PREFIX}{tenant.upper().replace('-', '_') if is_plain else f'x{tenant.encode().hex()}'}__"


def name_aws_secret_prefix(tenant: str) -> str:
    return f"{AWS_PREFIX}{name_secrets_folder(tenant)}/"


def why_not_own_secret(reference: SecretReference, tenant: str) -> str | None:
    """Why a tenant's record must not refer to this secret; None if it may.

    A tenant's operators write the record, while the secrets of all tenants are stored with the executor.
    """
    if reference.scheme is SecretSource.ENV and not reference.name.startswith(name_env_variable_prefix(tenant)):
        return f"a variable of this tenant begins with {name_env_variable_prefix(tenant)}"
    if reference.scheme is SecretSource.FILE and reference.name.startswith("/"):
        return "must be the name of a file in the tenant's own folder of CREDENTIALS_DIR, without a leading slash"
    if reference.scheme is SecretSource.AWS and not _extract_secret_name_from_arn(reference.name).startswith(
        name_aws_secret_prefix(tenant)
    ):
        return f"the name of a secret of this tenant begins with {name_aws_secret_prefix(tenant)}"
    return None


def _extract_secret_name_from_arn(name: str) -> str:
    arn = _AWS_ARN_PATTERN.fullmatch(name)
    return arn["name"] if arn else name
