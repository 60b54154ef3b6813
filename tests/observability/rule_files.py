"""The rules and dashboards of ``observability/``, as the tests read them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple, cast

import yaml

from tests.deployment.dockerfile import ROOT
from tests.observability.queries import grouped_by

FOLDER = ROOT / "observability"
RULES = tuple(sorted((FOLDER / "rules").glob("*.yml")))
DASHBOARDS = tuple(sorted((FOLDER / "grafana" / "dashboards").glob("*.json")))
Document = dict[str, object]


class Alert(NamedTuple):
    name: str
    expression: str
    waits: str
    severity: str
    annotations: dict[str, str]


class Query(NamedTuple):
    """One expression, and where it stands."""

    place: str
    expression: str


def _rules() -> Iterator[Document]:
    for path in RULES:
        for group in cast("list[Document]", yaml.safe_load(path.read_text())["groups"]):
            yield from cast("list[Document]", group["rules"])


def alerts() -> list[Alert]:
    return [
        Alert(
            str(rule["alert"]),
            str(rule["expr"]),
            str(rule["for"]),
            cast("dict[str, str]", rule["labels"])["severity"],
            cast("dict[str, str]", rule["annotations"]),
        )
        for rule in _rules()
        if "alert" in rule
    ]


def recorded() -> dict[str, frozenset[str]]:
    """The series of recording rules with the labels that they keep."""
    return {str(rule["record"]): grouped_by(str(rule["expr"])) - {"le"} for rule in _rules() if "record" in rule}


def rule_queries() -> list[Query]:
    return [Query(str(rule.get("alert") or rule.get("record")), str(rule["expr"])) for rule in _rules()]


def dashboard(path: Path) -> Document:
    return cast(Document, json.loads(path.read_text()))


def panels(path: Path) -> list[Document]:
    """All but the rows."""
    found = cast("list[Document]", dashboard(path)["panels"])
    return [panel for panel in found if panel["type"] != "row"]


def dashboard_queries() -> list[Query]:
    return [
        Query(f"{path.stem}: {panel['title']}", str(target["expr"]))
        for path in DASHBOARDS
        for panel in panels(path)
        for target in cast("list[Document]", panel["targets"])
    ]
