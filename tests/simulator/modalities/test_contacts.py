"""Who the user knows."""

import pytest

from services.simulator.core.records import JsonObject
from tests.each_row import each_row
from tests.simulator.modalities.asking import do, event_data, fails, part, refused, rows, undo
from tests.simulator.stage import Stage

pytestmark = pytest.mark.promise("simulator.contacts")


def email(address: str) -> dict[str, object]:
    return {"identifier_type": "email", "value": address}


def phone(number: str) -> dict[str, object]:
    return {"identifier_type": "phone", "value": number, "label": "work"}


async def create(stage: Stage, name: str, *identifiers: dict[str, object], **more: object) -> str:
    return await do(stage, "/contacts/create", first_name=name, identifiers=[*identifiers], **more)


async def contact(stage: Stage, contact_id: str) -> JsonObject:
    return part(await stage.get("/contacts/state"), "contacts", contact_id)


async def found(stage: Stage, **asked: object) -> list[object]:
    return [one["display_name"] for one in rows(await stage.post("/contacts/query", asked), "contacts")]


async def test_a_contact_is_kept_with_its_identifiers_normalised(stage: Stage) -> None:
    ann = await create(
        stage,
        "Ann",
        phone("(555) 123-4567"),
        phone("+44 20 7946 0000"),
        email("Ann@Example.org"),
        phone("555 123 4567"),
        last_name="Lee",
        birthday="1990-02-28",
        groups=["friends"],
    )

    kept = await contact(stage, ann)
    values = [one["value"] for one in rows(kept, "identifiers")]
    assert values == ["+15551234567", "+442079460000", "ann@example.org"]
    assert (kept["display_name"], kept["birthday"], kept["groups"]) == ("Ann Lee", "1990-02-28", ["friends"])
    assert (kept["is_favorite"], kept["is_blocked"]) == (False, False)
    state = await stage.get("/contacts/state")
    assert (state["total_contact_count"], state["groups"]) == (1, {"friends": [ann]})


async def test_what_is_left_out_of_a_change_stays(stage: Stage) -> None:
    ann = await create(stage, "Ann", email("ann@example.org"), company="Acme")

    await do(stage, "/contacts/update", contact_id=ann, last_name="Lee", company=None)

    kept = await contact(stage, ann)
    assert (kept["display_name"], kept["company"]) == ("Ann Lee", "Acme")


@pytest.mark.parametrize(
    ("path", "back", "field"), [("block", "unblock", "is_blocked"), ("favorite", "unfavorite", "is_favorite")]
)
async def test_marks_are_set_and_taken_away(stage: Stage, path: str, back: str, field: str) -> None:
    ann = await create(stage, "Ann", email("ann@example.org"))

    await do(stage, f"/contacts/{path}", contact_id=ann)
    assert (await contact(stage, ann))[field] is True
    assert await found(stage, **{field: True}) == ["Ann"]

    await do(stage, f"/contacts/{back}", contact_id=ann)
    assert (await contact(stage, ann))[field] is False


async def test_groups_fill_and_empty(stage: Stage) -> None:
    ann = await create(stage, "Ann", email("ann@example.org"))

    await do(stage, "/contacts/group/add", contact_id=ann, group="work")
    await do(stage, "/contacts/group/add", contact_id=ann, group_name="family")
    await do(stage, "/contacts/group/remove", contact_id=ann, group="work")

    assert (await stage.get("/contacts/state"))["groups"] == {"work": [], "family": [ann]}
    assert "not in work" in await fails(stage, "/contacts/group/remove", contact_id=ann, group="work")


async def test_merging_loses_nothing_and_can_be_undone(stage: Stage) -> None:
    ann = await create(stage, "Ann", email("ann@example.org"), groups=["work"], notes="Likes tea")
    twin = await create(
        stage, "A.", email("ann@example.org"), phone("5551234567"), company="Acme", groups=["family"], notes="Tall"
    )
    await do(stage, "/contacts/favorite", contact_id=twin)
    before = await stage.get("/contacts/state")

    await do(stage, "/contacts/merge", primary_contact_id=ann, secondary_contact_id=twin)

    kept = await contact(stage, ann)
    assert (kept["first_name"], kept["company"], kept["is_favorite"]) == ("Ann", "Acme", True)
    assert (kept["groups"], kept["notes"]) == (["work", "family"], "Likes tea\nTall")
    assert "+15551234567" in str(kept["identifiers"])
    assert str(kept["identifiers"]).count("ann@example.org") == 1
    assert (await stage.get("/contacts/state"))["total_contact_count"] == 1
    await undo(stage)
    assert await stage.get("/contacts/state") == before


async def test_contacts_are_found(stage: Stage) -> None:
    await create(stage, "Cy", email("cy@example.org"), company="Acme", groups=["work"])
    await create(stage, "Ann", phone("5551234567"))

    assert await found(stage) == ["Ann", "Cy"]
    assert await found(stage, sort_by="created_at") == ["Cy", "Ann"]
    assert await found(stage, sort_by="company", sort_order="desc") == ["Cy", "Ann"]
    assert await found(stage, search="CY@") == ["Cy"]
    assert await found(stage, search="ann") == ["Ann"]
    assert await found(stage, identifier="(555) 123-4567") == ["Ann"]
    assert await found(stage, identifier="CY@example.org") == ["Cy"]
    assert await found(stage, identifier="999 4567") == []
    assert await found(stage, identifier_type="email") == ["Cy"]
    assert await found(stage, company="acm") == ["Cy"]
    assert await found(stage, group="work") == ["Cy"]
    assert await found(stage, is_blocked=False, limit=1, offset=1) == ["Cy"]
    answer = await stage.post("/contacts/query", {"limit": 1})
    assert (answer["total_count"], answer["returned_count"]) == (2, 1)


@pytest.mark.promise("simulator.failed_actions")
async def test_what_is_not_there_cannot_be_changed(stage: Stage) -> None:
    ann = await create(stage, "Ann", email("ann@example.org"))
    for path in ("update", "delete", "block", "unblock", "favorite", "unfavorite"):
        assert "no contact x" in await fails(stage, f"/contacts/{path}", contact_id="x")
    assert "no contact x" in await fails(stage, "/contacts/merge", contact_id=ann, merged_contact_ids=["x"])
    assert "with itself" in await fails(stage, "/contacts/merge", contact_id=ann, merged_contact_ids=[ann])
    assert len(await event_data(stage)) == 9


async def test_the_compact_view_names_names(stage: Stage) -> None:
    ann = await create(stage, "Ann", email("ann@example.org"))

    assert (await stage.get("/contacts/state?compact=true"))["contacts"] == {ann: "Ann"}


@pytest.mark.promise("simulator.refusals")
@each_row(
    ("field", "value"),
    ("identifiers", []),
    ("identifiers", [{"identifier_type": "email", "value": "nobody"}]),
    ("identifiers", [{"identifier_type": "phone", "value": "12"}]),
    ("identifiers", [{"value": "x"}]),
    ("birthday", "yesterday"),
)
async def test_contacts_of_the_wrong_shape_are_refused(stage: Stage, field: str, value: object) -> None:
    body = {"first_name": "Ann", "identifiers": [email("ann@example.org")], field: value}
    await refused(stage, "/contacts/create", field, **body)
