"""What kustomize makes of a folder, with the kubectl of the environment: no cluster and no network is needed."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import cast

import yaml

from tests.deployment.dockerfile import ROOT

K8S = ROOT / "k8s"
BASE, LOCAL, PRODUCTION = "base", "overlays/local", "overlays/production"
COMPONENTS = tuple(sorted(folder.name for folder in (K8S / "components").iterdir()))
_KUBECTL = Path(sys.executable).with_name("kubectl")
_SECONDS = 30

Document = dict[str, object]


@cache
def built(folder: str, *components: str) -> tuple[Document, ...]:
    """The documents of a folder of ``k8s``, with components that it does not have by itself."""
    if not components:
        return _build(K8S / folder)
    with tempfile.TemporaryDirectory() as place:
        return _build(_composed(Path(place).resolve(), folder, components))


def _composed(place: Path, folder: str, components: Sequence[str]) -> Path:
    """Paths in a kustomization are relative."""
    named = {"resources": [folder], "components": [f"components/{component}" for component in components]}
    told = {kind: [os.path.relpath(K8S / path, place) for path in paths] for kind, paths in named.items()}
    (place / "kustomization.yaml").write_text(yaml.safe_dump(told))
    return place


def _build(folder: Path) -> tuple[Document, ...]:
    command = [str(_KUBECTL), "kustomize", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    return tuple(cast(list[Document], list(yaml.load_all(done.stdout, yaml.CSafeLoader))))
