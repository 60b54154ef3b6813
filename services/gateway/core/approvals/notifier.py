"""Turns what is owed to a tenant's targets into deliveries, each once in effect."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime

import structlog

from services.gateway.core.approvals.notices import Addressed, Told, deliveries
from services.gateway.core.push.secret import is_secret
from services.gateway.ports.approvals import Approvals, Question
from services.gateway.ports.notices import Notices, Owed, References, Unreadable
from services.gateway.ports.push import Posts, UrlCheck
from shared.contracts.notice import NoticeTarget

log = structlog.get_logger()


class Notifier:
    """``console``: the gateway's public URL, for links. A target that cannot be told is said in the log, and passed."""

    def __init__(
        self,
        notices: Notices,
        approvals: Approvals,
        posts: Posts,
        urls: UrlCheck,
        references: References,
        console: str,
        clock: Callable[[], datetime],
    ) -> None:
        self._notices, self._approvals, self._posts = notices, approvals, posts
        self._urls, self._references = urls, references
        self._console, self._clock = console, clock

    async def owed(self) -> Sequence[Owed]:
        """What is to be told now. Raises ``StoreUnavailable``; it is another's to tell should this process die."""
        return await self._notices.take()

    async def tell(self, owed: Owed) -> None:
        """Hand one of them on; the same again is harmless. Raises ``StoreUnavailable``."""
        question = await self._approvals.find(owed.tenant, owed.approval_id)
        if question is not None:
            await self._tell(owed, question)
        await self._notices.done(owed)

    async def _tell(self, owed: Owed, question: Question) -> None:
        told = Told(owed.event, owed.step, question)
        for addressed in self._addressed(owed, question):
            await self._posts.enqueue(deliveries(told, addressed, self._console, self._clock()))

    def _addressed(self, owed: Owed, question: Question) -> Iterator[Addressed]:
        for target in question.approval.notices:
            if owed.event not in target.events:
                continue
            try:
                yield self._read(target, owed.tenant)
            except Unreadable as why:
                log.warning("notice_not_sent", tenant=owed.tenant, approval=owed.approval_id, why=str(why))

    def _read(self, target: NoticeTarget, tenant: str) -> Addressed:
        url, secret = self._references.read(target.url, tenant), self._references.read(target.secret, tenant)
        if problem := self._urls.problem(url):
            raise Unreadable(f"the URL of a notice target: {problem}")
        if secret and not is_secret(secret):
            raise Unreadable(f"{target.secret} holds no secret of Standard Webhooks")
        return Addressed(target, url, secret)
