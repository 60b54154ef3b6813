"""Questions that change nothing are asked again while who should answer is being replaced."""

import pytest
from typing_extensions import override

from services.executor.adapters.policy_http import RetryingPolicy
from services.executor.adapters.resilience import Resilience
from services.executor.adapters.tool_servers import ConnectedServers
from services.executor.ports.services import PolicyUnavailable
from services.executor.ports.tools import Tool, ToolAddressForbidden, ToolAnswer, ToolSilent, ToolUnreachable
from shared.contracts.policy import EvaluateRequest, Policy
from shared.contracts.tenant import Connection
from shared.domain.exact_json import Json, JsonObject
from shared.infra.retries import retry_with_pauses
from shared.ports.meter import NoMeter
from tests.doubles.connected import connected
from tests.doubles.fake_tool_servers import FakeToolServers
from tests.each_row import each_row
from tests.unit.executor.stage import SaidPolicy

AT_ONCE = (0.0, 0.0)


class _Replaced:
    """Answers once it has been asked so many times in vain."""

    def __init__(self, failures: int, error: Exception) -> None:
        self.left, self.error, self.asked = failures, error, 0

    async def __call__(self) -> str:
        self.asked += 1
        if self.left:
            self.left -= 1
            raise self.error
        return "answer"


@pytest.mark.promise("chaos.patience")
@each_row("failures", [0, 2])
async def test_a_short_absence_is_waited_out(failures: int) -> None:
    service = _Replaced(failures, PolicyUnavailable("down"))
    assert await retry_with_pauses(service, (PolicyUnavailable,), AT_ONCE) == "answer"
    assert service.asked == failures + 1


@pytest.mark.promise("chaos.patience")
async def test_who_is_refused_at_once_is_asked_after_every_pause() -> None:
    """Patience is for those who answer slowly: the pauses themselves do not use it up."""
    service = _Replaced(20, PolicyUnavailable("down"))
    assert await retry_with_pauses(service, (PolicyUnavailable,), (0.02,) * 20, patience=0.3) == "answer"
    assert service.asked == 21


async def test_who_would_have_to_wait_too_long_is_told_at_once() -> None:
    """A pause beyond the patience is not begun."""
    service = _Replaced(9, PolicyUnavailable("down"))
    with pytest.raises(PolicyUnavailable):
        await retry_with_pauses(service, (PolicyUnavailable,), (3600.0,))
    assert service.asked == 1


_RULES = Policy(id="expenses")


@pytest.mark.promise("chaos.patience")
@each_row(
    ("request_", "asked"),
    (EvaluateRequest(policies=(_RULES,)), 1),
    (EvaluateRequest(policies=(_RULES,), binding=True), 3),
    (EvaluateRequest(policies=(Policy(id="strict", text_default="deny"),), text="Pay."), 3),
)
async def test_a_verdict_that_decides_nothing_is_not_waited_for(request_: EvaluateRequest, asked: int) -> None:
    """A task without a service is held up by what it cannot do without, and by nothing else."""
    service = SaidPolicy()
    service.fails_from = 1
    with pytest.raises(PolicyUnavailable):
        await RetryingPolicy(service, NoMeter(), AT_ONCE).evaluate(request_)
    assert len(service.asked) == asked


_SHOP = Connection(id="shop", url="http://shop.test", protocol="mcp")


class _Handler:
    """Fails so, one error after the other, then answers."""

    def __init__(self, *errors: Exception) -> None:
        self.errors, self.asked = list(errors), 0

    def __call__(self, _: JsonObject) -> Json:
        self.asked += 1
        if self.errors:
            raise self.errors.pop(0)
        return "rows"


def _serving(handler: _Handler, pauses: tuple[float, ...] = AT_ONCE) -> ConnectedServers:
    servers = FakeToolServers()
    servers.add("list_orders", handler)
    return connected(servers, Resilience(pauses=pauses))


@pytest.mark.promise("tools.read_again")
@each_row(
    "errors",
    (ToolUnreachable("refused"),),
    (ToolUnreachable("refused"), ToolUnreachable("refused")),
    (ToolSilent("cut"),),
    (ToolSilent("cut"), ToolUnreachable("refused")),
)
async def test_a_read_outlasts_a_cut_and_a_restart(errors: tuple[Exception, ...]) -> None:
    tools = _serving(_Handler(*errors))
    assert await tools.read(_SHOP, "list_orders", {}, 10.0) == ToolAnswer("rows")


@pytest.mark.promise("tools.read_again")
async def test_a_read_is_repeated_once_after_a_silence_and_not_beyond_its_time() -> None:
    """A server that never answers is not asked for longer than that."""
    handler = _Handler(ToolSilent("cut"), ToolSilent("cut again"))
    with pytest.raises(ToolSilent, match="cut again"):
        await _serving(handler).read(_SHOP, "list_orders", {}, 10.0)
    assert handler.asked == 2
    handler = _Handler(ToolUnreachable("refused"))
    with pytest.raises(ToolUnreachable):
        await _serving(handler, (60.0,)).read(_SHOP, "list_orders", {}, 10.0)
    assert handler.asked == 1


@pytest.mark.promise("tools.read_again")
@each_row("error", [ToolUnreachable("refused"), ToolSilent("cut")])
async def test_no_other_call_is_ever_repeated(error: Exception) -> None:
    handler = _Handler(error)
    with pytest.raises(type(error)):
        await _serving(handler).call(_SHOP, "list_orders", {}, 10.0)
    assert handler.asked == 1


@pytest.mark.promise("tools.forbidden")
async def test_an_address_that_is_never_called_is_not_asked_for_again() -> None:
    listing, reading = _Forbidding(), _Handler(ToolAddressForbidden("the URL must be an http or https URL"))
    with pytest.raises(ToolAddressForbidden):
        await connected(listing, Resilience(pauses=AT_ONCE)).discover(_SHOP)
    with pytest.raises(ToolAddressForbidden):
        await _serving(reading).read(_SHOP, "list_orders", {}, 10.0)
    assert (listing.discoveries, reading.asked) == (1, 1)


class _Forbidding(FakeToolServers):
    @override
    async def discover(self, connection: Connection, session_id: str = "") -> tuple[Tool, ...]:
        self.discoveries += 1
        raise ToolAddressForbidden("the URL must be an http or https URL")
