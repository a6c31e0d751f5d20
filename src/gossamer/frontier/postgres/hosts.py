"""Hosts in the shared frontier: ids, retirement, robots.txt entries and quarantine."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import msgspec

from gossamer.base.clock import Instant
from gossamer.frontier.leases import RobotsCache
from gossamer.frontier.postgres.presence import tally
from gossamer.frontier.rows import HELD, lane_of, next_id
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection, columns
from gossamer.store.statements import load
from gossamer.values.robots import Robots
from gossamer.values.url import Host, Url, id_of

_SQL = load("gossamer.frontier.postgres")
_DECODER = msgspec.msgpack.Decoder(Robots)
_ENCODER = msgspec.msgpack.Encoder()


def find_host_id(connection: Connection, name: str) -> int | None:
    """None: the host is not known."""
    number = Host(name).id
    while row := connection.execute(_SQL["host_names"], {"ids": [number]}).fetchone():
        if row[1] == name:
            return number
        number = next_id(number)
    return None


def retire(connection: Connection, worker_id: int, name: str, why: str, now: Instant) -> bool:
    """False: the host is not known, or already retired."""
    host_id = find_host_id(connection, name)
    if host_id is None or locked(connection, host_id)[1] is not None:
        return False
    connection.execute(_SQL["host_retired"], {"host_id": host_id, "now": now, "why": why})
    tally(connection, worker_id, {tallies.RETIRED: 1})
    return True


def reinstate(connection: Connection, worker_id: int, name: str) -> bool:
    """False: the host is not known, or not retired."""
    host_id = find_host_id(connection, name)
    if host_id is None or locked(connection, host_id)[1] is None:
        return False
    connection.execute(_SQL["host_reinstated"], {"host_id": host_id})
    tally(connection, worker_id, {tallies.RETIRED: -1})
    return True


def locked(connection: Connection, host_id: int) -> tuple[bool, Instant | None, int | None]:
    """Whether the host is leased, when it was retired, and which of its pages is leased. REQUIRES: it is known."""
    row = connection.execute(_SQL["host_named"], {"host_id": host_id}).fetchone()
    assert row is not None
    return row[1], row[2], row[3]


class SharedRulebook:
    """Robots entries by host id and lane, in shared time. A version tells whether the copy in memory is current."""

    def __init__(self) -> None:
        self._cache = RobotsCache[int]()

    def of(self, connection: Connection, url: Url) -> Robots | None:
        """The robots.txt of the origin of a URL; None: it is not known."""
        host_id = find_host_id(connection, url.host.name)
        key = (host_id or 0, lane_of(url.text))
        return None if host_id is None else self.entries(connection, {key: None}).get(key)

    def entries(
        self, connection: Connection, wanted: Mapping[tuple[int, int], int | None]
    ) -> dict[tuple[int, int], Robots | None]:
        """`wanted`: host ids and lanes, each with its version; None: that is not known."""
        found: dict[tuple[int, int], Robots | None] = {}
        missing = []
        for key, version in wanted.items():
            held = self._cache.get(key)
            if held is not None and held[1] == version:
                found[key] = held[0]
            else:
                missing.append(key)
        if missing:
            for host_id, lane, version, entry in connection.execute(
                _SQL["robots_entries"], columns("hosts lanes", missing)
            ):
                robots = found[host_id, lane] = _DECODER.decode(entry)
                # versions are never used twice, so a copy read in a transaction that fails later does no harm
                self._cache.put((host_id, lane), robots, version)
        return found

    def keep(self, connection: Connection, host_id: int, lane: int, robots: Robots) -> None:
        """Write an entry inside the caller's transaction."""
        delay_s = robots.crawl_delay_s
        asked = delay_s if delay_s is not None and delay_s > 0 else None  # not NaN, not negative
        key = {"host_id": host_id, "lane": lane}
        connection.execute(_SQL["robots_kept"], {**key, "delay_s": asked, "entry": _ENCODER.encode(robots)})


OPEN_LANES, HELD_LANES = [0, 1], [HELD, HELD + 1]
MOST_MOVED = 10_000
"""Waiting URLs that are moved when their template is quarantined."""
MOST_AT_TURN = 1_000
"""Those checked when one of them is found at its turn."""


def quarantine(
    connection: Connection, worker_id: int, host_id: int, template: str, template_of: Callable[[str], str], now: Instant
) -> int:
    """Hold the URLs of a template from now on; returns how many waiting ones were held at once."""
    visiting = locked(connection, host_id)[2]
    templates_seen(connection, [(host_id, id_of(template), template, 0, 0)])
    held, moves = hold_back(connection, host_id, visiting, template, template_of, now)
    tally(connection, worker_id, moves)
    return held


def templates_seen(
    connection: Connection, rows: Sequence[tuple[int, int, str, int, int]]
) -> list[tuple[int, str, int, int, Instant | None]]:
    """Count by host and template what visits brought: host, id, template, pages fetched, those that brought something.
    Returns (host, template, fetched, fruitful, quarantined since) with the sums."""
    if not rows:
        return []
    names = "host_ids ids templates fetched fruitful"
    return connection.execute(_SQL["templates_seen"], columns(names, rows)).fetchall()


def hold_back(
    connection: Connection,
    host_id: int,
    visiting: int | None,
    template: str,
    template_of: Callable[[str], str],
    now: Instant,
) -> tuple[int, dict[str, int]]:
    """Hold up to MOST_MOVED waiting URLs of a template; the others are held when their turn comes. Returns how many,
    and how the counters move. REQUIRES: the host is locked, the template known."""
    given = {"host_id": host_id, "lanes": OPEN_LANES, "visiting": visiting, "most": MOST_MOVED}
    ids = [number for number, url in connection.execute(_SQL["waiting_at"], given) if template_of(url) == template]
    changed = {"host_id": host_id, "lanes": OPEN_LANES, "ids": ids, "by": HELD}
    connection.execute(_SQL["lanes_changed"], changed)
    _judged(connection, "template_quarantined", host_id, template, len(ids), at=now)
    return len(ids), held_moves(len(ids))


def release(connection: Connection, worker_id: int, name: str, template: str, template_of: Callable[[str], str]) -> int:
    """Queue the held URLs of a template again and reset its counts; returns how many."""
    host_id = find_host_id(connection, name)
    if host_id is None:
        return 0
    is_leased, retired_at, _ = locked(connection, host_id)
    given = {"host_id": host_id, "lanes": HELD_LANES, "visiting": None, "most": None}
    ids = [number for number, url in connection.execute(_SQL["waiting_at"], given) if template_of(url) == template]
    connection.execute(_SQL["lanes_changed"], {"host_id": host_id, "lanes": HELD_LANES, "ids": ids, "by": -HELD})
    _judged(connection, "template_released", host_id, template, -len(ids))
    if not is_leased and retired_at is None:
        connection.execute(_SQL["host_woken"], {"host_id": host_id})
    tally(connection, worker_id, held_moves(-len(ids)))
    return len(ids)


def held_moves(amount: int) -> dict[str, int]:
    """How the counters move when waiting URLs are held."""
    return {tallies.QUEUED: -amount, tallies.QUARANTINED: amount}


def _judged(
    connection: Connection, statement: str, host_id: int, template: str, held: int, at: Instant | None = None
) -> None:
    connection.execute(_SQL[statement], {"host_id": host_id, "id": id_of(template), "at": at, "held": held})
    connection.execute(_SQL["host_holds"], {"host_id": host_id, "more": held})


def quarantined_at(connection: Connection, host_ids: Iterable[int]) -> set[tuple[int, int]]:
    """Host ids and ids of the quarantined templates of these hosts."""
    return set(connection.execute(_SQL["quarantined"], {"hosts": list(set(host_ids))}).fetchall())


def count_held(connection: Connection, templates: Iterable[tuple[int, int]]) -> None:
    """Count newly held URLs, given the host id and template id of each."""
    rows = [(*key, amount) for key, amount in sorted(Counter(templates).items())]
    if rows:
        connection.execute(_SQL["template_held"], columns("host_ids ids amounts", rows))


def hold_due(
    connection: Connection, worker_id: int, due: Iterable[tuple[int, int, str]], template_of: Callable[[str], str]
) -> set[int]:
    """Of URLs whose turn has come (host id, lane, text), hold those of a quarantined template, and up to MOST_AT_TURN
    behind them likewise. Returns the hosts where any were. REQUIRES: the hosts are locked."""
    rows = list(due)
    quarantined = quarantined_at(connection, [row[0] for row in rows]) if rows else set()
    changed = set()
    for host_id, lane, url in rows:
        if quarantined and (host_id, id_of(template_of(url))) in quarantined:
            key = {"host_id": host_id, "lane": lane, "most": MOST_AT_TURN}
            waiting = connection.execute(_SQL["first_waiting"], key).fetchall()
            found = [(number, (host_id, id_of(template_of(text)))) for number, text in waiting]
            held = {number: template for number, template in found if template in quarantined}
            moved = {"host_id": host_id, "lanes": [lane], "ids": list(held), "by": HELD}
            connection.execute(_SQL["lanes_changed"], moved)
            count_held(connection, held.values())
            connection.execute(_SQL["host_holds"], {"host_id": host_id, "more": len(held)})
            tally(connection, worker_id, held_moves(len(held)))
            changed.add(host_id)
    return changed
