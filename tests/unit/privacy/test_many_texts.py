"""Many texts at once are redacted as each of them alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as some

from shared.domain.redaction import redacted, redacted_each

PARTS = some.sampled_from(
    [
        *("the password", "password for", "is hunter2go", "password: hunter2go", "ssn", "078-05-1120", "536-90-4399"),
        *(
            "4111 1111 1111 1111",
            "378282246310005",
            "DE89 3704 0044 0532 0130 00",
            "GB29NWBK60161331926819",
            "EXP-10021",
        ),
        *(
            "-----BEGIN PRIVATE KEY-----",
            "abc",
            "-----END PRIVATE KEY-----",
            "Bearer",
            "abcdefghijklmnop1234",
            ":",
            "=",
        ),
        *(
            "https://bob:",
            "secretword@host",
            "sk-abcdefghijklmnopqrst",
            "token",
            '"quoted',
            'end"',
            ";",
            "and",
            ".",
            ",",
        ),
    ]
)
TEXTS = some.lists(some.lists(PARTS, max_size=5).map(" ".join), max_size=5)


@pytest.mark.promise("learner.redacts")
@given(TEXTS)
def test_each_is_redacted_as_if_it_stood_alone(texts: list[str]) -> None:
    """Nothing reaches from one text into the next, and nothing is hidden by what stands before it."""
    assert redacted_each(texts) == tuple(map(redacted, texts))


@pytest.mark.parametrize(
    "secret", ["4111111111111111", "4111 1111 1111 1111", "3782 822463 10005", "GB29NWBK60161331926819", "536-90-4399"]
)
def test_a_number_among_texts_is_found(secret: str) -> None:
    assert (
        redacted_each(("nothing here", f"pay {secret} now"))[1] == redacted(f"pay {secret} now") != f"pay {secret} now"
    )
