"""The budget of one task (I11): each model call reserves its highest cost, and is then settled by its actual one.

The reservation is an entry of the journal, stored before the call; the cost stands in the entry of the reply. A
reservation without a reply stays counted: it may have been billed. Money is a whole number of nano-dollars. Tokens
count what is fresh: output, and input beyond the static prefix and what an earlier request of the same history
contained.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, StrEnum
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

from pydantic import JsonValue

from services.executor.core.states.machine import EarlyEnd
from services.executor.ports.turns import JournalEntry
from shared.domain.exact_json import JsonObject, dumps
from shared.domain.identity_cache import IdentityCache
from shared.domain.model_price import NANOS_PER_DOLLAR, Price, find_highest_prices
from shared.domain.words import TaskState
from shared.ports import models
from shared.ports.daily_spend import Charge

FEWEST_ANSWER_TOKENS = 256  # an answer of fewer would be cut off
_MOST_ANSWER_TOKENS = 4_096  # in tokens, as the next two
_SHORT_ANSWER_TOKENS = 512
_ANSWER_TOKENS_BY_TOKENS_LEFT = ((500, FEWEST_ANSWER_TOKENS), (2_000, _SHORT_ANSWER_TOKENS))
_MILD_PRESSURE_BELOW_SHARE = Fraction(30, 100)
_SMALL_MODEL_ABOVE_SHARE = Fraction(80, 100)


class BudgetPressure(StrEnum):
    """How urgently the model is told to save."""

    MILD = "mild"
    STRICT = "strict"
    EMERGENCY = "emergency"


class CallMode(NamedTuple):
    """How one call is made: on which tier, and how urgently the model is asked to be brief."""

    tier: models.Tier
    pressure: BudgetPressure


def choose_call_mode(tier: models.Tier, used_share: Fraction, *, keeps_tier: bool) -> CallMode:
    """The tier and pressure of a call. Above 80 % used, the tier is the small one, unless ``keeps_tier``."""
    if used_share > _SMALL_MODEL_ABOVE_SHARE:
        return CallMode(tier if keeps_tier else models.Tier.SMALL, BudgetPressure.EMERGENCY)
    return CallMode(tier, BudgetPressure.MILD if used_share < _MILD_PRESSURE_BELOW_SHARE else BudgetPressure.STRICT)


def limit_answer_tokens(tokens_left: int, *, needs_full_length: bool) -> int:
    """How many tokens an answer may have: half of those left, or 512 if fewer than 2,000 are left, 256 if fewer than
    500; all of them if a shorter answer would be worthless (``needs_full_length``). Never more than 4,096 or than
    are left.
    """
    if needs_full_length:
        return min(_MOST_ANSWER_TOKENS, tokens_left)
    for bound, longest in _ANSWER_TOKENS_BY_TOKENS_LEFT:
        if tokens_left < bound:
            return min(tokens_left, longest)
    return min(_MOST_ANSWER_TOKENS, tokens_left // 2)


@dataclass(frozen=True)
class CallCost:
    """The tokens and nano-dollars (``nanos``, as the journal names them) of one or more calls."""

    tokens: int = 0
    nanos: int = 0

    def __add__(self, cost: "CallCost") -> "CallCost":
        return CallCost(self.tokens + cost.tokens, self.nanos + cost.nanos)


@dataclass(frozen=True)
class Tariff:
    """Prices by model, and the models of each tier. A model without a price is charged at the highest known price."""

    prices: Mapping[str, Price] = field(default_factory=dict)
    tiers: Mapping[models.Tier, tuple[str, ...]] = field(default_factory=dict)

    def get_price(self, model: str) -> Price:
        return self.prices[model] if model in self.prices else find_highest_prices(self.prices.values())

    def get_tier_price(self, tier: models.Tier) -> Price:
        """The highest price among the tier's models, for each kind of token separately."""
        return self._tier_prices.get(tier, Price())

    @cached_property
    def _tier_prices(self) -> Mapping[models.Tier, Price]:
        return {tier: find_highest_prices(map(self.get_price, names)) for tier, names in self.tiers.items()}


class RequestSize(NamedTuple):
    """The estimated tokens of a request: its static prefix, what is new in its messages, what an earlier one had."""

    prefix: int
    fresh: int
    repeated: int = 0

    @property
    def total(self) -> int:
        return self.prefix + self.fresh + self.repeated


def compute_highest_cost(size: RequestSize, output: int, price: Price) -> CallCost:
    """The highest cost of a request with ``output`` tokens of answer: its fresh tokens, and the price of all tokens."""
    return CallCost(size.fresh + output, size.total * price.highest_input_price + output * price.output)


RESERVED_KIND = "reserved"  # kinds of journal entries: a reservation, and one whose call was never made
RELEASED_KIND = "released"


class BudgetShare(Enum):
    """How much of the budget a call may use, in quarters. The last is kept for the plan of writes and the answer."""

    READING = ("reading", 3)
    PROPOSING = ("proposing", 3)
    WHOLE = ("whole", 4)
    PLAN = ("plan", 4)

    def get_portion(self, amount: int) -> int:
        return amount * self.value[1] // 4

    @property
    def keeps_tier(self) -> bool:
        """Whether its calls go to the model that they ask for even when the budget is nearly used."""
        return self in (BudgetShare.PROPOSING, BudgetShare.PLAN)


class Ceilings(NamedTuple):
    """What one task may use: fresh tokens and nano-dollars (``nanos``). None means unlimited."""

    tokens: int | None = None
    nanos: int | None = None
    tariff: Tariff = Tariff()


class Reservation(NamedTuple):
    """A model call that may be made: its name in the journal, the reserved cost, and the longest answer in tokens."""

    name: str
    amount: CallCost
    max_tokens: int

    @property
    def entry(self) -> JournalEntry:
        return JournalEntry(self.name, RESERVED_KIND, json.dumps([self.amount.tokens, self.amount.nanos]))


class Settlement(NamedTuple):
    """The actual cost of a call. ``name``: its reservation's; ``day``: the tenant's day on which it counts (ISO date).

    ``is_cheaper``: the call used a lower tier than its state normally does. ``doubt``: why an estimate replaces the
    usage that the endpoint reported. ``is_reserved``: whether it was also reserved in the tenant's day; None in replies
    of a release that counted each call at once.
    """

    name: str
    amount: CallCost
    day: str
    is_cheaper: bool = False
    doubt: str = ""
    is_reserved: bool | None = None

    def as_charge(self, task_id: str) -> Charge:
        """The settlement as a charge on the tenant's day."""
        return Charge(f"{task_id}:{self.name}", self.amount.tokens, self.amount.nanos, bool(self.is_reserved))

    def as_json(self) -> JsonObject:
        amount: JsonObject = {"tokens": self.amount.tokens, "nanos": self.amount.nanos}
        fields: JsonObject = {"name": self.name, **amount, "day": self.day}
        if self.is_cheaper:
            fields["cheaper"] = True
        if self.doubt:
            fields["doubt"] = self.doubt
        if self.is_reserved is not None:
            fields["reserved"] = self.is_reserved
        return fields


class BudgetSpent(EarlyEnd):
    """The budget does not allow the next model call. How the task ends depends on what it has done."""


class Partial(EarlyEnd):
    """The budget is spent but no planned call is left undone, so the task ends with what is known."""

    state = TaskState.COMPLETED
    fsm_state = None
    is_partial = True


class TaskSpending:
    """What a task has spent and reserved, computed from its journal."""

    def __init__(self, entries: Iterable[JournalEntry] = ()) -> None:
        self.spent = CallCost()
        self.calls = 0
        self.cheaper_calls = 0  # made on a lower tier than their state's, because little was left
        self.uncounted: list[Settlement] = []  # of calls that were answered in this run, for the tenant's day
        self._open_reservations: dict[str, CallCost] = {}
        self._reservation_count = 0
        for entry in entries:
            self._apply_entry(entry)
        self._reserved_before = sum(self._open_reservations.values(), CallCost())  # for calls that an earlier run lost

    @property
    def counted_cost(self) -> CallCost:
        """Everything that was or may have been billed: spending and open reservations."""
        return sum(self._open_reservations.values(), self.spent)

    @property
    def unanswered_keys(self) -> tuple[str, ...]:
        """The journal keys of calls that were reserved and have no stored reply, the latest last."""
        return tuple(name.split(":", 2)[2] for name in self._open_reservations)

    def as_json(self, ceilings: Ceilings) -> dict[str, JsonValue]:
        """The spending for people: tokens, dollars, calls, and the ceilings that there are.

        What calls without a stored reply may have cost is apart, as ``set_aside_tokens`` and ``set_aside_dollars``.
        """
        set_aside = sum(self._open_reservations.values(), CallCost())
        of_tokens: dict[str, JsonValue] = {} if ceilings.tokens is None else {"token_limit": ceilings.tokens}
        of_money: dict[str, JsonValue] = (
            {} if ceilings.nanos is None else {"dollar_limit": format_dollars(ceilings.nanos)}
        )
        return {
            **of_tokens,
            **of_money,
            "tokens": self.spent.tokens,
            "dollars": format_dollars(self.spent.nanos),
            "calls": self.calls,
            "cheaper_calls": self.cheaper_calls,
            "set_aside_tokens": set_aside.tokens,
            "set_aside_dollars": format_dollars(set_aside.nanos),
        }

    def reserve_cost(
        self, key: str, size: RequestSize, output: int, ceilings: Ceilings, price: Price, share: BudgetShare
    ) -> Reservation:
        """Reserves the call's highest cost, with a shorter answer if need be.

        The caller stores the reservation. Raises ``BudgetSpent`` if fewer than 256 tokens of answer are left (or than
        ``output``, if that is less).
        """
        tokens_left = self._count_answer_tokens_left(size, ceilings, price, share)
        affordable = min(output, limit_answer_tokens(tokens_left, needs_full_length=share is BudgetShare.PLAN))
        if affordable < min(output, FEWEST_ANSWER_TOKENS):
            raise BudgetSpent(self._describe_refusal(compute_highest_cost(size, 0, price), ceilings, share))
        self._reservation_count += 1
        name = f"reserve:{self._reservation_count}:{key}"
        reservation = Reservation(name, compute_highest_cost(size, affordable, price), affordable)
        self._open_reservations[reservation.name] = reservation.amount
        return reservation

    def release_reservation(self, name: str) -> None:
        self._open_reservations.pop(name, None)

    def settle_reservation(self, settlement: Settlement) -> None:
        """Replaces the call's reservation by what it cost."""
        self.uncounted.append(settlement)
        self._count_settlement(settlement)

    def _count_settlement(self, settlement: Settlement) -> None:
        self._open_reservations.pop(settlement.name, None)
        self.spent += settlement.amount
        self.calls += 1
        self.cheaper_calls += settlement.is_cheaper

    def compute_used_share(self, ceilings: Ceilings, share: BudgetShare) -> Fraction:
        """Which part of the budget's ``share`` is spent, in tokens or in money, whichever is more; above 1 if
        overspent.
        """
        pairs = ((self.spent.tokens, ceilings.tokens), (self.spent.nanos, ceilings.nanos))
        shares = (
            Fraction(used_amount, max(1, share.get_portion(ceiling)))
            for used_amount, ceiling in pairs
            if ceiling is not None
        )
        return max(shares, default=Fraction(0))

    def _count_answer_tokens_left(self, size: RequestSize, ceilings: Ceilings, price: Price, share: BudgetShare) -> int:
        """How many tokens of answer fit under both ceilings after the request itself.

        What calls of earlier runs have reserved counts against the ceilings, but not against the ``share``: a task
        whose process died in a call could otherwise rarely make that call again.
        """
        spent = self.counted_cost
        lost = self._reserved_before
        request = compute_highest_cost(size, 0, price)
        tokens_left = []
        if ceilings.tokens is not None:
            limit = min(share.get_portion(ceilings.tokens) + lost.tokens, ceilings.tokens)
            tokens_left.append(limit - spent.tokens - request.tokens)
        if ceilings.nanos is not None:
            money = min(share.get_portion(ceilings.nanos) + lost.nanos, ceilings.nanos) - spent.nanos - request.nanos
            if price.output:
                tokens_left.append(money // price.output)
            elif money < 0:
                tokens_left.append(0)
        return min(tokens_left, default=_MOST_TOKENS_WITHOUT_CEILING)

    def _describe_refusal(self, request: CallCost, ceilings: Ceilings, share: BudgetShare) -> str:
        """Why the call does not fit. ``request``: the cost of the request alone."""
        spent = self.counted_cost
        of_tokens = f" of {ceilings.tokens:,}" if ceilings.tokens is not None else ""
        of_money = f" of {format_dollars(ceilings.nanos)}" if ceilings.nanos is not None else ""
        leaves_quarter = share in (BudgetShare.READING, BudgetShare.PROPOSING)
        remark = "; a quarter is kept for the plan of writes and the answer" if leaves_quarter else ""
        return (
            "the task's budget does not allow a further model call: "
            f"{spent.tokens:,}{of_tokens} tokens (TASK_TOKENS) and "
            f"{format_dollars(spent.nanos)}{of_money} US dollars (TASK_MONEY) are used or set aside{remark}; the "
            f"call's request alone takes about {request.tokens:,} tokens and {format_dollars(request.nanos)} US dollars"
        )

    def _apply_entry(self, entry: JournalEntry) -> None:
        if entry.kind == RESERVED_KIND:
            self._open_reservations[entry.key] = CallCost(*json.loads(entry.data_json))
            self._reservation_count += 1
        elif entry.kind == RELEASED_KIND:
            self.release_reservation(entry.data_json)
        elif entry.kind == "model":
            self._count_settlement(parse_settlement(entry.data_json))


def parse_settlement(reply: str) -> Settlement:
    """The settlement in ``reply``, the JSON text of a reply's journal entry."""
    spent = json.loads(reply)["spent"]
    amount = CallCost(spent["tokens"], spent["nanos"])
    is_cheaper, doubt = bool(spent.get("cheaper")), str(spent.get("doubt", ""))
    return Settlement(spent["name"], amount, spent["day"], is_cheaper, doubt, spent.get("reserved"))


def list_settlements_of_turn(entries: Iterable[JournalEntry], turn_id: str) -> Iterator[Settlement]:
    """Yields the settlements of a turn's earlier attempts, which are counted in the tenant's day when the turn ends."""
    has_begun = False
    for entry in entries:
        has_begun = has_begun or entry.key.startswith(f"turn:{turn_id}#")
        if has_begun and entry.kind == "model":
            settlement = parse_settlement(entry.data_json)
            if settlement.is_reserved is not None:
                yield settlement


def format_dollars(nanos: int) -> str:
    """An exact amount in US dollars, as text."""
    return format((Decimal(nanos) / NANOS_PER_DOLLAR).normalize(), "f")


_MOST_TOKENS_WITHOUT_CEILING = 2**53  # tokens, where no ceiling limits them
_CHARACTERS_A_TOKEN = 4
_MOST_TIMES_THE_ESTIMATE = 10  # a usage of that many times the estimate is not believed
_LEAST_ESTIMATE = 500  # in tokens; smaller estimates say little, since an endpoint has a preamble of its own


def measure_request(request: models.ModelRequest, earlier: models.ModelRequest | None = None) -> RequestSize:
    """The size of a request in tokens; what the ``earlier`` request and its reply had counts as repeated."""
    blocks = _list_blocks(request)
    repeated = _count_repeated_blocks(request, earlier)
    prefix = sum(map(len, request.system)) + _measure_tools(request.tools)
    prefix += _measure_schema(request.schema)
    prefix += sum(_measure_block(block) for _, block in blocks if isinstance(block, models.StableText))
    fresh_length = _measure_without_stable_texts(blocks[repeated:])
    repeated_length = _measure_without_stable_texts(blocks[:repeated])
    return RequestSize(estimate_tokens(prefix), estimate_tokens(fresh_length), estimate_tokens(repeated_length))


def compute_reply_cost(reply: models.ModelReply, size: RequestSize, price: Price, longest: int) -> tuple[CallCost, str]:
    """The cost of a call, and why it is an estimate; empty if the endpoint's usage is believed.

    ``longest``: the answer's limit in tokens.

    The reported input is split as the estimate ``size`` is: only its fresh share counts as tokens, and none that came
    from a cache. So a history counts once, whether or not the endpoint caches it.
    """
    usage = reply.usage
    if doubt := _describe_doubtful_usage(reply, size, longest):
        return compute_highest_cost(size, estimate_tokens(sum(map(_measure_block, reply.blocks))), price), doubt
    estimated_fresh = -(-usage.all_input * size.fresh // size.total) if size.total else usage.all_input
    fresh_input = min(max(estimated_fresh, size.fresh), usage.input + usage.cache_write)
    return CallCost(fresh_input + usage.output, price.compute_cost(usage)), ""


def _describe_doubtful_usage(reply: models.ModelReply, size: RequestSize, longest: int) -> str:
    usage = reply.usage
    if min(usage) < 0:
        return "the endpoint reports a negative usage"
    if not usage.all_input or (reply.blocks and not usage.output):
        return "the endpoint reports no usage"
    if usage.all_input > _MOST_TIMES_THE_ESTIMATE * max(size.total, _LEAST_ESTIMATE):
        return f"the endpoint reports {usage.all_input:,} tokens of input where about {size.total:,} were sent"
    if usage.output > _MOST_TIMES_THE_ESTIMATE * max(longest, _LEAST_ESTIMATE):
        return f"the endpoint reports {usage.output:,} tokens of output where at most {longest:,} were asked for"
    return ""


def _count_repeated_blocks(request: models.ModelRequest, earlier: models.ModelRequest | None) -> int:
    """How many of the request's first blocks the ``earlier`` one or its reply had; 0 if there is none on this tier."""
    if earlier is None or earlier.tier is not request.tier:
        return 0
    earlier_blocks = [pair for pair in _list_blocks(earlier) if not isinstance(pair[1], models.SingleRequestText)]
    blocks = _list_blocks(request)
    count = 0
    while count < min(len(earlier_blocks), len(blocks)) and earlier_blocks[count] == blocks[count]:
        count += 1
    while count < len(blocks) and blocks[count][0] == "assistant":  # the reply to the earlier request
        count += 1
    return count


def _list_blocks(request: models.ModelRequest) -> list[tuple[str, models.Block]]:
    return [(message.role, block) for message in request.messages for block in message.blocks]


def _measure_without_stable_texts(blocks: Iterable[tuple[str, models.Block]]) -> int:
    return sum(_measure_block(block) for _, block in blocks if not isinstance(block, models.StableText))


def estimate_tokens(characters: int) -> int:
    return -(-characters // _CHARACTERS_A_TOKEN)


def _measure_schema(schema: Mapping[str, JsonValue] | None) -> int:
    return len(json.dumps(dict(schema))) if schema else 0


_measure_tool = IdentityCache[models.ToolDefinition, int](
    lambda tool: len(tool.name) + len(tool.description) + _measure_schema(tool.input_schema), 8_192
)
_measure_tools = IdentityCache[tuple[models.ToolDefinition, ...], int](lambda tools: sum(map(_measure_tool, tools)), 32)


def _measure_block(block: models.Block) -> int:
    match block:
        case models.TextBlock(text):
            return len(text)
        case models.ToolUse(_, name, arguments):
            return len(name) + len(dumps(arguments))
        case models.ToolResult(_, content):
            return len(content)
        case models.OpaqueBlock(text):
            return len(text)
        case models.ImageBlock(tokens=tokens):
            return tokens * _CHARACTERS_A_TOKEN
