"""Offers become known URLs, with many crawlers offering at once.

Every transaction adds URLs in order of their key and before it changes any, so that two can never deadlock. It does not
change the rows of the hosts that the URLs belong to, which other crawlers may have locked: it leaves mail for them.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gossamer.frontier.api import FrontierRules
from gossamer.frontier.postgres.hosts import count_held, quarantined_at
from gossamer.frontier.priority import HEAD, MOST_RAISED, band_of, linked_by, priority_of, raised
from gossamer.frontier.rows import HELD, UrlKeys, name_in, next_id
from gossamer.store import tallies
from gossamer.store.forgotten import forgotten_of
from gossamer.store.postgres.database import Connection, columns, numbers, texts
from gossamer.store.statements import load
from gossamer.values.link import How, Offer
from gossamer.values.url import Host, id_of

_SQL = load("gossamer.frontier.postgres")

MOST_AT_ONCE = 1 << 20
"""Offers in one batch; a place in the queue is the batch's number and the place in it."""
Letter = tuple[int, int | None, int]
"""Mail for a host: bits for the hosts that link to it, the best band of its new URLs, and how many of them are held."""


class SourcedOffer(NamedTuple):
    """An offer, and the name of the host it was found on; None for seeds."""

    offer: Offer
    source: str | None


class _Row(NamedTuple):
    """A URL as it will be added; sorted by its key."""

    host_id: int
    id: int
    lane: int
    sequence: int
    priority: int
    found: SourcedOffer


class Entering:
    """Adds offers inside the caller's transaction."""

    def __init__(self, connection: Connection, rules: FrontierRules) -> None:
        self._connection = connection
        self._rules = rules
        self.known: list[tuple[tuple[int, int], SourcedOffer]] = []
        """Offers that were known already, with host id and id."""
        self.new: list[SourcedOffer] = []
        """The others."""

    def enter(self, offers: Sequence[SourcedOffer]) -> tuple[int, dict[str, int]]:
        """How many were new, and how the counters move. REQUIRES: at most MOST_AT_ONCE; each may enter."""
        if not offers:
            return 0, {}
        nearest = nearest_of(offers, self._rules.keys)
        host_ids, new_hosts = self.host_ids({host_of(one.offer.url.text) for one, _, _ in nearest.values()})
        rows = self._laid_out(nearest, host_ids)
        fresh = self._without_forgotten(self._entered(rows))
        self.new = [row.found for row in fresh]
        if len(fresh) < len(rows):
            entered = {row.found for row in fresh}
            self.known = [(row[:2], row.found) for row in rows if row.found not in entered]
        links: dict[int, int] = {}
        for found, _, sources in nearest.values():
            name = host_of(found.offer.url.text)
            links[host_ids[name]] = links.get(host_ids[name], 0) | linked_by(sources - {name})
        held = self._queue(fresh, links)
        moves = {tallies.KNOWN: len(fresh), tallies.QUEUED: len(fresh) - held, tallies.HOSTS: new_hosts}
        return len(fresh), moves | ({tallies.QUARANTINED: held} if held else {})

    def host_ids(self, names: Iterable[str]) -> tuple[dict[str, int], int]:
        """The ids of hosts, and how many hosts are new. Names are compared: hashes may collide."""
        found: dict[str, int] = {}
        new = 0
        wanted = {name: Host(name).id for name in names}
        while wanted:
            taken = self._names_at(wanted.values())
            free = {number: name for name, number in wanted.items() if number not in taken}
            if free:
                # two names of one hash in `free` are one entry; the second takes the next id in the next round
                given = {"ids": numbers(free), "names": texts(free.values())}
                new += self._connection.execute(_SQL["hosts_added"], given).rowcount
                taken |= self._names_at(free)
            found |= {name: number for name, number in wanted.items() if taken[number] == name}
            wanted = {name: next_id(number) for name, number in wanted.items() if name not in found}
        return found, new

    def mail(self, host_ids: Iterable[int]) -> None:
        """Wake hosts whose rows this transaction has not locked."""
        self._send(dict.fromkeys(host_ids, (0, None, 0)))

    def _names_at(self, wanted: Iterable[int]) -> dict[int, str]:
        return dict(self._connection.execute(_SQL["host_names"], {"ids": numbers(wanted)}).fetchall())

    def _without_forgotten(self, fresh: list[_Row]) -> list[_Row]:
        """What was forgotten is taken out again. The look comes after the insert: see `maintenance.block`."""
        if not fresh:
            return fresh
        hosts = sorted({host_of(row.found.offer.url.text) for row in fresh})
        entries = self._connection.execute(_SQL["forgotten_at"], {"hosts": hosts}).fetchall()
        if not entries:
            return fresh
        gone = forgotten_of(
            [name for name, is_host in entries if is_host], [name for name, is_host in entries if not is_host]
        )
        out = [row[:2] for row in fresh if gone.has(row.found.offer.url)]
        if out:
            self._connection.execute(_SQL["taken_out"], columns("host_ids ids", out))
        return [row for row in fresh if row[:2] not in set(out)]

    def _laid_out(
        self, nearest: Mapping[str, tuple[SourcedOffer, int, set[str]]], host_ids: Mapping[str, int]
    ) -> list[_Row]:
        (number,) = self._connection.execute(_SQL["offer_number"]).fetchone() or (0,)
        first = number * MOST_AT_ONCE
        rules = self._rules
        rows = []
        for identity, (found, place, sources) in nearest.items():
            offer = found.offer
            name = host_of(offer.url.text)
            others = len(sources) - (name in sources)
            nudge = rules.nudge(offer) if rules.nudge is not None else 0
            priority = priority_of(offer.how, offer.depth, offer.hint, nudge, others)
            lane = int(offer.url.text.startswith("https:"))
            rows.append(_Row(host_ids[name], rules.keys.url_id(identity), lane, first + place, priority, found))
        rows.sort(key=lambda row: row[:4])
        return rows

    def _entered(self, rows: Sequence[_Row]) -> list[_Row]:
        """Those that were not known. A URL whose id another one has takes the next free id."""
        fresh: list[_Row] = []
        while rows:
            first = {row[:2]: row for row in reversed(rows)}  # two of one batch may share an id
            asked = list(first.values())[::-1]
            keys, others, known = self._ask(asked)
            fresh += [row for row in asked if row[:2] in keys]
            if len(keys) + known < len(asked):  # another crawler added some of them just now
                late = [row for row in asked if row[:2] not in keys]
                others = [(late[place], text) for place, text in self._others(late)]
            doubled = [row for row in rows if first[row[:2]] is not row]
            others += [(doubled[place], text) for place, text in self._others(doubled)]
            rows = self._renumbered(others)
        return fresh

    def _ask(self, rows: Sequence[_Row]) -> tuple[set[tuple[int, int]], list[tuple[_Row, str]], int]:
        """The keys of those that were added, those whose id another text has, and how many ids were taken."""
        keys, others, known = set(), [], 0
        for kind, number, address_id, text in self._connection.execute(_SQL["entered"], _columns(rows)):
            if kind == 0:
                keys.add((number, address_id))
            elif kind == 1:
                others.append((rows[number], text))
            else:
                known = number
        return keys, others, known

    def _others(self, rows: Sequence[_Row]) -> list[tuple[int, str]]:
        if not rows:
            return []
        every = _columns(rows)
        given = {name: every[name] for name in ("places", "host_ids", "ids", "urls")}
        return self._connection.execute(_SQL["others"], given).fetchall()

    def _renumbered(self, others: Iterable[tuple[_Row, str]]) -> list[_Row]:
        """Rows whose id belongs to another URL, not to another spelling of theirs: each with the next id."""
        identity = self._rules.keys.text
        found = [
            row._replace(id=next_id(row.id))
            for row, text in others
            if identity(text) != identity(row.found.offer.url.text)
        ]
        return sorted(found, key=lambda row: row[:4])

    def _queue(self, fresh: Sequence[_Row], links: Mapping[int, int]) -> int:
        """Queue new URLs, and hold those of a quarantined template; returns how many are held. `links`: bits of the
        hosts that link to each host, also to what is known there."""
        if not fresh:
            self._send(letters([], links))
            return 0
        held = self._held(fresh)
        count_held(self._connection, held.values())
        rows = [row._replace(lane=row.lane + HELD) if row[:2] in held else row for row in fresh]
        given = {
            "host_ids": numbers([row.host_id for row in rows]),
            "lanes": numbers([row.lane for row in rows]),
            "priorities": numbers([row.priority for row in rows]),
            "sequences": numbers([row.sequence for row in rows]),
            "ids": numbers([row.id for row in rows]),
            "later_ats": [0] * len(rows),
        }
        self._connection.execute(_SQL["queued"], given)
        self._send(letters(rows, links))
        return len(held)

    def _held(self, fresh: Sequence[_Row]) -> dict[tuple[int, int], tuple[int, int]]:
        """Keys of URLs that belong to a quarantined template, each with the host id and id of the template."""
        template_of = self._rules.template_of
        if template_of is None:
            return {}
        quarantined = quarantined_at(self._connection, [row.host_id for row in fresh])
        suspects = {host_id for host_id, _ in quarantined}
        found = {
            row[:2]: (row.host_id, id_of(template_of(row.found.offer.url.text)))
            for row in fresh
            if row.host_id in suspects
        }
        return {key: template for key, template in found.items() if template in quarantined}

    def _send(self, letters: Mapping[int, Letter]) -> None:
        if letters:
            given = {
                "hosts": numbers(letters),
                "linked": numbers([letter[0] for letter in letters.values()]),
                "bands": numbers([letter[1] for letter in letters.values()]),
                "held": numbers([letter[2] for letter in letters.values()]),
            }
            self._connection.execute(_SQL["mailed"], given)


def nearest_of(offers: Sequence[SourcedOffer], keys: UrlKeys) -> dict[str, tuple[SourcedOffer, int, set[str]]]:
    """Each URL once, by its identity: as it was found nearest to its seed, its place, and the hosts that link to it."""
    found: dict[str, tuple[SourcedOffer, int, set[str]]] = {}
    for place, one in enumerate(offers):
        key = keys.text(one.offer.url.text)
        earlier = found.get(key)
        if earlier is None:
            found[key] = (one, place, {one.source} if one.source else set())
            continue
        if one.source:
            earlier[2].add(one.source)
        if one.offer.depth < earlier[0].offer.depth:
            nearer = msgspec.structs.replace(one.offer, url=earlier[0].offer.url)  # the first spelling is fetched
            found[key] = (SourcedOffer(nearer, one.source), earlier[1], earlier[2])
    return found


def letters(rows: Iterable[_Row], links: Mapping[int, int]) -> dict[int, Letter]:
    """The mail for each host."""
    found: dict[int, Letter] = {host_id: (bits, None, 0) for host_id, bits in links.items() if bits}
    for row in rows:
        bits, band, held = found.get(row.host_id, (0, None, 0))
        is_held = row.lane >= HELD
        if not is_held:
            band = band_of(row.priority) if band is None else min(band, band_of(row.priority))
        found[row.host_id] = (bits, band, held + is_held)
    return found


def host_of(text: str) -> str:
    """The host's name in the text of a Url."""
    scheme, _, name, _ = text.split("/", 3)
    return name_in(scheme, name)


def _columns(rows: Sequence[_Row]) -> dict[str, str]:
    offers = [row.found.offer for row in rows]
    sources = {source: None if source is None else Host(source).id for source in {row.found.source for row in rows}}
    return {
        "places": numbers(range(len(rows))),
        "host_ids": numbers([row.host_id for row in rows]),
        "ids": numbers([row.id for row in rows]),
        "urls": texts([offer.url.text for offer in offers]),
        "hows": texts([offer.how.value for offer in offers]),
        "source_host_ids": numbers([sources[row.found.source] for row in rows]),
        "source_ids": numbers([offer.source_id for offer in offers]),
        "depths": numbers([offer.depth for offer in offers]),
        "hops": numbers([offer.hops for offer in offers]),
    }


# Links from other hosts also count for a URL that already waits: it moves towards the head of its lane.

Key = tuple[int, int]
"""Host id and id of a URL."""


def linked_of(known: Iterable[tuple[Key, SourcedOffer]]) -> dict[Key, Offer]:
    """Those known URLs that were found on another host."""
    linked = [
        (key, found.offer)
        for key, found in known
        if found.source is not None and found.source != host_of(found.offer.url.text)
    ]
    return dict(linked[:MOST_RAISED])


def raise_linked(connection: Connection, linked: dict[Key, Offer], nudge: Callable[[Offer], int] | None) -> int:
    """Returns how many moved. REQUIRES: called last in a transaction: it locks hosts, waits for none, and keeps others
    waiting only briefly. Hosts locked by another crawler are skipped, and so is the leased URL of each host."""
    if not linked:
        return 0
    hosts = {"hosts": sorted({host_id for host_id, _ in linked})}
    visiting: dict[int, int | None] = dict(connection.execute(_SQL["hosts_still"], hosts).fetchall())
    given = {"hosts": list(visiting), "ids": [address_id for _, address_id in linked], "head": HEAD}
    moved = []
    for host_id, lane, priority, sequence, address_id, how, depth in connection.execute(
        _SQL["heads"], given
    ).fetchall():
        offer = linked.get((host_id, address_id))
        if offer is not None and address_id != visiting[host_id]:
            better = raised(priority, How(how), depth, nudge(offer) if nudge is not None else 0)
            if better < priority:
                moved.append((host_id, lane, priority, sequence, better))
    if moved:
        connection.execute(_SQL["raised"], columns("host_ids lanes priorities sequences betters", moved))
        best: dict[int, int] = {}
        for host_id, *_, better in moved:
            best[host_id] = min(band_of(better), best.get(host_id, band_of(better)))
        connection.execute(_SQL["hosts_raised"], columns("host_ids bands", best.items()))
    return len(moved)
