"""How long a token is kept, by what its endpoint says."""

import pytest

from services.executor.adapters.oauth_tokens import USUAL_LIFE, read_lifetime
from tests.each_row import each_row


@pytest.mark.promise("connections.refreshed_once")
@each_row(
    "life, seconds",
    [
        (3600, 3600.0),
        ("60", 60.0),
        (0, 1.0),
        (10**9, 86_400.0),
        ("inf", 86_400.0),
        (None, USUAL_LIFE),
        ("NaN", USUAL_LIFE),
        ("soon", USUAL_LIFE),
    ],
)
def test_a_token_is_kept_for_a_bounded_time_whatever_is_said_of_its_life(life: object, seconds: float) -> None:
    assert read_lifetime(life) == seconds
