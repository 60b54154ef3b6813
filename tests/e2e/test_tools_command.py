"""`purple tools`: what the worker would find at a tool server, in either protocol, and why it takes it for that."""

from pathlib import Path

import pytest

from examples.company.protocols import ToolProtocol
from shared.domain.exact_json import JsonObject, dumps, loads_object
from tests.company_stage import company
from tests.e2e.commands import call_purple


def _classes(report: JsonObject) -> dict[str, JsonObject]:
    tools = report["tools"]
    assert isinstance(tools, list)
    return {str(tool["name"]): tool for tool in tools if isinstance(tool, dict)}


@pytest.mark.promise("tools.command", "tools.catalogue_written")
@pytest.mark.parametrize("protocol", [ToolProtocol.MCP, pytest.param(ToolProtocol.REST, marks=pytest.mark.long)])
async def test_each_tool_is_shown_with_its_class_and_what_decided_it(tmp_path: Path, protocol: ToolProtocol) -> None:
    """The operator's catalogue counts if it is given; ``--force`` writes one over what is there."""
    record, file = tmp_path / "tenant.json", tmp_path / "connection.json"
    file.write_text("an older one")
    async with company(tmp_path, protocol=protocol) as served:
        connection: JsonObject = {"id": "c", "url": served.url, "catalogue": {"match_invoice": {"tool_class": "read"}}}
        record.write_text(dumps({"id": "default", "connections": [connection]}))
        asked = ("tools", "--endpoint", served.url, "--json", "--tenant-file", str(record))
        done = await call_purple(*asked, "--write-catalogue", str(file), "--force")
    assert done.code == 0, done.err
    report, written = loads_object(done.out), loads_object(file.read_text("utf-8"))
    found = _classes(report)
    assert report["protocol"] == protocol.value
    assert len(found) >= 45
    assert (found["get_expense"]["class"], found["notify_vendor"]["class"]) == ("read", "notify")
    assert found["approve_expense"]["class"] == "change"
    assert "'approve' in its name" in str(found["approve_expense"]["why"])
    decided = found["match_invoice"]
    assert (decided["class"], decided["why"]) == ("read", "the operator's catalogue says so")
    assert str(file) in done.err
    assert isinstance(written["catalogue"], dict)
    assert len(written["catalogue"]) >= 45


@pytest.mark.promise("tools.command")
@pytest.mark.parametrize(
    ("endpoint", "code", "sentence"),
    [
        ("http://127.0.0.1:9", 1, "no connection: Cannot connect to host 127.0.0.1:9 ["),
        ("localhost:9009", 2, "begins with"),
        ("", 2, "say whose tools"),
    ],
)
async def test_an_endpoint_that_cannot_be_used_is_explained(endpoint: str, code: int, sentence: str) -> None:
    done = await call_purple("tools", "--endpoint", endpoint)
    assert (done.code, done.out) == (code, "")
    assert sentence in done.err
    assert "Traceback" not in done.err
