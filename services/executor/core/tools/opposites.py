"""Words of which one undoes, refuses or turns round what the other does: no tool stands in for its opposite."""

from collections.abc import Iterable

_PAIRS = """approve/deny approve/reject approve/decline approve/disapprove accept/reject accept/decline accept/deny
accept/refuse allow/deny allow/block allow/forbid grant/revoke grant/deny grant/refuse permit/deny freeze/release
freeze/unfreeze hold/release lock/unlock lock/release block/unblock block/release open/close reopen/close reopen/resolve
enable/disable activate/deactivate activate/suspend start/stop start/end begin/end pause/resume suspend/resume
suspend/reinstate add/remove add/delete create/delete create/remove create/cancel insert/delete restore/delete
install/uninstall attach/detach assign/unassign enroll/unenroll enroll/withdraw register/unregister register/deregister
subscribe/unsubscribe book/cancel confirm/cancel confirm/deny charge/refund charge/credit debit/credit pay/refund
deposit/withdraw send/recall ship/return publish/unpublish publish/retract promote/demote upgrade/downgrade
increase/decrease raise/lower hire/terminate onboard/offboard provision/deprovision commit/rollback deploy/rollback
archive/restore archive/unarchive hide/show mark/unmark flag/unflag link/unlink import/export upload/download
push/pull encrypt/decrypt mute/unmute dispute/accept escalate/deescalate escalate/resolve connect/disconnect
incoming/outgoing inbound/outbound sent/received paid/unpaid open/closed active/inactive enabled/disabled
approved/rejected approved/denied approved/pending first/last min/max start/finish old/new before/after
first/latest oldest/newest earliest/latest payable/receivable payables/receivables debit/credit debits/credits
buy/sell bought/sold customer/vendor customer/supplier customers/vendors customers/suppliers gross/net asset/liability
assets/liabilities public/private internal/external available/reserved available/unavailable valid/invalid"""
_OPPOSED = frozenset(frozenset(pair.split("/")) for pair in _PAIRS.split())
_NEGATIONS = ("un", "in", "non", "dis", "de", "ir", "im")


def opposed(some: Iterable[str], others: Iterable[str]) -> bool:
    """Whether any word of one is the opposite of a word of the other: by the table, or by a prefix that negates."""
    left, right = set(some), set(others)
    return any(_are_opposed(one, other) for one in left - right for other in right - left)


def _are_opposed(one: str, other: str) -> bool:
    short, long = sorted((one, other), key=len)
    negated = len(short) > 2 and any(long == prefix + short for prefix in _NEGATIONS)
    return negated or frozenset((one, other)) in _OPPOSED
