-- Money is in integer cents. A status is set once and moves one way.
CREATE TABLE IF NOT EXISTS employees (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, phone TEXT NOT NULL,
    title TEXT NOT NULL, department TEXT NOT NULL, manager_id TEXT REFERENCES employees (id),
    status TEXT NOT NULL DEFAULT 'active'
);
CREATE TABLE IF NOT EXISTS budgets (
    id TEXT PRIMARY KEY, department TEXT NOT NULL UNIQUE, year INTEGER NOT NULL,
    allocated_cents INTEGER NOT NULL, spent_cents INTEGER NOT NULL, reserved_cents INTEGER NOT NULL,
    CHECK (spent_cents + reserved_cents <= allocated_cents)
);
CREATE TABLE IF NOT EXISTS reservations (
    id TEXT PRIMARY KEY, department TEXT NOT NULL REFERENCES budgets (department),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), purpose TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active', created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS expenses (
    id TEXT PRIMARY KEY, employee_id TEXT NOT NULL REFERENCES employees (id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), category TEXT NOT NULL, description TEXT NOT NULL,
    submitted_at TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'pending', decided_at TEXT,
    note TEXT, reason TEXT
);
CREATE TABLE IF NOT EXISTS orders (
    id TEXT PRIMARY KEY, customer_name TEXT NOT NULL, customer_email TEXT NOT NULL, item TEXT NOT NULL,
    quantity INTEGER NOT NULL, total_cents INTEGER NOT NULL, refunded_cents INTEGER NOT NULL DEFAULT 0,
    status TEXT NOT NULL, placed_at TEXT NOT NULL, cancel_reason TEXT,
    CHECK (refunded_cents <= total_cents)
);
CREATE TABLE IF NOT EXISTS refunds (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), reason TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'issued', created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS outbox (
    id TEXT PRIMARY KEY, recipient TEXT NOT NULL, subject TEXT NOT NULL, message TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS writes (
    number INTEGER PRIMARY KEY AUTOINCREMENT, tool TEXT NOT NULL, arguments TEXT NOT NULL, at TEXT NOT NULL
);
