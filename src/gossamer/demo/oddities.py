"""The odd pages of the demonstration web, as a table.

The behaviour of each, and how a fetch of it must end.

They have four hosts of their own; robots rules, dead links and sitemaps of the ordinary hosts come on top.
"""

import re
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from gossamer.demo.pages import (
    DOMAIN,
    HTML,
    NOTHING,
    DemoAnswer,
    DemoRequest,
    Leaf,
    NavLink,
    Node,
    PageFrame,
    Plain,
    Statements,
    Syntax,
    framed,
    missing,
    moved,
    page,
    plain,
)
from gossamer.demo.sites import DemoRobots, Profile, robots_txt
from gossamer.demo.words import Draw, paragraph

ODD, FLAKY, OPEN, CLOSED, NOWHERE = (f"{name}.{DOMAIN}" for name in ("odd", "flaky", "open", "closed", "nowhere"))
ODD_HOSTS = (ODD, FLAKY, OPEN, CLOSED)
"""NOWHERE is linked to, but does not resolve."""
SHORT_CHAIN = 3
LONG_CHAIN = 15
REDIRECTS_ALLOWED = 10
BUSY_AT_FIRST = 2
ODD_RULES = ((False, "/calendar/"), (False, "/*?session="), (False, "/members/"), (True, "/members/welcome"))

FETCHED = ("fetched", "unchanged")
MOVED = ("moved",)
LINK, SITEMAP, FEED, RETRY, TRAP, OPTIONAL = "link", "sitemap", "feed", "retry", "trap", "optional"


class OddPage(NamedTuple):
    host: str
    path: str
    what: str
    """The behaviour."""
    outcomes: tuple[str, ...] = FETCHED
    via: str = LINK
    """How a crawler finds it; only `link` counts for recall."""
    is_linked: bool = True
    """Whether the host's start page links to it."""
    has_facts: bool = True

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"

    @property
    def original(self) -> "OddPage":
        return self._replace(path="/original", what="original")

    @property
    def title(self) -> str:
        return f"{self.what.replace('-', ' ').capitalize()} ({self.path})"


def _redirects() -> list[OddPage]:
    redirect = partial(OddPage, ODD, has_facts=False)
    loop = ("moved", "too-many-redirects")
    found = [
        redirect("/moved", "moved", MOVED),
        OddPage(ODD, "/moved-here", "page", is_linked=False),
        redirect("/away", "moved-to-another-host", MOVED),
        redirect("/loop/a", "redirect-loop", loop),
        redirect("/loop/b", "redirect-loop", loop, is_linked=False),
        OddPage(ODD, "/chain/end", "page", is_linked=False),
        OddPage(ODD, "/long/end", "page", ("too-many-redirects",), OPTIONAL, is_linked=False),
    ]
    found += [redirect(f"/chain/{n}", "redirect-chain", MOVED, is_linked=n == 0) for n in range(SHORT_CHAIN)]
    for n in range(LONG_CHAIN):
        is_sure = n < REDIRECTS_ALLOWED - 1  # programs differ in whether the tenth hop is the last one followed
        outcomes, via = (MOVED, LINK) if is_sure else (loop, OPTIONAL)
        found.append(redirect(f"/long/{n}", "long-redirect-chain", outcomes, via, is_linked=n == 0))
    return found


def _texts() -> list[OddPage]:
    return [
        OddPage(ODD, "/original", "original"),
        OddPage(ODD, "/copy", "exact-copy"),
        OddPage(ODD, "/near-copy", "near-copy"),
        OddPage(ODD, "/print/original", "print-view"),
        OddPage(ODD, "/charset/latin1-called-utf8", "wrong-charset"),
        OddPage(ODD, "/charset/utf8-called-latin1", "wrong-charset"),
        OddPage(ODD, "/charset/shift-jis", "charset-in-meta"),
        OddPage(ODD, "/charset/unsaid", "charset-unsaid"),
        OddPage(ODD, "/coding/gzip", "gzip"),
        OddPage(ODD, "/coding/br", "br"),
        OddPage(ODD, "/coding/chunked", "chunked"),
        OddPage(ODD, "/broken-script", "broken-json-ld"),
        OddPage(ODD, "/based/page", "base-href"),
        OddPage(ODD, "/elsewhere/found", "page", is_linked=False),
        OddPage(ODD, "/soup", "tag-soup", FETCHED, has_facts=False),
        OddPage(ODD, "/huge", "huge-page", (*FETCHED, "read-timeout", "read-memory", "read-crash"), has_facts=False),
        OddPage(ODD, "/noindex", "noindex", FETCHED, has_facts=False),
        OddPage(ODD, "/nofollow", "nofollow", FETCHED, has_facts=False),
    ]


def oddities(trap_pages: int) -> tuple[OddPage, ...]:
    """All odd pages that may be fetched. `trap_pages`: the length of the one trap that robots.txt allows."""
    return (
        *(OddPage(host, "/", "start") for host in (ODD, FLAKY, OPEN)),
        *_redirects(),
        *_texts(),
        OddPage(ODD, "/dead/404", "dead-404", ("gone",), has_facts=False),
        OddPage(ODD, "/dead/410", "dead-410", ("gone",), has_facts=False),
        OddPage(ODD, "/members/welcome", "page"),
        *(
            OddPage(ODD, f"/diary/{n}", "open-trap", FETCHED, TRAP, is_linked=n == 1, has_facts=False)
            for n in range(1, trap_pages + 1)
        ),
        *(OddPage(FLAKY, f"/slow/{n}", "slow") for n in (1, 2, 3)),
        OddPage(FLAKY, "/busy", "busy-at-first", (*FETCHED, "slow-down"), RETRY),
        OddPage(FLAKY, "/always-500", "always-failing", ("server-error",), has_facts=False),
        OddPage(FLAKY, "/cut", "truncated", ("disconnected",), has_facts=False),
        *(OddPage(OPEN, f"/{name}", "page") for name in ("one", "two", "three", "four")),
    )


FORBIDDEN = {
    ODD: ("/calendar/2026/1", "/shelf?session=1", "/members/accounts", "/members/"),
    CLOSED: ("/", "/anything", "/else"),
}
"""Paths that are linked and must never be requested: by robots rules, or because robots.txt cannot be read."""
NOT_FOLLOWED = {ODD: ("/behind-nofollow", "/behind-rel-nofollow")}
"""Paths that only nofollow links lead to."""


HUGE_BYTES = 17 << 20
"""Just above the limit of 16 MiB for a page."""
_SESSION = re.compile(r"/shelf\?session=(\d{1,9})")
_CALENDAR = re.compile(r"/calendar/(\d{1,5})/(\d{1,2})")


def statements_of(odd: OddPage) -> Statements:
    """Titles are ASCII, so that a wrong charset changes no fact."""
    if not odd.has_facts:
        return NOTHING
    # A copy describes the same entity as its original, at its own URL.
    title = "Original" if odd.what in ("original", "exact-copy", "near-copy", "print-view") else odd.title
    entity = Node("WebPage", (("name", Plain(title)), ("abstract", Plain(f"One of the awkward parts: {title}"))))
    return Statements(((Syntax.JSONLD if odd.what == "broken-json-ld" else Syntax.RDFA, entity),))


def rules_of(host: str, profile: Profile) -> DemoRobots | None:
    """None: the host has no readable robots.txt."""
    return {ODD: DemoRobots(ODD_RULES), FLAKY: DemoRobots((), profile.crawl_delays_s[1])}.get(host)


def odd_answer(seed: int, profile: Profile, trap_pages: int, question: DemoRequest) -> DemoAnswer:
    host, target = question.host, question.target
    if target == "/robots.txt":
        rules = rules_of(host, profile)
        if rules is None:
            return missing(500) if host == CLOSED else missing()
        return plain(robots_txt(rules, 2 if host == ODD else 0), "text/plain; charset=utf-8")
    is_trap = host == ODD and (_SESSION.fullmatch(target) or _CALENDAR.fullmatch(target))
    if host == CLOSED or is_trap or target in (*FORBIDDEN.get(host, ()), *NOT_FOLLOWED.get(host, ())):
        return page(framed(Leaf("You should not be here", "en", _onward(target)), _frame(host)), question)
    odd = next((each for each in oddities(trap_pages) if (each.host, each.path) == (host, target)), None)
    return missing() if odd is None else _answer(seed, profile, trap_pages, odd, question)


def _answer(seed: int, profile: Profile, trap_pages: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    match odd.what:
        case "moved" | "moved-to-another-host" | "redirect-loop" | "redirect-chain" | "long-redirect-chain":
            return _moved(odd)
        case "dead-404" | "dead-410":
            return missing(int(odd.path[-3:]))
        case "always-failing":
            return missing(500)
        case "busy-at-first" if question.asked_before < BUSY_AT_FIRST:
            return missing(503)._replace(headers=(("Content-Type", HTML), ("Retry-After", str(profile.retry_after_s))))
        case "wrong-charset" | "charset-in-meta" | "charset-unsaid":
            return _charset(seed, odd)
        case "tag-soup":
            return page(_SOUP, question)
        case "huge-page":
            text = _paragraphs(seed, Draw(seed, odd.path), "en", 120)
            block = f"<!DOCTYPE html><title>Huge</title>{text}".encode()
            return DemoAnswer(200, (("Content-Type", HTML),), block, -(-HUGE_BYTES // len(block)), is_chunked=True)
    coding = odd.what if odd.what in ("gzip", "br") else ""
    answer = page(_odd_html(seed, trap_pages, odd), question, coding, is_chunked=odd.what == "chunked")
    return answer._replace(wait_s=profile.slow_s if odd.what == "slow" else 0.0, is_cut=odd.what == "truncated")


_SOUP = (
    "<title>Soup<body></title><b><p>Bold <i>and</b> slanted</i><table><p>In no cell<tr><td>one<td>two</p></table>"
    "<a href=/ id=x id=y>home<a href='/original'>original</a></html><p>after the end &amp &copy; &#0; &bogus;"
)


def _odd_html(seed: int, trap_pages: int, odd: OddPage) -> str:
    def marked(addition: str, before: str = "<title>", links: Sequence[NavLink] = ()) -> str:
        return _html(seed, odd, links).replace(before, addition + before, 1)

    match odd.what:
        case "start":
            return _start(seed, trap_pages, odd)
        case "original" | "exact-copy":
            return _html(seed, odd.original)
        case "near-copy":
            added = "<p>This sentence was added to the copy.</p></article>"
            return _html(seed, odd.original).replace("</article>", added)
        case "print-view":
            return re.sub(r"(?s)<header>.*?</header>|<aside>.*?</aside>", "", _html(seed, odd.original))
        case "broken-json-ld":
            broken = '<script type="application/ld+json">{"@context": "https://schema.org", "@type": </script>\n'
            return marked(broken, "<style>")
        case "base-href":
            return marked('<base href="/elsewhere/">', links=[("found", "Relative to the base")])
        case "noindex":
            return marked('<meta name="robots" content="noindex">')
        case "nofollow":
            links = [("/behind-nofollow", "Behind nofollow")]
            return marked('<meta name="robots" content="nofollow">', links=links)
        case "open-trap" if (number := int(odd.path.rpartition("/")[2])) < trap_pages:
            return _html(seed, odd, [(f"/diary/{number + 1}", "Tomorrow")])
    return _html(seed, odd)


def _start(seed: int, trap_pages: int, odd: OddPage) -> str:
    links = [(each.path, each.title) for each in oddities(trap_pages) if each.host == odd.host and each.is_linked]
    links += [(path, f"Closed ({path})") for path in FORBIDDEN.get(odd.host, ())]
    if odd.host != ODD:
        return _html(seed, odd, links)
    links += [(f"http://{NOWHERE}/", "A host that does not exist"), (f"http://{NOWHERE}/lost", "And a page on it")]
    links += [(f"http://{CLOSED}{path}", f"Closed host ({path})") for path in FORBIDDEN[CLOSED]]
    return _html(seed, odd, links, '<p><a href="/behind-rel-nofollow" rel="nofollow">Do not follow this</a></p>')


def _moved(odd: OddPage) -> DemoAnswer:
    if odd.what == "moved-to-another-host":
        return moved(f"http://{OPEN}/one", 308)
    if odd.what == "redirect-loop":
        return moved("/loop/b" if odd.path == "/loop/a" else "/loop/a", 302)
    if odd.path == "/moved":
        return moved(f"http://{ODD}/moved-here")
    chain, number = odd.path[1:].split("/")
    onward = int(number) + 1
    length = SHORT_CHAIN if chain == "chain" else LONG_CHAIN
    return moved(f"/{chain}/{onward if onward < length else 'end'}", (301, 302, 307)[onward % 3])


def _charset(seed: int, odd: OddPage) -> DemoAnswer:
    declared, real, meta = {
        "/charset/latin1-called-utf8": ("; charset=utf-8", "cp1252", "utf-8"),
        "/charset/utf8-called-latin1": ("; charset=iso-8859-1", "utf-8", "utf-8"),
        "/charset/shift-jis": ("", "shift_jis", "shift_jis"),
        "/charset/unsaid": ("", "utf-8", ""),
    }[odd.path]
    html = _html(seed, odd, language="ja" if real == "shift_jis" else "de")
    html = html.replace('<meta charset="utf-8">', f'<meta charset="{meta}">' if meta else "")
    return DemoAnswer(200, (("Content-Type", f"text/html{declared}"),), html.encode(real, "replace"))


def _html(seed: int, odd: OddPage, links: Sequence[NavLink] = (), extra: str = "", language: str = "en") -> str:
    draw = Draw(seed, odd.host, odd.path)
    leaf = Leaf(odd.title, language, extra + _paragraphs(seed, draw, language, draw.between(8, 30)), statements_of(odd))
    return framed(leaf, _frame(odd.host, links))


def _frame(host: str, links: Sequence[NavLink] = ()) -> PageFrame:
    return PageFrame(f"The {host.partition('.')[0]} host", "Here things go wrong on purpose", [("/", "Home")], links)


def _paragraphs(seed: int, draw: Draw, language: str, count: int) -> str:
    return "\n".join([f"<p>{paragraph(draw, seed, language)}</p>" for _ in range(count)])


def _onward(target: str) -> str:
    """The next links of an endless trap."""
    if found := _SESSION.fullmatch(target):
        onward = [f"/shelf?session={(int(found[1]) * 31 + step) % 10**9}" for step in range(1, 6)]
    elif found := _CALENDAR.fullmatch(target):
        onward = [f"/calendar/{int(found[1]) + int(found[2]) // 12}/{int(found[2]) % 12 + 1}"]
    else:
        onward = []
    return "\n".join(f'<p><a href="{href}">on</a></p>' for href in onward)
