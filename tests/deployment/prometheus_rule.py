"""The rules of observability as the Prometheus Operator takes them: ``python -m tests.deployment.prometheus_rule``.

Writes k8s/components/monitoring/rules.yaml; with ``--check`` it changes nothing, and the exit code is 1 if the file
says otherwise.
"""

import sys
from collections.abc import Sequence
from pathlib import Path

import yaml

from tests.deployment.dockerfile import ROOT

RULES = ROOT / "observability" / "rules"
MANIFEST = ROOT / "k8s" / "components" / "monitoring" / "rules.yaml"
_HEAD = "# Made from observability/rules by `python -m tests.deployment.prometheus_rule`; not to be edited here.\n"
_WIDTH = 120


def manifest(rules: Path = RULES) -> str:
    """The file, as it should be."""
    found = [yaml.safe_load(path.read_text()) for path in sorted(rules.glob("*.yml"))]
    resource = {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "PrometheusRule",
        "metadata": {"name": "purple-agent"},
        "spec": {"groups": [group for file in found for group in file["groups"]]},
    }
    return _HEAD + yaml.safe_dump(resource, sort_keys=False, width=_WIDTH, allow_unicode=True)


def main(arguments: Sequence[str], target: Path = MANIFEST) -> int:
    if "--check" not in arguments:
        target.write_text(manifest())
    elif target.read_text() != manifest():
        sys.stderr.write(f"{target} is not what the rules say: python -m tests.deployment.prometheus_rule\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
