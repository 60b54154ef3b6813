"""The answer of a task whose reads, values and writes are told as data."""

from services.planner.core.answer import ToldAnswer, answer
from services.planner.core.request import Request, objects
from services.planner.core.situation import observe
from services.planner.core.words import parts
from shared.domain.exact_json import JsonObject, dumps


def artifact(request: Request) -> str:
    """What became of each write by its status, then what was asked, from ``facts`` and ``values`` alone."""
    said = [_write(write) for write in objects(request.section("writes"))]
    situation = observe(request)
    reading = situation.reading
    if said and not reading.questions:
        return " ".join(said)
    return " ".join((*said, answer(situation, ToldAnswer())))


def _write(write: JsonObject) -> str:
    given = write.get("arguments")
    told = given.items() if isinstance(given, dict) else ()
    shown = ", ".join(f"{name} {value if isinstance(value, str) else dumps(value)}" for name, value in told)
    status, note = str(write.get("status")), str(write.get("note") or "")
    done = "Done and" if status in ("verified", "sent") else "Not confirmed, status"
    return f"{done} {status}: {' '.join(parts(str(write.get('tool'))))} ({shown}){'; ' + note if note else ''}."
