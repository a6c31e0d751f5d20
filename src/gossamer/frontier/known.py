"""What is stored about hosts and URLs: reads for every room, on either database."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.api import KnownState
from gossamer.frontier.requeue import HAD, MOST_DETAILS, MOST_EXAMPLES, EndRow, is_selected
from gossamer.frontier.rows import HELD, HOWS, REASON_CODES, REASONS, UrlKeys, next_id, parts_of, text_of
from gossamer.store import tallies
from gossamer.store.statements import State, load
from gossamer.values.history import Past, decoded
from gossamer.values.link import Offer
from gossamer.values.outcome import Reason
from gossamer.values.robots import Robots
from gossamer.values.url import Url
from gossamer.values.visit import EndedGroup, Failure, Selection

_SQL = load("gossamer.frontier", "known.sql")
_ROBOTS = msgspec.msgpack.Decoder(Robots)
PLAIN = UrlKeys()


class _Found(NamedTuple):
    """A known URL in its stored spelling, its key, and the other columns of `address`."""

    url: Url
    host_id: int
    id: int
    how: int
    source_host_id: int | None
    source_id: int | None
    depth: int
    hops: int
    failures: int | None
    reason: int | None
    detail: str | None
    settled_at: Instant | None
    due_at: Instant | None


def known(connection: State, url: Url, keys: UrlKeys = PLAIN) -> KnownState | None:
    """None: the URL was never accepted, or is still in the journal (a second or so; longer in a large, busy crawl)."""
    found = _found(connection, url, keys)
    if found is None:
        return None
    place = connection.execute(_SQL["place"], (found.host_id, found.id)).fetchone()
    lane, priority, later_at = place if place is not None else (None, None, None)
    return KnownState(
        url=found.url,
        how=HOWS[found.how],
        source=_source(connection, found.source_host_id or found.host_id, found.source_id),
        source_id=found.source_id,
        depth=found.depth,
        hops=found.hops,
        failures=found.failures or 0,
        reason=None if found.reason is None else REASONS[found.reason],
        detail=found.detail or "",
        settled_at=found.settled_at,
        due_at=found.due_at,
        is_queued=lane is not None and lane < HELD,
        is_held=lane is not None and lane >= HELD,
        priority=priority,
        later_at=later_at or None,
    )


def last_end(connection: State, url: Url, keys: UrlKeys = PLAIN) -> tuple[bool, Reason | None]:
    """Whether the URL is known, and how its last visit ended. Cheaper than `known`: for many URLs."""
    found = _found(connection, url, keys)
    return found is not None, None if found is None or found.reason is None else REASONS[found.reason]


def key_of(connection: State, url: Url, keys: UrlKeys = PLAIN) -> tuple[int, int] | None:
    """The host id and id of a known URL."""
    found = _found(connection, url, keys)
    return None if found is None else (found.host_id, found.id)


def offers_by_page(
    connection: State, offers: Iterable[Offer], pages: Mapping[int, Url], keys: UrlKeys
) -> list[tuple[int | None, int | None, list[Offer]]]:
    """Offers by the page they were found on: its host id and id, if it is among `pages` (by id) and known."""
    found = []
    for source_id, some in groupby(offers, key=lambda offer: offer.source_id):
        page = pages.get(source_id) if source_id is not None else None
        key = key_of(connection, page, keys) if page is not None else None
        found.append((*(key or (None, None)), list(some)))
    return found


def depths_of(connection: State, urls: Sequence[Url], keys: UrlKeys = PLAIN) -> list[int | None]:
    """How many links each URL is from its seed; None: it is not known."""
    found = [_found(connection, url, keys) for url in urls]
    return [None if one is None else one.depth for one in found]


def _found(connection: State, url: Url, keys: UrlKeys) -> _Found | None:
    """Of URLs with the same hash, each has the next free id."""
    _, name, _ = parts_of(url.text)
    host_id = find_host_id(connection, name)
    wanted = keys.text(url.text)
    number = keys.url_id(wanted)
    while host_id is not None:
        row = connection.execute(_SQL["address"], (host_id, number)).fetchone()
        if row is None:
            return None
        text = text_of(row[0], name, row[1])
        if keys.text(text) == wanted:
            return _Found(Url(text), host_id, number, *row[2:])
        number = next_id(number)
    return None


def _source(connection: State, host_id: int, number: int | None) -> Url | None:
    if number is None:
        return None
    row = connection.execute(_SQL["address"], (host_id, number)).fetchone()
    return Url(text_of(row[0], name_of(connection, host_id), row[1])) if row else None


def find_host_id(connection: State, name: str) -> int | None:
    """None: the host is not known."""
    row = connection.execute(_SQL["host_id"], (name,)).fetchone()
    return int(row[0]) if row else None


def name_of(connection: State, host_id: int) -> str:
    """REQUIRES: the host is known."""
    (name,) = connection.execute(_SQL["host_name"], (host_id,)).fetchone()
    return str(name)


def robots_entry(connection: State, host_id: int, lane: int) -> Robots | None:
    """The stored robots.txt of an origin; None: it is not known."""
    row = connection.execute(_SQL["robots_entry"], (host_id, lane)).fetchone()
    return _ROBOTS.decode(row[0]) if row else None


# Earlier results of URLs.


def failures_of(connection: State, url: Url, keys: UrlKeys) -> list[Failure]:
    """Failed visits before the last one, newest first."""
    key = key_of(connection, url, keys)
    rows = connection.execute(_SQL["failures_of"], key).fetchall() if key is not None else ()
    return [Failure(at, REASONS[reason], detail or "") for at, reason, detail in rows]


def keys_of(connection: State, urls: Iterable[Url], keys: UrlKeys) -> Iterator[tuple[int | None, int]]:
    """Host id and id of each URL as it would be stored; a host id of None: the host is not known."""
    host_ids: dict[str, int | None] = {}
    for url in urls:
        _, name, _ = parts_of(url.text)
        if name not in host_ids:
            host_ids[name] = find_host_id(connection, name)
        yield host_ids[name], keys.id(url.text)


def past_at(connection: State, key: tuple[int | None, int]) -> Past | None:
    row = connection.execute(_SQL["past"], key).fetchone()
    return decoded(row[0]) if row is not None else None


def pasts_of(connection: State, urls: Iterable[Url], keys: UrlKeys) -> list[Past | None]:
    """What is remembered about each page."""
    return [past_at(connection, key) for key in keys_of(connection, urls, keys)]


def ended_urls(connection: State, urls: Iterable[Url], keys: UrlKeys) -> list[EndRow]:
    """Those of these URLs that were visited."""
    found = [key_of(connection, url, keys) for url in urls]
    rows = [connection.execute(_SQL["ended_one"], key).fetchone() for key in found if key is not None]
    return [EndRow(*row) for row in rows if row is not None]


def ended(connection: State, selection: Selection, keys: UrlKeys) -> list[EndedGroup]:
    """How the URLs of a selection ended, most frequent first."""
    if selection.urls:
        return _named_groups(connection, selection, keys)
    host_id = find_host_id(connection, selection.host) if selection.host else None
    if selection.host:
        counts = {REASONS[code]: many for code, many in connection.execute(_SQL["counted_at"], (host_id,))}
    else:
        counts = {Reason(name): many for name, many in tallies.counts(connection).by_reason.items()}
    wanted = {reason: many for reason, many in counts.items() if not selection.reasons or reason in selection.reasons}
    ordered = sorted(wanted.items(), key=lambda one: (-one[1], one[0]))
    return [EndedGroup(reason, many, *_examples(connection, reason, host_id)) for reason, many in ordered]


def _examples(
    connection: State, reason: Reason, host_id: int | None
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    """A few URLs and details. Fetched pages have no details, and are too many to look through."""
    where, given = ("as", (REASON_CODES[reason],)) if host_id is None else ("at", (host_id, REASON_CODES[reason]))
    urls = connection.execute(_SQL[f"examples_{where}"], (*given, MOST_EXAMPLES))
    details: Iterable[Any] = ()
    if reason not in HAD:
        details = connection.execute(_SQL[f"details_{where}"], (*given, MOST_DETAILS))
    return tuple([text_of(*row) for row in urls]), tuple([(detail, many) for detail, many in details])


def _named_groups(connection: State, selection: Selection, keys: UrlKeys) -> list[EndedGroup]:
    """REQUIRES: the selection names URLs."""
    found: dict[Reason, list[str]] = {}
    for url in selection.urls:
        for row in ended_urls(connection, [url], keys):
            if is_selected(row, selection):
                found.setdefault(row.reason, []).append(url.text)
    many = Counter({reason: len(urls) for reason, urls in found.items()})
    return [EndedGroup(reason, amount, tuple(found[reason][:MOST_EXAMPLES])) for reason, amount in many.most_common()]
