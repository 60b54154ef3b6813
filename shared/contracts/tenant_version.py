"""One version of a tenant's record: what it said, and who had it so since when."""

from datetime import datetime

from shared.contracts.base import Contract
from shared.contracts.tenant import TenantRecord
from shared.contracts.tenant_document import read_owned_record
from shared.domain.exact_json import JsonObject, loads_object


class TenantVersion(Contract):
    """``document_json``: the record as it was written, exactly; ``restored``: the version that it repeats, if any.

    ``withdrawn``: from this version on the tenant has no stored record, as if there had never been one.
    """

    version: int
    at: datetime
    by: str
    comment: str = ""
    restored: int | None = None
    withdrawn: bool = False
    document_json: str

    @property
    def document(self) -> JsonObject:
        return loads_object(self.document_json)

    def record(self, tenant: str) -> TenantRecord:
        """Raises ``BadRecord`` where this process cannot read what another version of it has written."""
        return read_owned_record({**self.document, "version": str(self.version)}, tenant)
