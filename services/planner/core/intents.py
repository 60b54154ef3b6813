"""What a task asks for: its clauses, each with a verb, a condition, a reason, and whether it is forbidden."""

import re
from itertools import pairwise
from typing import NamedTuple

from services.planner.core.mentions import MentionKind, find_of_kind, identifiers_in
from services.planner.core.phrases import drop_later, drop_spans, find_exclusions
from services.planner.core.words import (
    FAMILIES,
    SENDING_FAMILIES,
    STOP,
    content_words,
    family,
    is_generic,
    is_verb,
    stem,
    stems,
    text_stems,
    text_words,
)


class Intent(NamedTuple):
    """One clause. ``holds`` is False for an ``unless`` or an ``otherwise``: it applies when the condition fails.

    ``context`` is what stands before a colon, if the clause follows one.
    """

    verb: str
    clause: str
    negated: bool = False
    condition: str = ""
    holds: bool = True
    reason: str = ""
    context: str = ""
    follows: bool = False  # it is to come after what was asked before
    is_heading: bool = False  # a clause before a colon, behind which stands what it comes to
    is_unknown: bool = False  # it names a thing by an identifier or a name, and no verb of it is known
    spared: tuple[str, ...] = ()  # what it names by an identifier and does not mean: exceptions, and mere evidence
    means_all: bool = False  # it names its things together, without "all": "the kites of P-1"

    @property
    def family(self) -> str | None:
        return family(self.verb)

    @property
    def is_generic(self) -> bool:
        return is_generic(self.verb)

    @property
    def means_every(self) -> bool:
        """Whether it speaks of all, every or each of some things."""
        text = _APIECE_PATTERN.sub(" ", re.sub(r"[\"“][^\"”]*[\"”]", " ", self.clause))
        return self.means_all or bool(_EVERY_PATTERN.search(text))

    @property
    def sends_message(self) -> bool:
        return self.family in SENDING_FAMILIES


class TaskReading(NamedTuple):
    """The clauses of a task. ``actions`` change something, ``forbidden`` must not happen, ``questions`` ask.

    ``unnamed`` are clauses with an unknown verb: beside actions they are statements, unless a tool is named by that
    verb.
    """

    text: str
    actions: tuple[Intent, ...]
    forbidden: tuple[Intent, ...]
    questions: tuple[str, ...]
    unnamed: tuple[Intent, ...] = ()
    delays: tuple[str, ...] = ()  # clauses that put off what the task asks for, and name nothing of their own

    @property
    def unknown(self) -> tuple[str, ...]:
        """The clauses that ask for something by an unknown verb."""
        return tuple(
            intent.clause
            for intent in self.unnamed
            if (intent.is_unknown or _COMMANDS_PATTERN.match(intent.clause)) and not self._is_heading(intent)
        )

    def _is_heading(self, intent: Intent) -> bool:
        """Whether a clause only says what several others come to: it begins the task, and they name its things."""
        named = {*identifiers_in(intent.clause)}
        about = [action for action in self.actions if named and named & {*identifiers_in(action.clause)}]
        begins = self.text.lstrip().startswith(intent.clause)
        return intent.is_heading or (begins and len(about) > 0 and len(self.actions) > 1)

    @property
    def reads_only(self) -> bool:
        return not self.actions


_EVERY_PATTERN = re.compile(r"\b(?:all|every|each)\b", re.I)
_APIECE_PATTERN = re.compile(  # "$5 each": it does not say which
    r"\d[\d.,]*\s*(?:[a-z]+|[€£%])?\s+each(?=\s*(?:$|[,.;:]|(?:and|as|for|from|to|with)\b))", re.I
)
_SENTENCE_PATTERN = re.compile(r"(?<=[.!?;])\s+(?=\S)|\n+|\s{40,}")  # a wide gap ends a sentence, too
_NOTIFY = "|".join(sorted({*FAMILIES["send"], "tell"}))
_VERB = "|".join(sorted({word for words in FAMILIES.values() for word in words}, key=len, reverse=True))
_OBJECT = (
    r"(?:(?:the|an?|all|every|each|it|them|its|his|her|their|our|my|your|this|these|those)\b|[$€£]?\d"
    r"|(?:\w+\s+){0,3}[A-Za-z]+-?\d)"
)
_FURTHER = (  # where another part of the sentence begins: to tell somebody, or to do something to something
    rf"(?:,\s*|\s+)(?:and|then|and then)\s+(?:also\s+|afterwards\s+|please\s+)?(?:{_NOTIFY}|let|make\s+sure)\b"
    r"|(?:,\s*(?:and then |and also |and |then |but )?|\s+(?:and then|and also|and|then|but)\s+)"
    rf"(?:also\s+|afterwards\s+)?(?:(?:do not|don['’]t|never)\s+)?(?:{_VERB})\s+{_OBJECT}"
)
_STATES = (  # a statement of how things stand: "it is paid", "the crate K-1 has been opened"
    r"(?=\s+(?:(?:the|its|their|his|her|my|our|an?)\s+)?(?!and\b|or\b)(?:[\w-]+(?:['’]s)?\s+){1,4}?"
    r"(?:is|are|has|have|gets?|becomes?)\b)"
)
_STATED = _STATES.replace("is|are", "is|are|was|were|had")
_WORKED_OUT = r"(?!\s+(?:this|that|it)\s+is\s+(?:worked\s+out|calculated|computed)\b)"  # what comes first, no condition
_AS_THINGS_STAND = rf"(?:as soon as|once|after|whenever){_WORKED_OUT}{_STATES}"
_UNHEEDED = rf"(?:before|until|till|(?<=[\ue000-\uf8ff] )where){_STATED}|(?<=[\ue000-\uf8ff] )subject to"
_UNHEEDED_PATTERN = re.compile(r"before|until|till|where|subject to", re.I)  # of these nobody can say if they hold
_IF = (
    r"only if|only when|only after|only once|if and only if|provided(?: that)?|as long as|so long as|in case|if|when"
    r"|unless|except if|except when|on (?:the )?condition that|given that|assuming(?: that)?"
    rf"|(?:as soon as|once|after|while|whenever){_WORKED_OUT}{_STATED}|{_UNHEEDED}"
)
_ENDS_REASON = (  # "because it broke when it fell" is one reason, "because of a mistake when it is sent" none
    rf"only (?:if|when|after|once)|unless|provided|(?:as|so) long as|in case|(?<!as )(?<!even )if|when{_STATES}"
    rf"|except (?:if|when)|on (?:the )?condition that|assuming|subject to|{_AS_THINGS_STAND}"
    rf"|(?:before|until|till|where){_STATES}"
)
_QUOTED = (
    r"(?:[\"“][^\"”]+[\"”]|['‘].+?['’](?!\w))"
    rf"(?=\s*(?:[,.;!]|$|\s(?:and|then|but|{_ENDS_REASON})(?!\w)))"
)
_GIVEN = r"(?:(?:with|for|giving|stating|citing|as)\s+)?(?:(?:the|this|as)\s+)*reason\s*(?:(?:is|being|that)\b|[:=])?"
_REASON_PATTERN = re.compile(
    rf"[,;:]?\s*\(?\b(?:because(?: of)?|due to|since|on the grounds that|{_GIVEN}(?!\s*(?:to|for|of|code|field|why)\b))"
    rf"\s*[:=]?\s+(?P<why>{_QUOTED}|.+?)"
    rf"(?={_FURTHER}|:\s+(?:{_VERB})\s|,?\s+(?:but\s+)?(?:{_ENDS_REASON})(?!\w)|[\s.!;]*$)",
    re.I | re.S,
)
_REASON_ALONE = re.compile(
    r"^(?:and )?(?:(?:the|its|their) )?reason(?: for (?:this|that|it))?(?:\s+(?:is|being)\b|\s*[:=])", re.I
)
_MARKS = "".join(map(chr, range(0xE000, 0xF900)))
_MARK = "[\ue000-\uf8ff]"  # stands for a reason while a sentence is taken apart
_QUOTATION_PATTERN = re.compile(r"[\"“][^\"”]*[\"”]")
_LEADING_PATTERN = re.compile(rf"^(?:but |and )?({_IF})\s+(.+?),(?!\d{{3}})\s*(?:then\s+)?(.+)$", re.I | re.S)
_TRAILING_PATTERN = re.compile(rf"^(.+?)(?<![,\s])[,\s]++(?:but )?({_IF})\s+(.+)$", re.I | re.S)
_ELSE_PATTERN = re.compile(r"[,;.]?\s*(?:\bbut\b\s+)?\b(?:otherwise|or else|else|if not)\b,?\s+", re.I)
_PHRASAL = {
    "return": r"(?:take|bring|hand) (?:[^,;]{1,60} )?back",
    "create": r"set (?:[^,;]{1,60} )?up",
    "reject": r"turn (?:[^,;]{1,60} )?down",
    "cancel": r"call (?:[^,;]{1,60} )?off",
    "approve": r"sign (?:[^,;]{1,60} )?off",
    "assign": r"(?:hand (?:[^,;]{1,60} )?(?:out|to (?=(?-i:[A-Z])))|give(?! (?:me|us)\b))",
    "block": r"put (?:[^,;]{1,60} )?on hold",
    "notify": (
        r"(?:let (?!me\b|us\b)(?:[^,;]{1,60} )?know|make sure (?:that )?(?:[^,;]{1,60} )?(?:hear|know|learn)s?\b)"
    ),
}
_PHRASALS = tuple(
    (verb, re.compile(rf"^(?:\W*(?:please|then|also|and) )*{words}\b", re.I)) for verb, words in _PHRASAL.items()
)
_HAPPENED_PATTERN = re.compile(
    r"^(?:please )?(?:note|record|mark|confirm|register|log)\b.*?\bthat\b.*?\b(?:was|were|is|are|has been|have been"
    r"|has|have)\s+(?P<verb>\w+ed|paid|sent|come)\b",
    re.I,
)
_EVIDENCE_PATTERN = re.compile(
    r"\b(?:as (?:an? |the )?(?:duplicate|copy|repetition|part) of|duplicates?|instead of|in place of|in favou?r of"
    r"|rather than|(?:the )?same as|identical (?:to|with)|similar to|superseded by|replaced by)\s+",
    re.I,
)
_NOT = r"do not|don['’]t|never|must not|should not|shouldn['’]t"
_WRITE_NAMES = {word for name, words in FAMILIES.items() if name != "read" for word in words} | {"tell"}
_GERUNDS = "|".join(
    sorted({f"{stemmed}ing" for word in _WRITE_NAMES for stemmed in (word, word.removesuffix("e"), word + word[-1])})
)
_WITHOUT = rf"without\s+(?!matching\b)(?:{_GERUNDS})\b"  # "invoices without matching orders" says which ones
_MANNER_PATTERN = re.compile(rf"^without\s+(?:\w+\s+){{0,2}}?\w+,?\s+(?=(?:{_VERB})\b)", re.I)
_JOIN_PATTERN = re.compile(
    rf"(?:,\s*|\s+)(?:and then|and also|and|then|but)\s+(?=(?:{_NOT})\b|(?:then |also )?(?:{_VERB})\b)"
    rf"|,\s*(?=(?:{_VERB}|{_NOT})\s)|(?:,\s*|\s+)(?:(?:and then|and also|and|then)\s+)?"
    rf"(?=(?:{'|'.join(_PHRASAL.values())})\b)"
    rf"|(?:,\s*|\s+)(?:(?:and|but)\s+)?(?={_WITHOUT})"
    r"|\s+and\s+(?=(?!the |an? |all |every |each |its |their |his |her |for |with |from |that |this |these |those |any "
    r"|both |by |of |to |in |on )[a-z]{3,}\s+(?:the|an?|all|every|each|its|their|them|it)\b)",
    re.I,
)
_HEADED_PATTERN = re.compile(rf"^(?P<head>(?=[^:]*[a-z])[^:]*):\s+(?P<rest>(?:{_VERB})\b.*)$", re.I | re.S)
_NEGATED_PATTERN = re.compile(rf"\b(?:{_NOT}|no need to|avoid|refrain from|not to|cannot|can['’]t)\s+(\w+)", re.I)
_PASSIVE_PATTERN = re.compile(r"\b(?:should|must|needs? to|has to|have to|is to|are to) be (?:\w+ly )?(\w+)", re.I)
_ASKING_PATTERN = re.compile(
    r"^(?!do not|don['’]t|do (?:it|this|that|so|them)\b)"
    r"(?:which|what|who|whom|whose|how|when|where|why|is|are|was|were|do|does|did|has|have)\b",
    re.I,
)
_CONTINUES_PATTERN = re.compile(r"^(?:its|their|whose|with)\b", re.I)
_ADDS_UP = re.compile(r"\b(?:add|sum|total) up\b", re.I)
_ADDS_TO = re.compile(r"\b(?P<verb>add|subtract|deduct)\s+[$€£]?\d[\d.,]*\s+(?:[A-Z]{3}\s+)?(?:to|from)\b", re.I)
_GIVES_PATTERN = re.compile(r"\b(?:list|array|json|ids?|only|results?|values?|numbers?|names?|answer)\b", re.I)
_COMMANDS_PATTERN = re.compile(
    r"^(?:please |also |and |then )*(?!the |a |an |this |that |there |all |every |each |it |its |they |their |he |she )"
    r"[a-z]{3,}\s+(?:(?:the|an?|all|every|each|its|their|it|them|this|that)\b|\d|(?:[a-z]+\s+)?[a-z]+[-_]\d)"
    r"(?![^,;]*\s(?:is|are|was|were|has|have)\b)",
    re.I,
)
_TO_ANSWER = re.compile(
    r"^(?:please |also |and |then |only )*(?:name|say|state|tell me|tell us)\s+"
    r"(?:(?:me|us|only|all|each|every|both|their|its|his|her|them|it|which|who|what|how|whether)\b|"
    r"the (?:ids?|names?)\b)",
    re.I,
)
_STATES_PATTERN = re.compile(
    r"^(?!(?:ensure|make|let|have|see|check|assume)\b)"
    r"(?:(?:the|an?|its?|our|my|their|his|her|this|these|that|there|they|we|i|he|she)\b|[^,;:]*?\w['’]s\s)"
    r"(?:(?!\b(?:which|who|what|whatever|if|when|that)\b)[^,;:])*?\b(?:is|are|was|were)\s+(?!to\b)",
    re.I,
)
_PAST_PATTERN = re.compile(r"(?:i|we)\s+(?:(?:have|had|already|just)\s+)*(?!need|want)\w+ed\b", re.I)
_AFTER_PATTERN = re.compile(r"\b(?:then|after that|afterwards|thereafter),?\s+(?:also\s+)?$", re.I)
_OF_ONE_THING = frozenset("approve reject cancel close delete archive restore".split())
_TWO_QUESTIONS = re.compile(
    r",?\s+and\s+(?=(?:(?:by|for|to|from|with)\s+)?(?:which|what|how|who|whom|whose|when|where|why)\b)"
    r"|,\s*and\s+(?=(?:is|are|give)\b)",
    re.I,
)
_AND_PATTERN = re.compile(r"\s*,\s*(?:and\s+)?|\s+and\s+", re.I)
_TOGETHER_PATTERN = re.compile(
    r"\b(?:together|total|sum|altogether|combined|in all|average|mean|between|differ\w*|compar\w*|reconcil\w*"
    r"|match\w*|same|equal\w*|duplicates?|identical|which (?:one )?of|than|each other|common|jointly|more|less|most"
    r"|least|first|last"
    r"|(?:larg|small|high|low|cheap|old|new|earli|lat|bigg|great|few)(?:er|est))\b",
    re.I,
)
_PERHAPS_ANOTHER = re.compile(
    r"^(?P<first>\S[^\"“]*?)(?:,\s*|\s+)(?:and then|and also|and|then|but)\s+"
    r"(?P<rest>(?P<between>[a-zäöüéèà]{3,}\s+(?:[a-zäöüéèà]+\s+){0,2})(?:[A-Za-z]{1,20}-?\d|[A-Z][a-z]+).*)$",
    re.S,
)
_FURTHER_VERB = re.compile(
    r"(?:,\s*|\s+)(?:and then|and also|and|then|but)\s+(?:(?:also|then|please)\s+)*(?=(?P<verb>[a-z]{3,})\s+\S)", re.I
)
_BEHIND_REASON = re.compile(
    r"(?P<comma>,)?\s*\band\s+(?:(?:also|then|please)\s+)*(?P<verb>[a-z]{3,})\s+(?:the\s+)?(?:[a-z]+\s+)?[A-Za-z]+-\d+\b"
    r"(?!\s+(?:is|are|was|were|has|have|had|will|\w+ed)\b)"
)
_LEAD_WORDS = frozenset(
    "please then also kindly now and but just you should must need needs to can could would will go ahead immediately "
    "finally next first second third i we want like have afterwards after that so".split()
)


def understand(text: str, nouns: frozenset[str] = frozenset(), verbs: frozenset[str] = frozenset()) -> TaskReading:
    """Reads a task's text sentence by sentence. ``nouns``: the stems of all words that tools and records are called by.

    With them, a word before an identifier that is none of them, and no known verb, begins a clause of its own. So does
    each of ``verbs``, which are the words that tools' names begin with.
    """
    intents: list[Intent] = []
    questions: list[str] = []
    for sentence in filter(None, (part.strip() for part in _SENTENCE_PATTERN.split(text))):
        if _is_question(sentence):
            questions += [half for half in _TWO_QUESTIONS.split(sentence) if half.strip(" ?.,")]
        elif intents and (match := _REASON_ALONE.match(sentence)):
            intents[-1] = intents[-1]._replace(reason=intents[-1].reason or _unquote(sentence[match.end() :]))
        elif intents and _CONTINUES_PATTERN.match(sentence):
            intents[-1] = intents[-1]._replace(clause=f"{intents[-1].clause}, {sentence.rstrip(' .!;')}")
        else:
            read = _parse_sentence(sentence, intents)
            if intents and not read and (reasons := _mask_reasons(sentence)[1]):
                intents[-1] = intents[-1]._replace(reason=intents[-1].reason or reasons[0])
            for divide in (_divide_behind_reason, _divide_at_tool_verb, _divide_at_unknown_verb):
                read = [part for intent in read for part in divide(intent, nouns, verbs)]
            intents += read
    questions += [intent.clause for intent in intents if intent.family == "read" and not intent.negated]
    questions = [one for question in questions for one in _divide_by_things(question)]
    actions = [_with_place(intent, text) for intent in intents if not intent.negated and intent.family != "read"]
    forbidden = tuple(intent for intent in intents if intent.negated)
    if questions or len(actions) > 1:
        actions = [intent for intent in actions if not _is_statement(intent)]
    # those of a general verb are none, if there is a particular one: "Process the claim. Approve it if ..."
    specific = [intent for intent in actions if is_verb(intent.verb) and not intent.is_generic] or actions
    unnamed = tuple(intent for intent in actions if intent not in specific and not intent.is_generic)
    delays = tuple(
        intent.clause
        for intent in (*actions, *forbidden)
        if _only_says_when(intent.clause)
        or (intent not in specific and not identifiers_in(intent.clause) and _only_puts_off(intent.clause))
    )
    specific = [intent for intent in specific if intent.clause not in delays] or specific
    return TaskReading(text, tuple(specific), forbidden, tuple(questions), unnamed, delays)


def _divide_by_things(question: str) -> list[str]:
    """The question for each thing of ``A-1, A-2 and A-3``, unless it asks what these come to or how they compare."""
    ids = find_of_kind(question, MentionKind.ID)
    between = [question[mention.end : after.start] for mention, after in pairwise(ids)]
    if not between or _TOGETHER_PATTERN.search(question) or not all(map(_AND_PATTERN.fullmatch, between)):
        return [question]
    lead = re.sub(r"\bboth\s+$", "", question[: ids[0].start], flags=re.I)
    return [f"{lead}{question[mention.start : mention.end]}{question[ids[-1].end :]}" for mention in ids]


def _divide_behind_reason(intent: Intent, nouns: frozenset[str], verbs: frozenset[str]) -> list[Intent]:
    """The clause, and what follows its reason behind an ``and``: a verb that only a tool's name has, or none that is
    known, before an identifier: ``reject A-1 because it is wet, and dye A-2``.
    """
    for match in _BEHIND_REASON.finditer(intent.reason):
        verb = match["verb"].lower()
        is_other = nouns and match["comma"] and stem(verb) not in nouns and verb not in STOP
        if (verb in verbs or is_other) and not is_verb(verb):
            rest = intent.reason[match.start("verb") :]
            other = _with_clause(intent, rest)._replace(verb=verb, reason="", is_unknown=verb not in verbs)
            return [intent._replace(reason=intent.reason[: match.start()]), other]
    return [intent]


def _divide_at_tool_verb(intent: Intent, nouns: frozenset[str], verbs: frozenset[str]) -> list[Intent]:
    """The clause, divided at each ``and`` before a verb that only a tool's name has: ``close A-1 and dye 3 of B-2``."""
    for match in _FURTHER_VERB.finditer(intent.clause):
        first, verb = intent.clause[: match.start()], match["verb"].lower()
        is_noun = verb in text_words(first)[1:] or first.count('"') % 2 == 1
        if verb in verbs and not is_verb(verb) and not is_noun:
            other = _with_clause(intent, intent.clause[match.end() :])._replace(verb=verb)
            return [_with_clause(intent, first), *_divide_at_tool_verb(other, nouns, verbs)]
    return [intent]


def _divide_at_unknown_verb(intent: Intent, nouns: frozenset[str], verbs: frozenset[str]) -> list[Intent]:
    """The clause, divided at an ``and`` before a verb that is not known: ``approve A-1 and frobnicate A-2``."""
    match = _PERHAPS_ANOTHER.match(intent.clause) if nouns and not intent.sends_message else None
    words = content_words(match["between"]) if match else ()
    if match is None or not words or is_verb(words[0]) or intent.family in (None, "read", "create"):
        return [intent]
    first, own = match["first"], stem(words[0])
    is_unknown = own not in nouns and own not in stems(text_words(first))
    is_other = not is_unknown and own not in text_stems(first) and intent.family in _OF_ONE_THING
    if _only_excludes(match["rest"]) or ":" in first or not (is_unknown or is_other):
        return [intent]
    verb = words[0] if is_unknown else intent.verb
    other = _with_clause(intent, match["rest"])._replace(verb=verb, is_unknown=is_unknown)
    return [_with_clause(intent, first), *_divide_at_unknown_verb(other, nouns, verbs)]


def _with_clause(intent: Intent, clause: str) -> Intent:
    return intent._replace(clause=clause, spared=find_spared(clause))


def _is_statement(intent: Intent) -> bool:
    """Whether a clause states a fact and asks for nothing, as in ``Their terms are thirty days.``"""
    is_told = _STATES_PATTERN.match(intent.clause) or _PAST_PATTERN.match(intent.clause)
    return not is_verb(intent.verb) and not intent.is_heading and bool(is_told)


def _with_place(intent: Intent, text: str) -> Intent:
    before = text.partition(intent.clause)[0]
    return intent._replace(follows=bool(_AFTER_PATTERN.search(before)) or intent.clause.lower().startswith("then "))


def _is_question(sentence: str) -> bool:
    request = re.match(r"(?:can|could|would|will) you\b", sentence, re.I)
    return not request and (sentence.endswith("?") or bool(_ASKING_PATTERN.match(sentence)))


def _parse_sentence(sentence: str, before: list[Intent]) -> list[Intent]:
    masked, reasons = _mask_reasons(_repeat_verb(sentence))
    main, *otherwise = _ELSE_PATTERN.split(masked, maxsplit=1)
    if not main.strip(" .;!") and not otherwise:
        return []
    if not main.strip(" .;!") and before:
        condition = before[-1].condition or _parse_question(before[-1].clause)
        holds = before[-1].holds
        body = ""
    else:
        condition, holds, body = _split_off_condition(_as_plain_if(main).strip(", \t\n"))
        if before and _IF_SO_PATTERN.fullmatch(condition):
            condition = _parse_question(before[-1].clause) or condition
    intents = [intent._replace(condition=condition, holds=holds) for intent in _read_intents(body)]
    others = [intent for clause in otherwise for intent in _read_intents(clause)]
    intents += [intent._replace(condition=condition or _NOT_SAID, holds=not holds) for intent in others]
    return _with_reasons(intents, reasons)


def _repeat_verb(sentence: str) -> str:
    """The sentence with its verb before each further thing with a reason of its own: ``A because x, B because y``."""
    verb = next(iter(text_words(sentence)), "")
    return _REASON_OF_NEXT.sub(rf", {verb} \1", sentence) if is_verb(verb) else sentence


_REASON_OF_NEXT = re.compile(r"(?<!\d),\s+(?:and\s+)?([A-Z]+-\d+\s+(?:because|since|due to|for the reason)\b)")
_NOT_SAID = "otherwise"  # stands for a condition that no clause before says: nobody knows whether it holds
_IF_SO_PATTERN = re.compile(r"so|yes|that is (?:so|the case|true)|it is", re.I)
_WHETHER_PATTERN = re.compile(r"^\W*(?:please\s+)?\w+(?: out)?\s+(?:whether|if)\s+(?P<what>[^,;]+)$", re.I)


def _parse_question(clause: str) -> str:
    """What a clause asks to find out: of ``check whether K-1 is open`` that K-1 is open; else empty."""
    match = _WHETHER_PATTERN.match(clause)
    return match["what"].strip(" .!?") if match else ""


def _mask_reasons(sentence: str) -> tuple[str, list[str]]:
    """The sentence with one mark in place of each reason, and the reasons without quotation marks."""
    reasons: list[str] = []

    def mask(match: re.Match[str]) -> str:
        if len(reasons) == len(_MARKS):
            return match[0]
        reasons.append(_unquote(match["why"]))
        return _MARKS[len(reasons) - 1]

    return _REASON_PATTERN.sub(mask, re.sub(_MARK, " ", sentence)), reasons


def _unquote(reason: str) -> str:
    reason = reason.strip().rstrip(".!;")
    reason = reason if "(" in reason else reason.rstrip(")")
    match = re.fullmatch(r"[\"“'‘](.+)[\"”'’]", reason, re.S)
    return match[1].strip() if match else reason


def _with_reasons(intents: list[Intent], reasons: list[str]) -> list[Intent]:
    """Each clause with the reason whose mark stands in it; one that stands before all clauses is of the next."""
    intents_with_reasons: list[Intent] = []
    leading = ""
    for intent in intents:
        clause, marks = _split_marks(intent.clause)
        reason = "; ".join(filter(None, [leading, *(reasons[_MARKS.index(mark)] for mark in marks)]))
        clause, context = clause.strip(" ,.!;"), _split_marks(intent.context)[0]
        leading = "" if clause else reason
        intents_with_reasons += [intent._replace(clause=clause, reason=reason, context=context)] if clause else []
    return intents_with_reasons


_IN_BRACKETS = re.compile(rf"\(\s*(?=(?:but )?(?:{_IF})\s)([^()]*)\)", re.I)
_SHOULD_PATTERN = re.compile(
    r"(?:^|(?<=[\s,]))should\s+(?P<who>(?:it|they|(?:its|the|their)\s+[\w'’-]+(?:\s+[\w'’-]+){0,2}?))\s+be\s+", re.I
)


def _as_plain_if(sentence: str) -> str:
    """The sentence with ``(if ...)`` without its brackets, and ``should it be ...`` as ``if it is ...``."""
    return _SHOULD_PATTERN.sub(r"if \g<who> is ", _IN_BRACKETS.sub(r"\1", sentence))


def _split_off_condition(sentence: str) -> tuple[str, bool, str]:
    """The condition, whether it has to hold, and the sentence without it; a mark in the condition stays behind."""
    if match := _LEADING_PATTERN.match(sentence):
        condition, marks = _split_marks(f"{match[1]} {match[2]}" if _UNHEEDED_PATTERN.match(match[1]) else match[2])
        return condition, _wants_condition_true(match[1]), f"{match[3]}{marks}"
    said = _QUOTATION_PATTERN.sub(lambda quoted: "x" * len(quoted[0]), sentence)  # a condition stands in no quotation
    if (match := _TRAILING_PATTERN.match(said)) and not _is_told(match):
        before, behind = sentence[: match.end(1)], sentence[match.start(3) :]
        if _comes_about(before, match[2], behind):
            return "", True, before
        place = next(iter(re.finditer(_FURTHER, behind, re.I)), None)
        tail, further = (behind[: place.start()], behind[place.start() :]) if place else (behind, "")
        condition, marks = _split_marks(f"{match[2]} {tail}" if _UNHEEDED_PATTERN.match(match[2]) else tail)
        return condition.rstrip(" .!;"), _wants_condition_true(match[2]), f"{before}{marks}{further}"
    return "", True, sentence


_IS_DONE = re.compile(r"(?:it|this|that|they|these)\s+(?:is|are|has been|have been|was|were)\s+(?P<done>\w+)\W*$", re.I)


def _comes_about(before: str, word: str, condition: str) -> bool:
    """Whether a condition is what the part before brings about: ``approve it and tell her once it is approved``."""
    done = _IS_DONE.match(condition)
    notice = re.search(rf"\s(?:and|then)\s+(?:{_NOTIFY})\b", before, re.I)
    is_later = re.match(r"as soon as|once|after|when\b", word, re.I) is not None
    return bool(is_later and done and notice and stem(done["done"]) in text_stems(before[: notice.start()]))


def _is_told(match: re.Match[str]) -> bool:
    """Whether a condition is a part of what somebody is told: ``tell her that it is paid once it is approved``."""
    is_plain = re.match(r"as soon as|once|after|while|whenever|before|until|till", match[2], re.I)
    return bool(is_plain) and re.search(rf"\b(?:{_NOTIFY})\b.*\b(?:that|saying)\b", match[1], re.I | re.S) is not None


def _split_marks(text: str) -> tuple[str, str]:
    return re.sub(_MARK, "", text), "".join(re.findall(_MARK, text))


def _wants_condition_true(word: str) -> bool:
    return not word.lower().startswith(("unless", "except"))


def _read_intents(body: str) -> list[Intent]:
    match = _HEADED_PATTERN.match(body)
    if match is None or not SENDING_FAMILIES.isdisjoint(map(family, text_words(match["head"])[:1])):
        return _split_clauses(body)
    later = [clause._replace(context=match["head"]) for clause in _split_clauses(match["rest"])]
    return [*(clause._replace(is_heading=True) for clause in _split_clauses(match["head"])), *later]


def _split_clauses(text: str) -> list[Intent]:
    bounds = [0, *(place for match in _JOIN_PATTERN.finditer(text) for place in match.span()), len(text)]
    pieces: list[tuple[int, int]] = []
    for start, end in zip(bounds[::2], bounds[1::2], strict=True):
        is_apart = pieces and not (_only_excludes(text[start:end]) or _only_excludes(text[slice(*pieces[-1])]))
        is_apart = is_apart and not _only_says_when(text[slice(*pieces[-1])])
        begin = start if is_apart or not pieces else pieces.pop()[0]  # what is left out belongs to the clause beside it
        pieces.append((begin, end))
    return [_parse_clause(text[start:end].strip()) for start, end in pieces if text[start:end].strip(" .,")]


_FEWEST_WORDS_OF_A_THING = 2  # "repair the roof" has two words, "wait" and "it must be done" one
_SAYS_HOW_IT_IS = re.compile(r"\b(?:is|are|was|were|has|have|had|will)\b", re.I)


def _only_puts_off(clause: str) -> bool:
    """Whether a clause says when, as ``wait until Friday``, and neither what nor how things stand."""
    rest = drop_later(clause)
    return rest != clause and not _SAYS_HOW_IT_IS.search(clause) and len(text_stems(rest)) < _FEWEST_WORDS_OF_A_THING


def _only_says_when(text: str) -> bool:
    """Whether a text only says when something is to be done, and not what: ``Tomorrow``, ``Wait until Friday``."""
    words = [word for word in text_words(text) if word not in _LEAD_WORDS]
    return _only_puts_off(text) and not any(map(is_verb, words)) and not identifiers_in(text)


def _parse_clause(clause: str) -> Intent:
    verb_clause = _parse_verb(clause.rstrip(" .!;"))
    return verb_clause._replace(spared=verb_clause.spared or find_spared(verb_clause.clause))


def find_spared(text: str) -> tuple[str, ...]:
    """The identifiers that a text excludes, or that follow ``as a duplicate of``, up to the next comma."""
    tails = [text[match.end() :] for match in _EVIDENCE_PATTERN.finditer(text)]
    named = [re.split(r"[,;:]\s(?![A-Z]+-?\d)| because | and (?![A-Z]+-?\d)", tail)[0] for tail in tails]
    left_out = (span.value for span in find_exclusions(text))
    return tuple(identifier for words in (*left_out, *named) for identifier in identifiers_in(words))


def drop_evidence(text: str) -> str:
    """The text without what it names only as evidence."""
    for value in find_spared(text):
        text = re.sub(rf"(?:{_EVIDENCE_PATTERN.pattern})[^,;]*?{re.escape(value)}", " ", text, flags=re.I)
    return text


def _only_excludes(text: str) -> bool:
    """Whether a clause does nothing but exclude things, as in ``leave A-1 as it is``."""
    spans = find_exclusions(text)
    return bool(spans) and not drop_spans(text, spans).strip(" ,.;!")


def _parse_verb(clause: str) -> Intent:
    if _only_excludes(clause):
        return Intent("", clause, negated=True)
    for verb, pattern in _PHRASALS:
        if pattern.match(clause):
            return Intent(verb, clause)
    if _TO_ANSWER.match(clause):
        return Intent("report", clause)
    if _PAST_PATTERN.match(clause):
        return Intent("", clause)
    if match := _HAPPENED_PATTERN.match(clause):
        return Intent(match["verb"].lower(), clause)
    if match := re.match(_WITHOUT, clause, re.I):
        verb = match[0].split()[-1].lower()
        return Intent("notify" if verb == "telling" else verb, clause, negated=True)
    clause = _MANNER_PATTERN.sub("", clause)
    if match := _NEGATED_PATTERN.search(clause):
        return Intent(_meant_verb(match[1], clause), clause, negated=True)
    if match := _PASSIVE_PATTERN.search(clause):
        return Intent(match[1].lower(), clause)
    kept_clause = drop_spans(clause, find_exclusions(clause))
    if (join := _JOIN_PATTERN.search(kept_clause)) and _only_says_when(kept_clause[: join.start()]):
        kept_clause = kept_clause[join.end() :]
    words = [word for word in text_words(kept_clause) if word not in _LEAD_WORDS]
    return Intent(_meant_verb(words[0], clause) if words else "", clause)


def _meant_verb(verb: str, clause: str) -> str:
    """The verb that the clause means, from the words after it if the verb alone says little: ``refund`` for ``process
    the refund``, ``calculate`` for ``add up``.
    """
    if verb == "tell" and not re.search(r"\btell (?:me|us)\b", clause, re.I):
        return "notify"
    if verb == "return" and _GIVES_PATTERN.search(clause):
        return "report"
    if _ADDS_UP.search(clause):
        return "calculate"
    if match := _ADDS_TO.search(clause):
        return "increase" if match["verb"].lower() == "add" else "decrease"
    if not (is_generic(verb) or verb in ("make", "do", "give")):
        return verb.lower()
    after = text_words(clause)
    for word in after[after.index(verb.lower()) + 1 :][:8] if verb.lower() in after else ():
        if family(word) in ("refund", "pay", "cancel", "approve", "reject") and stem(word) != stem(verb):
            return word
    return verb.lower()
