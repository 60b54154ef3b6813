"""Figures that a task names and no calculator works out: known measures, and formulas that stand in the task."""

import re
from collections.abc import Iterator

from services.executor.core.made_tools.code import Spec

_SIGNS = str.maketrans({"×": "*", "·": "*", "÷": "/", "\N{MINUS SIGN}": "-", "–": "-"})
# A hyphen of an identifier (AB-12) is no minus, and a stroke between two words (yes/no) divides nothing.
_FORMULA = re.compile(
    r"(?<![\w.])(?P<name>[A-Za-z][A-Za-z0-9_]{2,39})\s*=(?!=)\s*"
    r"(?P<terms>(?:[A-Za-z_]\w*|\d+(?:\.\d+)?|[+*^()]|[ \t]|"
    r"(?:(?<![A-Za-z])-|-(?!\d))|(?:(?<![A-Za-z])/|/(?![A-Za-z])))+)"
)
_WORD = re.compile(r"[A-Za-z_]\w*")
_TOKEN = re.compile(r"[A-Za-z_]\w*|\d+(?:\.\d+)?|\*\*|[-+*/^()]")
_OPERATOR = re.compile(r"[-+*/^]")
MOST = 3  # tools made for one task by its words
_PERCENT = "in percent (5 means 5 %)"
# Measures that people name, and the textbook definition that the name stands for.
_MEASURES: tuple[tuple[str, Spec], ...] = (
    (
        r"\bCAGR\b|\bcompound annual growth\b",
        Spec(
            "compound_annual_growth",
            f"compound annual growth rate {_PERCENT}: ((ending / beginning) ** (1 / years) - 1) * 100",
            ("beginning", "ending", "years"),
        ),
    ),
    (
        r"\bbreak-?\s?even (?:point|units|quantity|volume)\b",
        Spec(
            "break_even_units",
            "units to sell until fixed costs are covered: fixed_cost / (price - variable_cost)",
            ("fixed_cost", "price", "variable_cost"),
        ),
    ),
    (
        r"\bpayback (?:period|time)\b",
        Spec(
            "payback_period",
            "years until an investment is paid back: investment / yearly_flow",
            ("investment", "yearly_flow"),
        ),
    ),
    (
        r"\bgross margin\b",
        Spec("gross_margin_percent", f"gross margin {_PERCENT}: (revenue - cost) / revenue * 100", ("revenue", "cost")),
    ),
    (
        r"\bmark-?up (?:percentage|percent|%|rate)",
        Spec("markup_percent", f"markup on cost {_PERCENT}: (price - cost) / cost * 100", ("price", "cost")),
    ),
    (
        r"\binventory turnover\b|\bstock turns?\b",
        Spec(
            "inventory_turnover",
            "how often stock is sold: cost_of_goods_sold / average_inventory",
            ("cost_of_goods_sold", "average_inventory"),
        ),
    ),
    (
        r"\breturn on investment\b|\bROI\b",
        Spec("return_on_investment", f"return on investment {_PERCENT}: (gain - cost) / cost * 100", ("gain", "cost")),
    ),
    (
        r"\bsharpe ratio\b",
        Spec(
            "sharpe_ratio",
            "Sharpe ratio: (portfolio_return - risk_free_rate) / deviation",
            ("portfolio_return", "risk_free_rate", "deviation"),
        ),
    ),
    (
        r"\bcurrent ratio\b",
        Spec(
            "current_ratio",
            "current ratio: current_assets / current_liabilities",
            ("current_assets", "current_liabilities"),
        ),
    ),
    (
        r"\bquick ratio\b|\bacid[- ]test\b",
        Spec(
            "quick_ratio",
            "quick ratio: (current_assets - inventory) / current_liabilities",
            ("current_assets", "inventory", "current_liabilities"),
        ),
    ),
    (
        r"\bdebt[- ]to[- ]equity\b",
        Spec("debt_to_equity", "debt-to-equity ratio: total_debt / total_equity", ("total_debt", "total_equity")),
    ),
    (
        r"\bmedian\b",
        Spec("median", "the median: the middle figure, or the mean of the two middle ones", ("figures...",)),
    ),
    (
        r"\bstandard deviation\b",
        Spec(
            "sample_standard_deviation",
            "sample standard deviation: square root of (sum of squared distances from the mean / (number - 1))",
            ("figures...",),
        ),
    ),
    (
        r"\bgeometric mean\b",
        Spec("geometric_mean", "geometric mean: the n-th root of the product of n figures", ("figures...",)),
    ),
)


def formulas(text: str) -> Iterator[Spec]:
    """The formulas in a text, each as the calculator that it describes."""
    for match in _FORMULA.finditer(text.translate(_SIGNS)):
        terms = _expression(_TOKEN.findall(match["terms"]))
        arguments = tuple(dict.fromkeys(word.lower() for word in _WORD.findall(terms)))
        if arguments and _OPERATOR.search(terms):
            name = match["name"].lower()
            yield Spec(name, f"{name} = {terms.lower()}", arguments)


def named_gaps(text: str) -> tuple[Spec, ...]:
    """What the words of a task ask for that no calculator covers, its own formulas first; at most three."""
    unique: dict[str, Spec] = {}
    for spec in _find_specs(text):
        unique.setdefault(spec.name, spec)
    return tuple(unique.values())[:MOST]


def _expression(parts: list[str]) -> str:
    """The longest beginning that is a whole expression: what follows it is the sentence going on."""
    whole, depth, wants_term = 0, 0, True
    for place, part in enumerate(parts, 1):
        is_term = part not in "+-*/^()" and part != "**"
        if is_term or part == "(":
            if not wants_term:
                break
            wants_term, depth = part == "(", depth + (part == "(")
        elif part == ")":
            if wants_term or not depth:
                break
            depth -= 1
        elif wants_term and part not in "+-":
            break
        else:
            wants_term = True
        whole = place if not wants_term and not depth else whole
    return " ".join(parts[:whole])


def _find_specs(text: str) -> Iterator[Spec]:
    yield from formulas(text)
    for pattern, spec in _MEASURES:
        if re.search(pattern, text, re.IGNORECASE):
            yield spec
