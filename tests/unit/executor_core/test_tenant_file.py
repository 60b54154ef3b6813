"""A tenant's file and the tool server that the executor is started with."""

from pathlib import Path

from services.executor.adapters.stored_tenants import FileTenants
from shared.domain.exact_json import dumps

URL = "http://tools:9009"


def read(folder: Path, *connections: dict[str, object], url: str = URL) -> list[tuple[str, str]]:
    path = folder / "tenant.json"
    path.write_text(dumps({"id": "t", "connections": [*connections]}))  # type: ignore[list-item]  # JSON
    return [(one.id, one.url) for one in FileTenants.read(path, url).record.connections]


def test_a_file_without_connections_has_the_given_tool_server(tmp_path: Path) -> None:
    assert read(tmp_path) == [("default", URL)]
