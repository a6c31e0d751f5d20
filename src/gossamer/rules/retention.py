"""Which versions of a page the archive keeps, and what is forgotten for good."""

from collections.abc import Iterable, Sequence

import msgspec

from gossamer.base.clock import DAY, Instant
from gossamer.config.slices import Retain
from gossamer.rules.canonical import identity_of
from gossamer.values.capture import VANISHED
from gossamer.values.outcome import Allowed, Denied
from gossamer.values.url import OTHER, Url

WEEK = 7 * DAY
MONTH = 4 * WEEK
"""Whole weeks, so that what is kept as one a month was kept as one a week before."""
ALL_FOR = 30 * DAY
WEEKLY_FOR = 364 * DAY


class RetainedVersion(msgspec.Struct, frozen=True):
    """What the decision needs to know of one capture."""

    fetched_at: Instant
    status: int = 200
    is_page: bool = True
    """Whether it could be searched."""
    refers_at: Instant | None = None
    """When the capture was made that holds its body; None: it has its own."""


def kept(versions: Sequence[RetainedVersion], retain: Retain, now: Instant) -> frozenset[Instant]:
    """The instants of those that stay. REQUIRES: all captures of one URL, the oldest first, no instant twice.

    Asked again about what it has kept, at the same moment, it keeps all of it.
    """
    if retain.kind == "all" or not versions:
        return frozenset([one.fetched_at for one in versions])
    chosen = _last(versions, retain.versions) if retain.kind == "last" else _thinned(versions, now)
    chosen |= _held_by_views(versions)
    return frozenset(chosen | {one.refers_at for one in versions if one.fetched_at in chosen and one.refers_at})


def _last(versions: Sequence[RetainedVersion], amount: int) -> set[Instant]:
    """The newest pages, and every time one of them was seen unchanged.

    Other answers with a body are counted apart, so that a server's bad week, or an advertisement that is another one
    every day, crowds no page out. When a page was found gone stays known: the first answer that said so.
    """
    whole = [one for one in versions if one.refers_at is None]
    pages = [one.fetched_at for one in whole if one.is_page][-amount:]
    others = [one.fetched_at for one in whole if not one.is_page][-amount:]
    bodies = {*pages, *others}
    seen = {one.fetched_at for one in versions if one.refers_at in bodies}
    return bodies | seen | _when_gone([one for one in versions if not pages or one.fetched_at >= pages[0]])


def _when_gone(versions: Sequence[RetainedVersion]) -> set[Instant]:
    found = set()
    is_gone = False
    for one in versions:
        if one.is_page:
            is_gone = False
        elif one.status in VANISHED and not is_gone:
            found.add(one.fetched_at)
            is_gone = True
    return found


def _thinned(versions: Sequence[RetainedVersion], now: Instant) -> set[Instant]:
    chosen = {versions[0].fetched_at}
    of_slot: dict[tuple[int, int], RetainedVersion] = {}
    for one in versions:
        age = now - one.fetched_at
        if age <= ALL_FOR:
            chosen.add(one.fetched_at)
            continue
        span = WEEK if age <= WEEKLY_FOR else MONTH
        slot = (span, one.fetched_at // span)
        before = of_slot.get(slot)
        if before is None or _worth(one) >= _worth(before):
            of_slot[slot] = one
    return chosen | {one.fetched_at for one in of_slot.values()}


def _worth(one: RetainedVersion) -> int:
    """Which of a slot's captures stays: the newest page, or else the newest of the next kind."""
    if one.is_page:
        return 3
    if one.refers_at is not None:
        return 1
    return 2 if 200 <= one.status < 300 else 0


def _held_by_views(versions: Sequence[RetainedVersion]) -> set[Instant]:
    """The newest of all; the newest page, and what may have taken it out of the views since: an answer that says it is
    gone, or any that succeeded and was no page (it may ask not to be indexed, and only reading it would tell).

    Of a URL that never was a page the two newest answers with a body: the next visit may refer to one of them.
    """
    newest_page = next((one.fetched_at for one in reversed(versions) if one.is_page), None)
    held = {versions[-1].fetched_at}
    if newest_page is None:
        return held | set(_newest(versions, 2))
    later = [one for one in versions if one.fetched_at > newest_page]
    gone = [one.fetched_at for one in later if one.status in VANISHED]
    return held | {newest_page, *gone[-1:], *_newest(later)}


def _newest(versions: Iterable[RetainedVersion], amount: int = 0) -> list[Instant]:
    """Successful answers with a body of their own; the last `amount` of them, or all."""
    return [one.fetched_at for one in versions if one.refers_at is None and 200 <= one.status < 300][-amount:]


class Forgotten(msgspec.Struct, frozen=True):
    """Whole hosts, by name, and single pages, by key: whatever their scheme, and however the URL is spelt."""

    hosts: frozenset[str] = frozenset()
    pages: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.hosts or self.pages)

    def has(self, url: Url) -> bool:
        if not self.hosts and not self.pages:
            return False
        return url.host.name in self.hosts or (bool(self.pages) and key_of(url.text) in self.pages)

    @property
    def at(self) -> frozenset[str]:
        """The names of all hosts concerned."""
        return self.hosts | {host_in(key) for key in self.pages}

    def judge(self, url: Url) -> Allowed | Denied:
        if not self.has(url):
            return Allowed()
        what = url.host.name if url.host.name in self.hosts else url.text
        return Denied(f"{what} was forgotten on request; `gossamer forget --allow {what}` takes that back")


NOTHING = Forgotten()


def forgotten_of(hosts: Iterable[str], addresses: Iterable[str]) -> Forgotten:
    """`NOTHING` itself when both are empty: every link that is found is asked about, and most crawls forget none."""
    found = Forgotten(frozenset(hosts), frozenset(map(key_of, addresses)))
    return found if found else NOTHING


def is_like(name: str, host: str) -> bool:
    """Whether somebody who named `host` may have meant this one too: another port of it, a host below it, or one that
    differs in a `www.` alone."""
    here, wanted = _bare(name), _bare(host).removeprefix("www.")
    return name != host and (here == wanted or here.endswith("." + wanted))


def _bare(name: str) -> str:
    """Without its scheme and port."""
    name = name.rpartition(OTHER)[2]
    return name.partition("]")[0] if name.startswith("[") else name.partition(":")[0]


def host_in(key: str) -> str:
    """REQUIRES: what `key_of` gives; a key of another scheme than the web's begins with it."""
    return Url(key if key.partition("/")[0].endswith(":") else f"https://{key}").host.name


def key_of(text: str) -> str:
    """Without the scheme, if it is one of the web. REQUIRES: the text of a `Url`."""
    key = identity_of(text)
    return key.partition("://")[2] if key.startswith(("http://", "https://")) else key
