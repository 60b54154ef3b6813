"""The agent card of the assessor."""

from a2a.types.a2a_pb2 import AgentCapabilities, AgentCard, AgentInterface, AgentSkill

from shared.domain.version import VERSION

_DESCRIPTION = (
    "Measures how well an agent serves a user: it gives the agent a simulated world of mail, texts, calendar and chat, "
    "plays the other people in it, and judges what the agent did."
)
_EXAMPLE = '{"participants": {"personal_assistant": "http://localhost:9010"}, "config": {"scenario_id": "..."}}'


def agent_card(url: str, scenario_ids: list[str], has_model: bool) -> AgentCard:
    """The A2A card of the assessor. ``url``: where clients reach it from outside."""
    notice = "" if has_model else " No model is there: what code cannot judge stays unjudged."
    listed = f" Scenarios: {', '.join(scenario_ids)}." if scenario_ids else ""
    skill = AgentSkill(
        id="ues_assessment",
        name="Assessment in a simulated world",
        description=f"Runs one scenario with one agent and gives scores, reasons and the log of actions.{listed}",
        tags=["assessment", "benchmark", "simulation"],
        examples=[_EXAMPLE],
    )
    return AgentCard(
        name="UES Green Agent",
        description=_DESCRIPTION + notice,
        version=VERSION,
        supported_interfaces=[
            AgentInterface(url=url, protocol_binding="JSONRPC", protocol_version=version) for version in ("1.0", "0.3")
        ],
        capabilities=AgentCapabilities(streaming=True, push_notifications=False),
        default_input_modes=["application/json", "text/plain"],
        default_output_modes=["application/json"],
        skills=[skill],
    )
