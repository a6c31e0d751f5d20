"""Offers become known addresses: "met before? if not, now it is", for many crawlers at once.

Every transaction that enters addresses does so in order of their key and before it changes any, so that two can never
wait for each other in a ring. It does not touch the rows of the hosts it found addresses for: others may be busy with
them. It leaves mail.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from gossamer.frontier.api import FrontierRules
from gossamer.frontier.priority import HEAD, MOST_RAISED, band_of, linked, priority_of, raised
from gossamer.frontier.rows import HELD, UrlKeys, name_in, next_id
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, numbers, texts
from gossamer.store.statements import load
from gossamer.values.link import How, Offer
from gossamer.values.url import Host, id_of

_SQL = load("gossamer.frontier.postgres")

MOST_AT_ONCE = 1 << 20
"""Offers in one batch; a place in the queue is the batch's number and the place in it."""
Letter = tuple[int, int | None, int]
"""What a host is told: bits for the hosts that link to it, the best band of what has come, how much of it is held."""


class SourcedOffer(NamedTuple):
    """An offer, and the name of the host it was found on; None for seeds."""

    offer: Offer
    source: str | None


class _Row(NamedTuple):
    """An address as it will be entered; sorted by its key."""

    host_id: int
    id: int
    lane: int
    sequence: int
    priority: int
    met: SourcedOffer


class Entering:
    """Enters offers inside the caller's transaction."""

    def __init__(self, connection: Connection, rules: FrontierRules) -> None:
        self._connection = connection
        self._rules = rules
        self.known: list[tuple[tuple[int, int], SourcedOffer]] = []
        """What turned out to be known: host id and id, and how it was met now."""
        self.new: list[SourcedOffer] = []
        """What turned out not to be."""

    def enter(self, met: Sequence[SourcedOffer]) -> tuple[int, dict[str, int]]:
        """How many were new, and how the counters move. REQUIRES: at most MOST_AT_ONCE; each may enter."""
        if not met:
            return 0, {}
        nearest = nearest_of(met, self._rules.keys)
        host_ids, new_hosts = self.host_ids({host_of(one.offer.url.text) for one, _, _ in nearest.values()})
        rows = self._laid_out(nearest, host_ids)
        fresh = self._entered(rows)
        self.new = [row.met for row in fresh]
        if len(fresh) < len(rows):
            entered = {row.met for row in fresh}
            self.known = [(row[:2], row.met) for row in rows if row.met not in entered]
        held = self._queue(fresh)
        moves = {tallies.KNOWN: len(fresh), tallies.QUEUED: len(fresh) - held, tallies.HOSTS: new_hosts}
        return len(fresh), moves | ({tallies.QUARANTINED: held} if held else {})

    def host_ids(self, names: Iterable[str]) -> tuple[dict[str, int], int]:
        """The ids of hosts, and how many were met for the first time. Names are compared: hashes may collide."""
        found: dict[str, int] = {}
        new = 0
        wanted = {name: Host(name).id for name in names}
        while wanted:
            taken = self._names_at(wanted.values())
            free = {number: name for name, number in wanted.items() if number not in taken}
            if free:
                new += self._meet_hosts(free)
                taken |= self._names_at(free)
            found |= {name: number for name, number in wanted.items() if taken[number] == name}
            wanted = {name: next_id(number) for name, number in wanted.items() if name not in found}
        return found, new

    def mail(self, host_ids: Iterable[int]) -> None:
        """Word to hosts whose rows we do not hold."""
        self._send(dict.fromkeys(host_ids, (0, None, 0)))

    def _names_at(self, wanted: Iterable[int]) -> dict[int, str]:
        return dict(self._connection.execute(_SQL["host_names"], {"ids": numbers(wanted)}).fetchall())

    def _meet_hosts(self, free: Mapping[int, str]) -> int:
        """Two names of one hash in `free` are one entry; the second looks for the next id in the caller's loop."""
        given = {"ids": numbers(free), "names": texts(free.values())}
        return self._connection.execute(_SQL["hosts_met"], given).rowcount

    def _laid_out(
        self, nearest: Mapping[str, tuple[SourcedOffer, int, set[str]]], host_ids: Mapping[str, int]
    ) -> list[_Row]:
        (number,) = self._connection.execute(_SQL["offer_number"]).fetchone() or (0,)
        first = number * MOST_AT_ONCE
        rules = self._rules
        rows = []
        for identity, (met, place, sources) in nearest.items():
            offer = met.offer
            name = host_of(offer.url.text)
            others = len(sources) - (name in sources)
            nudge = rules.nudge(offer) if rules.nudge is not None else 0
            priority = priority_of(offer.how, offer.depth, offer.hint, nudge, others)
            lane = int(offer.url.text.startswith("https:"))
            rows.append(_Row(host_ids[name], rules.keys.url_id(identity), lane, first + place, priority, met))
        rows.sort(key=lambda row: row[:4])
        return rows

    def _entered(self, rows: Sequence[_Row]) -> list[_Row]:
        """Those that were not known. An address whose id another has takes the next free one."""
        fresh: list[_Row] = []
        while rows:
            first = {row[:2]: row for row in reversed(rows)}  # two of one batch may share an id
            asked = list(first.values())[::-1]
            keys, others, known = self._ask(asked)
            fresh += [row for row in asked if row[:2] in keys]
            if len(keys) + known < len(asked):  # somebody else entered some of them just now
                late = [row for row in asked if row[:2] not in keys]
                others = [(late[place], text) for place, text in self._others(late)]
            doubled = [row for row in rows if first[row[:2]] is not row]
            others += [(doubled[place], text) for place, text in self._others(doubled)]
            rows = self._renumbered(others)
        return fresh

    def _ask(self, rows: Sequence[_Row]) -> tuple[set[tuple[int, int]], list[tuple[_Row, str]], int]:
        """The keys of those that were entered, those whose id another text has, how many ids were taken."""
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
        columns = _columns(rows)
        given = {name: columns[name] for name in ("places", "host_ids", "ids", "urls")}
        return self._connection.execute(_SQL["others"], given).fetchall()

    def _renumbered(self, others: Iterable[tuple[_Row, str]]) -> list[_Row]:
        """Rows whose id has another address, not one that is theirs spelt otherwise: each with the id after it."""
        identity = self._rules.keys.text
        found = [
            row._replace(id=next_id(row.id))
            for row, text in others
            if identity(text) != identity(row.met.offer.url.text)
        ]
        return sorted(found, key=lambda row: row[:4])

    def _queue(self, fresh: Sequence[_Row]) -> int:
        """New addresses wait, those of a quarantined template apart from the others; says how many are held."""
        if not fresh:
            return 0
        held = self._held(fresh)
        rows = [row._replace(lane=row.lane + HELD) if (row.host_id, row.id) in held else row for row in fresh]
        given = {
            "host_ids": numbers([row.host_id for row in rows]),
            "lanes": numbers([row.lane for row in rows]),
            "priorities": numbers([row.priority for row in rows]),
            "sequences": numbers([row.sequence for row in rows]),
            "ids": numbers([row.id for row in rows]),
            "later_ats": [0] * len(rows),
        }
        self._connection.execute(_SQL["queued"], given)
        self._send(letters(rows))
        return len(held)

    def _held(self, fresh: Sequence[_Row]) -> dict[tuple[int, int], int]:
        """Keys of the addresses that belong to a quarantined template, and that template's id."""
        template_of = self._rules.template_of
        if template_of is None:
            return {}
        hosts = {"hosts": list({row.host_id for row in fresh})}
        quarantined = set(self._connection.execute(_SQL["quarantined"], hosts).fetchall())
        if not quarantined:
            return {}
        suspects = {host_id for host_id, _ in quarantined}
        found = {}
        for row in fresh:
            if row.host_id in suspects:
                template = id_of(template_of(row.met.offer.url.text))
                if (row.host_id, template) in quarantined:
                    found[row.host_id, row.id] = template
        self.hold(found)
        return found

    def hold(self, found: Mapping[tuple[int, int], int]) -> None:
        """Count addresses that were put into quarantine under their template."""
        amounts: dict[tuple[int, int], int] = {}
        for (host_id, _), template in found.items():
            amounts[host_id, template] = amounts.get((host_id, template), 0) + 1
        keys = sorted(amounts)
        given = {
            "host_ids": [host_id for host_id, _ in keys],
            "ids": [template for _, template in keys],
            "amounts": [amounts[key] for key in keys],
        }
        if keys:
            self._connection.execute(_SQL["template_held"], given)

    def _send(self, letters: Mapping[int, Letter]) -> None:
        if letters:
            given = {
                "hosts": numbers(letters),
                "linked": numbers([letter[0] for letter in letters.values()]),
                "bands": numbers([letter[1] for letter in letters.values()]),
                "held": numbers([letter[2] for letter in letters.values()]),
            }
            self._connection.execute(_SQL["mailed"], given)


def nearest_of(met: Sequence[SourcedOffer], keys: UrlKeys) -> dict[str, tuple[SourcedOffer, int, set[str]]]:
    """Each address once, by its identity: as it was met nearest to its seed, its place, the hosts that link to it."""
    found: dict[str, tuple[SourcedOffer, int, set[str]]] = {}
    for place, one in enumerate(met):
        key = keys.text(one.offer.url.text)
        earlier = found.get(key)
        if earlier is None:
            found[key] = (one, place, {one.source} if one.source else set())
            continue
        if one.source:
            earlier[2].add(one.source)
        if one.offer.depth < earlier[0].offer.depth:
            nearer = msgspec.structs.replace(one.offer, url=earlier[0].offer.url)  # what is fetched was met first
            found[key] = (SourcedOffer(nearer, one.source), earlier[1], earlier[2])
    return found


def letters(rows: Iterable[_Row]) -> dict[int, Letter]:
    """What each host is told: who links to it, the best band of what has come, how much of it is held."""
    found: dict[int, Letter] = {}
    for row in rows:
        bits, band, held = found.get(row.host_id, (0, None, 0))
        source = row.met.source
        if source is not None and source != host_of(row.met.offer.url.text):
            bits = linked(bits, source)
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
    offers = [row.met.offer for row in rows]
    sources = {source: None if source is None else Host(source).id for source in {row.met.source for row in rows}}
    return {
        "places": numbers(range(len(rows))),
        "host_ids": numbers([row.host_id for row in rows]),
        "ids": numbers([row.id for row in rows]),
        "urls": texts([offer.url.text for offer in offers]),
        "hows": texts([offer.how.value for offer in offers]),
        "source_host_ids": numbers([sources[row.met.source] for row in rows]),
        "source_ids": numbers([offer.source_id for offer in offers]),
        "depths": numbers([offer.depth for offer in offers]),
        "hops": numbers([offer.hops for offer in offers]),
    }


# Links from other hosts count also for an address that waits already, in a shared crawl. See `raising`.

Key = tuple[int, int]
"""Host id and id of an address."""


def linked_of(known: Iterable[tuple[Key, SourcedOffer]]) -> dict[Key, Offer]:
    """Of addresses that were known those that were met on another host."""
    found: dict[Key, Offer] = {}
    for key, met in known:
        scheme, _, name, _ = met.offer.url.text.split("/", 3)
        if met.source is not None and met.source != name_in(scheme, name) and len(found) < MOST_RAISED:
            found[key] = met.offer
    return found


def raise_linked(connection: Connection, linked: dict[Key, Offer], nudge: Callable[[Offer], int] | None) -> int:
    """To be called last in a transaction: it locks hosts, waits for none, and whoever waits for them waits shortly.
    A host that another crawler is busy with is passed over, and so is the address that is out. Says how many moved."""
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
        names = ("host_ids", "lanes", "priorities", "sequences", "betters")
        columns = dict(zip(names, map(list, zip(*moved, strict=True)), strict=True))
        connection.execute(_SQL["raised"], columns)
        best: dict[int, int] = {}
        for host_id, *_, better in moved:
            best[host_id] = min(band_of(better), best.get(host_id, band_of(better)))
        connection.execute(_SQL["hosts_raised"], {"host_ids": list(best), "bands": list(best.values())})
    return len(moved)
