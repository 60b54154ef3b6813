"""What stands under a prose answer, whoever drafted it: calls that were not made, and a named server without tools."""

from services.executor.core.dossier.dossier import Dossier
from services.executor.core.session.context import TurnContext
from services.executor.core.write.left_out import LeftOut, left_out
from shared.contracts.plan import PlannedCall
from shared.domain.answer import is_exact_match


def with_besides(ctx: TurnContext, dossier: Dossier, text: str) -> str:
    """The answer with it; a list stays a list, to the byte (I9)."""
    said = besides(ctx, dossier)
    return text if is_exact_match(text) or not said else text.rstrip() + said


def besides(ctx: TurnContext, dossier: Dossier) -> str:
    """What stands under an answer of this run; empty if there is nothing to be said."""
    missing, endpoint = not_made(ctx, dossier), ctx.record.request.tools_endpoint
    said = ["\n".join(["Not made:", *(f"- {one.call.tool}: {one.why}" for one in missing)])] if missing else []
    if not ctx.toolbox.tools and endpoint is not None:
        said.append(f"The tool server {endpoint} offers no tools.")
    return "".join(f"\n\n{part}" for part in said)


def not_made(ctx: TurnContext, dossier: Dossier) -> list[LeftOut]:
    """The calls that the plans of the task went on without, but those that a later plan made after all."""
    missing: list[LeftOut] = []
    made: set[tuple[str, str, str]] = set()
    for plan in reversed(dossier.every_plan):
        left = left_out(ctx, plan)
        missing = [*(one for one in left if _what(one.call) not in made), *missing]
        made |= {_what(call) for call in plan.calls} - {_what(one.call) for one in left}
    return missing


def _what(call: PlannedCall) -> tuple[str, str, str]:
    return (call.connection_id, call.tool, call.arguments_json)
