"""How many examples a property is tried on: some in `make test`, many in `make test-long`."""

from hypothesis import settings


def examples(quick: int, thorough: int) -> settings:
    """Each under the profile of that name (``tests/conftest.py``)."""
    return settings(max_examples=thorough if settings.get_current_profile_name() == "thorough" else quick)
