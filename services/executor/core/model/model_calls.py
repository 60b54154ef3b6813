"""Asks a model: each call is reserved in the budget, masked and journaled; an unusable answer is asked for again."""

import asyncio
import hashlib
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from decimal import Decimal
from typing import NamedTuple, NoReturn, TypeVar, cast
from zoneinfo import ZoneInfo

from pydantic import BaseModel, JsonValue, ValidationError

from services.executor.core.model.masking import mask_request, restore_values
from services.executor.core.session.budget import (
    BudgetShare,
    BudgetSpent,
    CallMode,
    Reservation,
    Settlement,
    choose_call_mode,
    compute_highest_cost,
    compute_reply_cost,
    format_dollars,
    measure_request,
)
from services.executor.core.session.context import TurnContext, run_with_companion
from services.executor.core.states.machine import EarlyEnd, Failed, ModelTemporarilyUnavailable, TenantStopped
from services.executor.core.states.prompts import STABLE_SECTIONS, render_in_order
from services.executor.ports.turns import HandedOver
from shared.contracts.base import describe_first_error
from shared.domain import span_names as names
from shared.domain.exact_json import Json, JsonObject, dumps, loads_object
from shared.domain.identity_cache import IdentityCache
from shared.ports import models
from shared.ports.daily_spend import Charge, DayCaps, read_daily_caps
from shared.ports.store import StoreUnavailable
from shared.ports.tracing import Span, SpanKind

Shape = TypeVar("Shape", bound=BaseModel)
Checked = TypeVar("Checked")
_STOP_CHECK_SECONDS = 1.0  # at least, whether the task is to stop while the model thinks


class UnusableAnswer(ValueError):
    """The model's structured answer does not fit; the message may be sent back to the model."""


class Payment:
    """The payment of one model call: ``reserve_cost`` before it, ``settle_cost`` after its reply."""

    def __init__(
        self,
        ctx: TurnContext,
        key: str,
        request: models.ModelRequest,
        share: BudgetShare,
        *,
        is_cheaper: bool = False,
        last_request: models.ModelRequest | None = None,
    ) -> None:
        """``is_cheaper``: on a lower tier than usual. ``last_request``: the last answered one of the same history."""
        self._journal = ctx.journal
        self._daily = ctx.ports.daily
        self._task = ctx.record.task_id
        self._key = key
        self._request = request
        self._share = share
        self._is_cheaper = is_cheaper
        self._size = measure_request(request, last_request)
        self._ceilings = ctx.limits.ceilings
        today = ctx.journal.now.astimezone(ZoneInfo(ctx.tenant.time_zone)).date().isoformat()
        self._day = (ctx.record.tenant, today)  # the first two arguments of the port's methods
        self._caps = read_daily_caps(ctx.tenant)
        self.reserved: Reservation  # for the call, once ``reserve_cost`` was awaited

    async def reserve_cost(self) -> None:
        """Reserves the cost of the call. Raises ``BudgetSpent``, or whatever ends or pauses this run."""
        price = self._ceilings.tariff.get_tier_price(self._request.tier)
        output, spending = self._request.max_tokens, self._journal.spending
        self.reserved = spending.reserve_cost(self._key, self._size, output, self._ceilings, price, self._share)
        if self._caps and not await self._reserve_in_daily_budget(self._caps):
            spending.release_reservation(self.reserved.name)
            raise BudgetSpent(_describe_spent_day(self._caps, self._day[1]))
        try:
            await self._journal.store_reservation(self.reserved)
        except (EarlyEnd, TenantStopped, HandedOver):  # the call is not made
            self._journal.release_reservation(self.reserved)
            if self._caps:
                no_charge = self._build_charge()._replace(tokens=0, nanos=0, is_reserved=True)
                await self._daily.settle_charges(*self._day, [no_charge])
            raise

    def settle_cost(self, reply: models.ModelReply) -> Settlement:
        """Computes what the reply cost, and counts it as the task's spending."""
        price = self._ceilings.tariff.get_price(reply.asked or reply.model)
        amount, doubt = compute_reply_cost(reply, self._size, price, self.reserved.max_tokens)
        name, is_reserved = self.reserved.name, self._caps is not None
        settlement = Settlement(name, amount, self._day[1], self._is_cheaper, doubt, is_reserved)
        self._journal.spending.settle_reservation(settlement)
        return settlement

    async def _reserve_in_daily_budget(self, caps: DayCaps) -> bool:
        """Reserves the call in the tenant's day and settles earlier calls, in one step; False if it does not fit."""
        settlements = self._journal.pop_settlements(self._day[1])
        charges = [settlement.as_charge(self._task) for settlement in settlements]
        return await self._daily.reserve(*self._day, self._build_charge(), caps, charges)

    def _build_charge(self) -> Charge:
        amount = self.reserved.amount
        return Charge(f"{self._task}:{self.reserved.name}", amount.tokens, amount.nanos)


def _describe_spent_day(caps: DayCaps, day: str) -> str:
    tokens = [] if caps.tokens is None else [f"{caps.tokens:,} tokens"]
    money = [] if caps.nanos is None else [f"{format_dollars(caps.nanos)} US dollars"]
    return f"the tenant's budget of {' and '.join([*tokens, *money])} for {day} does not allow a further model call"


def hash_request(request: models.ModelRequest) -> str:
    """A short hash of everything in the request that may affect its answer."""
    tools = _encode_tools(request.tools)
    messages = tuple(
        message._replace(blocks=tuple(map(_without_image_data, message.blocks))) for message in request.messages
    )
    leading = (_encode_json(part) for part in (request.tier, request.system, messages))
    trailing = (request.schema, request.max_tokens, *((request.effort,) if request.effort else ()))
    text = f"[{', '.join((*leading, tools, *map(_encode_json, trailing)))}]"
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def _without_image_data(block: models.Block) -> models.Block:
    return block._replace(data="") if isinstance(block, models.ImageBlock) else block


async def ask_model(
    ctx: TurnContext,
    key: str,
    request: models.ModelRequest,
    share: BudgetShare = BudgetShare.READING,
    last_request: models.ModelRequest | None = None,
    *,
    seconds: float = math.inf,
) -> models.ModelReply:
    """The model's reply, as a journal step.

    Raises ``BudgetSpent``, and ``Failed`` if the model is unavailable or late (``ModelTemporarilyUnavailable``, a kind
    of it, if the model may soon be back).

    ``last_request``: the last answered one of the same history, whose messages are paid for already. ``seconds``: the
    time limit. The model sees placeholders for protected values; the reply has the values.
    """
    masked = mask_request(request, ctx.task)
    ctx.journal.redact_from_now_on(masked.kinds)
    mode = get_stored_or_new_call_mode(ctx, key, request.tier, share)
    is_cheaper = mode.tier is not request.tier
    # The last request has nothing to mask where this one, which has all of its messages, has nothing.
    prior = mask_request(last_request, ctx.task).request if last_request and masked.values else last_request
    hinted_request = _adapt_to_mode(ctx, masked.request, mode)
    payment = Payment(ctx, key, hinted_request, share, is_cheaper=is_cheaper, last_request=prior)

    async def call() -> str:
        affordable_request = hinted_request._replace(max_tokens=payment.reserved.max_tokens)
        with ctx.ports.tracer.open_span(names.CHAT_OPERATION, SpanKind.CLIENT) as span:
            try:
                async with asyncio.timeout(min(seconds_left := ctx.journal.seconds_left, seconds)):
                    reply = restore_values(await _complete_unless_stopped(ctx, affordable_request), masked)
            except models.ModelAway as error:
                raise ModelTemporarilyUnavailable(f"the model did not answer: {error}", error.retry_after) from error
            except models.ModelUnavailable as error:
                raise Failed(f"the model did not answer: {error}", "model") from error
            except TimeoutError as error:
                if seconds < seconds_left:
                    reason = f"the model did not answer: no answer within {seconds:g} seconds"
                    raise Failed(reason, "model") from error
                raise ctx.journal.build_out_of_time_error() from error
            settlement = payment.settle_cost(reply)
            _put_usage_on_span(span, reply, settlement, mode.tier)
        ctx.journal.add_event(
            "model", step=key, model=reply.model, tier=mode.tier.value, **_describe_usage(reply, settlement)
        )
        return _pack_reply(reply, question_digest, settlement, mode.tier)

    question_digest = hash_request(request)
    stored = await ctx.journal.run_step(key, "model", call, question_digest, payment.reserve_cost)
    return _unpack_reply(stored)


def build_helper_request(
    ctx: TurnContext,
    prompt: str,
    sections: Mapping[str, Json],
    max_tokens: int,
    *,
    tier: models.Tier = models.Tier.SMALL,
    schema: Mapping[str, JsonValue] | None = None,
) -> models.ModelRequest:
    """A request outside the conversation: the role and ``prompt`` as its system text, ``sections`` as its message.

    ``schema``: that of the JSON wanted as an answer; None for a text.
    """
    system, messages = (ctx.prompts.role, prompt), (build_user_message(render_in_order(sections)),)
    return models.ModelRequest(tier=tier, system=system, messages=messages, schema=schema, max_tokens=max_tokens)


class HelperUnavailable(Exception):
    """A request that the task can do without got no answer; the message says why."""


async def ask_if_possible(
    ctx: TurnContext,
    key: str,
    request: models.ModelRequest,
    share: BudgetShare = BudgetShare.READING,
    last_request: models.ModelRequest | None = None,
    *,
    seconds: float = math.inf,
) -> models.ModelReply:
    """Like ``ask_model``, but raises ``HelperUnavailable`` if the model is unavailable, late or too expensive."""
    try:
        return await ask_model(ctx, key, request, share, last_request, seconds=seconds)
    except (Failed, BudgetSpent) as error:
        if isinstance(error, Failed) and error.failed_component != "model":
            raise
        ctx.journal.clear_early_end()
        raise HelperUnavailable(error.reason) from error


def get_stored_or_new_call_mode(ctx: TurnContext, key: str, tier: models.Tier, share: BudgetShare) -> CallMode:
    """The tier and pressure of the call ``key``. The tier is that in the journal if the call was made already."""
    used_share = ctx.journal.spending.compute_used_share(ctx.limits.ceilings, share)
    mode = choose_call_mode(tier, used_share, keeps_tier=share.keeps_tier)
    stored = ctx.journal.get(key)
    if stored is None:
        return mode
    return mode._replace(tier=models.Tier(str(loads_object(stored).get("tier", tier))))


def build_user_message(text: str) -> models.Message:
    return models.Message("user", (models.TextBlock(text),))


def append_text_for_one_request(messages: Sequence[models.Message], text: str) -> tuple[models.Message, ...]:
    """The messages with a text added to the end of the last message; no later request repeats the text."""
    *earlier, last_message = messages
    return (*earlier, last_message._replace(blocks=(*last_message.blocks, models.SingleRequestText(text))))


def _build_sections_message(sections: Mapping[str, Json]) -> models.Message:
    """The sections as a user message. Sections that many tasks share come first, as a block of their own."""
    stable = render_in_order({name: sections[name] for name in STABLE_SECTIONS if name in sections})
    text = models.TextBlock(
        render_in_order({name: value for name, value in sections.items() if name not in STABLE_SECTIONS})
    )
    return models.Message("user", (models.StableText(stable), text) if stable else (text,))


def parse_reply(reply: models.ModelReply, shape: type[Shape]) -> Shape:
    """Parses the reply's JSON as ``shape``; raises ``UnusableAnswer``, whose message says what does not fit."""
    try:
        return shape.model_validate_json(reply.text)
    except ValidationError as error:
        raise UnusableAnswer(describe_first_error(error, "the answer")) from error


def _encode_value(value: object) -> dict[str, object] | str:
    match value:
        case Decimal():
            return format(value, "f")
        case Mapping():
            return dict(value)
        case _:
            raise TypeError(f"{type(value).__name__} is no part of a model request")


_encode_json = json.JSONEncoder(sort_keys=True, ensure_ascii=False, default=_encode_value).encode  # made once
# A tool is written as it was before flags, where it has none.
_encode_tool = IdentityCache[models.ToolDefinition, str](
    lambda tool: _encode_json(tool[:-1] if tool.strict else tool), 8_192
)
_encode_tools = IdentityCache[tuple[models.ToolDefinition, ...], str](
    lambda tools: f"[{', '.join(map(_encode_tool, tools))}]", 32
)


def _describe_usage(reply: models.ModelReply, settlement: Settlement) -> dict[str, JsonValue]:
    """A call's usage for people: tokens of ``input``, those of it ``cached``, and of ``output``; the price in
    ``nanos``.

    ``usage_doubt``: why the endpoint's numbers are not believed, if they are not.
    """
    usage = reply.usage
    doubt: dict[str, JsonValue] = {"usage_doubt": settlement.doubt} if settlement.doubt else {}
    return {
        "input": usage.all_input,
        "cached": usage.cache_read,
        "output": usage.output,
        "nanos": settlement.amount.nanos,
        **doubt,
    }


def _put_usage_on_span(span: Span, reply: models.ModelReply, settlement: Settlement, tier: models.Tier) -> None:
    """Puts the call's usage on the span. As in OpenTelemetry's conventions, the input count includes cached tokens."""
    usage = reply.usage
    span.annotate(
        {
            names.OPERATION: names.CHAT_OPERATION,
            names.RESPONSE_MODEL: reply.model,
            names.FINISH_REASONS: (reply.stop_reason,),
            names.INPUT_TOKENS: usage.all_input,
            names.OUTPUT_TOKENS: usage.output,
            names.CACHE_READ_TOKENS: usage.cache_read,
            names.CACHE_WRITE_TOKENS: usage.cache_write,
            names.MODEL_TIER: tier.value,
            names.COST_NANOS: settlement.amount.nanos,
        }
    )


def _adapt_to_mode(ctx: TurnContext, request: models.ModelRequest, mode: CallMode) -> models.ModelRequest:
    """The request on the mode's tier, with a hint on the budget as its last text: all before it stays cacheable."""
    hint = render_in_order({"efficiency": ctx.prompts._asdict()[f"efficiency_{mode.pressure}"]})
    return request._replace(tier=mode.tier, messages=append_text_for_one_request(request.messages, hint))


async def _complete_unless_stopped(ctx: TurnContext, request: models.ModelRequest) -> models.ModelReply:
    """The model's reply; abandons the request if the task is stopped meanwhile, since a reply may take minutes."""

    async def watch_for_stop() -> NoReturn:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(max(_STOP_CHECK_SECONDS, ctx.journal.seconds_left)):
                    await ctx.store.await_signal()
            # How long the store may be away is decided by the lease's heartbeat. The reply of a run that is stopped or
            # handed over is paid for: it is stored, and the next call is not made.
            with suppress(StoreUnavailable, TenantStopped, HandedOver):
                await ctx.journal.raise_if_stopped()

    return await run_with_companion(ctx.ports.model.complete(request), watch_for_stop())


def _pack_reply(reply: models.ModelReply, question_digest: str, settlement: Settlement, tier: models.Tier) -> str:
    usage: list[Json] = list(reply.usage)
    packed: JsonObject = {"stop": reply.stop_reason, "usage": usage, "model": reply.model, "asked": reply.asked}
    packed["blocks"] = [_pack_block(block) for block in reply.blocks]
    if not reply.saw_images:
        packed["saw_images"] = False
    return dumps({**packed, "request": question_digest, "spent": settlement.as_json(), "tier": tier.value})


def _pack_block(block: models.ReplyBlock) -> JsonObject:
    match block:
        case models.TextBlock(text):
            return {"text": text}
        case models.ToolUse(use_id, name, arguments):
            return {"id": use_id, "name": name, "input": arguments}
        case models.OpaqueBlock(text, model):
            return {"opaque": text, "model": model}


def _unpack_reply(text: str) -> models.ModelReply:
    packed = loads_object(text)
    blocks = tuple(_unpack_block(block) for block in cast("list[JsonObject]", packed["blocks"]))
    usage = models.Usage(*cast("list[int]", packed["usage"]))
    stop = cast(models.StopReason, packed["stop"])
    model_asked, saw_images = str(packed.get("asked", "")), packed.get("saw_images") is not False
    return models.ModelReply(blocks, stop, usage, str(packed["model"]), model_asked, saw_images)


def _unpack_block(packed: JsonObject) -> models.ReplyBlock:
    if "text" in packed:
        return models.TextBlock(str(packed["text"]))
    if "opaque" in packed:
        return models.OpaqueBlock(str(packed["opaque"]), str(packed["model"]))
    return models.ToolUse(str(packed["id"]), str(packed["name"]), cast(JsonObject, packed["input"]))


def can_afford_all(ctx: TurnContext, requests: Iterable[models.ModelRequest], share: BudgetShare) -> bool:
    """Whether the task's ceilings allow all these requests, each with its longest answer."""
    ceilings = ctx.limits.ceilings
    total = ctx.journal.spending.counted_cost
    for request in requests:
        total += compute_highest_cost(
            measure_request(request), request.max_tokens, ceilings.tariff.get_tier_price(request.tier)
        )
    bounds = ((total.tokens, ceilings.tokens), (total.nanos, ceilings.nanos))
    return all(ceiling is None or used_amount <= share.get_portion(ceiling) for used_amount, ceiling in bounds)


_MOST_ATTEMPTS = 2


class ModelQuestion(NamedTuple):
    """A question to the small model. ``sections`` become the user message; ``schema`` is that of the answer."""

    step: str
    system: tuple[str, ...]
    sections: dict[str, Json]
    schema: Mapping[str, JsonValue]
    max_tokens: int
    share: BudgetShare = BudgetShare.READING

    def build_request(self, problem: str = "") -> models.ModelRequest:
        """The request for the question. ``problem``: what was wrong with the last answer."""
        message = _build_sections_message({**self.sections, "correction": problem})
        return models.ModelRequest(models.Tier.SMALL, self.system, (message,), (), self.schema, self.max_tokens)


class Unanswered(EarlyEnd):
    """The model gave no usable answer."""


async def ask_until_accepted(
    ctx: TurnContext, question: ModelQuestion, shape: type[Shape], check: Callable[[Shape], Checked]
) -> tuple[Checked, int]:
    """What ``check`` makes of the answer, asked for up to twice, and the number of requests. Raises ``Unanswered``."""
    problem = ""
    for attempt in range(_MOST_ATTEMPTS):
        request = question.build_request(problem)
        reply = await ask_model(ctx, f"{question.step}:try{attempt}:model", request, question.share)
        try:
            return check(parse_reply(reply, shape)), attempt + 1
        except UnusableAnswer as error:
            problem = str(error)
        ctx.journal.add_event("note", step=question.step, problem=problem)
    raise Unanswered(f"{question.step.split('.')[-1]} gave no usable answer in {_MOST_ATTEMPTS} attempts: {problem}")
