"""Tools over incidents, the service levels they break, and the credits that follow."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company import money
from examples.company.books import AlreadyDone, CompanyBooks, ToolRefused
from examples.company.lookup import add, cents_of, check_status, fetch, find, require_row, rows_of, update
from examples.company.money import Amount
from examples.company.toolbox import ADD, DECIDE, READ, Arguments, CompanyTool, not_found
from examples.company.tools.people import EmployeeId, require_active
from shared.domain.exact_json import Json

IncidentId = Annotated[str, Field(description="Incident id, such as INC-1501", min_length=1)]
SlaId = Annotated[str, Field(description="SLA id, such as SLA-1401", min_length=1)]
Severity = Literal["P1", "P2", "P3", "P4"]


class IncidentById(Arguments):
    incident_id: IncidentId


class IncidentFilter(Arguments):
    status: Annotated[Literal["open", "resolved"] | None, Field(description="Only this status")] = None
    severity: Annotated[Severity | None, Field(description="Only this severity")] = None


class NewIncident(Arguments):
    title: Annotated[str, Field(description="What is wrong, in a few words", min_length=1)]
    severity: Annotated[Severity, Field(description="P1 is the worst")]
    service: Annotated[str, Field(description="The service that is affected", min_length=1)]


class EscalateIncident(IncidentById):
    severity: Annotated[Severity, Field(description="The new severity, worse than before")]


class AssignIncident(IncidentById):
    employee_id: EmployeeId


class ResolveIncident(IncidentById):
    resolution: Annotated[str, Field(description="What was done", min_length=1)]


class SlaById(Arguments):
    sla_id: SlaId


class SlaFilter(Arguments):
    customer_id: Annotated[str | None, Field(description="Only SLAs of this customer")] = None
    service: Annotated[str | None, Field(description="Only SLAs over this service")] = None


class NewCredit(Arguments):
    incident_id: IncidentId
    sla_id: SlaId
    amount: Amount
    reason: Annotated[str, Field(description="Why the credit is given", min_length=1)]


class CreditFilter(Arguments):
    sla_id: Annotated[str | None, Field(description="Only credits of this SLA")] = None
    incident_id: Annotated[str | None, Field(description="Only credits for this incident")] = None


def get_incident(books: CompanyBooks, asked: IncidentById) -> Json:
    return find(books, "incidents", asked.incident_id)


def list_incidents(books: CompanyBooks, asked: IncidentFilter) -> Json:
    return [*fetch(books, rows_of("incidents", status=asked.status, severity=asked.severity))]


def create_incident(books: CompanyBooks, asked: NewIncident) -> Json:
    fields = {"title": asked.title, "severity": asked.severity, "service": asked.service}
    return add(books, "incidents", **fields, created_at=books.now())


def escalate_incident(books: CompanyBooks, asked: EscalateIncident) -> Json:
    incident = check_status(books, "incidents", asked.incident_id, "open")
    if asked.severity >= str(incident["severity"]):
        raise AlreadyDone(f"Incident {asked.incident_id} is already {incident['severity']}.")
    return update(books, "incidents", asked.incident_id, severity=asked.severity)


def assign_incident(books: CompanyBooks, asked: AssignIncident) -> Json:
    check_status(books, "incidents", asked.incident_id, "open")
    require_active(books, asked.employee_id)
    return update(books, "incidents", asked.incident_id, employee_id=asked.employee_id)


def resolve_incident(books: CompanyBooks, asked: ResolveIncident) -> Json:
    check_status(books, "incidents", asked.incident_id, "open")
    resolved = {"status": "resolved", "resolution": asked.resolution, "decided_at": books.now()}
    return update(books, "incidents", asked.incident_id, **resolved)


def get_sla(books: CompanyBooks, asked: SlaById) -> Json:
    """With how often it was broken so far."""
    broken = (
        "SELECT COUNT(*) FROM incidents i WHERE i.sla_id = s.id AND i.downtime_minutes > s.allowed_downtime_minutes"
    )
    sql = f"SELECT s.*, ({broken}) AS breaches FROM slas s WHERE s.id = ?"  # noqa: S608 - our own words
    return books.find_row(sql, asked.sla_id) or not_found("SLA", asked.sla_id)


def list_slas(books: CompanyBooks, asked: SlaFilter) -> Json:
    return [*fetch(books, rows_of("slas", customer_id=asked.customer_id, service=asked.service))]


def record_sla_credit(books: CompanyBooks, asked: NewCredit) -> Json:
    incident = require_row(books, "incidents", asked.incident_id)
    require_row(books, "slas", asked.sla_id)
    if incident["sla_id"] != asked.sla_id:
        raise ToolRefused(f"Incident {asked.incident_id} does not fall under {asked.sla_id}.")
    _require_breach(books, asked)
    if other := books.find_row("SELECT id FROM sla_credits WHERE incident_id = ?", asked.incident_id):
        raise AlreadyDone(f"The breach {asked.incident_id} already has the credit {other['id']}.")
    fields = {"incident_id": asked.incident_id, "sla_id": asked.sla_id, "reason": asked.reason}
    return add(books, "sla_credits", **fields, amount_cents=money.to_cents(asked.amount), created_at=books.now())


def _require_breach(books: CompanyBooks, asked: NewCredit) -> None:
    permitted = cents_of(books, "slas", asked.sla_id, "allowed_downtime_minutes")
    down = cents_of(books, "incidents", asked.incident_id, "downtime_minutes")
    if down <= permitted:
        raise ToolRefused(f"{down} minutes are within the {permitted} that {asked.sla_id} allows.")
    fee = cents_of(books, "slas", asked.sla_id, "monthly_fee_cents")
    if money.to_cents(asked.amount) > fee:
        raise ToolRefused(f"A credit is never more than the monthly fee of {money.spell(fee)}.")


def list_sla_credits(books: CompanyBooks, asked: CreditFilter) -> Json:
    return [*fetch(books, rows_of("sla_credits", sla_id=asked.sla_id, incident_id=asked.incident_id))]


TOOLS = (
    CompanyTool("get_incident", "One incident by id, with its downtime in minutes.", IncidentById, READ, get_incident),
    CompanyTool(
        "list_incidents", "Incidents, by status or by severity if given.", IncidentFilter, READ, list_incidents
    ),
    CompanyTool("create_incident", "Open a new incident.", NewIncident, ADD, create_incident, keyed=True),
    CompanyTool("escalate_incident", "Raise an open incident's severity.", EscalateIncident, DECIDE, escalate_incident),
    CompanyTool("assign_incident", "Give an open incident to an employee.", AssignIncident, DECIDE, assign_incident),
    CompanyTool("resolve_incident", "Resolve an open incident; once only.", ResolveIncident, DECIDE, resolve_incident),
    CompanyTool(
        "get_sla",
        "One SLA by id: what a customer is promised and owed, and how often it was broken.",
        SlaById,
        READ,
        get_sla,
    ),
    CompanyTool("list_slas", "SLAs, by customer or by service if given.", SlaFilter, READ, list_slas),
    CompanyTool(
        "record_sla_credit",
        "Credit a customer for an incident that broke an SLA; once for each breach.",
        NewCredit,
        ADD,
        record_sla_credit,
    ),
    CompanyTool(
        "list_sla_credits",
        "Credits for broken SLAs, by SLA or by incident if given.",
        CreditFilter,
        READ,
        list_sla_credits,
    ),
)
