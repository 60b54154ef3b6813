"""Tool servers whose answers never carry the secret that they were shown (``ToolServers``).

A server may repeat a request's headers, in a message about an error say; and answers are journaled, told and archived.
"""

from collections.abc import Sequence
from typing import cast

from typing_extensions import override

from services.executor.ports.credentials import Credentials
from services.executor.ports.tools import (
    Send,
    ServerQuestion,
    T,
    Tool,
    ToolAnswer,
    ToolServers,
    ToolSilent,
    ToolUnreachable,
    WrappedServers,
)
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject
from shared.domain.identity_cache import IdentityCache

_IN_ITS_PLACE = "[credential]"
_SHORTEST = 8  # what is shorter is found in every second answer by chance, and keeps nobody out


class DiscreetServers(WrappedServers):
    def __init__(self, servers: ToolServers, credentials: Credentials) -> None:
        super().__init__(servers)
        self._credentials = credentials
        self._hidden = IdentityCache[tuple[Tool, ...], dict[tuple[str, ...], tuple[Tool, ...]]](lambda _: {}, 128)

    @override
    async def _ask(self, question: ServerQuestion, send: Send[T]) -> T:
        try:
            answer = await super()._ask(question, send)
        except (ToolUnreachable, ToolSilent) as error:
            raise self._error_without_secrets(question.connection, error) from None
        if isinstance(answer, ToolAnswer):
            return cast("T", self._answer_without_secrets(question.connection, answer))
        return answer

    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        tools = await super().discover(connection, session_id)
        secrets = self._credentials.shown_secrets(connection)
        return self._hide(tools, secrets) if secrets else tools

    def _hide(self, tools: tuple[Tool, ...], secrets: tuple[str, ...]) -> tuple[Tool, ...]:
        """The same objects for the same listing, as long as the secrets are."""
        known = self._hidden(tools)
        if secrets not in known:
            known.clear()
            known[secrets] = tuple(_tool(tool, secrets) for tool in tools)
        return known[secrets]

    def _answer_without_secrets(self, connection: Connection, answer: ToolAnswer) -> ToolAnswer:
        secrets = self._credentials.shown_secrets(connection)
        asked = answer.unfinished
        cleaned = asked._replace(question=_text(asked.question, secrets)) if asked else None
        return answer._replace(content=_without_secrets(answer.content, secrets), unfinished=cleaned)

    def _error_without_secrets(
        self, connection: Connection, error: ToolUnreachable | ToolSilent
    ) -> ToolUnreachable | ToolSilent:
        said = _text(str(error), self._credentials.shown_secrets(connection))
        return error if said == str(error) else type(error)(said)


def _tool(tool: Tool, secrets: Sequence[str]) -> Tool:
    schema = cast("JsonObject", _without_secrets(tool.input_schema, secrets))
    return tool._replace(description=_text(tool.description, secrets), input_schema=schema)


def _without_secrets(value: Json, secrets: Sequence[str]) -> Json:
    if not secrets:
        return value
    match value:
        case str():
            return _text(value, secrets)
        case list():
            return [_without_secrets(part, secrets) for part in value]
        case dict():
            return {_text(name, secrets): _without_secrets(part, secrets) for name, part in value.items()}
        case _:
            return value


def _text(text: str, secrets: Sequence[str]) -> str:
    for secret in secrets:
        text = text.replace(secret, _IN_ITS_PLACE) if len(secret) >= _SHORTEST else text
    return text
