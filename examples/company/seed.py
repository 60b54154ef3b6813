"""The example data: some four hundred rows that agree with each other; the longer tables are files in ``rows``."""

import csv
from decimal import Decimal
from pathlib import Path

from examples.company import money
from examples.company.books import CompanyBooks, Value
from examples.company.lookup import insert_row
from examples.company.tables import TABLES, all_columns

_ROWS = Path(__file__).with_name("rows")

_EMPLOYEES = """
EMP-101|Ingrid Solberg|+1 555 0101|VP Operations|Operations|
EMP-102|Tomas Okafor|+1 555 0102|VP Product|Product|
EMP-103|Priya Raman|+1 555 0103|Finance Director|Finance|
EMP-118|Lucas Meyer|+1 555 0118|Marketing Manager|Marketing|EMP-101
EMP-203|Hana Sato|+1 555 0203|Engineering Manager|Engineering|EMP-102
EMP-219|Diego Alvarez|+1 555 0219|Support Lead|Operations|EMP-101
EMP-305|Mei Lin|+1 555 0305|Software Engineer|Engineering|EMP-203
EMP-311|Oliver Grant|+1 555 0311|Software Engineer|Engineering|EMP-203
EMP-352|Fatima Haddad|+1 555 0352|Accountant|Finance|EMP-103
EMP-404|Nora Beck|+1 555 0404|Campaign Specialist|Marketing|EMP-118
EMP-447|Jordan Reyes|+1 555 0447|Product Designer|Product|EMP-102
EMP-451|Amara Diallo|+1 555 0451|Product Analyst|Product|EMP-102
EMP-460|Sven Larsen|+1 555 0460|Warehouse Planner|Operations|EMP-219
"""
_FORMER = "EMP-389|Claire Dubois|+1 555 0389|Copywriter|Marketing|EMP-118"

# department, allocated, spent (every approved claim below is in it)
_BUDGETS = """
BUD-01|Engineering|12000000|4315000
BUD-02|Finance|4000000|618000
BUD-03|Marketing|6000000|5740000
BUD-04|Operations|9000000|2207500
BUD-05|Product|5000000|1289900
"""
_RESERVATIONS = """
RSV-5001|Engineering|850000|Conference booths in June
RSV-5002|Marketing|200000|Photo shoot for the spring catalogue
"""

_EXPENSES = """
EXP-1001|EMP-447|234000|offsite|Team offsite|pending
EXP-1002|EMP-305|8640|meals|Dinner with the platform team|pending
EXP-1003|EMP-311|44900|training|Course on distributed systems|pending
EXP-1004|EMP-404|312000|travel|Trade fair in Lyon, flights and hotel|pending
EXP-1005|EMP-460|19950|equipment|Label printer for the warehouse|pending
EXP-1006|EMP-203|675000|training|Leadership programme for three engineers|pending
EXP-1007|EMP-451|824000|software|Research panel subscription, one year|pending
EXP-1008|EMP-118|41200|alcohol|Wine for a client evening|pending
EXP-1009|EMP-352|12900|travel|Train to the auditors|pending
EXP-1010|EMP-219|1250000|equipment|Headsets and desks for the support floor|pending
EXP-1011|EMP-305|23000|software|Editor licence|approved
EXP-1012|EMP-447|15900|software|Font licence|approved
EXP-1013|EMP-404|98000|travel|Client visit in Madrid|approved
EXP-1014|EMP-311|56000|equipment|Gaming chair|rejected
EXP-1015|EMP-118|30000|alcohol|Champagne for the launch|rejected
EXP-1016|EMP-460|7550|travel|Parking at the port|approved
EXP-1000|EMP-451|234000|offsite|Team offsite of the other half|pending
"""

_ORDERS = """
ORD-2001|Bright Cafe|orders@brightcafe.example|Espresso machine|1|189900|0|delivered
ORD-2002|Bright Cafe|orders@brightcafe.example|Grinder|2|65800|0|delivered
ORD-2003|Helen Marsh|helen.marsh@mail.example|Kettle|1|7900|7900|delivered
ORD-2004|Old Mill Hotel|purchasing@oldmill.example|Cup set|40|52000|13000|delivered
ORD-2005|Victor Novak|victor.novak@mail.example|Milk frother|1|8950|0|shipped
ORD-2006|Green Fork|kitchen@greenfork.example|Water filter|6|31200|0|placed
ORD-2007|Helen Marsh|helen.marsh@mail.example|Tea pot|1|4500|0|placed
ORD-2008|Old Mill Hotel|purchasing@oldmill.example|Coffee beans 10 kg|12|154800|0|placed
ORD-2009|Sara Lindqvist|sara.l@mail.example|Scale|1|12400|2400|delivered
ORD-2010|Green Fork|kitchen@greenfork.example|Serving tray|25|43750|0|cancelled
ORD-2011|Victor Novak|victor.novak@mail.example|Cleaning kit|2|5980|0|delivered
ORD-2012|Bright Cafe|orders@brightcafe.example|Spare gasket|10|3990|0|shipped
"""
_REFUNDS = """
REF-3001|ORD-2003|7900|Arrived broken
REF-3002|ORD-2004|10000|Eight cups missing
REF-3003|ORD-2004|3000|Two cups chipped
REF-3004|ORD-2009|2400|Late delivery
"""
_OUTBOX = """
MSG-4001|EMP-305|Claim approved|Your claim EXP-1011 was approved.
MSG-4002|EMP-311|Claim rejected|Your claim EXP-1014 was rejected: not work equipment.
MSG-4003|EMP-118|Claim rejected|Your claim EXP-1015 was rejected: alcohol is not covered.
"""
_DAY = "2026-03-{:02d}T09:00:00.000+00:00"


def is_empty(books: CompanyBooks) -> bool:
    return books.find_number("SELECT COUNT(*) FROM employees") == 0


def delete_database(database: Path) -> None:
    """Delete a database and its logs, if they are there."""
    for suffix in ("", "-wal", "-shm"):
        Path(f"{database}{suffix}").unlink(missing_ok=True)


def fill_books(books: CompanyBooks) -> None:
    """Fill empty books, all or nothing. Planted rows do not count as writes."""
    books.execute("BEGIN IMMEDIATE")
    for fill in (_insert_people, _insert_budgets, _insert_claims, _insert_trade, _insert_messages):
        fill(books)
    for table in TABLES:
        _insert_csv_rows(books, table)
    books.execute("COMMIT")
    books.checkpoint()


def _split_lines(table: str) -> list[list[str]]:
    return [line.split("|") for line in table.strip().splitlines()]


def _insert_csv_rows(books: CompanyBooks, table: str) -> None:
    path = _ROWS / f"{table}.csv"
    if path.exists():
        with path.open(encoding="utf-8", newline="") as file:
            for row in csv.DictReader(file):
                insert_row(books, table, _parse_row(table, row))


def _parse_row(table: str, row: dict[str, str]) -> dict[str, Value]:
    known = {column.name: column for column in all_columns()[table]}
    return {known[name].stored: _parse_value(text, known[name].type) for name, text in row.items()}


def _parse_value(text: str, kind: str) -> Value:
    if kind == "boolean":
        return int(text == "true")
    return money.to_cents(Decimal(text)) if text and kind == "decimal" else text or None


def _insert_people(books: CompanyBooks) -> None:
    sql = (
        "INSERT INTO employees (id, name, email, phone, title, department, manager_id, status)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    for status, table in (("active", _EMPLOYEES), ("former", _FORMER)):
        for key, name, phone, title, department, manager in _split_lines(table):
            email = f"{name.lower().replace(' ', '.')}@company.example"
            books.execute(sql, key, name, email, phone, title, department, manager or None, status)


def _insert_budgets(books: CompanyBooks) -> None:
    budget = (
        "INSERT INTO budgets (id, department, year, allocated_cents, spent_cents, reserved_cents)"
        " VALUES (?, ?, 2026, ?, ?, 0)"
    )
    for key, department, allocated, spent in _split_lines(_BUDGETS):
        books.execute(budget, key, department, int(allocated), int(spent))
    held = "INSERT INTO reservations (id, department, amount_cents, purpose, created_at) VALUES (?, ?, ?, ?, ?)"
    for day, (key, department, amount, purpose) in enumerate(_split_lines(_RESERVATIONS), start=1):
        books.execute(held, key, department, int(amount), purpose, _DAY.format(day))
        move = "UPDATE budgets SET reserved_cents = reserved_cents + ? WHERE department = ?"
        books.execute(move, int(amount), department)


def _insert_claims(books: CompanyBooks) -> None:
    sql = (
        "INSERT INTO expenses (id, employee_id, amount_cents, category, description, submitted_at, status, decided_at)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
    )
    for day, (key, employee, amount, category, description, status) in enumerate(_split_lines(_EXPENSES), start=2):
        decided = None if status == "pending" else _DAY.format(day + 1)
        books.execute(sql, key, employee, int(amount), category, description, _DAY.format(day), status, decided)


def _insert_trade(books: CompanyBooks) -> None:
    order = (
        "INSERT INTO orders (id, customer_name, customer_email, item, quantity, total_cents, refunded_cents, status,"
        " placed_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"
    )
    for day, (key, name, email, item, quantity, total, refunded, status) in enumerate(_split_lines(_ORDERS), start=4):
        books.execute(order, key, name, email, item, int(quantity), int(total), int(refunded), status, _DAY.format(day))
    refund = "INSERT INTO refunds (id, order_id, amount_cents, reason, created_at) VALUES (?, ?, ?, ?, ?)"
    for day, (key, order_id, amount, reason) in enumerate(_split_lines(_REFUNDS), start=18):
        books.execute(refund, key, order_id, int(amount), reason, _DAY.format(day))


def _insert_messages(books: CompanyBooks) -> None:
    sql = "INSERT INTO outbox (id, recipient, subject, message, created_at) VALUES (?, ?, ?, ?, ?)"
    for day, (key, recipient, subject, message) in enumerate(_split_lines(_OUTBOX), start=20):
        books.execute(sql, key, recipient, subject, message, _DAY.format(day))
