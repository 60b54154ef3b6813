"""What names may not be: ``python -m tests.architecture.names --check``.

A function is not named by a bare participle, preposition or adverb (``told``, ``besides``, ``held_to``), a class has
its name for itself, and nothing is named after the house: no function, class, file, parameter, variable, attribute or
import contract. What breaks a rule is said as ``kind:name``.
"""

import ast
import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PRODUCT = ("shared", "services", "cli", "tools", "examples")

# Names that others chose, or that are words of the product's users.
ALLOWED = {
    "wrapped": "what functools and libraries call the function inside a decorator",
    "prorated_used": "a calculator, as tasks and processes name it",
    "up": "the command `purple up`",
    "restored": "the command `purple restored`",
}
PARTICIPLES = frozenset(
    "beaten begun bitten blown born borne bought bound bred broken brought built burnt caught chosen dealt done"
    " drawn driven eaten fallen fed felt forbidden foreseen forgiven forgotten fought found frozen given gone got"
    " grown heard held hidden hung kept known laid learnt led left lent lost made meant met mistaken overridden paid"
    " proven rebuilt resent rewritten ridden risen rung said sat seen sent shaken shown shrunk sold sought spent spoken"
    " sprung spun stolen stood struck stuck sung sunk sworn taken taught thought thrown told torn undone unforeseen"
    " understood unknown unmade unseen untold withdrawn withheld woken won worn woven written".split()
)
ADVERBS = frozenset(
    "about above across after afterwards again against ahead alike almost alone along already also always among anyway"
    " apart around aside at away back before beforehand behind below beneath beside besides between beyond by down"
    " during elsewhere else enough even ever except for forth from further hence here in indeed inside instead into"
    " likewise near nearby never nevertheless of off often on once onto otherwise out outside over per perhaps quite"
    " rather seldom since so sometimes soon still then there thereafter thereof though through throughout thus to"
    " together too toward towards under underneath until up upon very via well whence where with within without"
    " yet".split()
)
NOT_PARTICIPLES = frozenset("bed embed exceed feed heed need proceed red seed shed speed succeed".split())
NOT_ADVERBS = frozenset("ally apply assembly comply family fly imply multiply rely reply supply tally".split())
HOUSE = frozenset(
    "room rooms door doors doorway doorways desk desks clerk clerks courier couriers shelf shelves errand errands lore"
    " face faces brake brakes seat seats muster musters decree decrees workshop workshops entrance entrances".split()
)
# Where such a word is what its thing is called in the world outside.
MEANT = {
    "examples/company/tools/customers.py": frozenset({"seats"}),  # of a subscription
    "services/executor/core/figures/finance.py": frozenset({"face"}),  # the value that a bond is issued with
    "tools/bench/worth/worlds/": frozenset("room rooms seats shelf clerk".split()),  # hotels, schools, warehouses
}
DERIVED = {"property", "cached_property", "override", "setter"}  # an override has its name from what it overrides


def offenders(root: Path) -> Counter[str]:
    """``kind:name`` of each name that breaks a rule, with how often it does."""
    found: Counter[str] = Counter()
    classes: Counter[str] = Counter()
    for package in PRODUCT:
        for path in sorted([root / package, *(root / package).rglob("*")]):
            if "__pycache__" in path.parts or not path.exists():
                continue
            if HOUSE & set(words(path.name.partition(".")[0])):
                found[f"{'folder' if path.is_dir() else 'file'}:{path.name}"] += 1
            if path.suffix == ".py":
                tree = ast.parse(path.read_text(encoding="utf-8"))
                _look(tree, found, classes)
                found.update(_house_variables(tree, _meant(path.relative_to(root).as_posix())))
    found.update(_house_contracts(root / "pyproject.toml"))
    return found + Counter(
        {f"twice:{name}": count for name, count in classes.items() if count > 1 and name not in ALLOWED}
    )


def words(name: str) -> list[str]:
    return [word.lower() for word in re.findall(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+", name)]


def is_bare(name: str) -> bool:
    """Whether a function's name consists of nothing but participles, prepositions and adverbs."""
    parts = words(name)
    return bool(parts) and name not in ALLOWED and not name.startswith("__") and all(map(_is_no_verb_or_noun, parts))


def _is_no_verb_or_noun(word: str) -> bool:
    is_participle = word in PARTICIPLES or (word.endswith("ed") and word not in NOT_PARTICIPLES)
    return is_participle or word in ADVERBS or (word.endswith("ly") and word not in NOT_ADVERBS)


def _look(tree: ast.Module, found: Counter[str], classes: Counter[str]) -> None:
    for node, name in _definitions(tree, ""):
        if isinstance(node, ast.ClassDef):
            classes[node.name] += 1
        elif not DERIVED & set(_decorators(node)) and is_bare(node.name):
            found[f"bare:{name}"] += 1
        if HOUSE & set(words(node.name)):
            found[f"{'class' if isinstance(node, ast.ClassDef) else 'function'}:{name}"] += 1


def _meant(path: str) -> frozenset[str]:
    return frozenset[str]().union(*(meant for place, meant in MEANT.items() if path.startswith(place)))


def _house_variables(tree: ast.Module, meant: frozenset[str]) -> Iterator[str]:
    for node in ast.walk(tree):
        match node:
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()) | ast.arg(arg=name):
                if HOUSE & set(words(name)) - meant:
                    yield f"variable:{name}"
            case ast.alias(asname=str() as name) if HOUSE & set(words(name)):
                yield f"import:{name}"


def _house_contracts(project: Path) -> Iterator[str]:
    if project.exists():
        contracts = tomllib.loads(project.read_text(encoding="utf-8"))["tool"]["importlinter"]["contracts"]
        for contract in contracts:
            said = " ".join([contract["name"], *(str(layer) for layer in contract.get("layers", ()))])
            yield from (f"contract:{word}" for word in words(said) if word in HOUSE)


Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


def _definitions(node: ast.AST, within: str) -> Iterator[tuple[Definition, str]]:
    for child in ast.iter_child_nodes(node):
        inner = within
        if isinstance(child, Definition):
            inner = f"{within}.{child.name}".lstrip(".")
            yield child, inner
        yield from _definitions(child, inner)


def _decorators(node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[str]:
    for decorator in node.decorator_list:
        yield ast.unparse(decorator).partition("(")[0].rpartition(".")[2]


def main() -> int:
    found = offenders(ROOT)
    for name in sorted(found):
        places = ", ".join(_places(ROOT, name.rpartition(":")[2].rpartition(".")[2])) or "a file's own name"
        sys.stderr.write(f"{name}: find another name ({places}; tests/architecture/names.py says why)\n")
    return int(bool(found))


def _places(root: Path, name: str) -> Iterator[str]:
    """Yields where the name is defined, as `file:line`."""
    defined = re.compile(rf"^\s*(?:(?:async\s+)?def|class)\s+{re.escape(name)}\b|\b{re.escape(name)}\b\s*[:=]")
    for package in PRODUCT:
        for path in sorted((root / package).rglob("*.py")):
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if defined.search(line):
                    yield f"{path.relative_to(root)}:{number}"


if __name__ == "__main__":
    sys.exit(main())
