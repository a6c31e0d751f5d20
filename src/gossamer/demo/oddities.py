"""The awkward parts of the demonstration web, as a table: what is where, and how a visit to it must end.

They live on four hosts of their own (and in the robots rules, dead links and sitemaps of the ordinary ones).
"""

from typing import NamedTuple

from gossamer.demo.markup import DOMAIN

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
