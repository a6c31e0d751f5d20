"""Every payload, through every place a crawled text is shown in, in a real browser: none runs, with the site's policy
and without any."""

import asyncio
import json
import os
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from starlette.responses import HTMLResponse
from tests.browser.chromium import Tab, tab
from tests.web.site import Site, serving
from tests.web.xss_payloads import PAYLOADS
from tests.web.xss_site import HOSTS, ODD, WORD, address, make_hostile_collection, odd_addresses

from gossamer.store.directory import Directory

pytestmark = pytest.mark.timeout(900)
"""Some 1,000 pages are looked at; half a minute on a machine that has nothing else to do."""
TABS_AT_ONCE = 4
FEED = f"http://{HOSTS[1]}/feed"
HARM = """
(() => {
  document.querySelectorAll("details").forEach((one) => one.open = true);
  const wrong = [];
  if (typeof window.hacked !== "undefined") wrong.push("it ran");
  for (const one of document.querySelectorAll("*")) {
    for (const name of one.getAttributeNames()) if (/^on/i.test(name)) wrong.push(one.tagName + " has " + name);
    if (/^(base|object|embed|math|template|foreignobject)$/i.test(one.tagName)) wrong.push("there is a " + one.tagName);
  }
  for (const one of document.querySelectorAll("[href], [src], [action], [formaction]")) {
    const led = one.href || one.src || one.action || one.formAction;
    if (!/^https?:/.test(typeof led === "string" ? led : "")) wrong.push(one.tagName + " leads to " + led);
  }
  for (const one of document.scripts) if (!one.src.startsWith(origin + "/static/")) wrong.push("a script: " + one.src);
  return wrong;
})()
"""
IN_FRAMES = """
Promise.all(PLACES.map(async (place) => {
  const answer = await fetch(place, { headers: { accept: "text/html" } });
  const ours = /<script src="\\/static\\/[a-z_.\\/-]+"[^>]*><\\/script>|<link rel="stylesheet"[^>]*>/gi;
  const text = (await answer.text()).replace(ours, "");
  const frame = document.createElement("iframe");
  const loaded = new Promise((done) => frame.addEventListener("load", done));
  frame.srcdoc = text;
  document.body.append(frame);
  await loaded;
  let wrong;
  try { wrong = frame.contentWindow.eval(HARM); } catch (trouble) { wrong = ["it went elsewhere: " + trouble]; }
  frame.remove();
  return wrong.length || window.hacked ? [[place, wrong]] : [];
})).then((found) => found.flat())
"""
"""A page's text is read as a document of its own, with the rights of the site; our scripts and styles are left out,
which is most of what a page costs."""
AT_ONCE = 10
LEFT_AS_IT_IS = ("data:image/", "blob:")


class WithoutPolicy:
    """The site as it would be if no browser knew about policies."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/harmful":  # not of the site: by it one sees that harm would be seen
            await HTMLResponse("<!doctype html><p><img src=x onerror='window.hacked = [1]'>")(scope, receive, send)
            return

        async def send_stripped(message: Any) -> None:
            if message["type"] == "http.response.start":
                headers = [pair for pair in message["headers"] if pair[0].lower() != b"content-security-policy"]
                message = {**message, "headers": headers}
            elif b"Content-Security-Policy" in message.get("body", b""):
                body = message["body"].replace(b"Content-Security-Policy", b"Content-Security-Nothing"[:23])
                message = {**message, "body": body}
            await send(message)

        await self._app(scope, receive, send_stripped)


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Directory:
    return make_hostile_collection(tmp_path_factory.mktemp("xss") / "made")


@pytest.fixture(scope="module", params=[True, False], ids=["with its policy", "with the policy stripped"])
def hostile_site(request: pytest.FixtureRequest, devtools: str, collection: Directory) -> Iterator[Site]:
    if request.param:
        with serving(collection) as site:
            yield site
    else:
        with serving(collection, wrap=WithoutPolicy) as site:
            assert "content-security-policy" not in site.ask("/").headers
            yield site


def step_of() -> int:
    """XSS_STEP=1 (`make xss`) tries every payload in every place; without it a share of those that have a page each."""
    return int(os.environ.get("XSS_STEP", "5"))


def page_of(number: int, **more: str) -> str:
    return "/page?" + urlencode({"url": address(number).text, **more})


def stored_places(site: Site, step: int) -> list[str]:
    """Where texts from the web are shown. `step`: every so-manieth payload has pages of its own gone to; the pages
    that show many at once have them all."""
    numbers = range(0, len(PAYLOADS), step)
    hosts = [*HOSTS, *[f"{kind}.hostile.test" for kind in ODD]]
    facts = "SELECT ?g ?s ?p ?o WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }} ORDER BY ?s OFFSET {} LIMIT 400"
    things = site.sparql("SELECT DISTINCT ?s WHERE { GRAPH ?g { ?s ?p ?o } FILTER isIRI(?s) } LIMIT 400").json
    iris = [row["s"]["value"] for row in things["results"]["bindings"]]
    return [
        *[f"/?q={WORD}&from={start}" for start in range(0, len(PAYLOADS) + 1, 10)],
        *[page_of(number) for number in numbers],
        *["/page/cached?" + urlencode({"url": address(number).text}) for number in numbers],
        *[
            page_of(number, show=show)
            for place, show in enumerate(("copy", "links", "why", "words", "text", "versions"))
            for number in numbers[place :: max(20 // step, 2)]
        ],
        *["/page?" + urlencode({"url": url.text, "show": "why"}) for url in odd_addresses()[::3]],
        *["/page?" + urlencode({"url": FEED, "show": show}) for show in ("facts", "links", "text")],
        "/page/cached?" + urlencode({"url": FEED}),
        *[f"/host?name={name}" for name in hosts],
        *["/entity?" + urlencode({"iri": iri}) for iri in iris[:: 8 * step]],
        *["/sparql?" + urlencode({"query": facts.format(start)}) for start in range(0, 1600, 400)],
        "/crawl", "/crawl/visits", "/crawl/hosts", "/hosts", "/nodes", "/status", "/vocabularies",
    ]  # fmt: skip


def reflected_places(step: int) -> list[str]:
    """Where what was asked for is shown again (FAULTS W2)."""
    payloads = PAYLOADS[::step]
    ways = (
        lambda raw: "/sparql?" + urlencode({"query": raw, "default-graph-uri": raw}),
        lambda raw: "/page?" + urlencode({"url": raw, "show": raw, "at": raw, "fact": raw}),
        lambda raw: "/page?" + urlencode({"url": "http://x.test/" + raw, "show": raw}),
        lambda raw: "/entity?" + urlencode({"iri": raw}),
        lambda raw: "/host?" + urlencode({"name": raw}),
        lambda raw: "/" + quote(raw, safe=""),
        lambda raw: "/search/why?" + urlencode({"q": raw, "url": raw}),
        lambda raw: "/vocabularies?" + urlencode({"in": raw}),
        lambda raw: "/?" + urlencode({"q": WORD, "sort": raw, "from": raw}),
        lambda raw: "/door?" + urlencode({"next": raw}),
    )
    facets = ("q", "type", "ontology", "property", "site", "lang", "syntax", "since")
    return [
        *["/?" + urlencode(dict.fromkeys(facets, raw)) for raw in payloads[::2]],
        *["/?" + urlencode({"q": f"{WORD} {raw}", "type": raw, "site": raw}) for raw in payloads[1::2]],
        *[ways[place % len(ways)](raw) for place, raw in enumerate(payloads)],
    ]


async def walk(devtools: str, site: Site, places: Sequence[str]) -> dict[str, object]:
    """What went wrong, by place. With a policy each is gone to; without one each is read in a frame, and every fourth
    gone to."""
    wrong: dict[str, object] = {}
    has_policy = "content-security-policy" in site.ask("/").headers
    left = iter(places if has_policy else places[::4])
    batches = iter([] if has_policy else [places[start : start + AT_ONCE] for start in range(0, len(places), AT_ONCE)])

    async def one_tab() -> None:
        async with tab(devtools) as page:
            await page.go(site.address + "/robots.txt")
            for batch in batches:
                script = IN_FRAMES.replace("PLACES", json.dumps(batch)).replace("HARM", json.dumps(HARM))
                wrong.update(await page.value(script))
            for place in left:
                await visit(page, place)
            if strangers := [url for url in page.asked if not url.startswith((site.address + "/", *LEFT_AS_IT_IS))]:
                wrong["asked of others"] = strangers
            if page.dialogs:
                wrong["dialogs"] = page.dialogs

    async def visit(page: Tab, place: str) -> None:
        await page.go(site.address + place)
        if found := await page.value(HARM):
            wrong[place] = found

    async with asyncio.TaskGroup() as crew:
        for _ in range(TABS_AT_ONCE):
            crew.create_task(one_tab())
    return wrong


def test_there_are_a_hundred_payloads() -> None:
    assert len(set(PAYLOADS)) >= 100


def test_F_W1_no_stored_payload_runs_on_any_page(hostile_site: Site, devtools: str) -> None:
    assert asyncio.run(walk(devtools, hostile_site, stored_places(hostile_site, step_of()))) == {}


def test_F_W2_no_payload_that_is_asked_for_runs(hostile_site: Site, devtools: str) -> None:
    assert asyncio.run(walk(devtools, hostile_site, reflected_places(step_of()))) == {}


def test_what_runs_in_a_frame_is_seen(devtools: str, collection: Directory) -> None:
    with serving(collection, wrap=WithoutPolicy) as site:
        found = asyncio.run(walk(devtools, site, ["/robots.txt", "/harmful"]))
    assert set(found) == {"/harmful"} and "it ran" in str(found["/harmful"])


def test_the_marks_by_which_harm_is_seen_do_see_it(hostile_site: Site, devtools: str) -> None:
    async def run() -> list[str]:
        async with tab(devtools) as page:
            await page.go(hostile_site.address + "/")
            await page.value("document.body.insertAdjacentHTML('beforeend', '<a href=javascript:1 onclick=x>x</a>')")
            await page.value("window.hacked = [1]; 0")
            found = await page.value(HARM)
            assert isinstance(found, list)
            return found

    assert set(asyncio.run(run())) == {"it ran", "A has onclick", "A leads to javascript:1"}
