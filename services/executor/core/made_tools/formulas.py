"""A formula as a task writes it: ``net_margin = (revenue - cost) / revenue * 100``."""

import re
from collections.abc import Iterator

from services.executor.core.made_tools.spec import Spec

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


def formulas(text: str) -> Iterator[Spec]:
    """The formulas in a text, each as the calculator that it describes."""
    for match in _FORMULA.finditer(text.translate(_SIGNS)):
        terms = _expression(_TOKEN.findall(match["terms"]))
        arguments = tuple(dict.fromkeys(word.lower() for word in _WORD.findall(terms)))
        if arguments and _OPERATOR.search(terms):
            name = match["name"].lower()
            yield Spec(name, f"{name} = {terms.lower()}", arguments)


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
