"""Names under which the same column is known in different systems (seed 002, schema_adapter.py)."""

from collections.abc import Mapping

ALIASES: Mapping[str, frozenset[str]] = {
    canonical: frozenset(variants.split())
    for canonical, variants in {
        "client_name": "customer_name account_name company_name org_name",
        "amount": "value total price cost sum total_amount",
        "user_id": "creator_id employee_id",
        "name": "title label display_name full_name",
        "category": "type classification group kind",
        "email": "em e_mail email_address contact_email mail",
        "status": "st stat state state_code current_status",
        "owner_id": "oid owner asgn assigned_to assignee_id",
        "created_at": "created create_date creation_date ts created_date date_created timestamp",
        "updated_at": "updated update_date updated_date date_updated modified_at modified last_modified last_updated",
        "description": "desc descr detail details notes comments body content",
    }.items()
}
