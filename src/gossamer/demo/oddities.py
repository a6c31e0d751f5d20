"""The awkward parts of the demonstration web, as a table: what is where, and how a visit to it must end.

They live on four hosts of their own (and in the robots rules, dead links and sitemaps of the ordinary ones).
"""

import re
from collections.abc import Callable
from typing import NamedTuple

from gossamer.demo.pages import (
    DOMAIN,
    HTML,
    NOTHING,
    DemoAnswer,
    DemoRequest,
    Leaf,
    Node,
    PageFrame,
    Plain,
    Statements,
    Syntax,
    Way,
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
"""NOWHERE is linked to and does not resolve."""
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
    """The behaviour; `odd_answers.py` has one function for each."""
    outcomes: tuple[str, ...] = FETCHED
    via: str = LINK
    """How a crawler comes by it; only `link` counts for recall."""
    is_linked: bool = True
    """Whether the host's start page leads to it."""
    has_facts: bool = True

    @property
    def url(self) -> str:
        return f"http://{self.host}{self.path}"

    @property
    def title(self) -> str:
        return f"{self.what.replace('-', ' ').capitalize()} ({self.path})"


def _unlinked(host: str, path: str, what: str, outcomes: tuple[str, ...] = FETCHED, via: str = LINK) -> OddPage:
    return OddPage(host, path, what, outcomes, via, is_linked=False)


def _nothing_said(
    host: str, path: str, what: str, outcomes: tuple[str, ...], via: str = LINK, is_linked: bool = True
) -> OddPage:
    return OddPage(host, path, what, outcomes, via, is_linked, has_facts=False)


def _redirects() -> list[OddPage]:
    found = [
        _nothing_said(ODD, "/moved", "moved", MOVED),
        _unlinked(ODD, "/moved-here", "page"),
        _nothing_said(ODD, "/away", "moved-to-another-host", MOVED),
        _nothing_said(ODD, "/loop/a", "redirect-loop", ("moved", "too-many-redirects")),
        _nothing_said(ODD, "/loop/b", "redirect-loop", ("moved", "too-many-redirects"), is_linked=False),
        _unlinked(ODD, "/chain/end", "page"),
        _unlinked(ODD, "/long/end", "page", ("too-many-redirects",), OPTIONAL),
    ]
    found += [_nothing_said(ODD, f"/chain/{n}", "redirect-chain", MOVED, is_linked=n == 0) for n in range(SHORT_CHAIN)]
    for n in range(LONG_CHAIN):
        is_sure = n < REDIRECTS_ALLOWED - 1  # programs differ in whether the tenth hop is the last one followed
        outcomes = MOVED if is_sure else ("moved", "too-many-redirects")
        found.append(
            _nothing_said(ODD, f"/long/{n}", "long-redirect-chain", outcomes, LINK if is_sure else OPTIONAL, n == 0)
        )
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
        _unlinked(ODD, "/elsewhere/found", "page"),
        _nothing_said(ODD, "/soup", "tag-soup", FETCHED),
        _nothing_said(ODD, "/huge", "huge-page", (*FETCHED, "read-timeout", "read-memory", "read-crash")),
        _nothing_said(ODD, "/noindex", "noindex", FETCHED),
        _nothing_said(ODD, "/nofollow", "nofollow", FETCHED),
    ]


def oddities(trap_pages: int) -> tuple[OddPage, ...]:
    """Everything awkward that may be asked for. `trap_pages`: the length of the one trap that rules leave open."""
    return (
        *(OddPage(host, "/", "start") for host in (ODD, FLAKY, OPEN)),
        *_redirects(),
        *_texts(),
        _nothing_said(ODD, "/dead/404", "dead-404", ("gone",)),
        _nothing_said(ODD, "/dead/410", "dead-410", ("gone",)),
        OddPage(ODD, "/members/welcome", "page"),
        *(
            _nothing_said(ODD, f"/diary/{n}", "open-trap", FETCHED, TRAP, is_linked=n == 1)
            for n in range(1, trap_pages + 1)
        ),
        *(OddPage(FLAKY, f"/slow/{n}", "slow") for n in (1, 2, 3)),
        OddPage(FLAKY, "/busy", "busy-at-first", (*FETCHED, "slow-down"), RETRY),
        _nothing_said(FLAKY, "/always-500", "always-failing", ("server-error",)),
        _nothing_said(FLAKY, "/cut", "truncated", ("disconnected",)),
        *(OddPage(OPEN, f"/{name}", "page") for name in ("one", "two", "three", "four")),
    )


FORBIDDEN = {
    ODD: ("/calendar/2026/1", "/shelf?session=1", "/members/accounts", "/members/"),
    CLOSED: ("/", "/anything", "/else"),
}
"""Linked, and never to be asked for: by robots rules, or because robots.txt cannot be read."""
NOT_FOLLOWED = {ODD: ("/behind-nofollow", "/behind-rel-nofollow")}
"""Only links marked nofollow lead there."""


HUGE_BYTES = 17 << 20
"""Just beyond the 16 MiB that a page may have."""
_SESSION = re.compile(r"/shelf\?session=(\d{1,9})")
_CALENDAR = re.compile(r"/calendar/(\d{1,5})/(\d{1,2})")


def statements_of(odd: OddPage) -> Statements:
    """Titles are ASCII, so a wrong charset changes no fact."""
    if not odd.has_facts:
        return NOTHING
    # A copy speaks of the same thing as its original, at its own address.
    title = "Original" if odd.what in ("original", "exact-copy", "near-copy", "print-view") else odd.title
    thing = Node("WebPage", (("name", Plain(title)), ("abstract", Plain(f"One of the awkward parts: {title}"))))
    return Statements(((Syntax.JSONLD if odd.what == "broken-json-ld" else Syntax.RDFA, thing),))


def rules_of(host: str, profile: Profile) -> DemoRobots | None:
    """None: this host has no readable robots.txt."""
    match host:
        case h if h == ODD:
            return DemoRobots(ODD_RULES)
        case h if h == FLAKY:
            return DemoRobots((), profile.crawl_delays_s[1])
        case _:
            return None


def odd_answer(seed: int, profile: Profile, trap_pages: int, question: DemoRequest) -> DemoAnswer:
    host, target = question.host, question.target
    if target == "/robots.txt":
        rules = rules_of(host, profile)
        if rules is None:
            return missing(500) if host == CLOSED else missing()
        return plain(robots_txt(rules, 2 if host == ODD else 0), "text/plain; charset=utf-8")
    if (
        host == CLOSED
        or target in FORBIDDEN.get(host, ())
        or target in NOT_FOLLOWED.get(host, ())
        or _is_trap(host, target)
    ):
        return page(framed(Leaf("You should not be here", "en", _onward(target)), _frame(host)), question)
    odd = next((each for each in oddities(trap_pages) if (each.host, each.path) == (host, target)), None)
    return missing() if odd is None else BEHAVIOURS[odd.what](seed, profile, trap_pages, odd, question)


Behaviour = Callable[[int, Profile, int, OddPage, DemoRequest], DemoAnswer]


def _page(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    return page(_html(seed, odd), question)


def _start(seed: int, _profile: Profile, traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    ways: list[Way] = [(each.path, each.title) for each in oddities(traps) if each.host == odd.host and each.is_linked]
    ways += [(path, f"Closed ({path})") for path in FORBIDDEN.get(odd.host, ())]
    if odd.host == ODD:
        ways += [(f"http://{NOWHERE}/", "A host that does not exist"), (f"http://{NOWHERE}/lost", "And a page on it")]
        ways += [(f"http://{CLOSED}{path}", f"Closed host ({path})") for path in FORBIDDEN[CLOSED]]
    marked = '<p><a href="/behind-rel-nofollow" rel="nofollow">Do not follow this</a></p>' if odd.host == ODD else ""
    return page(_html(seed, odd, ways, marked), question)


def _copy(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    """Byte for byte the original, except where `what` says otherwise."""
    original = odd._replace(path="/original", what="original")
    html = _html(seed, original)
    if odd.what == "near-copy":
        html = html.replace("</article>", "<p>This sentence was added to the copy.</p></article>")
    if odd.what == "print-view":
        html = re.sub(r"(?s)<header>.*?</header>|<aside>.*?</aside>", "", html)
    return page(html, question)


def _moved(_seed: int, _profile: Profile, _traps: int, odd: OddPage, _question: DemoRequest) -> DemoAnswer:
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


def _dead(_seed: int, _profile: Profile, _traps: int, odd: OddPage, _question: DemoRequest) -> DemoAnswer:
    return missing(int(odd.path[-3:]))


def _charset(seed: int, _profile: Profile, _traps: int, odd: OddPage, _question: DemoRequest) -> DemoAnswer:
    said, real, meta = {
        "/charset/latin1-called-utf8": ("; charset=utf-8", "cp1252", "utf-8"),
        "/charset/utf8-called-latin1": ("; charset=iso-8859-1", "utf-8", "utf-8"),
        "/charset/shift-jis": ("", "shift_jis", "shift_jis"),
        "/charset/unsaid": ("", "utf-8", ""),
    }[odd.path]
    language = "ja" if real == "shift_jis" else "de"
    html = _html(seed, odd, language=language)
    html = html.replace('<meta charset="utf-8">', f'<meta charset="{meta}">' if meta else "")
    return DemoAnswer(200, (("Content-Type", f"text/html{said}"),), html.encode(real, "replace"))


def _coding(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    return page(_html(seed, odd), question, odd.what)


def _chunked(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    return page(_html(seed, odd), question, is_chunked=True)


def _broken_script(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    broken = '<script type="application/ld+json">{"@context": "https://schema.org", "@type": </script>\n'
    return page(_html(seed, odd).replace("<style>", broken + "<style>", 1), question)


def _based(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    html = _html(seed, odd, [("found", "Relative to the base")])
    return page(html.replace("<title>", '<base href="/elsewhere/"><title>', 1), question)


def _soup(_seed: int, _profile: Profile, _traps: int, _odd: OddPage, question: DemoRequest) -> DemoAnswer:
    soup = (
        "<title>Soup<body></title><b><p>Bold <i>and</b> slanted</i><table><p>In no cell<tr><td>one<td>two</p></table>"
    )
    return page(
        soup
        + "<a href=/ id=x id=y>home<a href='/original'>original</a></html><p>after the end &amp &copy; &#0; &bogus;",
        question,
    )


def _huge(seed: int, _profile: Profile, _traps: int, odd: OddPage, _question: DemoRequest) -> DemoAnswer:
    draw = Draw(seed, odd.path)
    block = f"<!DOCTYPE html><title>Huge</title>{_paragraphs(seed, draw, 'en', 120)}".encode()
    return DemoAnswer(200, (("Content-Type", HTML),), block, repeats=-(-HUGE_BYTES // len(block)), is_chunked=True)


def _directive(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    links: list[Way] = [("/behind-nofollow", "Behind nofollow")] if odd.what == "nofollow" else []
    marked = f'<meta name="robots" content="{odd.what}"><title>'
    return page(_html(seed, odd, links).replace("<title>", marked, 1), question)


def _trap(seed: int, _profile: Profile, traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    number = int(odd.path.rpartition("/")[2])
    links: list[Way] = [(f"/diary/{number + 1}", "Tomorrow")] if number < traps else []
    return page(_html(seed, odd, links), question)


def _slow(seed: int, profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    return page(_html(seed, odd), question)._replace(wait_s=profile.slow_s)


def _busy(seed: int, profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    if question.asked_before < BUSY_AT_FIRST:
        return missing(503)._replace(headers=(("Content-Type", HTML), ("Retry-After", str(profile.retry_after_s))))
    return page(_html(seed, odd), question)


def _failing(_seed: int, _profile: Profile, _traps: int, _odd: OddPage, _question: DemoRequest) -> DemoAnswer:
    return missing(500)


def _cut(seed: int, _profile: Profile, _traps: int, odd: OddPage, question: DemoRequest) -> DemoAnswer:
    return page(_html(seed, odd), question)._replace(is_cut=True)


BEHAVIOURS: dict[str, Behaviour] = {
    "page": _page, "start": _start, "original": _copy, "exact-copy": _copy, "near-copy": _copy, "print-view": _copy,
    "moved": _moved, "moved-to-another-host": _moved, "redirect-loop": _moved, "redirect-chain": _moved,
    "long-redirect-chain": _moved, "dead-404": _dead, "dead-410": _dead, "wrong-charset": _charset,
    "charset-in-meta": _charset, "charset-unsaid": _charset, "gzip": _coding, "br": _coding, "chunked": _chunked,
    "broken-json-ld": _broken_script, "base-href": _based, "tag-soup": _soup, "huge-page": _huge, "noindex": _directive,
    "nofollow": _directive, "open-trap": _trap, "slow": _slow, "busy-at-first": _busy, "always-failing": _failing,
    "truncated": _cut,
}  # fmt: skip


def _html(seed: int, odd: OddPage, links: list[Way] | None = None, extra: str = "", language: str = "en") -> str:
    draw = Draw(seed, odd.host, odd.path)
    leaf = Leaf(odd.title, language, extra + _paragraphs(seed, draw, language, draw.between(8, 30)), statements_of(odd))
    return framed(leaf, _frame(odd.host, links or []))


def _frame(host: str, links: list[Way] | None = None) -> PageFrame:
    return PageFrame(
        f"The {host.partition('.')[0]} host", "Here things go wrong on purpose", [("/", "Home")], links or []
    )


def _paragraphs(seed: int, draw: Draw, language: str, count: int) -> str:
    return "\n".join([f"<p>{paragraph(draw, seed, language)}</p>" for _ in range(count)])


def _is_trap(host: str, target: str) -> bool:
    return host == ODD and bool(_SESSION.fullmatch(target) or _CALENDAR.fullmatch(target))


def _onward(target: str) -> str:
    """The next links of an endless trap."""
    if found := _SESSION.fullmatch(target):
        onward = [f"/shelf?session={(int(found[1]) * 31 + step) % 10**9}" for step in range(1, 6)]
    elif found := _CALENDAR.fullmatch(target):
        onward = [f"/calendar/{int(found[1]) + int(found[2]) // 12}/{int(found[2]) % 12 + 1}"]
    else:
        onward = []
    return "\n".join(f'<p><a href="{href}">on</a></p>' for href in onward)
