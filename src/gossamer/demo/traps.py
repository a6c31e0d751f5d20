"""Crawler traps, as a table.

Each site has real pages, and around them a trap that a crawler must leave in time.
"""

import re
from calendar import monthrange
from collections.abc import Callable, Sequence
from datetime import date, timedelta
from typing import NamedTuple

from gossamer.demo import pages
from gossamer.demo.sites import DemoRobots, robots_txt
from gossamer.demo.words import ENGLISH, LISTS, Draw, new_paragraph, new_word


class Trap(NamedTuple):
    name: str
    what: str
    real: str
    """The path of real page {n}, counted from 1."""
    listing: str = ""
    """The path of the {k}-th list of real pages, counted from 1; empty when only pages of the trap link to them."""
    void: str = ""
    """A query parameter without effect."""
    twin: str = ""
    """Another host that serves the same pages."""

    @property
    def host(self) -> str:
        return f"{self.name}.{pages.DOMAIN}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return (self.host, f"{self.twin}.{pages.DOMAIN}") if self.twin else (self.host,)


CALENDAR = Trap("almanac", "calendar", "/event/{n}")
FACETS = Trap("bazaar", "faceted navigation", "/item/{n}", "/all/{k}")
SESSIONS = Trap("desk", "session ids", "/note/{n}", void="visit")
MAZE = Trap("maze", "repeating paths", "/room/{n}", "/rooms/{k}")
SERIES = Trap("serial", "endless series", "/page/{n}")
LOST = Trap("lost", "soft 404s", "/entry/{n}-kept", "/entries/{k}")
BABBLE = Trap("babble", "random pages", "/essay/{n}", "/essays/{k}")
MIRROR = Trap("gallery", "mirrored host", "/picture/{n}", "/pictures/{k}", twin="twin")

TRAPS = (CALENDAR, FACETS, SESSIONS, MAZE, SERIES, LOST, BABBLE, MIRROR)
TRAP_HOSTS = {host: trap for trap in TRAPS for host in trap.hosts}
A_LIST_HOLDS = 20
MOST_WASTED = 500
"""The most requests beyond its real pages that a trap may cost."""
LEAST_FOUND = 0.99


def real_paths(trap: Trap, real: int) -> tuple[str, ...]:
    """The paths that a crawler should reach on a site with `real` real pages."""
    lists = [trap.listing.format(k=k) for k in range(1, lists_of(real) + 1)] if trap.listing else []
    return ("/", *lists, *(trap.real.format(n=n) for n in range(1, real + 1)))


def lists_of(real: int) -> int:
    return -(-real // A_LIST_HOLDS)


TODAY = date(2026, 11, 15)
A_DAY = 4
"""Events a day near today."""
FACET_VALUES = {
    "colour": tuple(colour.lower() for colour in LISTS["colours"][:10]),
    "size": tuple(str(size) for size in range(34, 46)),
    "brand": ENGLISH["noun"][:10],
    "price": ("0-20", "20-50", "50-100", "100-200", "200-500"),
    "sort": ("price", "name", "newest", "rating"),
    "view": ("grid", "list", "table"),
    "page": tuple(str(number) for number in range(1, 10)),
}  # fmt: skip
FACT_SITES = (CALENDAR, FACETS, SESSIONS, MIRROR)
_DAY = re.compile(r"/calendar/(\d{4})/(\d{1,2})(?:/(\d{1,2}))?")


def trap_answer(seed: int, real: int, question: pages.DemoRequest) -> pages.DemoAnswer:
    """`real`: the number of real pages of each site."""
    trap = TRAP_HOSTS[question.host]
    if question.target == "/robots.txt":
        return pages.plain(robots_txt(DemoRobots(), 0), "text/plain; charset=utf-8")
    leaf = _real(seed, trap, real, question.target)
    if leaf is None and trap in BEHAVIOURS:
        leaf = BEHAVIOURS[trap](seed, real, question.target)
    if leaf is None:
        return pages.missing()
    frame = pages.PageFrame(f"The {trap.name}", f"Beware of {trap.what}", [("/", "Home")], leaf[1])
    return pages.page(pages.framed(leaf[0], frame), question)


Written = tuple[pages.Leaf, list[pages.NavLink]]
Behaviour = Callable[[int, int, str], Written | None]


def _real(seed: int, trap: Trap, real: int, target: str) -> Written | None:
    """The start page, the lists and the real pages; None for any other target."""
    if trap is SESSIONS:
        target = target.partition("?")[0]
    if target == "/":
        return pages.Leaf(f"The {trap.name}", "en", _text(seed, trap, "start", 4)), _start_links(seed, trap, real)
    if trap.listing and (number := _number(trap.listing.replace("{k}", "{n}"), target, lists_of(real))):
        first = (number - 1) * A_LIST_HOLDS + 1
        items = [_link(seed, trap, n) for n in range(first, min(first + A_LIST_HOLDS, real + 1))]
        around = [k for k in (number - 1, number + 1) if 1 <= k <= lists_of(real)]
        links = [(trap.listing.format(k=k), f"List {k}") for k in around]
        return pages.Leaf(f"List {number}", "en", _listed(items)), links
    number = _number(trap.real, target, real)
    return _real_page(seed, trap, real, number) if number else None


def _number(pattern: str, target: str, most: int) -> int:
    """The number of the page in a target made from this pattern; 0 when it is not one up to `most`."""
    head, _, tail = pattern.partition("{n}")
    inner = target[len(head) : len(target) - len(tail)]
    is_one = target.startswith(head) and target.endswith(tail) and inner.isdecimal() and len(inner) < 9
    return int(inner) if is_one and 1 <= int(inner) <= most and target == pattern.format(n=int(inner)) else 0


def _real_page(seed: int, trap: Trap, real: int, number: int) -> Written:
    title = _title(seed, trap, number)
    facts = pages.NOTHING
    if trap in FACT_SITES:
        draw = Draw(seed, trap.name, number, "facts")
        says = (("name", pages.Plain(title)), ("author", pages.Plain(f"{new_word(draw)} {new_word(draw)}")))
        facts = pages.Statements(((pages.Syntax.RDFA, pages.Node("CreativeWork", says)),))
    draw = Draw(seed, trap.name, number, "links")
    onward = [1 + number % real, *(draw.between(1, real) for _ in range(3))]
    links = [] if trap is CALENDAR else [_link(seed, trap, n, number) for n in onward]
    return pages.Leaf(title, "en", _text(seed, trap, number, 6), facts), [*links, *_trap_links(seed, trap, number)]


def _link(seed: int, trap: Trap, number: int, origin: object = "list") -> pages.NavLink:
    path = trap.real.format(n=number)
    if trap is SESSIONS:
        path += f"?visit={_code(seed, trap, number, origin)}"
    return path, _title(seed, trap, number)


def _title(seed: int, trap: Trap, number: int) -> str:
    draw = Draw(seed, trap.name, number, "title")
    return f"{new_word(draw)} and the {draw.one(ENGLISH['adj'])} {draw.one(ENGLISH['noun'])}"


def _text(seed: int, trap: Trap, name: object, paragraphs: int) -> str:
    draw = Draw(seed, trap.name, name, "text")
    return "\n".join(f"<p>{new_paragraph(draw, 'en')}</p>" for _ in range(paragraphs))


def _code(*names: object) -> str:
    draw = Draw(*names)
    return "".join(draw.one("0123456789abcdef") for _ in range(16))


def _start_links(seed: int, trap: Trap, real: int) -> list[pages.NavLink]:
    """The links of the start page: to the lists or some real pages, and into the trap."""
    lists = [(trap.listing.format(k=k), f"List {k}") for k in range(1, lists_of(real) + 1)] if trap.listing else []
    some = [] if trap in (CALENDAR, SERIES) or lists else [_link(seed, trap, n) for n in range(1, min(real, 20) + 1)]
    return [*lists, *some, *_trap_links(seed, trap, "start")]


def _trap_links(seed: int, trap: Trap, origin: object) -> list[pages.NavLink]:
    """Links from a real page into the trap."""
    draw = Draw(seed, trap.name, origin, "snares")
    match trap.name:
        case CALENDAR.name:
            return [(f"/calendar/{TODAY.year}/{TODAY.month}", "This month")]
        case FACETS.name:
            return [(f"/shop?colour={draw.one(FACET_VALUES['colour'])}", "The shop"), ("/shop?sort=name", "By name")]
        case SESSIONS.name:
            return [(f"/about?visit={_code(seed, origin, 'about')}", "About this desk")]
        case MAZE.name:
            return [("/hall/", "The hall")]
        case SERIES.name:
            return [(f"/page/{origin + 1}" if isinstance(origin, int) else "/page/1", "Next")]
        case LOST.name:
            moved = f"/entry/{draw.below(100_000)}-moved"
            return [(moved, "Elsewhere"), (f"/old/{new_word(draw).lower()}.html", "Formerly")]
        case BABBLE.name:
            return [(_babble_link(draw), "More")]
    return []


def _calendar(seed: int, real: int, target: str) -> Written | None:
    """A page for each month and each day, without end; some days near today have events."""
    found = _DAY.fullmatch(target)
    if not found or not (1 <= int(found[2]) <= 12 and 1000 <= int(found[1]) <= 8999):
        return None
    year, month = int(found[1]), int(found[2])
    last = monthrange(year, month)[1]
    if found[3] is None:
        return _month(year, month, last)
    if not 1 <= int(found[3]) <= last:
        return None
    day = date(year, month, int(found[3]))
    links = [(_day_path(day + timedelta(days=step)), name) for step, name in ((1, "Next day"), (-1, "Day before"))]
    words = "There are no events on this day. Choose another day, or write to us about yours."
    if events := _events_on(day, real):
        words = ", ".join(f'<a href="{href}">{text}</a>' for href, text in (_link(seed, CALENDAR, n) for n in events))
    return pages.Leaf(f"Events on {day:%d %B %Y}", "en", f"<p>{words}</p>"), links


def _month(year: int, month: int, last: int) -> Written:
    onward = [(year + (month == 12), month % 12 + 1), (year - (month == 1), (month - 2) % 12 + 1)]
    months = [(f"/calendar/{y}/{m}", f"{y}-{m:02d}") for y, m in onward]
    days = [(_day_path(date(year, month, day)), str(day)) for day in range(1, last + 1)]
    return pages.Leaf(f"{year}-{month:02d}", "en", "<p>Choose a day of the month to see what is on.</p>"), months + days


def _day_path(day: date) -> str:
    return f"/calendar/{day.year}/{day.month}/{day.day}"


def _events_on(day: date, real: int) -> range:
    """The events of a day: they are on both sides of today."""
    away = (day - TODAY).days
    first = A_DAY * (2 * away if away >= 0 else -2 * away - 1) + 1
    return range(first, min(first + A_DAY, real + 1))


def _facets(seed: int, real: int, target: str) -> Written | None:
    """Every combination of filters has a URL, and lists some of the same items."""
    path, _, query = target.partition("?")
    chosen = dict(pair.split("=", 1) for pair in query.split("&") if "=" in pair)
    if path != "/shop" or any(value not in FACET_VALUES.get(name, ()) for name, value in chosen.items()):
        return None
    draw = Draw(seed, "facets", sorted(chosen.items()))
    items = [_link(seed, FACETS, draw.between(1, real)) for _ in range(12)]
    links = []
    for name, value in ((name, value) for name, values in FACET_VALUES.items() for value in values):
        if chosen.get(name) != value:
            wanted = {**chosen, name: value}
            query = "&".join(f"{key}={wanted[key]}" for key in FACET_VALUES if key in wanted)
            links.append((f"/shop?{query}", f"{name} {value}"))
    return pages.Leaf("The shop", "en", f"<p>What we have for you today.</p>{_listed(items)}"), links


def _listed(links: Sequence[pages.NavLink]) -> str:
    return "\n".join(f'<p><a href="{href}">{text}</a></p>' for href, text in links)


def _sessions(seed: int, real: int, target: str) -> Written | None:
    """The same few pages, at a new URL in every link."""
    path, _, query = target.partition("?")
    if path != "/about":
        return None
    links = [(f"/about?visit={_code(seed, query, step)}", "About this desk") for step in range(4)]
    links += [_link(seed, SESSIONS, Draw(seed, query).between(1, real), query)]
    return pages.Leaf("About this desk", "en", _text(seed, SESSIONS, "about", 3)), links


def _maze(_seed: int, _real: int, target: str) -> Written | None:
    """Absolute links written without the leading slash: every click makes the path longer."""
    if not target.startswith("/hall/") or not target.endswith("/"):
        return None
    links = [("hall/", "The hall"), ("stairs/", "The stairs"), ("stairs/hall/", "Up and back")]
    words = "<p>You are in a hall. There are stairs, and another hall behind them.</p>"
    return pages.Leaf("The hall", "en", words), links


def _series(_seed: int, real: int, target: str) -> Written | None:
    """The story has a last page, the links to a next page do not."""
    number = _number("/page/{n}", target, 10**8)
    if number <= real:
        return None
    links = [(f"/page/{number + step}", f"Page {number + step}") for step in (1, 2, 10)]
    words = f"<p>Page {number} of our story has not been written yet. Come back later.</p>"
    return pages.Leaf(f"Page {number}", "en", words), links


def _lost(seed: int, _real: int, target: str) -> Written | None:
    """Every URL has a page."""
    draw = Draw(seed, "lost", target)
    links = [("/entries/1", "All entries"), (f"/find/{new_word(draw).lower()}", "Perhaps you mean this")]
    words = f"<p>Sorry, we could not find {target.partition('?')[0]} on this site. It may have moved.</p>"
    return pages.Leaf("Page not found", "en", words), links


def _babble(seed: int, _real: int, target: str) -> Written | None:
    """Random words, with links to more of them."""
    if not target.startswith("/b/") or target.count("/") != 2:
        return None
    draw = Draw(seed, "babble", target)
    stock = (*ENGLISH["adj"], *ENGLISH["noun"], *ENGLISH["verb"])
    words = "\n".join(f"<p>{' '.join(draw.one(stock) for _ in range(60))}.</p>" for _ in range(4))
    links = [(_babble_link(draw), draw.one(stock)) for _ in range(8)]
    return pages.Leaf(f"{draw.one(ENGLISH['adj'])} {draw.one(ENGLISH['noun'])}".capitalize(), "en", words), links


def _babble_link(draw: Draw) -> str:
    return f"/b/{new_word(draw).lower()}{new_word(draw).lower()}"


BEHAVIOURS: dict[Trap, Behaviour] = {
    CALENDAR: _calendar,
    FACETS: _facets,
    SESSIONS: _sessions,
    MAZE: _maze,
    SERIES: _series,
    LOST: _lost,
    BABBLE: _babble,
}
