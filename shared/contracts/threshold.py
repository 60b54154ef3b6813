"""Values that a task is measured by, known before it acts, and what they proved to be."""

from enum import StrEnum

from shared.contracts.base import Contract


class ThresholdKind(StrEnum):
    VARIANCE = "variance"
    SLA_CREDIT = "sla_credit"
    POLICY_LIMIT = "policy_limit"


class Threshold(Contract):
    """A value, a decimal text (``2%`` for a share), with its source in words. ``sign`` is empty where it is no limit.

    ``name``: the field or figure that it is about; empty for a limit in plain words. ``rule_id`` and ``policy_id`` name
    the rule whose condition it is alone, or for the calls of ``tool``; where a rule asks for more, the limit does not
    decide it, and they are empty.
    """

    kind: ThresholdKind
    name: str
    sign: str
    value: str
    source: str
    tool: str = ""
    rule_id: str = ""
    policy_id: str = ""


class ThresholdOutcome(Contract):
    """What was predicted and what it proved to be; ``actual`` is None where nothing verified tells.

    Of a limit, ``actual`` is the value that was held against it, and ``held`` whether its rule did what the limit said;
    of a value, ``held`` is whether both are the same. None: it cannot be told.
    """

    kind: ThresholdKind
    name: str
    sign: str
    predicted: str
    actual: str | None = None
    held: bool | None = None
    source: str = ""
