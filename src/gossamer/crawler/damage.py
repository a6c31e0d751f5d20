"""Damage of the archive: collected from events, marked in the state, and its pages fetched again."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.archive.verify import Finding
from gossamer.base.clock import Instant
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.frontier.api import Frontier
from gossamer.store import captures
from gossamer.store.captures import DamageMark
from gossamer.store.statements import State, StateWriter
from gossamer.values.url import Url

DAMAGED = 4
"""Exit code of a command that did its work and found damage."""
EVENT = "volume.damaged"


def noting_damage(tell: Tell, noted: dict[str, None]) -> Tell:
    """Also notes reports of damage, in words, each once."""

    def noting(event: str, /, **facts: object) -> None:
        if event == EVENT:
            noted[damage_in_words(facts)] = None
        tell(event, **facts)

    return noting


def damage_in_words(facts: dict[str, object]) -> str:
    at = f" at byte {facts['offset']}" if "offset" in facts else ""
    return f"{facts['volume']}{at}: {facts['why']}"


def mark_of(one: Finding) -> DamageMark:
    return DamageMark(one.volume, one.number, one.kept.capture_id if one.kept is not None else None, one.why)


async def refetch_lost_end(database: StateWriter, frontier: Frontier, files: Files, folder: Path, now: Instant) -> None:
    """Mark the captures of the last volume that lie beyond its end; their pages are due again."""

    def find(state: State) -> list[Finding]:
        return beyond_end(state, files, folder, max(captures.volume_names(state), default=""))

    found = await database.read(find)
    await refetch_damaged(database, frontier, found)
    await database.run(lambda state: captures.add_marks(state, list(map(mark_of, found)), now))


async def refetch_damaged(database: StateWriter, frontier: Frontier, found: Sequence[Finding]) -> int:
    """Make pages due whose newest content is damaged, and not marked so far. Returns how many.

    Mark the damage after that, not before: a crash between the two then only repeats this.
    """

    def pages(state: State) -> list[Url]:
        new = captures.unmarked(state, list(map(mark_of, found)))
        lost = [one.kept for one in found if mark_of(one).key in new and one.kept is not None and one.kept.is_page]
        return sorted({kept.url for kept in lost if captures.latest(state, kept.url) == kept}, key=lambda url: url.text)

    return await frontier.refetch(await database.read(pages))


def beyond_end(connection: State, files: Files, folder: Path, volume: str) -> list[Finding]:
    """The captures of a volume that lie beyond the end of its file; all of them when that is missing."""
    size = files.size(folder / volume) if volume else None
    why = "the volume is missing" if size is None else f"the volume ends at byte {size}"
    lost = [
        kept for kept in captures.in_volume(connection, volume) if kept.place.offset + kept.place.length > (size or 0)
    ]
    return [Finding(volume, kept.place.number, kept.place.offset, kept.place.length, why, kept) for kept in lost]
