"""Every payload in every place where crawled text is shown, in a real browser: none runs, with and without the policy
of the site."""

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
from tests.web.xss_site import HOSTS, ODD, WORD, make_hostile_collection, odd_urls, payload_url

from gossamer.store.directory import Directory

pytestmark = pytest.mark.timeout(900)
"""Some 1,000 pages are loaded: half a minute on an idle machine."""
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
    const target = one.href || one.src || one.action || one.formAction;
    if (!/^https?:/.test(typeof target === "string" ? target : "")) wrong.push(one.tagName + " leads to " + target);
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
  try { wrong = frame.contentWindow.eval(HARM); } catch (error) { wrong = ["it left the page: " + error]; }
  frame.remove();
  return wrong.length || window.hacked ? [[place, wrong]] : [];
})).then((found) => found.flat())
"""
"""The text of a page is loaded as a document in a frame, with the rights of the site; our scripts and styles are left
out, as they take most of the time."""
AT_ONCE = 10
LOCAL_SCHEMES = ("data:image/", "blob:")


class WithoutPolicy:
    """The site without its content security policy."""

    def __init__(self, app: Any) -> None:
        self._app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["path"] == "/harmful":  # not part of the site: it checks that harm is detected
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
    """XSS_STEP=1 (`make xss`) tries every payload in every place; otherwise only a share of the payloads."""
    return int(os.environ.get("XSS_STEP", "5"))


def page_of(number: int, **more: str) -> str:
    return "/page?" + urlencode({"url": payload_url(number).text, **more})


def stored_places(site: Site, step: int) -> list[str]:
    """Pages that show text from the web. `step`: only the own pages of every step-th payload are loaded; pages that
    show many payloads have them all."""
    numbers = range(0, len(PAYLOADS), step)
    hosts = [*HOSTS, *[f"{kind}.hostile.test" for kind in ODD]]
    facts = "SELECT ?g ?s ?p ?o WHERE {{ GRAPH ?g {{ ?s ?p ?o }} }} ORDER BY ?s OFFSET {} LIMIT 400"
    entities = site.sparql("SELECT DISTINCT ?s WHERE { GRAPH ?g { ?s ?p ?o } FILTER isIRI(?s) } LIMIT 400").json
    iris = [row["s"]["value"] for row in entities["results"]["bindings"]]
    return [
        *[f"/?q={WORD}&from={start}" for start in range(0, len(PAYLOADS) + 1, 10)],
        *[page_of(number) for number in numbers],
        *["/page/cached?" + urlencode({"url": payload_url(number).text}) for number in numbers],
        *[
            page_of(number, show=show)
            for place, show in enumerate(("copy", "links", "why", "words", "text", "versions"))
            for number in numbers[place :: max(20 // step, 2)]
        ],
        *["/page?" + urlencode({"url": url.text, "show": "why"}) for url in odd_urls()[::3]],
        *["/page?" + urlencode({"url": FEED, "show": show}) for show in ("facts", "links", "text")],
        "/page/cached?" + urlencode({"url": FEED}),
        *[f"/host?name={name}" for name in hosts],
        *["/entity?" + urlencode({"iri": iri}) for iri in iris[:: 8 * step]],
        *["/sparql?" + urlencode({"query": facts.format(start)}) for start in range(0, 1600, 400)],
        "/crawl", "/crawl/visits", "/crawl/hosts", "/hosts", "/nodes", "/status", "/vocabularies",
    ]  # fmt: skip


def reflected_places(step: int) -> list[str]:
    """Pages that show their parameters again (FAULTS W2)."""
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
    """The problems of each page. With a policy each page is opened; without one each is loaded in a frame, and every
    fourth is also opened."""
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
                await open_page(page, place)
            if foreign := [url for url in page.requested if not url.startswith((site.address + "/", *LOCAL_SCHEMES))]:
                wrong["requests to other sites"] = foreign
            if page.dialogs:
                wrong["dialogs"] = page.dialogs

    async def open_page(page: Tab, place: str) -> None:
        await page.go(site.address + place)
        if found := await page.value(HARM):
            wrong[place] = found

    async with asyncio.TaskGroup() as group:
        for _ in range(TABS_AT_ONCE):
            group.create_task(one_tab())
    return wrong


def test_there_are_a_hundred_payloads() -> None:
    assert len(set(PAYLOADS)) >= 100


def test_F_W1_no_stored_payload_runs_on_any_page(hostile_site: Site, devtools: str) -> None:
    assert asyncio.run(walk(devtools, hostile_site, stored_places(hostile_site, step_of()))) == {}


def test_F_W2_no_payload_in_a_request_runs(hostile_site: Site, devtools: str) -> None:
    assert asyncio.run(walk(devtools, hostile_site, reflected_places(step_of()))) == {}


def test_a_script_that_runs_in_a_frame_is_detected(devtools: str, collection: Directory) -> None:
    with serving(collection, wrap=WithoutPolicy) as site:
        found = asyncio.run(walk(devtools, site, ["/robots.txt", "/harmful"]))
    assert set(found) == {"/harmful"} and "it ran" in str(found["/harmful"])


def test_the_signs_of_harm_are_detected(hostile_site: Site, devtools: str) -> None:
    async def run() -> list[str]:
        async with tab(devtools) as page:
            await page.go(hostile_site.address + "/")
            await page.value("document.body.insertAdjacentHTML('beforeend', '<a href=javascript:1 onclick=x>x</a>')")
            await page.value("window.hacked = [1]; 0")
            found = await page.value(HARM)
            assert isinstance(found, list)
            return found

    assert set(asyncio.run(run())) == {"it ran", "A has onclick", "A leads to javascript:1"}
