-- Money is in integer cents (_cents), a yes or no is 1 or 0 (_flag). A status is set once and moves one way.
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
CREATE TABLE IF NOT EXISTS idempotency_keys (
    key TEXT PRIMARY KEY, tool TEXT NOT NULL, arguments TEXT NOT NULL, result TEXT NOT NULL, at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS vendors (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, email TEXT NOT NULL, trade TEXT NOT NULL,
    payment_days INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'active'
);
CREATE TABLE IF NOT EXISTS purchase_orders (
    id TEXT PRIMARY KEY, vendor_id TEXT NOT NULL REFERENCES vendors (id),
    department TEXT NOT NULL REFERENCES budgets (department), requested_by TEXT NOT NULL REFERENCES employees (id),
    item TEXT NOT NULL, amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    status TEXT NOT NULL DEFAULT 'pending', created_at TEXT NOT NULL, decided_at TEXT, note TEXT, reason TEXT
);
CREATE TABLE IF NOT EXISTS invoices (
    id TEXT PRIMARY KEY, vendor_id TEXT NOT NULL REFERENCES vendors (id),
    purchase_order_id TEXT REFERENCES purchase_orders (id), invoice_number TEXT NOT NULL,
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), due_on TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'open', variance_cents INTEGER, created_at TEXT NOT NULL, decided_at TEXT, reason TEXT
);
CREATE TABLE IF NOT EXISTS payments (
    id TEXT PRIMARY KEY, invoice_id TEXT NOT NULL UNIQUE REFERENCES invoices (id),
    vendor_id TEXT NOT NULL REFERENCES vendors (id), amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    status TEXT NOT NULL DEFAULT 'issued', created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS contracts (
    id TEXT PRIMARY KEY, vendor_id TEXT NOT NULL REFERENCES vendors (id), title TEXT NOT NULL,
    yearly_value_cents INTEGER NOT NULL, starts_on TEXT NOT NULL, ends_on TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'active', reason TEXT, CHECK (starts_on < ends_on)
);
CREATE TABLE IF NOT EXISTS customers (
    id TEXT PRIMARY KEY, name TEXT NOT NULL, email TEXT NOT NULL UNIQUE, kyc_status TEXT NOT NULL DEFAULT 'missing',
    status TEXT NOT NULL DEFAULT 'active', created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS plans (
    id TEXT PRIMARY KEY, plan_name TEXT NOT NULL UNIQUE, seat_fee_cents INTEGER NOT NULL,
    storage_gb INTEGER NOT NULL, retention_days INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS subscriptions (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id),
    plan_name TEXT NOT NULL REFERENCES plans (plan_name), seats INTEGER NOT NULL CHECK (seats > 0),
    monthly_cents INTEGER NOT NULL, renews_on TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'active', reason TEXT
);
CREATE TABLE IF NOT EXISTS receivables (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id),
    amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), received_cents INTEGER NOT NULL DEFAULT 0,
    due_on TEXT NOT NULL, dunning TEXT NOT NULL DEFAULT 'unreminded', status TEXT NOT NULL DEFAULT 'open', reason TEXT,
    CHECK (received_cents <= amount_cents)
);
CREATE TABLE IF NOT EXISTS slas (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id), service TEXT NOT NULL,
    allowed_downtime_minutes INTEGER NOT NULL, monthly_fee_cents INTEGER NOT NULL, credit_pct INTEGER NOT NULL,
    credit_cap_pct INTEGER NOT NULL, UNIQUE (customer_id, service)
);
CREATE TABLE IF NOT EXISTS incidents (
    id TEXT PRIMARY KEY, title TEXT NOT NULL, severity TEXT NOT NULL, service TEXT NOT NULL,
    sla_id TEXT REFERENCES slas (id), employee_id TEXT REFERENCES employees (id),
    downtime_minutes INTEGER NOT NULL DEFAULT 0,
    payment_data_flag INTEGER NOT NULL DEFAULT 0 CHECK (payment_data_flag IN (0, 1)),
    status TEXT NOT NULL DEFAULT 'open', resolution TEXT, created_at TEXT NOT NULL, decided_at TEXT
);
CREATE TABLE IF NOT EXISTS sla_credits (
    id TEXT PRIMARY KEY, incident_id TEXT NOT NULL UNIQUE REFERENCES incidents (id),
    sla_id TEXT NOT NULL REFERENCES slas (id), amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    reason TEXT NOT NULL, created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS assets (
    id TEXT PRIMARY KEY, item TEXT NOT NULL, serial_number TEXT NOT NULL UNIQUE,
    employee_id TEXT REFERENCES employees (id), value_cents INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'stored',
    CHECK ((employee_id IS NULL) = (status <> 'assigned'))
);
CREATE TABLE IF NOT EXISTS access_rights (
    id TEXT PRIMARY KEY, employee_id TEXT NOT NULL REFERENCES employees (id), system TEXT NOT NULL,
    privilege TEXT NOT NULL, revocation_rank INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'active',
    decided_at TEXT, reason TEXT
);
CREATE TABLE IF NOT EXISTS payroll_runs (
    id TEXT PRIMARY KEY, country TEXT NOT NULL, period TEXT NOT NULL, gross_cents INTEGER NOT NULL,
    tax_cents INTEGER NOT NULL, net_cents INTEGER NOT NULL, status TEXT NOT NULL DEFAULT 'prepared', decided_at TEXT,
    note TEXT, UNIQUE (country, period), CHECK (net_cents = gross_cents - tax_cents)
);
CREATE TABLE IF NOT EXISTS payslips (
    id TEXT PRIMARY KEY, payroll_run_id TEXT NOT NULL REFERENCES payroll_runs (id),
    employee_id TEXT NOT NULL REFERENCES employees (id), gross_cents INTEGER NOT NULL, tax_cents INTEGER NOT NULL,
    net_cents INTEGER NOT NULL, reason TEXT, UNIQUE (payroll_run_id, employee_id),
    CHECK (net_cents = gross_cents - tax_cents)
);
CREATE TABLE IF NOT EXISTS tickets (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id), subject TEXT NOT NULL,
    priority TEXT NOT NULL, employee_id TEXT REFERENCES employees (id), status TEXT NOT NULL DEFAULT 'open',
    resolution TEXT, created_at TEXT NOT NULL, decided_at TEXT
);
CREATE TABLE IF NOT EXISTS screenings (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL UNIQUE REFERENCES customers (id), risk_level TEXT NOT NULL,
    politically_exposed_flag INTEGER NOT NULL DEFAULT 0 CHECK (politically_exposed_flag IN (0, 1)),
    sanctions_hits INTEGER NOT NULL DEFAULT 0, screened_on TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS kyc_documents (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id), kind TEXT NOT NULL,
    status TEXT NOT NULL DEFAULT 'missing', expires_on TEXT, UNIQUE (customer_id, kind)
);
CREATE TABLE IF NOT EXISTS kyc_shortfalls (
    id TEXT PRIMARY KEY, kyc_document_id TEXT NOT NULL UNIQUE REFERENCES kyc_documents (id),
    customer_id TEXT NOT NULL REFERENCES customers (id), status TEXT NOT NULL DEFAULT 'open', created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS disputes (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id),
    order_id TEXT NOT NULL REFERENCES orders (id), amount_cents INTEGER NOT NULL CHECK (amount_cents > 0),
    complaint TEXT NOT NULL, elevated_review_flag INTEGER NOT NULL DEFAULT 0 CHECK (elevated_review_flag IN (0, 1)),
    status TEXT NOT NULL DEFAULT 'open', resolution TEXT, reason TEXT, created_at TEXT NOT NULL, decided_at TEXT
);
CREATE TABLE IF NOT EXISTS products (
    id TEXT PRIMARY KEY, item TEXT NOT NULL UNIQUE, price_cents INTEGER NOT NULL CHECK (price_cents > 0),
    stock INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS order_items (
    id TEXT PRIMARY KEY, order_id TEXT NOT NULL REFERENCES orders (id),
    product_id TEXT NOT NULL REFERENCES products (id), quantity INTEGER NOT NULL CHECK (quantity > 0),
    price_cents INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS ledger_periods (
    id TEXT PRIMARY KEY, month TEXT NOT NULL UNIQUE, status TEXT NOT NULL DEFAULT 'open',
    ledger_balance_cents INTEGER NOT NULL, bank_balance_cents INTEGER NOT NULL, closed_at TEXT
);
CREATE TABLE IF NOT EXISTS ledger_accounts (
    id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, kind TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS ledger_bookings (
    id TEXT PRIMARY KEY, ledger_period_id TEXT NOT NULL REFERENCES ledger_periods (id),
    debit_id TEXT NOT NULL REFERENCES ledger_accounts (id), credit_id TEXT NOT NULL REFERENCES ledger_accounts (id),
    purpose TEXT NOT NULL, amount_cents INTEGER NOT NULL CHECK (amount_cents > 0), created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS customer_contracts (
    id TEXT PRIMARY KEY, customer_id TEXT NOT NULL REFERENCES customers (id), title TEXT NOT NULL,
    value_cents INTEGER NOT NULL, months INTEGER NOT NULL CHECK (months > 0), starts_on TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS payment_plans (
    id TEXT PRIMARY KEY, receivable_id TEXT NOT NULL UNIQUE REFERENCES receivables (id),
    instalments INTEGER NOT NULL CHECK (instalments > 1), status TEXT NOT NULL DEFAULT 'active', created_at TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS usages (
    id TEXT PRIMARY KEY, subscription_id TEXT NOT NULL UNIQUE REFERENCES subscriptions (id),
    storage_gb INTEGER NOT NULL, retention_days INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS tax_rates (
    id TEXT PRIMARY KEY, country TEXT NOT NULL UNIQUE, tax_pct TEXT NOT NULL
);
CREATE TABLE IF NOT EXISTS bank_files (
    id TEXT PRIMARY KEY, period TEXT NOT NULL UNIQUE, total_cents INTEGER NOT NULL,
    status TEXT NOT NULL DEFAULT 'prepared', created_at TEXT NOT NULL
);
