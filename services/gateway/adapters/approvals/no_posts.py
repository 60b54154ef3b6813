"""Where no webhooks are offered: every notice is passed over, with its reason in the log."""

from typing_extensions import override

from services.gateway.ports.push import Delivery, Posts, UrlCheck


class NoPosts(Posts, UrlCheck):
    @override
    async def enqueue(self, delivery: Delivery) -> None:
        raise NotImplementedError("no URL may be called here")

    @override
    def problem(self, url: str) -> str | None:
        return "no webhooks are offered here: WEBHOOK_SECRET is not set, or A2A_PUSH is off"
