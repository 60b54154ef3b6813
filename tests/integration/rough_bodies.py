"""Bodies that no client should send: JSON-RPC that is nearly right, wrong JSON, wrong bytes, and far too much."""

import gzip
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import NamedTuple

VERSIONS = ("", "", "", "0.3", "1.0", "1.0", "9.9", "x", "1", "٣")
METHODS = (
    "tasks/send", "tasks/sendSubscribe", "tasks/get", "tasks/cancel", "tasks/resubscribe",
    "tasks/pushNotification/set", "tasks/pushNotification/get", "tasks/pushNotificationConfig/set",
    "tasks/pushNotificationConfig/get", "tasks/pushNotificationConfig/list", "tasks/pushNotificationConfig/delete",
    "message/send", "message/stream", "agent/getAuthenticatedExtendedCard", "SendMessage", "SendStreamingMessage",
    "GetTask", "ListTasks", "CancelTask", "SubscribeToTask", "CreateTaskPushNotificationConfig",
    "GetTaskPushNotificationConfig", "ListTaskPushNotificationConfigs", "DeleteTaskPushNotificationConfig",
    "GetExtendedAgentCard", "tasks/fly", "", "__init__", "rpc.discover",
)  # fmt: skip
ODD: tuple[object, ...] = (
    None, True, False, 0, -1, 1, 3.5, -0.0, 10**30, 2**63, -(2**63), 1e-320, "", " ", "x" * 400, "\x00", "\u202e", "Ω",
    "\ud800", "\ud83d\ude00", [], {}, [[]], [None], {"": ""}, {"text": 5}, {"a": {"b": [1, {"c": None}]}}, "ROLE_USER",
    "../../etc/passwd", "{p00}:*", "a:b", "1970-01-01T00:00:00Z", "9999-99-99T99:99:99Z", "é́", "%00", "null", "${x}",
    "http://169.254.169.254/", "-", "NaN", ["a"] * 300, {str(n): n for n in range(300)},
)  # fmt: skip


class Rough(NamedTuple):
    body: bytes
    headers: Mapping[str, str]


def rough(random: Random) -> Rough:
    """One request; the same of the same random numbers."""
    return random.choice(_KINDS)(random)


def rough_call(random: Random) -> dict[str, object]:
    """A call that is right, of any method."""
    ids = [f"{kind}{random.randrange(40)}" for kind in "tcm"]
    parts = random.choice(
        [[{"text": "hello"}], [{"type": "text", "text": "hi"}, {"data": {"a": 1}}], [{"kind": "text", "text": "hi"}]]
    )
    said = {"messageId": ids[2], "role": "user", "contextId": ids[1], "parts": parts, "metadata": {}}
    params = {
        "id": ids[0],
        "taskId": ids[0],
        "sessionId": ids[1],
        "historyLength": 2,
        "message": said,
        "metadata": {"session_id": ids[1], "principal": {"id": "anna", "roles": ["client"], "levels": ["cfo"]}},
        "configuration": {"blocking": False, "returnImmediately": True, "historyLength": 1},
        "pushNotificationConfig": {"url": "https://8.8.8.8/hook", "token": "t"},
        "pageSize": 5,
        "pageToken": "x",
    }
    call_id = random.choice([1, "a", None, 2**70, "i" * 300])
    return {"jsonrpc": "2.0", "id": call_id, "method": random.choice(METHODS), "params": params}


def spoiled(value: object, random: Random) -> object:
    """Replace, drop or double one thing somewhere in a JSON value."""
    if isinstance(value, dict) and value and random.random() < 0.85:
        key = random.choice(list(value))
        if random.random() < 0.2:
            return {other: item for other, item in value.items() if other != key}
        return {**value, key: spoiled(value[key], random)}
    if isinstance(value, list) and value and random.random() < 0.7:
        index = random.randrange(len(value))
        return [*value[:index], spoiled(value[index], random), *value[index + 1 :]]
    return random.choice(ODD)


def _text(random: Random) -> bytes:
    call: object = rough_call(random)
    for _ in range(random.randrange(4)):
        call = spoiled(call, random)
    return json.dumps(call, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")


def _headers(random: Random) -> dict[str, str]:
    version = random.choice(VERSIONS)
    headers = {"Content-Type": "application/json", **({"A2A-Version": version} if version.isascii() else {})}
    if random.random() < 0.1:
        headers["Content-Type"] = random.choice(["text/plain", "application/json; charset=utf-16", "", "multipart/x"])
    if random.random() < 0.1:
        headers["Last-Event-ID"] = random.choice(["0", "-1", "1-1", "x" * 300, "99999999999999999999-0", "$"])
    return headers


def _nearly_right(random: Random) -> Rough:
    return Rough(_text(random), _headers(random))


def _wrong_bytes(random: Random) -> Rough:
    """A few bytes changed, dropped or put in."""
    body = bytearray(_text(random))
    for _ in range(random.randrange(1, 6)):
        place = random.randrange(len(body) or 1)
        body[place : place + random.randrange(2)] = random.randbytes(random.randrange(3))
    return Rough(bytes(body), _headers(random))


def _cut(random: Random) -> Rough:
    body = _text(random)
    return Rough(body[: random.randrange(len(body) + 1)], _headers(random))


def _encoded(random: Random) -> Rough:
    text = json.dumps(rough_call(random), ensure_ascii=False) + "é"
    encodings = ("utf-16", "utf-16-be", "utf-32", "utf-7", "latin-1", "utf-8-sig", "cp500")
    body = text.encode(random.choice(encodings))
    headers = _headers(random)
    if random.random() < 0.2:
        return Rough(gzip.compress(body), {**headers, "Content-Encoding": "gzip"})
    return Rough(body, headers)


def _inserted(random: Random, value: str) -> Rough:
    """A call with some JSON text in the place of one of its values."""
    mark = "\u2063"
    call = rough_call(random)
    params = call["params"]
    places = [call, params, params.get("message") if isinstance(params, dict) else None]
    place = random.choice([one for one in places if isinstance(one, dict)])
    place[random.choice(list(place))] = mark
    return Rough(json.dumps(call, ensure_ascii=False).replace(f'"{mark}"', value).encode(), _headers(random))


def _deep(random: Random) -> Rough:
    depth = random.choice([10, 62, 63, 64, 65, 200, 990, 1100, 5000, 100_000])
    left, right = random.choice([("[", "]"), ('{"a":', "}"), ('[{"metadata":', "}]")])
    whole = left * depth + random.choice(["1", '""', "null"]) + right * (depth if random.random() < 0.8 else 0)
    return _inserted(random, whole)


def _wide(random: Random) -> Rough:
    some = [
        "[" + ",".join(["[]"] * 60_000) + "]",
        "{" + ",".join(f'"k{n}":{n}' for n in range(30_000)) + "}",
        '"' + "a" * 700_000 + '"',
        '"' + "\\u0000" * 100_000 + '"',
        "[" + ",".join(['{"text":"a"}'] * 5000) + "]",
        '"' + "x" * 2_000_000 + '"',
    ]
    return _inserted(random, random.choice(some))


def _numbers(random: Random) -> Rough:
    some = [
        "NaN", "Infinity", "-Infinity", "-0", "1e400", "1e-400", "1E+999999999999", "9" * 400, "9" * 4300, "9" * 5000,
        "0." + "1" * 5000, "1e300", "1e301", "00", "+1", "1.", ".5", "0x10", "1_000", "-", "--1", "1e", "١",
    ]  # fmt: skip
    return _inserted(random, random.choice(some))


def _doubled(random: Random) -> Rough:
    """The same key twice, in one object or in all of them."""
    text = json.dumps(rough_call(random))
    key = random.choice(['"method"', '"id"', '"params"', '"message"', '"jsonrpc"'])
    return Rough(text.replace(key, f"{key}: {json.dumps(random.choice(ODD))}, {key}", 1).encode(), _headers(random))


def _batch(random: Random) -> Rough:
    calls: list[object] = [rough_call(random) for _ in range(random.randrange(4))]
    return Rough(json.dumps(random.choice([calls, [calls], calls * 50])).encode(), _headers(random))


def _noise(random: Random) -> Rough:
    return Rough(random.randbytes(random.choice([0, 1, 7, 300, 70_000])), _headers(random))


_KINDS: tuple[Callable[[Random], Rough], ...] = (
    *[_nearly_right] * 8, *[_wrong_bytes] * 4, *[_cut] * 2, *[_encoded] * 2, *[_numbers] * 3, *[_doubled] * 2,
    _deep, _batch, _noise, _wide,
)  # fmt: skip
