"""All tools of the company, by name."""

from collections.abc import Mapping
from types import MappingProxyType

from examples.company.toolbox import AnyTool
from examples.company.tools import budgets, expenses, orders, people

_ALL: tuple[AnyTool, ...] = (*people.TOOLS, *budgets.TOOLS, *expenses.TOOLS, *orders.TOOLS)

TOOLS: Mapping[str, AnyTool] = MappingProxyType({tool.name: tool for tool in sorted(_ALL, key=lambda tool: tool.name)})
