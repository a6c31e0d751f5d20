"""The SPARQL console in a real browser: editing, completion, running, cancelling, sorting, drawing, keyboard."""

import asyncio
from urllib.parse import urlencode

from tests.browser.axe import axe_in_both_themes, set_size
from tests.browser.chromium import LONG_S, Tab, drive
from tests.web.site import Site

PREFIX = "PREFIX schema: <http://schema.org/>\n"
NAMES = PREFIX + "SELECT ?entity ?name\nWHERE { ?entity schema:name ?name }\nLIMIT 150"
RUNAWAY = "SELECT (COUNT(*) AS ?n) WHERE { ?a ?b ?c . ?d ?e ?f . ?g ?h ?i }"
GRAPH = "CONSTRUCT { ?a ?b ?c } WHERE { ?a ?b ?c } LIMIT 12"
SYNTAX_ERROR = "SELECT *\nWHERE { ?x schema:name ?y }"
TEXT = "document.querySelector('#query').value"
EDITOR = "document.querySelector('#editor').shadowRoot"
OPTIONS = f"[...{EDITOR}.querySelectorAll('[role=option]')].map((one) => one.textContent)"


async def until(page: Tab, script: str, at_most_s: float = LONG_S) -> None:
    for _ in range(int(at_most_s / 0.05)):
        if await page.value(script):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"it never became true: {script}")


async def open_console(page: Tab, url: str) -> None:
    await page.go(url)
    await until(page, "!document.querySelector('#editor').hidden")


async def type_query(page: Tab, text: str) -> None:
    """Replaces the current query."""
    await page.value(f"{EDITOR}.querySelector('.cm-content').focus()")
    await page.call("Input.dispatchKeyEvent", type="keyDown", key="a", windowsVirtualKeyCode=65, modifiers=2)
    await page.call("Input.insertText", text=text)


async def run_by_keyboard(page: Tab) -> None:
    await page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", windowsVirtualKeyCode=13, modifiers=2)
    await page.call("Input.dispatchKeyEvent", type="keyUp", key="Enter", windowsVirtualKeyCode=13, modifiers=2)


def path_of(query: str, **more: str) -> str:
    return "/sparql?" + urlencode({"query": query, **more})


def test_a_query_is_typed_run_shared_and_remembered_without_leaving_the_page(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await open_console(page, site.address + "/sparql")
        await page.value("window.stayed = true")
        await type_query(page, NAMES)
        await run_by_keyboard(page)
        await until(page, "document.querySelectorAll('#rows tbody tr').length > 100")
        assert await page.value("window.stayed && location.search.startsWith('?query=PREFIX')")
        shown = "document.querySelectorAll('#rows tbody tr:not([hidden])').length"
        assert await page.value(shown) == 100
        await page.value("document.querySelector('#more button').click()")
        assert await page.value(shown) > 100
        assert "SELECT ?entity ?name" in await page.value("document.querySelector('#past-list').textContent")
        shared = await page.value("location.href")
        await open_console(page, shared)
        assert await page.value(TEXT) == NAMES and await page.value(shown) == 100
        assert page.console_errors == [] and await page.value("window.violations") == []

    drive(devtools, scenario)


def test_names_are_completed_from_the_collection_and_their_prefix_is_added(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await open_console(page, site.address + "/sparql")
        await type_query(page, "SELECT * WHERE { ?x a Reci")
        await page.write("p")
        await until(page, f"{OPTIONS}.length > 0")
        assert "schema:Recipe" in (await page.value(OPTIONS))[0]
        await asyncio.sleep(0.2)  # the list ignores keys while it opens
        await page.press("Enter")
        await until(page, f"{TEXT}.includes('schema:Recipe')")
        assert await page.value(TEXT) == "PREFIX schema: <http://schema.org/>\nSELECT * WHERE { ?x a schema:Recipe"
        await type_query(page, "SELECT * WHERE { ?x foaf")
        await page.write(":")
        await until(page, f"{TEXT}.startsWith('PREFIX foaf: <http://xmlns.com/foaf/0.1/>')")
        assert await page.value("window.violations") == []

    drive(devtools, scenario)


def test_F_W12_cancel_frees_the_worker_and_shows_a_message(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await open_console(page, site.address + "/sparql")
        await type_query(page, RUNAWAY)
        await run_by_keyboard(page)
        await until(page, "!document.querySelector('#stop').hidden")
        await page.value("document.querySelector('#stop').click()")
        await until(page, "document.querySelector('#answer').textContent.includes('Cancelled after')")
        assert await page.value("document.querySelector('#stop').hidden && !document.querySelector('#go').disabled")
        await type_query(page, "ASK { ?s ?p ?o }")
        await run_by_keyboard(page)
        await until(page, "document.querySelector('#answer .badge')?.textContent === 'Yes'")

    drive(devtools, scenario)


def test_a_syntax_error_is_marked_in_the_editor(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await open_console(page, site.address + "/sparql")
        await type_query(page, SYNTAX_ERROR)
        await run_by_keyboard(page)
        await until(page, f"{EDITOR}.querySelector('.cm-lintRange-error')?.textContent === 'schema:name'")
        assert "not declared" in await page.value("document.querySelector('#answer [role=alert]').textContent")

    drive(devtools, scenario)


def test_columns_are_sorted_by_a_click(site: Site, devtools: str) -> None:
    column = "[...document.querySelectorAll('#rows tbody tr')].map((row) => row.cells[1].textContent.trim())"

    async def scenario(page: Tab) -> None:
        query = "SELECT ?t (COUNT(*) AS ?n) WHERE { ?x a ?t } GROUP BY ?t"
        await open_console(page, site.address + path_of(query))
        for order, is_down in (("ascending", False), ("descending", True)):
            await page.value("document.querySelectorAll('#rows th button')[1].click()")
            numbers = [int(text) for text in await page.value(column)]
            assert numbers == sorted(numbers, reverse=is_down) and len(set(numbers)) > 2
            assert await page.value("document.querySelectorAll('#rows th')[1].getAttribute('aria-sort')") == order

    drive(devtools, scenario)


CHECK_DRAWING = """
(() => {
  const box = document.querySelector("#drawing"), svg = box.querySelector("svg").getBoundingClientRect(), errors = [];
  const nodes = [...box.querySelectorAll(".node")], all = [...nodes, ...box.querySelectorAll(".property")];
  const place = (one) => one.getBoundingClientRect();
  const isIn = (a, b, slack = 1) => a.left >= b.left - slack && a.right <= b.right + slack
    && a.top >= b.top - slack && a.bottom <= b.bottom + slack;
  if (svg.left < 0 || svg.right > innerWidth) errors.push("the drawing is wider than the window");
  for (const one of all) {
    const rect = place(one.querySelector("rect")), text = place(one.querySelector("text")), name = one.textContent;
    if (!isIn(rect, svg, 3)) errors.push(`${name} is outside`);
    if (!isIn(text, rect)) errors.push(`${name} is wider than its box`);
    if (text.height < 10) errors.push(`${name} is too small to read`);
    if (!one.querySelector("title").textContent.trim()) errors.push(`${name} has no complete title`);
  }
  const boxes = all.map((one) => place(one.querySelector("rect")));
  boxes.forEach((a, i) => boxes.slice(0, i).forEach((b, j) => {
    const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left);
    const high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
    if (wide > 2 && high > 2)
      errors.push(`${all[i].textContent} overlaps ${all[j].textContent}`);
  }));
  const unreachable = nodes.filter((one) => one.tabIndex < 0).length;
  return { errors, unreachable, labels: nodes.map((one) => one.querySelector("text").textContent),
    says: nodes.map((one) => one.dataset.says) };
})()
"""
LINKED = "CONSTRUCT { ?a ?b ?c } WHERE { ?a a <http://schema.org/Person> ; ?b ?c } LIMIT 60"
LONG = "CONSTRUCT { ?a ?b ?c } WHERE { VALUES (?a ?b ?c) { (<http://a.test/%s> <http://b.test/p> '%s') } }"


def test_a_graph_is_drawn_completely_at_every_width_and_entities_have_their_names(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for query in (GRAPH, LINKED, LONG % ("path/" * 60, "A long story " * 40)):
            for width in (1280, 400, 320):
                await set_size(page, width, 800)
                await open_console(page, site.address + path_of(query))
                assert not any("sparql_graph" in url for url in page.requested), "it is loaded only when used"
                await page.value("document.querySelector('#draw').click()")
                await until(page, "document.querySelector('#drawing').dataset.drawn > 1")
                drawing = await page.value(CHECK_DRAWING)
                assert drawing["errors"] == [] and drawing["unreachable"] == 0, (query, width)
                assert await page.value("document.scrollingElement.scrollWidth <= innerWidth")
                page.requested.clear()
            for label, says in zip(drawing["labels"], drawing["says"], strict=True):
                assert not label.startswith(("…", "_:")), label
                assert "…" not in says and (label in says or "…" in label), (label, says)
        assert await page.value("window.violations") == [] and page.console_errors == []

    drive(devtools, scenario)


def test_a_drawing_is_explored_and_closed_by_keyboard(site: Site, devtools: str) -> None:
    says = "document.querySelector('#drawing [role=status]').textContent"

    async def scenario(page: Tab) -> None:
        await open_console(page, site.address + path_of(GRAPH))
        await page.value("document.querySelector('#draw').focus()")
        await page.press("Enter")
        await until(page, "document.querySelector('#drawing').dataset.drawn > 3")
        assert "The table below has the same data" in await page.value(says)
        await page.press("Tab")
        focused = await page.value("document.activeElement.dataset.says")
        assert focused and await page.value(says) == focused, "shortened text is shown completely"
        assert await axe_in_both_themes(page) == []
        await set_size(page, 500, 800)
        await until(page, "document.querySelector('#drawing svg').getBoundingClientRect().right < 500")
        assert (await page.value(CHECK_DRAWING))["errors"] == [], "it is drawn again when the window changes"
        await page.value("document.querySelector('#draw').focus()")
        await page.press("Enter")
        await until(page, "document.querySelector('#drawing').hidden")
        assert await page.value("document.querySelector('#draw').getAttribute('aria-expanded')") == "false"

    drive(devtools, scenario)


def test_keyboard_shortcuts_do_not_work_inside_the_editor(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await open_console(page, site.address + "/sparql")
        await type_query(page, "")
        await page.write("?j/k")
        assert await page.value(TEXT) == "?j/k"
        assert await page.value("document.activeElement.id") == "editor"
        await page.press("Escape")
        await page.press("Tab")
        assert await page.value("document.activeElement.id") == "go", "the editor can be left by keyboard"

    drive(devtools, scenario)


def test_without_scripts_a_plain_text_field_works(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        await page.call("Emulation.setScriptExecutionDisabled", value=True)
        await page.go(site.address + path_of(NAMES))
        document = await page.call("DOM.getDocument", depth=0)
        rows = await page.call("DOM.querySelectorAll", nodeId=document["root"]["nodeId"], selector="#rows tbody tr")
        assert len(rows["nodeIds"]) > 100

    drive(devtools, scenario)


def test_axe_finds_no_violation_in_any_state(site: Site, devtools: str) -> None:
    async def scenario(page: Tab) -> None:
        for place, width in (
            ("/sparql", 1200),
            (path_of(NAMES, inference="rdfs"), 390),
            (path_of(SYNTAX_ERROR), 1200),
            (path_of(GRAPH), 390),
        ):
            await set_size(page, width, 844)
            await open_console(page, site.address + place)
            await page.value("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
            assert await axe_in_both_themes(page) == [], place
            assert not await page.value("document.documentElement.scrollWidth > innerWidth"), place
        await set_size(page, 1200, 900)
        await open_console(page, site.address + "/sparql")
        await type_query(page, "SELECT * WHERE { ?x a sche")
        await page.write("m")
        await until(page, f"{OPTIONS}.length > 0")
        assert await axe_in_both_themes(page) == [], "with the list of completions open"

    drive(devtools, scenario)
