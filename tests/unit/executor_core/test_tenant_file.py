"""A tenant's file and the tool server that the executor is started with."""

from pathlib import Path

import pytest

from services.executor.adapters.stored_tenants import FileTenants
from shared.domain.exact_json import dumps

URL = "http://tools:9009"


def read(folder: Path, *connections: dict[str, object], url: str = URL) -> list[tuple[str, str]]:
    path = folder / "tenant.json"
    path.write_text(dumps({"id": "t", "connections": [*connections]}))  # type: ignore[list-item]  # JSON
    return [(one.id, one.url) for one in FileTenants.read(path, url).record.connections]


def test_a_file_without_connections_has_the_given_tool_server(tmp_path: Path) -> None:
    assert read(tmp_path) == [("default", URL)]


def test_a_connection_without_an_address_describes_the_given_tool_server(tmp_path: Path) -> None:
    assert read(tmp_path, {"id": "office", "url": ""}) == [("office", URL)]


@pytest.mark.parametrize("url", [URL, ""])
def test_a_connection_with_an_address_keeps_it(tmp_path: Path, url: str) -> None:
    assert read(tmp_path, {"id": "office", "url": "http://own"}, url=url) == [("office", "http://own")]


def test_without_a_tool_server_a_connection_without_an_address_is_left_out(tmp_path: Path) -> None:
    assert read(tmp_path, {"id": "office", "url": ""}, url="") == []
