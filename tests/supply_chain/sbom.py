"""What an image is made of, as a CycloneDX bill of materials."""

import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from shared.domain.exact_json import Json, JsonObject, dumps, loads
from tests.deployment.dockerfile import ROOT
from tests.deployment.environments import python_with_only
from tests.supply_chain.licences import licences_of
from tests.supply_chain.locked import canonical

_SECONDS = 300


def write_sbom(name: str, into: Path, tools: Path) -> Path:
    """The Python packages of one image, made from an environment that holds its lock file and nothing else."""
    python = python_with_only(ROOT / "locks" / f"{name}.txt")
    command = [str(tools / "cyclonedx-py"), "environment", str(python), "--pyproject", str(ROOT / "pyproject.toml")]
    command += ["--output-reproducible", "--spec-version", "1.6", "--output-format", "JSON"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    if done.returncode:
        sys.stderr.write(done.stderr)
        raise SystemExit(f"cyclonedx-py failed for {name}")
    file = into / f"purple-agent-{name}.cdx.json"
    into.mkdir(parents=True, exist_ok=True)
    licences = {package.name: licence for package, licence in licences_of(python, tools).items()}
    file.write_text(dumps(_of_image(name, cast(JsonObject, loads(done.stdout)), licences)) + "\n")
    return file


def _of_image(name: str, bill: JsonObject, licences: Mapping[str, str]) -> JsonObject:
    """Named for the image; without links, which say nothing about what is in it and lead anywhere."""
    bare = cast(JsonObject, _bare(bill))
    metadata = cast(JsonObject, bare["metadata"])
    root = {**cast(JsonObject, metadata["component"]), "name": f"purple-agent-{name}", "type": "container"}
    parts = [_licensed(part, licences) for part in cast(list[JsonObject], bare["components"])]
    return {**bare, "metadata": {**metadata, "component": root}, "components": list(parts)}


def _licensed(part: JsonObject, licences: Mapping[str, str]) -> JsonObject:
    """The tool leaves out what is neither an SPDX id nor a classifier."""
    if part.get("licenses"):
        return part
    return {**part, "licenses": [{"license": {"name": licences[canonical(str(part["name"]))]}}]}


def _bare(part: Json) -> Json:
    if isinstance(part, list):
        return [_bare(each) for each in part]
    if not isinstance(part, dict):
        return part
    return {name: _bare(value) for name, value in part.items() if name != "externalReferences"}
