"""What an audit comes to: findings that nobody has explained, what is accepted, and what was not looked up."""

from collections.abc import Collection, Iterator, Mapping
from datetime import date
from typing import NamedTuple

from tests.supply_chain.accepted import Accepted, Rules, allowed
from tests.supply_chain.locked import Package
from tests.supply_chain.vulnerabilities import Answers, Vulnerability


class Report(NamedTuple):
    """``findings`` must be empty. Of what is in a ``not_`` list nothing is known, which is not the same as nothing."""

    packages: tuple[Package, ...]
    licences: Mapping[Package, str]
    audited: Collection[Package]
    findings: tuple[str, ...]
    accepted: tuple[str, ...]
    not_licensed: tuple[Package, ...]
    not_audited: tuple[Package, ...]
    problems: tuple[str, ...]

    @property
    def complete(self) -> bool:
        return not (self.not_licensed or self.not_audited)


def audit(
    packages: tuple[Package, ...], licences: Mapping[Package, str], answers: Answers, rules: Rules, today: date
) -> Report:
    known = {package: licences[package] for package in packages if package in licences}
    entries = [entry for entry in rules.accepted if entry.counts(today)]
    open_licences = {package: text for package, text in known.items() if not allowed(text, rules.licences)}
    by_licence = {package: _licence_entry(package, text, entries) for package, text in open_licences.items()}
    by_vulnerability = {known: _vulnerability_entry(known, entries) for known in answers.found}
    used = [entry for entry in (*by_licence.values(), *by_vulnerability.values()) if entry]
    return Report(
        packages,
        known,
        answers.audited,
        (
            *(_licence_finding(package, open_licences[package]) for package, entry in by_licence.items() if not entry),
            *(_vulnerability_finding(known) for known, entry in by_vulnerability.items() if not entry),
            *_idle(rules, used, today, answers.audited, known),
        ),
        tuple(_shown(entry) for entry in dict.fromkeys(used)),
        tuple(package for package in packages if package not in licences),
        tuple(package for package in packages if package not in answers.audited),
        answers.problems,
    )


def _licence_entry(package: Package, text: str, entries: list[Accepted]) -> Accepted | None:
    return next((entry for entry in entries if (entry.package, entry.licence) == (package.name, text)), None)


def _vulnerability_entry(known: Vulnerability, entries: list[Accepted]) -> Accepted | None:
    return next(
        (entry for entry in entries if entry.package == known.package.name and entry.vulnerability in known.ids), None
    )


def _idle(
    rules: Rules, used: list[Accepted], today: date, audited: Collection[Package], licensed: Collection[Package]
) -> Iterator[str]:
    """What is accepted and no longer there, or no longer accepted: a list that only grows explains nothing."""
    names = {package.name for package in audited}, {package.name for package in licensed}
    for entry in rules.accepted:
        seen = entry.package in names[0 if entry.vulnerability else 1]
        if not entry.counts(today):
            yield f"audit.toml: {_shown(entry)}: out of date"
        elif seen and entry not in used:
            yield f"audit.toml: {_shown(entry)}: there is no such finding any more"


def _licence_finding(package: Package, licence: str) -> str:
    return f"{package.name} {package.version}: licence {licence}: neither allowed nor accepted in audit.toml"


def _vulnerability_finding(known: Vulnerability) -> str:
    package, fixed = known.package, ", ".join(known.fixed_in) or "no version yet"
    return f"{package.name} {package.version}: {' = '.join(known.ids)}, fixed in {fixed}"


def _shown(entry: Accepted) -> str:
    until = f" until {entry.until}" if entry.until else ""
    return f"{entry.package}: {entry.licence or entry.vulnerability}, since {entry.since}{until}: {entry.reason}"
