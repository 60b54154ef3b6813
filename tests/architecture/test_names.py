"""Names say what they do; the planner knows no company, and the product no scenario."""

import json
import re
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from examples.company.books import CompanyBooks
from examples.company.catalogue import TOOLS
from examples.company.seed import fill_books
from services.assessor.settings import SCENARIOS
from services.executor.core.states.machine import BUILT_IN_TEMPLATES
from services.planner.core.words import parts
from tests.architecture.names import is_bare, offenders
from tests.each_row import each_row


def _project(root: Path, **files: str) -> Path:
    for name, text in files.items():
        path = root / "shared" / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


@each_row("name", ["told", "_shown", "settled", "besides", "held_to", "carried_out", "of", "patiently"])
def test_a_name_without_noun_and_verb_is_bare(name: str) -> None:
    assert is_bare(name)


@each_row("name", ["seed", "apply", "is_settled", "settled_tasks", "find", "wrapped", "__enter__", "feed"])
def test_a_name_with_one_is_not(name: str) -> None:
    assert not is_bare(name)


def test_a_class_twice_and_names_of_the_house_are_found(tmp_path: Path) -> None:
    one, two = "class Desk: ...\nclass Call: ...\n", "class Call: ...\ndef open_door(): ...\n"

    found = offenders(_project(tmp_path, one=one, errands=two))

    assert found == Counter({"class:Desk": 1, "twice:Call": 2, "function:open_door": 1, "file:errands.py": 1})


_PLANNER = Path(__file__).parents[2] / "services" / "planner"
_NAME_AT_MOST = 3  # words; a longer value is a sentence
_WORD = re.compile(r"[A-Za-z]+")

# Everyday English verbs, whatever words the company comes to have: "to amount", "to note", "to phone" ...
_VERBS = frozenset(
    """
    accept act add adjust alert allocate allow amend amount answer apply approve archive arrive ask assign back
    balance become begin block book break broken budget build buy call cancel cap carry catch cause change charge
    check claim clear close collect come compare complete compute confirm contain continue correct cost count cover
    create credit cut date deactivate deal decide decline decrease delete deliver deny depend describe design
    detail develop disable discard dispatch do drop edit email enable end endorse enter escalate exceed expect
    explain fail file fill filter find finish fit fix flag follow forward freeze gather get give go grant group
    handle happen have hear help hold home identify import include increase inform insert inspect invoice issue
    item join keep know label lack lead leave left let level light like limit link list load lock log look lose lower
    mail make manage mark market match mean measure meet merge message miss modify move name need note notice
    notify number offer open order pack park part party pass pause pay phone pick place plan present preview price print
    process produce prove provide purchase put query question raise rank rate reach read reason receive record
    reduce refer refund refuse register reject release remain remind remove rename repeat replace reply report
    request require research reserve reset resolve restore resume retire return review revise revoke route rule run
    save say scale schedule search second see seat select send serve service set settle share shift ship show sign
    sort speak spend spent split stand start state stay stop store subject submit suit sum supply support suspend
    take talk tell terminate test text tie title total touch track trade train transfer treat trust try turn type
    understand update use validate value verify view visit void wait want watch withdraw work write year
    """.split()
)
# Words of the format of a request (Messages API, JSON Schema, the schemas of the states), of Python, and of grammar.
_FORMAT = frozenset(
    """
    a after all an and any as at before by down due each every first for free from in is its june last less more
    most new next no not now of off old on one only or other out over own right same than that the three to two
    under up was were when which with without you your argument column cursor data day description document
    domain empty example figure gate high id key kind line low medium model msg number object offset operation page
    planner port product ref result risk row sequence usage status system task text time tool type user word
    """.split()
)

# Words of clocks, of hands and states, and of everybody's mail, by which standing instructions are read.
_DICTIONARY = "languages.py"  # what everyday German and French words mean; it decides nothing
_EVERYDAY = frozenset(
    """
    contract dinner eight fee folder hand hello minute newsletter password pending recipient telephone ten went
    """.split()
)


def _company_words(folder: Path) -> set[str]:
    """The words of tools, schema properties, tables, columns and rows, in the singular."""
    return {_singular(word) for name in _company_names(folder) for word in parts(name) if word.isalpha()}


def _company_names(folder: Path) -> Iterator[str]:
    for tool in TOOLS.values():
        yield tool.name
        properties = tool.input_schema()["properties"]
        yield from properties if isinstance(properties, dict) else ()
    books = CompanyBooks(folder / "company.db", lambda: datetime(2026, 1, 5, tzinfo=UTC))
    fill_books(books)
    for table in books.find_rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
        yield str(table["name"])
        for row in books.find_rows(f"SELECT * FROM {table['name']}"):  # noqa: S608 - the database's own table names
            yield from row
            yield from (word for value in row.values() if isinstance(value, str) for word in _told(value))
    books.close()


def _told(value: str) -> list[str]:
    """The words of a name or a state; of a sentence, which is everyday English, the proper names."""
    words = _WORD.findall(value)
    return words if len(words) <= _NAME_AT_MOST else [word for word in words[1:] if word[0].isupper()]


# Words of the kinds of business that have a process of their own.
_OF_PROCESSES = frozenset(
    """
    access accounts aging audit bacs bad breach cart change chargeback claim client close collection compensation
    complaint compliance contested customer day debt delivery dispute downgrade downtime emergency end expense
    financial fulfillment gdpr incident invoice kyc l last level migrate migration month new offboard offboarding
    onboard onboarding order outage overdue p p1 p2 pay payable paye payroll pci plan procurement provision purchase
    quote receipt receivable reconcile reconciliation refund regulatory reimbursement revocation rfp run salary
    service sev shipment sla sox spend supplier termination upgrade uptime vendor wages
    """.split()
)


def _allowed() -> set[str]:
    process_words = {word for process_type in BUILT_IN_TEMPLATES for word in parts(process_type)}
    return {_singular(word) for word in process_words | _OF_PROCESSES} | _VERBS | _FORMAT | _EVERYDAY | _forms(_VERBS)


def _forms(verbs: frozenset[str]) -> set[str]:
    """``ships``, ``shipped``, ``shipping`` of the verb ``ship``; ``placed`` of ``place``."""
    doubled = {verb + verb[-1] for verb in verbs}
    stems = verbs | {verb.removesuffix("e") for verb in verbs} | doubled
    return {base + ending for base in stems for ending in ("ed", "ing", "s", "es", "al")}


def _source_words(text: str) -> set[str]:
    return {_singular(part) for name in re.findall(r"[A-Za-z_]+", text) for part in parts(name)}


def _singular(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-1] if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 3 else word


def _offending(source: str, words: set[str]) -> set[str]:
    return {word for word in words & _source_words(source) if len(word) > 2}


@pytest.mark.promise("planner.knows_no_company")
def test_no_word_of_the_example_company_stands_in_the_planner(tmp_path: Path) -> None:
    """Tools, columns and rows of the company mean nothing to the planner, save process types and everyday verbs."""
    words = _company_words(tmp_path) - _allowed()
    found = {
        str(path.relative_to(_PLANNER)): offending
        for path in sorted(_PLANNER.rglob("*.py"))
        if path.name != _DICTIONARY and (offending := _offending(path.read_text("utf-8"), words))
    }
    assert not found


@pytest.mark.promise("planner.knows_no_company")
def test_a_planted_word_of_the_company_is_found(tmp_path: Path) -> None:
    """The check can fail: a noun of the company in an identifier or in a string is seen."""
    words = _company_words(tmp_path) - _allowed()
    assert _offending('wanted = ("employee",)', words)
    assert _offending("def department_of(record): ...", words)
    assert not _offending("def approve(order): ...", words)


_SERVICES = Path(__file__).parents[2] / "services"
_MEASURED = ("executor", "planner", "gateway", "learner", "policy")
_ADDRESS = re.compile(r"[\w.+-]+@([\w-]+(?:\.[\w-]+)*\.example)")
_ID = re.compile(r'"(m-[a-z0-9-]+|e-[a-z0-9-]+)"')


@pytest.mark.promise("assessor.scenario_bounds")
def test_no_word_of_a_scenario_stands_in_what_is_measured() -> None:
    telling = {word for path in SCENARIOS.glob("*/*.json") for word in _words(path.read_text(encoding="utf-8"))}
    found = {(path.name, word) for path, text in _sources() for word in telling if word in text}

    assert len(telling) > 40  # names, domains and ids of all scenarios
    assert found == set()


def _words(text: str) -> Iterator[str]:
    """Domains of addresses, ids of mails and appointments, whole names of characters."""
    yield from _ADDRESS.findall(text)
    yield from _ID.findall(text)
    people = json.loads(text).get("characters", {})
    yield from (person["name"] for person in people.values() if person["name"].istitle() and " " in person["name"])


def _sources() -> Iterator[tuple[Path, str]]:
    for service in _MEASURED:
        for path in sorted((_SERVICES / service).rglob("*")):
            if path.suffix in (".py", ".md", ".json", ".html"):
                yield path, path.read_text(encoding="utf-8")
