"""All tools of the company, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from examples.company.toolbox import AnyTool
from examples.company.tools import (
    access,
    budgets,
    customers,
    disputes,
    expenses,
    generic,
    incidents,
    invoices,
    kyc,
    orders,
    outbox,
    payroll,
    people,
    purchases,
    receivables,
    tickets,
    vendors,
)

_MONEY: tuple[AnyTool, ...] = (*budgets.TOOLS, *expenses.TOOLS, *payroll.TOOLS)
_BUYING: tuple[AnyTool, ...] = (*vendors.TOOLS, *purchases.TOOLS, *invoices.TOOLS)
_SELLING: tuple[AnyTool, ...] = (*customers.TOOLS, *orders.TOOLS, *receivables.TOOLS, *tickets.TOOLS)
_KNOWING: tuple[AnyTool, ...] = (*kyc.TOOLS, *disputes.TOOLS)
_RUNNING: tuple[AnyTool, ...] = (*people.TOOLS, *access.TOOLS, *incidents.TOOLS, *outbox.TOOLS, *generic.TOOLS)
_ALL = sorted((*_MONEY, *_BUYING, *_SELLING, *_KNOWING, *_RUNNING), key=lambda tool: tool.name)

TOOLS: Mapping[str, AnyTool] = MappingProxyType({tool.name: tool for tool in _ALL})
