"""What `purple bench gateway` makes of what it measured."""

import pytest

from tools.bench.gateway.load import Beside, GatewayFigures, OpenStreams, Plan, RequestRates, Streaming, measure_gateway

_SDK = RequestRates(a_second=1000, p50_ms=1, p99_ms=8, cpu_ms=1)


def _figures(ours: RequestRates) -> GatewayFigures:
    even = Beside(_SDK._replace(a_second=5000, p99_ms=1), _SDK)
    return GatewayFigures(Beside(ours, _SDK), even, Streaming(1, 1), Streaming(1, 1), OpenStreams(1, 1, 1))


@pytest.mark.promise("bench.gateway")
@pytest.mark.parametrize(
    ("ours", "missed"),
    [
        (_SDK._replace(a_second=2000, p99_ms=2), []),
        (_SDK._replace(a_second=1900, p99_ms=2), ["GetTask: 1.90 times"]),
        (_SDK._replace(a_second=2000, p99_ms=3), ["GetTask: p99 is 0.38"]),
    ],
)
def test_a_target_that_is_missed_is_named(ours: RequestRates, missed: list[str]) -> None:
    found = _figures(ours).missed
    assert len(found) == len(missed)
    assert all(sentence.startswith(start) for sentence, start in zip(found, missed, strict=True))


@pytest.mark.long
@pytest.mark.promise("bench.gateway")
async def test_both_servers_answer_all_that_is_measured() -> None:
    figures = await measure_gateway(Plan(rounds=1, seconds=0.2, open_streams=3))
    rates = (*figures.get_task, *figures.accept)
    assert all(rate.a_second > 0 and rate.p99_ms > 0 for rate in rates)
    assert figures.ours_streaming.a_second > 0
    assert figures.held.streams == 3
