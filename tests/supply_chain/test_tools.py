"""The audit's tools at work: pip-audit asks a vulnerability service of this machine; cyclonedx-py makes a bill."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import cast

import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from shared.domain.exact_json import JsonObject, loads
from tests.deployment.dockerfile import ROOT, images
from tests.deployment.environments import python_with_only
from tests.serving import listening, serving_on
from tests.supply_chain.__main__ import main
from tests.supply_chain.licences import licences_of
from tests.supply_chain.locked import Package, canonical, locked, on_every_system
from tests.supply_chain.sbom import write_sbom
from tests.supply_chain.sources import LOCKS
from tests.supply_chain.vulnerabilities import Answers, ask

pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]  # they need environments of their own
BAD, GOOD = Package("left-pad", "1.0"), Package("right-pad", "2.0")
_KNOWN = {
    "id": "PYSEC-2026-1",
    "aliases": ["CVE-2026-1"],
    "summary": "It pads too far.",
    "modified": "2026-01-02T00:00:00Z",
    "published": "2026-01-01T00:00:00Z",
    "affected": [
        {
            "package": {"ecosystem": "PyPI", "name": "left-pad"},
            "ranges": [{"type": "ECOSYSTEM", "events": [{"introduced": "0"}, {"fixed": "1.1"}]}],
        }
    ],
}


@pytest.fixture(scope="module")
def tools() -> Path:
    return python_with_only(LOCKS / "audit.txt").parent


@asynccontextmanager
async def _service(refuses: str = "") -> AsyncIterator[str]:
    """Speaks the OSV query: it knows one hole, and breaks at one name."""

    async def query(request: Request) -> Response:
        name = (await request.json())["package"]["name"]
        if name == refuses:
            return Response(status_code=503)
        return JSONResponse({"vulns": [_KNOWN]} if name == BAD.name else {})

    with listening() as (listener, url):
        async with serving_on(listener, Starlette(routes=[Route("/v1/query", query, methods=["POST"])])):
            yield f"{url}/v1/query"


async def _asked(tools: Path, url: str, *packages: Package) -> Answers:
    options = ["--vulnerability-service=osv", f"--osv-url={url}", "--timeout=2"]
    return await asyncio.to_thread(partial(ask, packages, tools, options))


@pytest.mark.promise("supply.audit")
async def test_a_known_vulnerability_is_found_and_a_clean_package_is_clean(tools: Path) -> None:
    async with _service() as url:
        answers = await _asked(tools, url, BAD, GOOD)

    assert answers.audited == {BAD, GOOD}
    assert [(known.package, set(known.ids), known.fixed_in) for known in answers.found] == [
        (BAD, {"PYSEC-2026-1", "CVE-2026-1"}, ("1.1",))
    ]


@pytest.mark.promise("supply.not_audited")
async def test_a_service_that_is_away_or_breaks_leaves_packages_not_audited(tools: Path) -> None:
    async with _service(refuses=GOOD.name) as url:
        broken = await _asked(tools, url, GOOD)
    away = await _asked(tools, url, BAD, GOOD)

    assert (broken.audited, away.audited) == (frozenset(), frozenset())
    assert broken.problems
    assert away.problems


@pytest.mark.promise("supply.not_audited")
def test_without_a_service_the_whole_audit_says_so_and_strictly_it_fails(capsys: pytest.CaptureFixture[str]) -> None:
    """The licences are looked up all the same, and none of them is unexplained."""
    nowhere = ["--osv-url", "http://127.0.0.1:9/v1/query"]

    assert main(["audit", "--json", *nowhere]) == 0
    report = cast(JsonObject, loads(capsys.readouterr().out))
    assert (report["findings"], report["audited"]) == ([], 0)
    assert len(cast(list[str], report["vulnerabilities_not_audited"])) == report["packages"]
    assert main(["audit", "--strict", *nowhere]) == 1
    assert "NOT AUDITED" in capsys.readouterr().out


@pytest.mark.promise("supply.audit")
def test_the_licence_of_every_package_of_every_image_is_known(tools: Path) -> None:
    """Those for other systems apart, which no image holds."""
    python = python_with_only(LOCKS / "all.txt")
    installed = licences_of(python, tools)

    assert {name for name in installed if name in locked(LOCKS / "all.txt")} == set(installed)
    assert [package for package, licence in installed.items() if licence == "UNKNOWN"] == []


@pytest.mark.promise("supply.sbom")
@pytest.mark.parametrize("name", sorted(images()))
def test_each_image_has_a_bill_of_all_that_its_lock_names(name: str, tools: Path, tmp_path: Path) -> None:
    """Valid by the standard's own schema; with licences, and without addresses or paths of any machine."""
    file = write_sbom(name, tmp_path, tools)
    bill = cast(JsonObject, loads(file.read_text()))
    parts = cast(list[JsonObject], bill["components"])
    named = {Package(canonical(str(part["name"])), str(part["version"])) for part in parts}

    assert named <= locked(LOCKS / f"{name}.txt")
    assert on_every_system(LOCKS / f"{name}.txt") <= named
    assert [part["name"] for part in parts if not part.get("licenses")] == []
    assert str(ROOT) not in file.read_text()
    assert file.read_text().count("://") == 1  # the schema's own
    assert _refused(tools, file) == ""


def _refused(tools: Path, file: Path) -> str:
    code = (
        "import sys; from cyclonedx.schema import SchemaVersion as V; "
        "from cyclonedx.validation.json import JsonStrictValidator as J; "
        "sys.exit(str(J(V.V1_6).validate_str(open(sys.argv[1]).read()) or '') or 0)"
    )
    done = subprocess.run([tools / "python", "-c", code, file], capture_output=True, text=True, timeout=60, check=False)
    return done.stderr
