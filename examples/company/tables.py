"""The company's tables: what begins the ids of each, and its columns as they are shown."""

import sqlite3
from collections.abc import Mapping
from contextlib import closing
from functools import lru_cache
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

SCHEMA = Path(__file__).with_name("schema.sql")


class Numbering(NamedTuple):
    """Ids such as ``EMP-101``: a prefix of the table's own, and the number an empty table begins with."""

    prefix: str
    first: int


NUMBERING: Mapping[str, Numbering] = MappingProxyType(
    {
        "employees": Numbering("EMP", 101),
        "budgets": Numbering("BUD", 1),
        "reservations": Numbering("RSV", 5001),
        "expenses": Numbering("EXP", 1001),
        "orders": Numbering("ORD", 2001),
        "refunds": Numbering("REF", 3001),
        "outbox": Numbering("MSG", 4001),
        "vendors": Numbering("VEN", 601),
        "purchase_orders": Numbering("PO", 7001),
        "invoices": Numbering("INV", 6001),
        "payments": Numbering("PAY", 8001),
        "contracts": Numbering("CON", 1101),
        "customers": Numbering("CUS", 801),
        "plans": Numbering("PLA", 1),
        "subscriptions": Numbering("SBS", 1201),
        "receivables": Numbering("REC", 1301),
        "slas": Numbering("SLA", 1401),
        "incidents": Numbering("INC", 1501),
        "sla_credits": Numbering("CRD", 1601),
        "assets": Numbering("AST", 1701),
        "access_rights": Numbering("ACC", 9001),
        "payroll_runs": Numbering("RUN", 1801),
        "payslips": Numbering("SLP", 1901),
        "tickets": Numbering("TIC", 2101),
        "products": Numbering("PRD", 2201),
        "order_items": Numbering("ITM", 2301),
        "ledger_periods": Numbering("LDP", 2401),
        "ledger_accounts": Numbering("LAC", 2451),
        "ledger_bookings": Numbering("JNL", 2501),
        "customer_contracts": Numbering("CTR", 2601),
        "payment_plans": Numbering("PPL", 2701),
        "usages": Numbering("USG", 2901),
        "tax_rates": Numbering("TAX", 3001),
        "bank_files": Numbering("BNK", 2801),
        "screenings": Numbering("SCR", 2201),
        "kyc_documents": Numbering("KYD", 2301),
        "kyc_shortfalls": Numbering("SHF", 2401),
        "disputes": Numbering("DSP", 2501),
    }
)
TABLES = tuple(NUMBERING)
_BY_PREFIX = {numbering.prefix: table for table, numbering in NUMBERING.items()}
_TYPES = {"TEXT": "text", "INTEGER": "integer"}


class Column(NamedTuple):
    """A column as it is shown (``amount``), as it is stored (``amount_cents``), and what stands in it."""

    name: str
    stored: str
    type: str
    required: bool


def table_of(key: str) -> str | None:
    """The table whose ids look like this one (``INV-1``: ``invoices``); None if no table's do."""
    return _BY_PREFIX.get(key.partition("-")[0])


@lru_cache(maxsize=1)
def all_columns() -> Mapping[str, tuple[Column, ...]]:
    """The columns of each table, in their order."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.executescript(SCHEMA.read_text(encoding="utf-8"))
        return {table: _read_columns(connection, table) for table in TABLES}


def _read_columns(connection: sqlite3.Connection, table: str) -> tuple[Column, ...]:
    info = connection.execute(f"PRAGMA table_info({table})")
    return tuple(_build_column(name, kind, bool(not_null) or bool(key)) for _, name, kind, not_null, _, key in info)


def _build_column(stored: str, kind: str, required: bool) -> Column:
    if stored.endswith("_cents"):
        return Column(stored.removesuffix("_cents"), stored, "decimal", required)
    if stored.endswith("_flag"):
        return Column(stored.removesuffix("_flag"), stored, "boolean", required)
    return Column(stored, stored, _TYPES[kind], required)
