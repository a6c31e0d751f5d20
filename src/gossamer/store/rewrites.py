"""The catalogue of a cluster when objects of its archive are made again.

What is to leave the archive leaves the catalogue first, in the transaction that notes which segments are to be
rewritten and which pages are to be removed from the views. So all of it can be interrupted, and continued.
"""

from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import itemgetter

import msgspec

from gossamer.base.clock import Instant
from gossamer.base.errors import GossamerError
from gossamer.store import tallies
from gossamer.store.captures import MovedRecord
from gossamer.store.segments import StoredSegment
from gossamer.store.statements import State, load
from gossamer.values.capture import Kept
from gossamer.values.url import Url

_SQL = load("gossamer.store", "rewrites.sql")
AT_ONCE = 5_000
Key = tuple[int, int, str, Instant]
"""Of a capture: host id, URL id, URL, instant."""


class Dropped(msgspec.Struct, frozen=True):
    """What has left the catalogue."""

    captures: int = 0
    pages: int = 0


# Objects that are imported.


def unknown_of(state: State, kept: Sequence[Kept]) -> list[Kept]:
    """Those that are not in the catalogue."""
    if not kept:
        return []
    keys = zip(*((one.url.host.id, one.url.id, one.fetched_at) for one in kept), strict=True)
    places = list(range(len(kept)))
    rows = state.execute(_SQL["known_moments"], (places, *map(list, keys))).fetchall()
    known = {place for (place,) in rows}
    return [one for place, one in enumerate(kept) if place not in known]


def add_object(state: State, name: str, size: int, added: Sequence[StoredSegment]) -> None:
    """A new object with new segments. Their captures are added, and they are settled, next, in the same
    transaction."""
    if state.execute(_SQL["object_new"], (name, size)).rowcount != 1:
        raise GossamerError(f"the object {name} was given up meanwhile: run this again")
    for one in added:
        state.execute(_SQL["segment_new"], (one.name, one.object, one.base, one.size, one.records, one.digest))


def order_versions(state: State, names: Sequence[str], is_news: bool = False) -> None:
    """After the captures of these segments were added: those that are older than others in the catalogue come before
    them. `is_news`: crawls wait for the views of them."""
    state.execute(_SQL["versions_before"], (list(names),))
    if not is_news:
        state.execute(_SQL["work_is_old"], (list(names),))


# What is to be erased.


def unwanted_at(state: State, host_id: int, is_unwanted: Callable[[str], bool]) -> list[list[tuple[Key, bool]]]:
    """The captures of unwanted URLs at a host, by URL; each with whether it is a page."""
    rows = state.execute(_SQL["captures_at"], (host_id,))
    found = []
    for (url_id, url), some in groupby(rows, key=itemgetter(0, 1)):
        captures = [((host_id, url_id, url, at), bool(is_page)) for _, _, at, _, is_page in some]
        if is_unwanted(url):
            found.append(captures)
    return found


def drop_pages(state: State, groups: Sequence[Sequence[tuple[Key, bool]]], graph_ids: Sequence[int]) -> Dropped:
    """All captures of these URLs leave the catalogue; `graph_ids`: of the graphs of their facts."""
    keys = [key for group in groups for key, _ in group]
    _drop(state, keys)
    urls = [group[0][0] for group in groups]
    pages = [group[0][0][:3] for group in groups if any(is_page for _, is_page in group)]
    gone = state.execute(_SQL["withdrawn_gone"], tuple(map(list, zip(*pages, strict=True)))).rowcount if pages else 0
    state.execute(_SQL["removal_asked"], ([url for _, _, url, _ in urls],))
    state.execute(_SQL["origins_gone"], (list(graph_ids),))
    tallies.add(state, {tallies.CAPTURES: -len(keys), tallies.PAGES: gone - len(pages)})
    return Dropped(len(keys), len(pages))


def drop_versions(state: State, keys: Sequence[Key]) -> int:
    """Some captures of pages leave the catalogue, and others of them stay."""
    _drop(state, keys)
    tallies.add(state, {tallies.CAPTURES: -len(keys)})
    return len(keys)


def _drop(state: State, keys: Iterable[Key]) -> None:
    columns = zip(*((host_id, url_id, at) for host_id, url_id, _, at in keys), strict=True)
    volumes = {number for (number,) in state.execute(_SQL["captures_dropped"], tuple(map(list, columns))).fetchall()}
    state.execute(_SQL["rewrite_asked"], (sorted(volumes),))
    state.execute(_SQL["damage_gone"])


def work_in_progress(state: State) -> list[tuple[int, str]]:
    """Rows of work on segments that are to be rewritten, each with the indexer that does them now."""
    return [(number, by) for number, by in state.execute(_SQL["work_leased"]).fetchall()]


def still_in_progress(state: State, work: Sequence[tuple[int, str]]) -> int:
    """How many of these are still being done."""
    if not work:
        return 0
    return int(state.execute(_SQL["work_still"], tuple(map(list, zip(*work, strict=True)))).fetchone()[0])


def removals(state: State, after: int) -> list[tuple[int, Url]]:
    """Pages that are to be removed from the views, from a number on."""
    return [(number, Url(url)) for number, url in state.execute(_SQL["removals"], (after, AT_ONCE)).fetchall()]


def removals_done(state: State) -> None:
    state.execute(_SQL["removals_done"])


def next_version(state: State) -> int:
    """Greater than that of every capture in the catalogue."""
    return int(state.execute(_SQL["next_version"]).fetchone()[0])


# Objects that are rewritten.


def rewrites_left(state: State) -> tuple[int, int]:
    """How many segments are to be rewritten, in how many objects."""
    segments, objects = state.execute(_SQL["rewrites_left"]).fetchone()
    return segments, objects


def next_rewrite(state: State) -> tuple[str, set[str]] | None:
    """An object, and those of its segments that are to be rewritten."""
    row = state.execute(_SQL["rewritable"]).fetchone()
    if row is None:
        return None
    return row[0], {name for (name,) in state.execute(_SQL["to_rewrite"], (row[0],)).fetchall()}


class Replacement(msgspec.Struct, frozen=True):
    """What takes the place of an object."""

    old: str
    new: str
    """Empty: nothing of it is kept."""
    size: int
    whole: Sequence[StoredSegment]
    """Segments that are copied as they were, where they are now."""
    rewritten: Sequence[tuple[str, StoredSegment, Sequence[MovedRecord]]]
    """The old name of each, the new segment, and where its captures are now."""
    emptied: Sequence[str]
    """Segments of which nothing is kept."""


def replace_object(state: State, made: Replacement) -> bool:
    """Inside a transaction, which must be given up if this is False: something was moved meanwhile."""
    expected = {one.name for one in made.whole} | {old for old, _, _ in made.rewritten} | set(made.emptied)
    if {name for (name,) in state.execute(_SQL["locked"], (made.old,)).fetchall()} != expected:
        return False
    if made.new and state.execute(_SQL["object_used"], (made.new, made.size)).rowcount != 1:
        return False
    for one in made.whole:
        state.execute(_SQL["moved_whole"], (made.new, one.base, one.name, made.old))
    for old, segment, moved in made.rewritten:
        if not _replace_segment(state, old, segment, moved):
            return False
    for name in made.emptied:
        if not _drop_segment(state, name):
            return False
    state.execute(_SQL["object_condemned"], (made.old,))
    return True


def _replace_segment(state: State, old: str, new: StoredSegment, moved: Sequence[MovedRecord]) -> bool:
    (old_id, _) = state.execute(_SQL["volume_number"], (old,)).fetchone()
    given = (new.name, new.object, new.base, new.size, new.records, new.digest)
    (new_id,) = state.execute(_SQL["segment_new"], given).fetchone()
    olds, numbers, offsets = [[getattr(one, name) for one in moved] for name in ("old_number", "number", "offset")]
    done = state.execute(_SQL["replaced_by"], (new_id, old_id, olds, numbers, offsets)).rowcount
    state.execute(_SQL["segment_settled"], (new_id, old_id))
    state.execute(_SQL["work_taken_on"], (new_id, old_id, new.records))
    state.execute(_SQL["marks_taken_on"], (old, new.name, olds, numbers))
    return done == len(moved) and _drop_segment(state, old)


def _drop_segment(state: State, name: str) -> bool:
    (number, _) = state.execute(_SQL["volume_number"], (name,)).fetchone()
    (left,) = state.execute(_SQL["left_over"], (number,)).fetchone()
    state.execute(_SQL["segment_dropped"], (number,))
    return not left


def begin_object(state: State, name: str) -> None:
    """A new object is about to be written. If it is never used, the next run deletes it."""
    state.execute(_SQL["object_begun"], (name,))


def condemned_objects(state: State) -> list[str]:
    """Objects of which nothing is needed any more, and which are to be deleted at once."""
    return [name for (name,) in state.execute(_SQL["condemned"]).fetchall()]


def drop_condemned(state: State, name: str) -> None:
    """REQUIRES: it is deleted."""
    state.execute(_SQL["object_dropped"], (name,))
