"""``/console/approvals``: what waits for a yes or a no, and the answer to one of them."""

from starlette.requests import Request
from starlette.responses import Response

from services.gateway.edge.errors import DecisionNotCounted, InvalidField, NotAnApprover
from services.gateway.features.approvals.service import read_answer
from services.gateway.features.console.context import ConsoleContext
from services.gateway.features.console.pages import go_to
from services.gateway.features.console.sessions import Visitor
from services.gateway.features.console.views.approvals import approval_page, summary_of
from shared.domain.words import Role


class InboxPages:
    def __init__(self, context: ConsoleContext) -> None:
        self._context = context

    async def list_page(self, request: Request, visitor: Visitor) -> Response:
        """What the reader can answer first, then what waits for others."""
        now, reader = self._context.glance.clock(), visitor.caller.principal
        questions = await self._context.glance.waiting(visitor.caller)
        pages = [approval_page(one, reader, now) for one in questions]
        cards = [(page, summary_of(page.calls)) for page in pages]
        mine = [card for card in cards if not card[0].barred]
        others = [card for card in cards if card[0].barred]
        decides = visitor.has(Role.APPROVER)
        return await self._context.page(request, "inbox.html", visitor, mine=mine, others=others, decides=decides)

    async def show_page(self, request: Request, visitor: Visitor) -> Response:
        return await self._one(request, visitor)

    async def answer(self, request: Request, visitor: Visitor, fields: dict[str, str]) -> Response:
        """The answer is handed on; one that does not count is refused with its reason, and what was typed stays."""
        approval_id, comment = request.path_params["approval_id"], fields.get("comment", "")
        try:
            answer = read_answer({"decision": fields.get("decision", ""), "comment": comment})
            _, heeded = await self._context.services.approvals.answer(approval_id, answer, visitor.caller)
        except DecisionNotCounted as fault:
            return await self._one(request, visitor, f"Your answer does not count: {fault.why}.", comment, 409)
        except (InvalidField, NotAnApprover) as fault:
            return await self._one(request, visitor, str(fault), comment, 400)
        finally:
            self._context.glance.forget(visitor.caller)
        said = "heard" if heeded else "handed"
        return go_to(f"/console/approvals/{approval_id}?said={said}")

    async def _one(
        self, request: Request, visitor: Visitor, problem: str = "", comment: str = "", status: int = 200
    ) -> Response:
        approval_id, now = request.path_params["approval_id"], self._context.glance.clock()
        question = await self._context.services.approvals.show(approval_id, visitor.caller)
        page = approval_page(question, visitor.caller.principal, now)
        values = {"one": page, "record": question.record, "problem": problem, "comment": comment}
        said = request.query_params.get("said", "")
        return await self._context.page(request, "approval.html", visitor, status, **values, said=said)
