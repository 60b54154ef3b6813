"""audit.toml: which licences anything may have, and what is accepted by name, why and since when."""

import tomllib
from datetime import date
from pathlib import Path
from typing import Self

from pydantic import Field, model_validator

from shared.contracts.base import Contract


class Accepted(Contract):
    """One package's licence, or one known vulnerability of it. After ``until`` it counts no longer."""

    package: str
    licence: str = ""
    vulnerability: str = ""
    reason: str = Field(min_length=20)
    since: date
    until: date | None = None

    @model_validator(mode="after")
    def _is_one_of_both(self) -> Self:
        if bool(self.licence) == bool(self.vulnerability):
            raise ValueError(f"{self.package}: it is a licence or a vulnerability that is accepted")
        if self.vulnerability and not self.until:
            raise ValueError(f"{self.package}: a vulnerability is accepted until a date")
        return self

    def counts(self, today: date) -> bool:
        return self.since <= today and (self.until is None or today <= self.until)


class Rules(Contract):
    licences: tuple[str, ...]
    accepted: tuple[Accepted, ...] = ()


def read_rules(file: Path) -> Rules:
    return Rules.model_validate(tomllib.loads(file.read_text()))


def allowed(licence: str, licences: tuple[str, ...]) -> bool:
    """Of licences joined by AND or a semicolon each must be allowed; of those joined by OR one."""
    every = [part for whole in licence.split(";") for part in whole.split(" AND ")]
    return all(any(_plain(one) in licences for one in part.split(" OR ")) for part in every)


def _plain(licence: str) -> str:
    """Without the brackets of an expression: those of a name, as in "ISC License (ISCL)", have both ends in it."""
    text = licence.strip()
    return text if "(" in text.lstrip("(") else text.strip("()")
