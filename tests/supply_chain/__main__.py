"""``make audit`` and ``make sbom``: what the locked packages are licensed under, what is known against them, and what
each image is made of.

``audit [--json] [--strict] [--service osv|pypi] [--osv-url URL]``: exit code 1 on findings that audit.toml does not
explain, with ``--strict`` also where something could not be looked up. ``sbom [--into FOLDER] [SERVICE ...]``.
"""

import argparse
import sys
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tests.deployment.dockerfile import ROOT, images
from tests.deployment.environments import python_with_only
from tests.supply_chain.accepted import read_rules
from tests.supply_chain.audit import Report, audit
from tests.supply_chain.licences import licences_of
from tests.supply_chain.locked import all_locked
from tests.supply_chain.sbom import write_sbom
from tests.supply_chain.showing import say_as_json, say_as_tables
from tests.supply_chain.sources import AUDIT_FILE, LOCKS
from tests.supply_chain.vulnerabilities import ask


def main(arguments: Sequence[str]) -> int:
    options = _parser().parse_args(arguments)
    tools = python_with_only(LOCKS / "audit.txt").parent
    if options.command == "sbom":
        return _sbom(options, tools)
    report = _audited(options, tools)
    (say_as_json if options.json else say_as_tables)(report)
    return 1 if report.findings or (options.strict and not report.complete) else 0


def _audited(options: argparse.Namespace, tools: Path) -> Report:
    packages = all_locked(sorted(LOCKS.glob("*.txt")))
    licences = licences_of(tools / "python", tools) | licences_of(Path(sys.executable), tools)
    service = ["--vulnerability-service", options.service, "--timeout", "15"]
    service += ["--osv-url", options.osv_url] if options.osv_url else []
    return audit(packages, licences, ask(packages, tools, service), read_rules(AUDIT_FILE), datetime.now(UTC).date())


def _sbom(options: argparse.Namespace, tools: Path) -> int:
    for name in options.service or sorted(images()):
        file = write_sbom(name, options.into, tools)
        sys.stdout.write(f"{file}\n")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.supply_chain")
    commands = parser.add_subparsers(dest="command", required=True)
    audited = commands.add_parser("audit")
    audited.add_argument("--json", action="store_true")
    audited.add_argument("--strict", action="store_true", help="what could not be looked up is a failure")
    audited.add_argument("--service", choices=("osv", "pypi"), default="osv", help="who is asked for vulnerabilities")
    audited.add_argument("--osv-url", help="where to ask instead")
    bill = commands.add_parser("sbom")
    bill.add_argument("--into", type=Path, default=ROOT / ".results" / "sbom")
    bill.add_argument("service", nargs="*", choices=[*sorted(images()), []])
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
