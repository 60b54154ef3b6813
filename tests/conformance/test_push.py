"""Webhooks of a task: what a configuration may hold, how many there may be, who is told what; through both replicas."""

import pytest

from shared.domain.exact_json import Json, JsonObject
from tests.conformance.replicas import Replicas
from tests.conformance.speaking import NEW, Speaker, message, sent
from tests.integration.gateway_stage import at
from tests.integration.webhook_receiver import Taken, receiving

pytestmark = pytest.mark.asyncio(loop_scope="module")
_TOKEN = "x-a2a-notification-token"


async def _set(speaker: Speaker, task_id: Json, url: str, name: str = "", **more: Json) -> JsonObject:
    named: JsonObject = {"id": name} if name else {}
    given: JsonObject = {"taskId": task_id, "url": url, **named, **more}
    made = await speaker.call("CreateTaskPushNotificationConfig", given)
    assert made.refused == ""
    return made.value


async def _list(speaker: Speaker, task_id: Json, **more: Json) -> JsonObject:
    return (await speaker.call("ListTaskPushNotificationConfigs", {"taskId": task_id, **more})).value


def _names(listed: JsonObject) -> list[Json]:
    configs = listed.get("configs", [])
    assert isinstance(configs, list)
    return [at(one, "id") for one in configs]


def _are_told_of_the_end(taken: list[Taken]) -> bool:
    return any(b"completed" in one.body.lower() for one in taken)


@pytest.mark.promise("push.delivered")
async def test_each_webhook_of_a_task_is_told_with_its_own_token_and_credentials(any_speaker: Speaker) -> None:
    task_id = (await sent(any_speaker, "tck-input-required"))["id"]
    async with receiving() as first, receiving() as second:
        for name, receiver in (("a", first), ("b", second)):
            authentication: Json = {"scheme": "Bearer", "credentials": f"credentials-{name}"}
            await _set(any_speaker, task_id, receiver.url, name, token=f"token-{name}", authentication=authentication)
        await sent(any_speaker, "tck-complete-task", taskId=task_id)
        for name, receiver in (("a", first), ("b", second)):
            taken = await receiver.until(_are_told_of_the_end)
            assert {one.headers[_TOKEN] for one in taken} == {f"token-{name}"}
            assert {one.headers["authorization"] for one in taken} == {f"Bearer credentials-{name}"}
            assert all(str(task_id).encode() in one.body for one in taken)


@pytest.mark.promise("push.methods", "gateway.conformance_0_3")
@pytest.mark.parametrize("name", ["", "first"])
async def test_a_webhook_without_an_id_is_given_one_and_each_is_found_by_its_id(
    any_speaker: Speaker, name: str
) -> None:
    task_id = (await sent(any_speaker, "tck-input-required"))["id"]
    made = await _set(any_speaker, task_id, "https://127.0.0.1/hook", name)
    read = await any_speaker.call("GetTaskPushNotificationConfig", {"taskId": task_id, "id": made["id"]})
    assert made["id"] == name or (made["id"] and not name)
    assert (made["url"], read.value["url"], read.value["id"]) == ("https://127.0.0.1/hook", made["url"], made["id"])


@pytest.mark.promise("push.methods")
async def test_one_of_the_same_id_takes_the_place_of_the_one_before(speaker: Speaker) -> None:
    task_id = (await sent(speaker, "tck-input-required"))["id"]
    for path in ("old", "new"):
        await _set(speaker, task_id, f"https://127.0.0.1/{path}", "only")
    assert at(await _list(speaker, task_id), "configs.0.url") == "https://127.0.0.1/new"
    assert _names(await _list(speaker, task_id)) == ["only"]


@pytest.mark.promise("push.methods")
async def test_webhooks_are_listed_page_by_page_to_an_empty_token(speaker: Speaker) -> None:
    task_id = (await sent(speaker, "tck-input-required"))["id"]
    for name in ("a", "b", "c"):
        await _set(speaker, task_id, f"https://127.0.0.1/{name}", name)
    first = await _list(speaker, task_id, pageSize=2)
    last = await _list(speaker, task_id, pageSize=2, pageToken=first["nextPageToken"])
    assert (_names(first), _names(last), last.get("nextPageToken", "")) == (["a", "b"], ["c"], "")


@pytest.mark.promise("push.delivered")
async def test_a_webhook_that_was_deleted_is_told_nothing_more(speaker: Speaker) -> None:
    task_id = (await sent(speaker, "tck-input-required"))["id"]
    async with receiving() as gone, receiving() as left:
        await _set(speaker, task_id, gone.url, "gone")
        await _set(speaker, task_id, left.url, "left")
        for _ in range(2):  # it may be repeated
            deleted = await speaker.call("DeleteTaskPushNotificationConfig", {"taskId": task_id, "id": "gone"})
            assert deleted.refused == ""
        await sent(speaker, "tck-complete-task", taskId=task_id)
        await left.until(_are_told_of_the_end)
        assert not _are_told_of_the_end(gone.taken)


@pytest.mark.promise("push.delivered")
async def test_a_follow_up_may_bring_a_webhook_to_its_task(speaker: Speaker) -> None:
    task_id = (await sent(speaker, "tck-input-required"))["id"]
    more = message("tck-complete-task", "hello", taskId=task_id)
    async with receiving() as receiver:
        configuration: JsonObject = {"taskPushNotificationConfig": {"url": receiver.url, "token": "t0k"}}
        reply = await speaker.call("SendMessage", {"message": more, "configuration": configuration})
        taken = await receiver.until(_are_told_of_the_end)
    assert at(reply.value, "task.id") == task_id
    assert {one.headers[_TOKEN] for one in taken} == {"t0k"}


@pytest.mark.promise("push.walls")
@pytest.mark.parametrize("person", ["robin", "other"])
async def test_webhooks_of_a_task_of_somebody_else_are_not_found(full: Replicas, wire: Speaker, person: str) -> None:
    """Of the same tenant, and of another one."""
    task_id = (await sent(wire, "tck-input-required"))["id"]
    named: JsonObject = {"taskId": task_id, "id": "mine"}
    await _set(wire, task_id, "https://127.0.0.1/hook", "mine")
    headers = {**NEW, **full.headers_of(person)}
    for verb in ("Create", "Get", "Delete"):
        asked: JsonObject = {**named, **({"url": "https://127.0.0.1/theirs"} if verb == "Create" else {})}
        reply = await wire.call(f"{verb}TaskPushNotificationConfig", asked, headers)
        assert reply.refused == "TASK_NOT_FOUND"
    listed = await wire.call("ListTaskPushNotificationConfigs", {"taskId": task_id}, headers)
    assert listed.refused == "TASK_NOT_FOUND"
    assert at((await wire.call("GetTaskPushNotificationConfig", named)).value, "url") == "https://127.0.0.1/hook"


@pytest.mark.promise("push.headers")
@pytest.mark.parametrize(
    "broken",
    [
        {"url": ""},
        {"url": None},
        {"url": "ftp://127.0.0.1/hook"},
        {"url": "https://10.0.0.1/hook"},
        {"token": "two\r\nlines: of headers"},
        {"authentication": {"credentials": "without a scheme"}},
        {"authentication": "Bearer"},
        {"tenant": "rival"},
    ],
)
async def test_a_configuration_that_cannot_be_is_refused(wire: Speaker, broken: JsonObject) -> None:
    task_id = (await sent(wire, "tck-input-required"))["id"]
    whole: JsonObject = {"taskId": task_id, "id": "one", "url": "https://127.0.0.1/hook", **broken}
    given: JsonObject = {key: value for key, value in whole.items() if value is not None}
    assert (await wire.call("CreateTaskPushNotificationConfig", given)).refused == "INVALID_PARAMS"
    assert _names(await _list(wire, task_id)) == []
