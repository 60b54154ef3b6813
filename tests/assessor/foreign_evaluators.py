"""The code of a scenario as others write it for the public assessor: its imports, and how it asks a model."""

EVALUATORS = """
from langchain_core.messages import HumanMessage, SystemMessage
from src.green.evaluation.context import AgentBeatsEvalContext
from src.green.evaluation.models import EvalResult

from words import QUESTION


async def is_polite(agentbeats_context: AgentBeatsEvalContext, params: dict) -> EvalResult:
    if agentbeats_context.llm is None:
        return EvalResult(score=0, max_score=10, explanation="LLM not available for evaluation")
    messages = [SystemMessage(content="You grade."), HumanMessage(content=QUESTION)]
    response = await agentbeats_context.llm.ainvoke(messages)
    return EvalResult(score=float(response.content), max_score=10, explanation="graded")


async def is_polite_unguarded(agentbeats_context, params):
    response = await agentbeats_context.llm.ainvoke([("system", "You grade."), {"role": "user", "content": QUESTION}])
    return EvalResult(score=float(response.content), max_score=10, explanation="graded")


async def is_polite_careful(agentbeats_context, params):
    try:
        response = await agentbeats_context.llm.ainvoke(QUESTION)
    except Exception as error:
        return EvalResult(score=0, max_score=10, explanation=f"evaluation failed: {error}")
    return EvalResult(score=float(response.content), max_score=10, explanation="graded")
"""
WORDS = "from src.green.evaluation.models import EvalResult as _\nQUESTION = 'How polite is it, from 0 to 10?'\n"
