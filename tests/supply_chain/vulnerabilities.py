"""Known vulnerabilities of locked packages, as `pip-audit` asks a service for them."""

import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import BaseModel, ConfigDict, ValidationError

from tests.supply_chain.locked import Package, canonical

_AT_ONCE = 40  # pip-audit gives up at the first question that fails: so few at a time share that fate
_SECONDS = 300
_GIVEN_UP_AFTER = 2  # failed rounds in a row; a service that is away is not asked for minutes


class _Known(BaseModel):
    model_config = ConfigDict(frozen=True)

    id: str
    aliases: tuple[str, ...] = ()
    fix_versions: tuple[str, ...] = ()


class _Dependency(BaseModel):
    model_config = ConfigDict(frozen=True)

    name: str
    version: str = ""
    skip_reason: str = ""
    vulns: tuple[_Known, ...] = ()


class Reply(BaseModel):
    model_config = ConfigDict(frozen=True)

    dependencies: tuple[_Dependency, ...]


class Vulnerability(NamedTuple):
    package: Package
    ids: tuple[str, ...]  # the service's own first, then the others under which it is known
    fixed_in: tuple[str, ...]


class Answers(NamedTuple):
    """What was looked up, what is known of it, and why the rest could not be looked up."""

    audited: frozenset[Package] = frozenset()
    found: tuple[Vulnerability, ...] = ()
    problems: tuple[str, ...] = ()

    def and_also(self, other: "Answers") -> "Answers":
        return Answers(self.audited | other.audited, self.found + other.found, self.problems + other.problems)


def ask(packages: Sequence[Package], tools: Path, options: Sequence[str]) -> Answers:
    """``options`` choose the service. Never raises for a service that is away: its packages are not audited."""
    answers, failed = Answers(), 0
    for start in range(0, len(packages), _AT_ONCE):
        said = _asked(packages[start : start + _AT_ONCE], tools, options)
        answers = answers.and_also(said)
        failed = failed + 1 if not said.audited else 0
        if failed == _GIVEN_UP_AFTER:
            break
    return answers


def _asked(packages: Sequence[Package], tools: Path, options: Sequence[str]) -> Answers:
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as names:
        names.writelines(f"{package.name}=={package.version}\n" for package in packages)
        names.flush()
        command = [str(tools / "pip-audit"), "--requirement", names.name, "--no-deps", "--disable-pip"]
        command += ["--format=json", "--progress-spinner=off", "--desc=off", *options]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=_SECONDS, check=False)
        except subprocess.TimeoutExpired:
            return Answers(problems=(f"no answer within {_SECONDS} seconds",))
    try:
        return read_answer(Reply.model_validate_json(done.stdout), packages)
    except ValidationError:
        return Answers(problems=tuple(done.stderr.strip().splitlines()[-1:]))


def read_answer(reply: Reply, packages: Sequence[Package]) -> Answers:
    """Only what was asked for, was not skipped, and came back in that version counts as audited."""
    looked_up = {
        Package(canonical(each.name), each.version): each for each in reply.dependencies if not each.skip_reason
    }
    known = [each for each in packages if each in looked_up]
    skipped = sorted({each.skip_reason for each in reply.dependencies if each.skip_reason})
    return Answers(frozenset(known), tuple(_found(known, looked_up)), tuple(skipped[:1]))


def _found(packages: Sequence[Package], looked_up: dict[Package, _Dependency]) -> Iterator[Vulnerability]:
    for package in packages:
        for known in looked_up[package].vulns:
            yield Vulnerability(package, (known.id, *known.aliases), known.fix_versions)
