"""Whether an answer is worth improving, what it lacks, and whether what came back may take its place."""

from typing import NamedTuple

from services.executor.core.figures.identifiers import find_special_identifiers
from services.executor.core.figures.numbers import number_bearing_tokens
from services.executor.core.reflect.evidence import Run, evidence, says_failure
from services.executor.core.reflect.found import sayable, untraced_tokens
from shared.domain.answer import is_exact_match
from shared.domain.quality import WEAK, Evidence, Formula, quality
from shared.domain.words import TaskState, WriteStatus


class Wanted(NamedTuple):
    """What an improvement is asked for: required outputs, and sentences about the rest."""

    outputs: tuple[str, ...]
    faults: tuple[str, ...]

    @property
    def told(self) -> tuple[str, ...]:
        return (*(f"say the {output.replace('_', ' ')}" for output in self.outputs), *self.faults)


def find_improvement(run: Run, formula: Formula = Formula.SIGNALS) -> Wanted | None:
    """What a better text would mend; None where the answer is good enough, or nothing that is known makes it better.

    An exact-match answer, a dry run's plan and a task that did not complete are never touched.
    """
    if is_exact_match(run.answer) or run.dry_run or run.state is not TaskState.COMPLETED or run.progress is None:
        return None
    if quality(evidence(run), formula).value >= WEAK:
        return None
    missing = () if run.idle else sayable(run.missing, run.known)
    faults = _faults(run)
    return Wanted(missing, faults) if missing or faults else None


def refusal(run: Run, text: str) -> str | None:
    """Why a text may not take the answer's place; None if it may.

    It keeps to what is known, drops nothing that the answer has said, and makes it better.
    """
    better = run._replace(answer=text)
    if not text.strip() or is_exact_match(text):
        return "it is no prose"
    strange = [token for token in untraced_tokens(text, run.known) if token not in run.answer]
    if strange:
        return "it says what nobody found: " + ", ".join(strange)
    if _claims_too_much(run, text):
        return "it claims a write to be verified that is not"
    if any(address.text not in run.answer for address in find_special_identifiers(text)):
        return "it brings in an address"
    dropped = [figure for figure in _traced_tokens(run) if figure not in text]
    if dropped:
        return "it drops " + ", ".join(dropped)
    if says_failure(run.answer) and not says_failure(text):
        return "it hides what did not work"
    if not set(better.missing) <= set(run.missing):
        return "it drops a required output"
    fewer = len(better.missing) < len(run.missing) or _strangers(better) < _strangers(run)
    return None if fewer or _score(better) > _score(run) else "it is no better"


def _strangers(run: Run) -> int:
    return len(untraced_tokens(run.answer, run.known))


def _score(run: Run) -> float:
    """By the signals whatever the formula: no text is better for being longer."""
    return quality(evidence(run)).value


def _faults(run: Run) -> tuple[str, ...]:
    seen = evidence(run)
    strange = untraced_tokens(run.answer, run.known)
    return tuple(
        said
        for said, holds in (
            ("give an answer: there is none", seen.answer_empty),
            ("these stand neither in the task nor in what was found: " + ", ".join(strange), bool(strange)),
            ("say what was found, with its figures", _says_too_little(seen) and not strange and not run.all_left),
        )
        if holds
    )


def _says_too_little(seen: Evidence) -> bool:
    """Of a run that found something and did something, or was only asked, whether its answer says nothing of it."""
    return seen.needs_met and not seen.grounded and not seen.idle


def _traced_tokens(run: Run) -> tuple[str, ...]:
    """The figures of the answer that are true to what was found."""
    strange = set(untraced_tokens(run.answer, run.known))
    return tuple(token for token in dict.fromkeys(number_bearing_tokens(run.answer)) if token not in strange)


def _claims_too_much(run: Run, text: str) -> bool:
    """Whether a text speaks of proof where a write has none, and the answer before it did not."""
    unproven = any(entry.status is not WriteStatus.VERIFIED for entry in run.writes)
    return unproven and "verified" in _words(text) and "verified" not in _words(run.answer)


def _words(text: str) -> list[str]:
    return [word.strip(".,;:()").lower() for word in text.split()]
