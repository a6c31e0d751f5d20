"""Damage of the archive that a command finds: collected from events, and marked in state.db."""

from collections.abc import Sequence
from pathlib import Path

from gossamer.archive.verify import Finding
from gossamer.base.clock import Instant
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.frontier.rows import UrlKeys
from gossamer.frontier.sqlite.requeue import fetch_again
from gossamer.rules.canonical import identity_of
from gossamer.store import captures, damage
from gossamer.store.damage import DamageMark
from gossamer.store.statements import State

DAMAGED = 4
"""The exit code of a command that did its work and found damage."""
EVENT = "volume.damaged"


def noting_damage(tell: Tell, noted: dict[str, None]) -> Tell:
    """Also keeps what is told of damage, in words, each once."""

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


def mark_lost(connection: State, files: Files, folder: Path, now: Instant) -> int:
    """Mark the captures of the last volume that lie beyond its end; says how many pages are due again."""
    found = beyond_end(connection, files, folder, max(captures.volume_names(connection), default=""))
    new = {mark.key for mark in damage.add(connection, list(map(mark_of, found)), now)}
    return revive(connection, [one for one in found if mark_of(one).key in new], now)


def beyond_end(connection: State, files: Files, folder: Path, volume: str) -> list[Finding]:
    """The captures of a volume that lie beyond the end of its file; all of them when that is missing."""
    size = files.size(folder / volume) if volume else None
    why = "the volume is missing" if size is None else f"the volume ends at byte {size}"
    lost = [
        kept for kept in captures.in_volume(connection, volume) if kept.place.offset + kept.place.length > (size or 0)
    ]
    return [Finding(volume, kept.place.number, kept.place.offset, kept.place.length, why, kept) for kept in lost]


def revive(connection: State, new: Sequence[Finding], now: Instant) -> int:
    """Make the pages due again whose newest content is among what is newly found damaged; says how many."""
    lost = [one.kept for one in new if one.kept is not None and one.kept.is_page]
    urls = {kept.url for kept in lost if captures.latest(connection, kept.url) == kept}
    return fetch_again(connection, sorted(urls, key=lambda url: url.text), UrlKeys(identity_of), now)
