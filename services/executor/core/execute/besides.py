"""What stands under a prose answer, whoever drafted it: calls that were not made, and a named server without tools."""

from services.executor.core.context import TurnContext
from services.executor.core.dossier import Dossier
from services.executor.core.execute.left_out import left_out
from shared.domain.answer import is_exact_match


def with_besides(ctx: TurnContext, dossier: Dossier, text: str) -> str:
    """The answer with it; a list stays a list, to the byte (I9)."""
    said = besides(ctx, dossier)
    return text if is_exact_match(text) or not said else text.rstrip() + said


def besides(ctx: TurnContext, dossier: Dossier) -> str:
    """What stands under an answer of this run; empty if there is nothing to be said."""
    missing, endpoint = left_out(ctx, dossier.plan), ctx.record.request.tools_endpoint
    said = ["\n".join(["Not made:", *(f"- {one.call.tool}: {one.why}" for one in missing)])] if missing else []
    if not ctx.toolbox.tools and endpoint is not None:
        said.append(f"The tool server {endpoint} offers no tools.")
    return "".join(f"\n\n{part}" for part in said)
