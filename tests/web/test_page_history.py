"""The versions of a page as a timeline, and the differences between them."""

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from tests.archive.past import DAY, SHOP, START_AT, captured, collection, kept_in, kettle, past
from tests.web.hostile_pages import PAYLOADS, page_with
from tests.web.site import Answer, Site, serving, trouble_in
from tests.web.test_page_view import at

from gossamer.archive.versions import Timeline
from gossamer.base.clock import in_words
from gossamer.base.environment import real_outside
from gossamer.collection.collection import Collection
from gossamer.collection.history.reader import HistoryReader
from gossamer.store.directory import Directory
from gossamer.values.url import Url
from gossamer.web.page.history import NOT_YET, badges_of, dots_of, timeline_of

HOSTILE = Url("https://hostile.test/page")
DAMAGED = Url("https://shop.test/damaged")
ONCE = Url("https://shop.test/once")


@pytest.fixture(scope="module")
def changing(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with serving(changing_collection(tmp_path_factory.mktemp("changing") / "c")) as served:
        warmed(served)
        yield served


def warmed(site: Site) -> Site:
    """Waits for its reader: the first answers may say that nothing is compared yet."""
    while NOT_YET in site.ask(f"/page/versions.json?url={quote(SHOP.text, safe='')}").text:
        pass
    return site


def changing_collection(root: Path) -> Directory:
    captures = [
        captured(SHOP, START_AT, kettle()),
        captured(SHOP, START_AT + DAY, kettle(menu="<a href=/news>news</a>")),
        captured(SHOP, START_AT + 2 * DAY, kettle("18.00")),
        captured(SHOP, START_AT + 3 * DAY, "gone", 404),
        captured(SHOP, START_AT + 10 * DAY, kettle("18.00", "A kettle that sings.")),
        captured(SHOP, START_AT + 11 * DAY, kettle("18.00", "A kettle that sings.")),
        captured(ONCE, START_AT, kettle()),
        *(captured(HOSTILE, START_AT + day * DAY, page_with(payload, day)) for day, payload in enumerate(PAYLOADS)),
    ]
    directory = collection(root, captures)
    asyncio.run(kept_in(directory, [captured(DAMAGED, START_AT, kettle())]))
    asyncio.run(kept_in(directory, [captured(DAMAGED, START_AT + DAY, "<p>No facts.")], keep="structured"))
    return directory


def moment(day: int) -> str:
    return in_words(START_AT + day * DAY)


def versions_page(site: Site, url: Url = SHOP, **more: str) -> Answer:
    return site.ask(at(url.text, show="versions", **more))


def test_M_C11_each_version_shows_its_time_and_changes_and_links_to_its_copy(changing: Site) -> None:
    page = versions_page(changing).page
    versions = [
        (one.css_first("time").attributes["datetime"], [badge.text() for badge in one.css(".badge")])
        for one in page.css("ol.versions li")
    ]
    assert versions == [
        (moment(11), ["unchanged"]),
        (moment(10), ["back", "text changed"]),
        (moment(3), ["gone", "answered 404"]),
        (moment(2), ["facts changed"]),
        (moment(1), ["bytes only"]),
        (moment(0), ["first seen"]),
    ]
    copies = [one.attributes["href"] for one in page.css("ol.versions li p:first-child a:first-child")]
    assert copies[1] == f"/page?url={quote(SHOP.text, safe='')}&show=copy&at={quote(moment(10))}"
    assert changing.ask(copies[1]).status == 200


def test_the_timeline_is_drawn_to_scale_and_has_a_text_summary(changing: Site) -> None:
    page = versions_page(changing).page
    picture = page.css_first("figure.timeline svg")
    summary = "6 versions from 2026-11-01 to 2026-11-12; text or facts changed 2 times; gone once"
    assert picture.attributes["aria-label"] == summary
    assert [one.attributes["cx"] for one in picture.css("circle.changed")] == ["118", "534"]
    assert len(picture.css("circle")) + len(picture.css("path")) + len(picture.css("rect")) == 6
    assert not versions_page(changing, ONCE).page.css("svg"), "one version needs no timeline"


def test_the_changes_of_a_version_have_their_own_url(changing: Site) -> None:
    link = versions_page(changing).page.css_first("#v5 a.small").attributes["href"]
    page = changing.ask(link).page
    assert [one.text() for one in page.css(".lines del mark")] == ["whistles"]
    assert [one.text() for one in page.css(".lines ins mark")] == ["sings"]
    assert page.css_first("#v5").attributes["class"] == "chosen"
    assert "Facts" in page.css_first("section.difference").text() and "Unchanged: 9" in page.text()


def test_any_two_versions_can_be_compared_in_either_order(changing: Site) -> None:
    forward = versions_page(changing, **{"from": moment(0), "to": moment(2)})
    backward = versions_page(changing, **{"from": moment(2), "to": moment(0)})
    facts = [re.sub(r"\s+", " ", line.text()) for line in forward.page.css("ul.mono li")]
    assert [fact[0] for fact in facts] == ["−", "+"] and '"20.00"' in facts[0] and '"18.00"' in facts[1]
    assert facts == [re.sub(r"\s+", " ", line.text()) for line in backward.page.css("ul.mono li")]
    chosen = [option.attributes["value"] for option in forward.page.css("form.compare option[selected]")]
    assert chosen == [moment(0), moment(2)]


def test_a_version_that_cannot_be_read_is_not_compared_and_the_page_says_why(changing: Site) -> None:
    page = versions_page(changing, DAMAGED, to=moment(1)).page
    assert "only its headers were kept" in page.css_first(".error").text()
    assert [one.text() for one in page.css("ol.versions .badge")] == ["only its headers were kept", "first seen"]


def test_versions_and_differences_as_json(changing: Site) -> None:
    target = f"/page/versions.json?url={quote(SHOP.text, safe='')}"
    history = changing.ask(target).json
    assert [one["changes"] for one in history["timeline"]["versions"]][1:3] == [["bytes"], ["bytes", "facts"]]
    assert history["difference"] is None
    history = changing.ask(f"{target}&from={quote(moment(0))}&to={quote(moment(2))}").json
    assert history["difference"]["facts"]["kept"] == 8 and history["difference"]["changes"] == ["bytes", "facts"]
    assert versions_page(changing).page.css_first("footer a").attributes["href"].startswith("/page/versions.json?url=")


@pytest.mark.parametrize(
    ("more", "status"), [({"to": "soon"}, 400), ({"from": "<b>"}, 400), ({"to": "2020-01-01T00:00:00Z"}, 404)]
)
def test_an_invalid_time_or_unknown_version_is_refused(changing: Site, more: dict[str, str], status: int) -> None:
    assert versions_page(changing, **more).status == status
    tail = "".join([f"&{name}={quote(value)}" for name, value in more.items()])
    answer = changing.ask(f"/page/versions.json?url={quote(SHOP.text, safe='')}{tail}")
    assert answer.status == status and set(answer.json) == {"error"}


def test_a_page_never_seen_has_no_versions(changing: Site) -> None:
    assert changing.ask("/page/versions.json?url=https://nowhere.test/").status == 404
    assert changing.ask("/page/versions.json").status == 404


def test_F_W1_hostile_versions_are_shown_as_text(changing: Site) -> None:
    for more in ({}, {"from": moment(0), "to": moment(5)}, {"to": moment(3)}):
        page = versions_page(changing, HOSTILE, **more).page
        trouble = [one for one in trouble_in(page) if one != "there is a svg"]
        assert trouble == [] and len(page.css("svg")) == 1


def test_a_slow_reader_does_not_delay_the_page(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    directory = collection(tmp_path, [captured(SHOP, START_AT + day * DAY, kettle()) for day in range(3)])
    monkeypatch.setattr("gossamer.web.page.history.PATIENCE_S", 0.05)

    async def never(_past: HistoryReader, _url: Url, _most: int) -> Timeline:
        await asyncio.Event().wait()
        raise AssertionError

    versions = past(directory).versions(SHOP)[::-1]
    monkeypatch.setattr(HistoryReader, "timeline", never)
    shown = asyncio.run(timeline_of(Collection(directory, real_outside()), SHOP, versions))
    assert [(one.number, one.note) for one in shown.versions] == [(1, NOT_YET), (2, NOT_YET), (3, NOT_YET)]
    assert badges_of(shown.versions[0]) == [("warn", NOT_YET)] and {dot.kind for dot in dots_of(shown)} == {"same"}
