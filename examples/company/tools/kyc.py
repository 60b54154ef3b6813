"""Tools over what the company knows of its customers: screenings, the documents it requires, and what falls short."""

from typing import Annotated, Literal

from pydantic import Field

from examples.company.books import AlreadyDone, CompanyBooks
from examples.company.lookup import add, fetch, find, require_row, rows_of
from examples.company.toolbox import ADD, READ, Arguments, CompanyTool, not_found
from examples.company.tools.customers import CustomerId
from shared.domain.exact_json import Json

DocumentId = Annotated[str, Field(description="KYC document id, such as KYD-2301", min_length=1)]


class KycSubject(Arguments):
    customer_id: CustomerId


class DocumentById(Arguments):
    kyc_document_id: DocumentId


class ShortfallById(Arguments):
    kyc_shortfall_id: Annotated[str, Field(description="KYC shortfall id, such as SHF-2401", min_length=1)]


class DocumentFilter(KycSubject):
    status: Annotated[Literal["received", "missing", "expired"] | None, Field(description="Only this status")] = None


def get_screening(books: CompanyBooks, asked: KycSubject) -> Json:
    found = fetch(books, rows_of("screenings", customer_id=asked.customer_id))
    return found[0] if found else not_found("screening of customer", asked.customer_id)


def get_kyc_document(books: CompanyBooks, asked: DocumentById) -> Json:
    return find(books, "kyc_documents", asked.kyc_document_id)


def list_kyc_documents(books: CompanyBooks, asked: DocumentFilter) -> Json:
    return [*fetch(books, rows_of("kyc_documents", customer_id=asked.customer_id, status=asked.status))]


def get_kyc_shortfall(books: CompanyBooks, asked: ShortfallById) -> Json:
    return find(books, "kyc_shortfalls", asked.kyc_shortfall_id)


def list_kyc_shortfalls(books: CompanyBooks, asked: KycSubject) -> Json:
    return [*fetch(books, rows_of("kyc_shortfalls", customer_id=asked.customer_id))]


def record_kyc_shortfall(books: CompanyBooks, asked: DocumentById) -> Json:
    document = require_row(books, "kyc_documents", asked.kyc_document_id)
    if document["status"] == "received":
        raise AlreadyDone(f"KYC document {asked.kyc_document_id} is already received.")
    if known := fetch(books, rows_of("kyc_shortfalls", kyc_document_id=asked.kyc_document_id)):
        raise AlreadyDone(f"KYC document {asked.kyc_document_id} already has the shortfall {known[0]['id']}.")
    of = {"kyc_document_id": asked.kyc_document_id, "customer_id": str(document["customer_id"])}
    return add(books, "kyc_shortfalls", **of, created_at=books.now())


TOOLS = (
    CompanyTool(
        "get_screening", "A customer's screening: risk, political exposure, sanctions.", KycSubject, READ, get_screening
    ),
    CompanyTool("get_kyc_document", "One KYC document by id.", DocumentById, READ, get_kyc_document),
    CompanyTool(
        "list_kyc_documents",
        "The KYC documents that are required of a customer, by status if given.",
        DocumentFilter,
        READ,
        list_kyc_documents,
    ),
    CompanyTool("get_kyc_shortfall", "One KYC shortfall by id.", ShortfallById, READ, get_kyc_shortfall),
    CompanyTool(
        "list_kyc_shortfalls", "The KYC shortfalls on record of a customer.", KycSubject, READ, list_kyc_shortfalls
    ),
    CompanyTool(
        "record_kyc_shortfall",
        "Put on record that a required KYC document is missing or expired; once for each.",
        DocumentById,
        ADD,
        record_kyc_shortfall,
    ),
)
