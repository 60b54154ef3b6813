"""An audit's report for people and for machines."""

import sys
from collections import defaultdict
from itertools import islice

from rich.console import Console
from rich.table import Table

from shared.domain.exact_json import Json, dumps
from tests.supply_chain.audit import Report
from tests.supply_chain.locked import Package

_NAMED = 6


def say_as_json(report: Report) -> None:
    found: dict[str, Json] = {
        "packages": len(report.packages),
        "licences": {package.name: licence for package, licence in report.licences.items()},
        "audited": len(report.audited),
        "findings": list(report.findings),
        "accepted": list(report.accepted),
        "licence_not_audited": [package.name for package in report.not_licensed],
        "vulnerabilities_not_audited": [package.name for package in report.not_audited],
        "problems": list(report.problems),
    }
    sys.stdout.write(dumps(found) + "\n")


def say_as_tables(report: Report) -> None:
    out = Console(soft_wrap=True, highlight=False)
    out.print(_licences(report))
    for title, lines in (("Accepted in audit.toml", report.accepted), ("FINDINGS", report.findings)):
        for number, line in enumerate(lines):
            out.print(f"{title}: " if not number else "  ", line, sep="", markup=False)
    _say_unknown(out, "Licence", report.not_licensed, "not installed on this system")
    _say_unknown(out, "Vulnerabilities", report.not_audited, "; ".join(dict.fromkeys(report.problems)))
    audited, findings = len(report.audited), len(report.findings)
    out.print(
        f"{len(report.packages)} locked packages: licences of {len(report.licences)} known, "
        f"{audited} asked about for vulnerabilities, {findings} findings that nobody has explained."
    )


def _licences(report: Report) -> Table:
    by_licence: dict[str, list[str]] = defaultdict(list)
    for package, licence in report.licences.items():
        by_licence[licence].append(package.name)
    table = Table("licence", "packages", "which", title="Licences")
    for licence, names in sorted(by_licence.items(), key=lambda pair: (-len(pair[1]), pair[0])):
        table.add_row(licence, str(len(names)), _names(names))
    return table


def _say_unknown(out: Console, what: str, packages: tuple[Package, ...], why: str) -> None:
    if packages:
        names = _names([package.name for package in packages])
        out.print(f"{what}: NOT AUDITED: {len(packages)} packages ({names}): {why}", markup=False)


def _names(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
    return ", ".join(islice(names, _NAMED)) + more
