"""Reads the prices of models from a file; the default file is next to this module."""

from collections.abc import Mapping
from decimal import Decimal
from math import ceil
from pathlib import Path

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from shared.contracts.base import describe_first_error
from shared.domain.model_price import NANOS_PER_DOLLAR, Price
from shared.infra.starting import CannotStart

_BUNDLED_PRICES_FILE = Path(__file__).with_name("model_prices.json")
_MILLION = 1_000_000


class BadPriceFile(CannotStart):
    """The file cannot be used; the message names it and what is wrong."""


class _ModelPrices(BaseModel):
    """A model's prices, in US dollars for a million tokens."""

    model_config = ConfigDict(extra="forbid")

    input: Decimal = Field(ge=0)
    output: Decimal = Field(ge=0)
    cache_read: Decimal = Field(ge=0)
    cache_write: Decimal = Field(ge=0)


class _PriceFile(BaseModel):
    """A price file. ``as_of`` and ``source``: when these prices were valid, and who published them."""

    source: str
    as_of: str
    models: dict[str, _ModelPrices] = Field(min_length=1)


def load_prices(path: Path | None = None) -> Mapping[str, Price]:
    """The price of each model; prices in the file at ``path`` override ours. Raises ``BadPriceFile``."""
    overriding = {} if path is None else _read_price_file(path)
    return {**_read_price_file(_BUNDLED_PRICES_FILE), **overriding}


def _read_price_file(path: Path) -> dict[str, Price]:
    try:
        price_file = _PriceFile.model_validate_json(path.read_bytes())
    except OSError as error:
        raise BadPriceFile(f"MODEL_PRICES cannot be read: {error}") from error
    except ValidationError as error:
        raise BadPriceFile(f"MODEL_PRICES {path} cannot be used: {describe_first_error(error)}") from error
    return {name: _convert_to_price(model) for name, model in price_file.models.items()}


def _convert_to_price(model: _ModelPrices) -> Price:
    return Price(
        input=_compute_nanos_per_token(model.input),
        output=_compute_nanos_per_token(model.output),
        cache_read=_compute_nanos_per_token(model.cache_read),
        cache_write=_compute_nanos_per_token(model.cache_write),
    )


def _compute_nanos_per_token(dollars: Decimal) -> int:
    """The price of one token in nano-dollars, rounded up. ``dollars``: for a million tokens."""
    return ceil(dollars * NANOS_PER_DOLLAR / _MILLION)
