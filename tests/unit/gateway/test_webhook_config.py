"""Webhooks as clients write them: what is read, what would forge a header, where they may not lead."""

import pytest

from services.gateway.edge.errors import InvalidField
from services.gateway.features.webhooks.model import (
    TaskHook,
    checked_headers,
    legacy_shape,
    read_webhook,
    shape_of_1_0,
)
from shared.domain.exact_json import JsonObject
from shared.domain.outgoing import Reach, why_refused
from shared.domain.words import Dialect
from tests.each_row import each_row

URL = "https://hooks.example/a"


def _read(change: JsonObject, dialect: Dialect = Dialect.LEGACY) -> TaskHook:
    return read_webhook({"url": URL, **change}, "config", dialect)


@pytest.mark.promise("push.secrets")
def test_what_is_shown_has_no_secret() -> None:
    webhook = _read({"token": "t0k", "authentication": {"schemes": ["Bearer"], "credentials": "s3cret"}})
    shown = f"{legacy_shape(webhook)}{shape_of_1_0(webhook, 'T1')}"
    assert "Bearer" in shown
    assert "t0k" not in shown
    assert "s3cret" not in shown


@pytest.mark.promise("push.headers")
@each_row(
    ("change", "field"),
    [
        ({"token": "a\r\nX-Evil: 1"}, "config.token"),
        ({"token": "a\nb"}, "config.token"),
        ({"token": "a\0b"}, "config.token"),
        ({"token": "tökèn"}, "config.token"),
        ({"token": " a"}, "config.token"),
        ({"token": "a" * 5000}, "config.token"),
        ({"token": 7}, "config.token"),
        ({"authentication": {"schemes": ["Bearer"], "credentials": "x\r\nHost: evil"}}, "config.authentication.cred"),
        ({"authentication": {"schemes": ["Bearer x"], "credentials": "x"}}, "config.authentication.scheme"),
        ({"authentication": {"scheme": "Be\r\narer", "credentials": "x"}}, "config.authentication.scheme"),
        ({"authentication": {"schemes": [], "credentials": "x"}}, "config.authentication.scheme"),
        ({"authentication": {"schemes": [1]}}, "config.authentication.schemes[0]"),
        ({"authentication": "Bearer"}, "config.authentication"),
        ({"url": ""}, "config.url"),
        ({"url": "https://hooks.example/" + "a" * 3000}, "config.url"),
        ({"id": "a\nb"}, "config.id"),
    ],
)
def test_what_would_forge_a_header_is_refused_by_its_name_and_without_its_value(change: JsonObject, field: str) -> None:
    with pytest.raises(InvalidField) as refused:
        _read(change)
    assert refused.value.field.startswith(field)
    assert "evil" not in str(refused.value)


@pytest.mark.promise("push.headers")
@each_row("headers", [{"X Y": "a"}, {"X:": "a"}, {"X": "a\nb"}, {"X": "ä"}, {"": "a"}])
def test_headers_of_a_notice_are_as_safe(headers: dict[str, str]) -> None:
    with pytest.raises(InvalidField):
        checked_headers(headers)


@pytest.mark.promise("push.guarded")
@each_row(
    "url",
    [
        "ftp://hooks.example/a",
        "file:///etc/passwd",
        "http://169.254.169.254/latest",
        "http://10.0.0.1/",
        "http://[::ffff:10.0.0.1]/",
        "http://user@hooks.example/",
        "http://hooks.example:6379/",
        "http://hooks.example/\r\nX: y",
        "http://hooks.example/#a",
        "http://2130706433/",
    ],
)
def test_a_webhook_leads_nowhere_inside(url: str) -> None:
    assert why_refused(url, Reach(public=True, queries=True))
