"""Questions that change nothing are asked again while who should answer is being replaced."""

import pytest

from services.executor.adapters.patience import patiently
from services.executor.ports import PolicyUnavailable, ToolSilent

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
@pytest.mark.parametrize("failures", [0, 1, 2])
async def test_a_short_absence_is_waited_out(failures: int) -> None:
    service = _Replaced(failures, PolicyUnavailable("down"))
    assert await patiently(service, (PolicyUnavailable,), AT_ONCE) == "answer"
    assert service.asked == failures + 1


async def test_a_long_absence_is_told() -> None:
    """The last error reaches the caller after a bounded number of attempts."""
    service = _Replaced(9, PolicyUnavailable("down"))
    with pytest.raises(PolicyUnavailable):
        await patiently(service, (PolicyUnavailable,), AT_ONCE)
    assert service.asked == 3


async def test_another_error_is_none_to_wait_out() -> None:
    service = _Replaced(9, ToolSilent("cut"))
    with pytest.raises(ToolSilent):
        await patiently(service, (PolicyUnavailable,), AT_ONCE)
    assert service.asked == 1


async def test_who_would_have_to_wait_too_long_is_told_at_once() -> None:
    """A pause beyond the patience is not begun."""
    service = _Replaced(9, PolicyUnavailable("down"))
    with pytest.raises(PolicyUnavailable):
        await patiently(service, (PolicyUnavailable,), (3600.0,))
    assert service.asked == 1
