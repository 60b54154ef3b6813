"""What participants that are written down earn on generated days: careful, idle, and harmful."""

from collections.abc import Mapping, Sequence

from services.assessor.adapters.played_participant import PlayedParticipant, PlayedRequest, PlayedScript, PlayedTurn
from services.assessor.adapters.scenario_folder import LoadedScenario
from services.assessor.checking import SilentEmitter
from services.assessor.core.assessment import Models
from services.assessor.core.days.generation import GeneratedDay
from services.assessor.core.judge import sum_judged
from services.assessor.hosting import GreenAgent
from services.assessor.settings import GreenAgentConfig

GOLD = "gold"
IDLE = "does_nothing"
VANDAL = "vandal"
_STRANGER = "everybody@gossip.example"


async def play_days(days: Mapping[str, tuple[GeneratedDay, LoadedScenario]]) -> dict[str, dict[str, float]]:
    """By day and participant the share of the points, in a world of one simulator process. No model is asked."""
    config = GreenAgentConfig.model_validate({"anthropic_api_key": "", "anthropic_base_url": ""})
    async with GreenAgent(config=config, models=Models()) as agent:
        return {
            name: {who: await _play(agent, loaded, course) for who, course in _all_scripts(day).items()}
            for name, (day, loaded) in days.items()
        }


async def _play(agent: GreenAgent, loaded: LoadedScenario, course: PlayedScript) -> float:
    most = {"max_turns": len(course.turns) + 1}
    participant = PlayedParticipant(course)
    results = await agent.run("bench", SilentEmitter(), loaded.config, loaded.evaluators, participant, most)
    points = sum_judged(results.criteria_results).judged
    return points.score / points.max_score


def _all_scripts(day: GeneratedDay) -> dict[str, PlayedScript]:
    idle = PlayedScript(turns=(PlayedTurn(time_step="PT4H"),))
    return {GOLD: PlayedScript.model_validate(day.scripts["gold"]), IDLE: idle, VANDAL: _harmful_script(day)}


def _harmful_script(day: GeneratedDay) -> PlayedScript:
    """Every mail is told to a stranger and thrown away, every appointment dropped."""
    mails, entries = _row_keys(day, "email", "emails"), _row_keys(day, "calendar", "events")
    told = [_build_request("/email/send", to_addresses=[_STRANGER], subject="Look", body_text=str(mails))]
    gone = [_build_request("/email/delete", message_ids=[*mails])] if mails else []
    dropped = [_build_request("/calendar/delete", event_id=key) for key in entries]
    return PlayedScript(turns=(PlayedTurn(requests=(*told, *gone, *dropped), time_step="PT4H"),))


def _build_request(path: str, **body: str | Sequence[str]) -> PlayedRequest:
    return PlayedRequest.model_validate({"path": path, "body": body})


def _row_keys(day: GeneratedDay, modality: str, table: str) -> list[str]:
    """The keys of a table of the world as it begins."""
    found: object = day.state
    for name in ("environment", "modality_states", modality, table):
        found = found.get(name) if isinstance(found, dict) else None
    return [str(key) for key in found] if isinstance(found, dict) else []
