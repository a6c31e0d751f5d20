"""Requeueing and rescheduling in the shared frontier: URLs that were fetched or refused wait again."""

from collections.abc import Sequence
from typing import NamedTuple

from gossamer.base.clock import DAY, Instant
from gossamer.frontier.api import FrontierRules
from gossamer.frontier.postgres.hosts import SharedRulebook, find_host_id
from gossamer.frontier.postgres.presence import SharedMoment, tally
from gossamer.frontier.postgres.sieve import MOST_AT_ONCE, Entering
from gossamer.frontier.priority import priority_of
from gossamer.frontier.requeue import (
    ASKS_ROBOTS,
    AT_ONCE,
    FIRST,
    HAD,
    MENDABLE,
    MOST_DETAILS,
    MOST_EXAMPLES,
    begun,
    free_at,
    noted,
)
from gossamer.frontier.rows import UrlKeys, lane_of, next_id
from gossamer.store import tallies
from gossamer.store.postgres.database import Connection
from gossamer.store.statements import load
from gossamer.values.history import Past, Reschedule, decoded, encoded
from gossamer.values.link import How
from gossamer.values.outcome import Reason
from gossamer.values.url import Url
from gossamer.values.visit import EndedGroup, Failure, Selection

# A new start for what failed, in a shared crawl: the person gives the same command again because it is mended.


def revive(connection: Connection, worker_id: int, seeds: Sequence[Url], rules: FrontierRules) -> int:
    """Queue seeds again that ended in a mendable way, and whatever was given up for want of a robots.txt.

    Several crawlers may start together: each address is revived by the first. Says how many wait again.
    """
    entering = Entering(connection, rules)
    host_ids, new_hosts = entering.host_ids({seed.host.name for seed in seeds})
    given = {
        "host_ids": [host_ids[seed.host.name] for seed in seeds],
        "ids": [rules.keys.id(seed.text) for seed in seeds],
        "reasons": [reason.value for reason in MENDABLE - {Reason.ROBOTS_UNREACHABLE}],
    }
    rows = connection.execute(_SQL["revived"], given).fetchall()
    rows += connection.execute(_SQL["given_up_revived"]).fetchall()
    if rows:
        queue(connection, rows)
        start_afresh(connection, rows)
        entering.mail(sorted({row[0] for row in rows}))
    tally(connection, worker_id, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows), tallies.HOSTS: new_hosts})
    return len(rows)


def recall(connection: Connection, worker_id: int, rules: FrontierRules, rulebook: SharedRulebook, now: Instant) -> int:
    """Queue every page again that was fetched and waits for nothing, to be visited when its host's Recrawl-delay is
    over; says how many."""
    given: dict[str, object] = {"reasons": [Reason.FETCHED.value, Reason.UNCHANGED.value]}
    rows = connection.execute(_SQL["recalled"], given).fetchall()
    if rows:
        keys = [(row[0], lane_of(row[2])) for row in rows]
        entries = rulebook.entries(connection, dict.fromkeys(keys))
        free = [free_at(row[5] or now, entries.get(key)) for row, key in zip(rows, keys, strict=True)]
        queue(connection, [row[:5] for row in rows], [at if at > now else 0 for at in free])
        begin_pasts(connection, [(row[0], row[1], row[5] or now) for row in rows], [max(now, at) for at in free])
        Entering(connection, rules).mail(sorted({row[0] for row in rows}))
    tally(connection, worker_id, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows)})
    return len(rows)


def begin_pasts(connection: Connection, rows: Sequence[tuple[int, int, Instant]], due_ats: Sequence[Instant]) -> None:
    """Of pages with their host id, id, and when they were fetched: the least that is remembered of each."""
    given = {
        "host_ids": [row[0] for row in rows],
        "ids": [row[1] for row in rows],
        "pasts": [encoded(begun(row[2], due_at)) for row, due_at in zip(rows, due_ats, strict=True)],
    }
    connection.execute(_SQL["pasts_begun"], given)


def read_again(connection: Connection, worker_id: int, maps: Sequence[Url], rules: FrontierRules) -> None:
    """Queue those of them again that were read before."""
    if not maps:
        return
    entering = Entering(connection, rules)
    host_ids, new_hosts = entering.host_ids({url.host.name for url in maps})
    keys = sorted({(host_ids[url.host.name], rules.keys.id(url.text)) for url in maps})
    given = {
        "host_ids": [host_id for host_id, _ in keys],
        "ids": [number for _, number in keys],
        "reasons": [Reason.FETCHED.value],
    }
    rows = connection.execute(_SQL["revived"], given).fetchall()
    if rows:
        queue(connection, rows)
        entering.mail(sorted({row[0] for row in rows}))
    tally(connection, worker_id, {tallies.QUEUED: len(rows), tallies.SETTLED: -len(rows), tallies.HOSTS: new_hosts})


def queue(
    connection: Connection, rows: Sequence[tuple[int, int, str, int, str]], later_ats: Sequence[Instant] = ()
) -> None:
    """They wait before the others of their priority; each until then, where that is given (0: it is due)."""
    (number,) = connection.execute(_SQL["offer_number"]).fetchone() or (0,)
    given = {
        "host_ids": [row[0] for row in rows],
        "lanes": [lane_of(row[2]) for row in rows],
        "priorities": [priority_of(How(row[4]), row[3]) for row in rows],
        "sequences": [place - number * MOST_AT_ONCE for place in range(len(rows))],
        "ids": [row[1] for row in rows],
        "later_ats": list(later_ats) or [0] * len(rows),
    }
    connection.execute(_SQL["queued"], given)


def start_afresh(connection: Connection, rows: Sequence[tuple[int, int, str, int, str]]) -> None:
    """Their hosts and robots.txt files."""
    if not rows:
        return
    lanes = sorted({(host_id, lane_of(url)) for host_id, _, url, _, _ in rows})
    hosts = sorted({host_id for host_id, _ in lanes})
    connection.execute(_SQL["robots_forgotten"], {"hosts": [h for h, _ in lanes], "lanes": [lane for _, lane in lanes]})
    connection.execute(_SQL["troubles_forgotten"], {"hosts": hosts})


_SQL = load("gossamer.frontier.postgres")
Key = tuple[int, int]
"""Host id and id of an address."""
START: Key = (FIRST, FIRST)


def key_of(connection: Connection, url: Url, keys: UrlKeys) -> Key | None:
    """Of a known URL. One of a pair with the same hash has the next free id."""
    host_id, wanted = find_host_id(connection, url.host.name), keys.text(url.text)
    number = keys.url_id(wanted)
    while host_id is not None:
        row = connection.execute(_SQL["url_at"], {"host_id": host_id, "id": number}).fetchone()
        if row is None:
            return None
        if keys.text(row[0]) == wanted:
            return host_id, number
        number = next_id(number)
    return None


class SharedEndRow(NamedTuple):
    """A row of `ended_after`."""

    host_id: int
    id: int
    url: str
    depth: int
    how: str
    reason: str
    settled_at: Instant | None
    is_queued: bool
    due_at: Instant | None


def requeue_some(
    connection: Connection, worker_id: int, selection: Selection, after: Key, rules: FrontierRules, now: SharedMoment
) -> tuple[int, Key | None]:
    """Of the addresses after a key so many as one transaction takes; says how many wait now that did not, or come
    sooner, and where to go on."""
    rows = _rows(connection, selection, after, rules)
    amount = _wait_again(connection, worker_id, [row for row in rows if not row.is_queued], rules, now)
    later = [row for row in rows if row.is_queued and row.due_at is not None and row.due_at > now.at]
    amount += come_sooner(connection, [((row.host_id, row.id), lane_of(row.url), now.at) for row in later])
    is_whole = bool(selection.urls) or len(rows) < AT_ONCE
    return amount, None if is_whole else (rows[-1].host_id, rows[-1].id)


def fetch_again(
    connection: Connection, worker_id: int, urls: Sequence[Url], rules: FrontierRules, now: SharedMoment
) -> int:
    """Make pages due whose stored content is damaged; the next response is stored whole. Returns how many were not."""
    pasts = _found(connection, _keys(connection, urls, rules))
    if pasts:
        whole = [encoded(past.without_body()) for past in pasts.values()]
        given = {"host_ids": [key[0] for key in pasts], "ids": [key[1] for key in pasts], "pasts": whole}
        connection.execute(_SQL["pasts_noted"], given)
    return requeue_some(connection, worker_id, Selection(urls=tuple(urls)), START, rules, now)[0]


def _rows(connection: Connection, selection: Selection, after: Key, rules: FrontierRules) -> list[SharedEndRow]:
    reasons = [reason.value for reason in selection.reasons] or None
    if selection.urls:
        keys = [key for url in selection.urls if (key := key_of(connection, url, rules.keys))]
        named = {"host_ids": [key[0] for key in keys], "ids": [key[1] for key in keys], "reasons": reasons}
        return [SharedEndRow._make(row) for row in connection.execute(_SQL["ended_named"], named)]
    host_id = find_host_id(connection, selection.host) if selection.host else None
    if selection.host and host_id is None:
        return []
    given = {
        "after_host": after[0],
        "after_id": after[1],
        "reasons": reasons,
        "hows": [how.value for how in selection.hows] or None,
        "host_id": host_id,
        "most": AT_ONCE,
    }
    return [SharedEndRow._make(row) for row in connection.execute(_SQL["ended_after"], given)]


def _wait_again(
    connection: Connection, worker_id: int, rows: Sequence[SharedEndRow], rules: FrontierRules, now: SharedMoment
) -> int:
    if not rows:
        return 0
    given = {"host_ids": [row.host_id for row in rows], "ids": [row.id for row in rows]}
    done = connection.execute(_SQL["requeued"], given).fetchall()
    if not done:
        return 0  # another crawler was first
    queue(connection, [row[:5] for row in done])
    had = [row for row in done if Reason(row[5]) in HAD]
    begin_pasts(connection, [(row[0], row[1], row[6] or now.local_at) for row in had], [now.local_at] * len(had))
    start_afresh(connection, [row[:5] for row in done if Reason(row[5]) in ASKS_ROBOTS])
    Entering(connection, rules).mail(sorted({row[0] for row in done}))
    tally(connection, worker_id, {tallies.QUEUED: len(done), tallies.SETTLED: -len(done)})
    return len(done)


def ended(connection: Connection, selection: Selection, rules: FrontierRules) -> list[EndedGroup]:
    """How the addresses of a selection ended, the most frequent first."""
    if selection.urls:
        found: dict[Reason, list[str]] = {}
        for row in _rows(connection, selection, START, rules):
            found.setdefault(Reason(row.reason), []).append(row.url)
        return [EndedGroup(reason, len(urls), tuple(urls[:MOST_EXAMPLES])) for reason, urls in found.items()]
    host_id = find_host_id(connection, selection.host) if selection.host else None
    if selection.host and host_id is None:
        return []
    reasons = [reason.value for reason in selection.reasons] or None
    counts = connection.execute(_SQL["counted"], {"reasons": reasons, "host_id": host_id}).fetchall()
    return [EndedGroup(Reason(name), many, *_shown(connection, name, host_id)) for name, many in counts]


def _shown(
    connection: Connection, reason: str, host_id: int | None
) -> tuple[tuple[str, ...], tuple[tuple[str, int], ...]]:
    given = {"reason": reason, "host_id": host_id}
    urls = connection.execute(_SQL["examples"], {**given, "most": MOST_EXAMPLES}).fetchall()
    is_had = Reason(reason) in HAD
    details = [] if is_had else connection.execute(_SQL["details"], {**given, "most": MOST_DETAILS}).fetchall()
    return tuple([url for (url,) in urls]), tuple([(detail, many) for detail, many in details])


def failures_of(connection: Connection, url: Url, rules: FrontierRules) -> list[Failure]:
    """Failed visits before the last one, the newest first."""
    key = key_of(connection, url, rules.keys)
    if key is None:
        return []
    rows = connection.execute(_SQL["failures_of"], {"host_id": key[0], "id": key[1]})
    return [Failure(at, Reason(reason), detail or "") for at, reason, detail in rows]


NamedKey = tuple[int | None, int]
"""Host id and id of a URL that is perhaps known."""


def pasts_of(connection: Connection, urls: Sequence[Url], rules: FrontierRules) -> list[Past | None]:
    keys = _keys(connection, urls, rules)
    found = _found(connection, keys)
    return [found.get(key) for key in keys]


def hasten(connection: Connection, sooner: Sequence[Reschedule], rules: FrontierRules, now: SharedMoment) -> int:
    """A host that another crawler is busy with at this moment is passed over. Says how many moved."""
    keys = _keys(connection, [one.url for one in sooner], rules)
    hosts = sorted({host_id for host_id, _ in keys if host_id is not None})
    still = {host_id for host_id, _ in connection.execute(_SQL["hosts_still"], {"hosts": hosts})}
    kept = [(key, one) for key, one in zip(keys, sooner, strict=True) if key[0] in still]
    pasts = _found(connection, [key for key, _ in kept])
    moved, after, soonest = 0, dict[NamedKey, bytes](), dict[int, Instant]()
    for key, one in kept:
        past = pasts.get(key)
        if past is None or key[0] is None:
            continue
        due_at = max(1, now.shared(one.due_at)) if one.due_at is not None else None
        is_moved = due_at is not None and _move(connection, key, lane_of(one.url.text), due_at)
        if is_moved and due_at is not None:
            moved += 1
            soonest[key[0]] = min(due_at, soonest.get(key[0], due_at))
        if (known := noted(past, one, is_moved)) != past:
            after[key] = encoded(known)
    if after:
        given = {"host_ids": [key[0] for key in after], "ids": [key[1] for key in after], "pasts": list(after.values())}
        connection.execute(_SQL["pasts_noted"], given)
    if soonest:
        connection.execute(_SQL["hosts_sooner"], {"hosts": list(soonest), "due_ats": list(soonest.values())})
    return moved


def come_sooner(connection: Connection, waiting: Sequence[tuple[NamedKey, int, Instant]]) -> int:
    """Pages, with their lane and when they are to be due, wait for that time; says how many moved. A host that another
    crawler is busy with at this moment is passed over."""
    hosts = sorted({key[0] for key, _, _ in waiting if key[0] is not None})
    still = {host_id for host_id, _ in connection.execute(_SQL["hosts_still"], {"hosts": hosts})} if hosts else set()
    moved, soonest = 0, dict[int, Instant]()
    for key, lane, due_at in waiting:
        if key[0] in still and key[0] is not None and _move(connection, key, lane, max(1, due_at)):
            moved += 1
            soonest[key[0]] = min(due_at, soonest.get(key[0], due_at))
    if soonest:
        connection.execute(_SQL["hosts_sooner"], {"hosts": list(soonest), "due_ats": list(soonest.values())})
    return moved


def plans(connection: Connection, now: SharedMoment) -> dict[tuple[str, int], int]:
    """Days by our own clock."""
    rows = connection.execute(_SQL["plans"], {"ahead": now.ahead, "day": DAY})
    return {(name, day): many for name, day, many in rows}


def _move(connection: Connection, key: NamedKey, lane: int, due_at: Instant) -> bool:
    given = {"host_id": key[0], "id": key[1], "lane": lane, "due_at": due_at}
    return connection.execute(_SQL["moved_sooner"], given).rowcount > 0


def _found(connection: Connection, keys: Sequence[NamedKey]) -> dict[NamedKey, Past]:
    known = [key for key in keys if key[0] is not None]
    given = {"host_ids": [host_id for host_id, _ in known], "ids": [number for _, number in known]}
    rows = connection.execute(_SQL["pasts_of"], given).fetchall() if known else []
    return {(host_id, number): past for host_id, number, kept in rows if (past := decoded(kept)) is not None}


def _keys(connection: Connection, urls: Sequence[Url], rules: FrontierRules) -> list[NamedKey]:
    names = {url.host.name: None for url in urls}
    host_ids = {name: find_host_id(connection, name) for name in names}
    return [(host_ids[url.host.name], rules.keys.id(url.text)) for url in urls]
