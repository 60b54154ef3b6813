"""Whether a question of the task has the answer on which a part depends: "Ask Ann whether it suits; if so, book it".

Only a condition without words of its own is read: "if so", "if it is not", "only with a yes".
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from services.executor.core.figures.identifiers import find_code_like_tokens, normalize_identifier
from services.executor.core.figures.vocabulary import ALTERNATIVE_WORD_PATTERN
from services.executor.core.plan.faults import CallFault, CallToCheck, shorten_value
from services.executor.core.session.values import Fact
from services.executor.core.tools.name_similarity import words_of
from shared.domain.exact_json import as_text, loads_object, walk_json
from shared.domain.keywords import extract_keywords, stem

_CONDITION_ON_ANSWER_PATTERN = re.compile(
    r"""(?:^|[.,;:?!"”]\s+)(?:(?:and|but|then|only|und|aber|dann|nur|et|mais|puis|seulement|uniquement)\s+)*(?:
    (?:if|wenn|falls|si)\s+(?:so|yes|ja|oui)\b|
    in\s+(?:that|this|which)\s+case\b|in\s+diesem\s+fall\b|dans\s+ce\s+cas\b|
    (?:with|mit|bei|avec)\s+(?:an?|einem|un)\s+(?:yes|ja|oui)\b|
    (?P<no>(?:with|mit|bei|avec)\s+(?:an?|einem|un)\s+(?:no|nein|non)\b(?!-))|
    (?:(?P<not>(?:if|wenn|falls|si)\s+(?:not|no|nicht|nein|non))|
    (?:wenn|falls)\s+(?:es|das|dem|er|sie)\s+(?P<nicht>nicht\s+)?(?:so\s+|der\s+fall\s+)?ist|
    si\s+(?:(?P<pas>ce\s+n['’]est\s+pas)|c['’]est)\s+le\s+cas|
    if\s+(?:it|that|there|s?he|they)(?:['’]s|['’]re|\s+(?:is|are|was|were|does|do|did|has|have|can|will))
    (?P<n_t>\s+not|n['’]t)?(?:\s+the\s+case)?)(?=\s*[,;:]|\s+then\b)
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_QUESTION_PHRASE_PATTERN = re.compile(  # what a text begins with
    r"\W*(?:(?:please|kindly|first|then|also|i|we|d|want|need|like|could|can|would|you|to|bitte|zuerst)\W+)*"
    r"(?:ask|check|verify|inquire|enquire|find\s+out|frag\w*|prüf\w*|demande\w*|vérifie\w*|est-ce|"
    r"(?:is|are|was|were|has|have|does|do|did|ist|sind|hat|haben|can|will|may|kann)(?!\s+you))\b",
    re.IGNORECASE,
)
_NEGATION_PATTERN = re.compile(
    r"\b(?:not|no|none|never|without|nicht|kein\w*|nie|ohne|pas|jamais|sans)\b|n['’]t\b", re.IGNORECASE
)
_YES_OR_NO_PATTERN = re.compile(  # "no, no, that is fine" is none
    r"\s*(?:(?P<yes>yes|ja|oui)\b(?!\s+and)|(?:no|nein|non)\s*"
    r"(?:[,.;!:–—-](?!\W*(?:no|nein|non)\b|.*\b(?:fine|ok|okay|sure|problem|gut|gern|bien)\b)|$))",
    re.IGNORECASE | re.DOTALL,
)
_RESERVATION_PATTERN = re.compile(  # in the sentence of a yes, or at the beginning of a later one
    r"(?:(?:[^.!?]|[.!?](?!\s))*|.*[.!?]\s+)\b(?:but|only|unless|except|provided|though|although|however|"
    r"aber|nur|außer|sofern|solange|allerdings|jedoch|mais|seulement|sauf)\b|"
    r"(?:[^.!?]|[.!?](?!\s))*\b(?:if|until|as\s+long\s+as|not(?!\s+a\s+problem)|wenn|falls|erst|nicht|si|pas(?!\s+de\s+problème))\b",
    re.IGNORECASE | re.DOTALL,
)
_LOWER_CASE_WORD_PATTERN = re.compile(r"(?<!\w)[^\W\d_A-ZÄÖÜ]+(?!\w)")
_WORD_FOR_ANSWERING_PATTERN = re.compile(  # in a field's name
    r"(?:agree|accept|consent|approve|confirm)(?:s|e?d)?|answer|reply|response|text|message|yes"
)


def find_contrary_answers(change: CallToCheck) -> Iterator[CallFault]:
    """Yields a fault if the part depends on the answer to the question before it, and what was read is the contrary.

    A yes with a reservation ("Yes, but not on Tuesday") is the contrary of both a yes and a no.
    The part begins with the condition, or with the question. Of several answers those count that were asked of a record
    of the call; if they differ, none does.
    """
    quote = change.part.quote
    conditions = [*_CONDITION_ON_ANSWER_PATTERN.finditer(quote)]
    if len(conditions) != 1 or ALTERNATIVE_WORD_PATTERN.search(quote):
        return
    condition = conditions[0]
    question = quote[: condition.start()] or _find_part_before(change)
    if not _QUESTION_PHRASE_PATTERN.match(question) or _NEGATION_PATTERN.search(question):
        return
    is_yes_needed = condition.lastgroup is None
    named = {normalize_identifier(code.text) for code in change.user_mentions[0].identifiers if code.text in question}
    facts = [fact for fact in change.facts if fact.ok and not fact.by_machine]
    answers = [(fact, answer) for fact in facts if (answer := _read_answer(fact, question, named)) is not None]
    own_answers = [answer for fact, answer in answers if not change.texts.isdisjoint(_list_argument_texts(fact))]
    answers_that_count = own_answers or [answer for _, answer in answers]
    if answers_that_count and all(answer.is_yes is not is_yes_needed for answer in answers_that_count):
        words = condition[0].strip(' .,;:?!"”')
        yield CallFault(
            "", f"{change.tool.name}: this part says {words}, and the answer is {answers_that_count[-1].text}"
        )


class _Answer(NamedTuple):
    text: str  # the field with its value
    is_yes: bool | None  # None for a yes with a reservation


def _find_part_before(change: CallToCheck) -> str:
    """The words of the part that comes before the call's own one in the task; empty if there is none."""
    task = change.user_mentions[0].text
    places = {task.find(quote): quote for quote in change.part.other_quotes}
    earlier_places = [place for place in places if 0 <= place < task.find(change.part.quote)]
    return places[max(earlier_places)] if earlier_places else ""


def _read_answer(fact: Fact, question: str, named: set[tuple[str, ...]]) -> _Answer | None:
    """What a read answers to the question: the only truth value whose field's name has no words but the question's; or,
    if the read put the question to somebody, also the only yes or no in a field for an answer, if its result has no
    other text. None without a single answer, or if the read shows not all ids of the question (``named``).
    """
    arguments, answers = _list_argument_texts(fact), list[_Answer]()
    is_put = any(_asks_the_same(text, question) for text in arguments)
    asked_words = {"is", *map(stem, words_of(_QUESTION_PHRASE_PATTERN.sub("", question, count=1)))}
    known_words = asked_words.union(*(map(stem, words_of(name)) for name in loads_object(fact.arguments_json)))
    for name, value in walk_json(fact.result):
        words = words_of(name)
        other_words = [stem(word) for word in words if not _WORD_FOR_ANSWERING_PATTERN.fullmatch(word)]
        is_answer = is_put and len(other_words) < len(words) and known_words.issuperset(other_words)
        if isinstance(value, bool) and words and (is_answer or asked_words.issuperset(map(stem, words))):
            answers.append(_Answer(f"{name}: {as_text(value)}", value))
        elif is_put and isinstance(value, str) and value not in arguments:
            word = _YES_OR_NO_PATTERN.match(value)
            if is_answer and word:
                is_reserved = word["yes"] and _RESERVATION_PATTERN.match(value, word.end())
                answers.append(
                    _Answer(f"{name}: {shorten_value(value)}", None if is_reserved else word["yes"] is not None)
                )
            elif is_answer or len(_LOWER_CASE_WORD_PATTERN.findall(value)) > 1:
                return None
    shown = (normalize_identifier(code.text) for code in find_code_like_tokens(fact.arguments_json + fact.result_json))
    answers = [answer for answer in answers if answer.is_yes is None] or answers
    return answers[0] if len(answers) == 1 and named.issubset(shown) else None


def _asks_the_same(text: str, question: str) -> bool:
    """Whether a text is a question without "not", and all keywords of it are in ``question``, or the reverse."""
    own_words, words = (
        set(extract_keywords(" ".join(_LOWER_CASE_WORD_PATTERN.findall(words)))) for words in (text, question)
    )
    is_same = bool(own_words & words) and (own_words <= words or words <= own_words)
    return text.rstrip().endswith("?") and is_same and not _NEGATION_PATTERN.search(text)


def _list_argument_texts(fact: Fact) -> list[str]:
    return [as_text(value) for value in loads_object(fact.arguments_json).values()]
