"""All tools of the company, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from examples.company.toolbox import AnyTool
from examples.company.tools import (
    access,
    bank_files,
    budgets,
    closing,
    customers,
    disputes,
    dunning,
    expenses,
    generic,
    incidents,
    invoices,
    kyc,
    migrations,
    order_items,
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
_CLOSING: tuple[AnyTool, ...] = (*bank_files.TOOLS, *closing.TOOLS, *dunning.TOOLS)
_CHANGING: tuple[AnyTool, ...] = (*migrations.TOOLS, *order_items.TOOLS)
_ALL = sorted((*_CLOSING, *_CHANGING, *_MONEY, *_BUYING, *_SELLING, *_KNOWING, *_RUNNING), key=lambda tool: tool.name)

TOOLS: Mapping[str, AnyTool] = MappingProxyType({tool.name: tool for tool in _ALL})
