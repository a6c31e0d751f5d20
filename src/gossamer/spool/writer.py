"""The spool's writer: one file beside each archive volume, a frame for each record in it.

The spool is a short cut, not a store: whatever is missing from it is read again from the archive. Frames are held
back until `sync`, so that the views never see a reading whose capture is not yet safe.
"""

import contextlib
from pathlib import Path

from gossamer.base.errors import GossamerError
from gossamer.base.files import Files
from gossamer.base.tell import Tell
from gossamer.spool.frames import END, frame, sound_end
from gossamer.spool.tail import Tail
from gossamer.values.capture import Place

SUFFIX = ".spool"


class SpoolWriter:
    """The single writer. Use: `open`, then per group `append`..., `sync` (after the archive's), `close`."""

    def __init__(self, files: Files, folder: Path, tell: Tell) -> None:
        self._files = files
        self._folder = folder
        self._tell = tell
        self._volume = ""
        self._tail: Tail | None = None
        self._waiting: list[tuple[str, list[bytes]]] = []

    def open(self, last_volume: str | None) -> None:
        """Cut a torn end, and mark the archive's last volume as finished: no record will be added to it.

        Without the mark the views would wait for a reading that died with its process.
        """
        self._files.make_folder(self._folder)
        names = spooled_volumes(self._files, self._folder)
        if names:
            self._cut_torn(names[-1])
        if last_volume is not None:
            self._mark_end(last_volume)

    def append(self, place: Place, reading: bytes) -> None:
        """The reading of the record at `place`; b"" when the views have nothing to do with it. Kept until `sync`."""
        if not self._waiting or self._waiting[-1][0] != place.volume:
            self._waiting.append((place.volume, []))
        self._waiting[-1][1].append(frame(place.number, place.offset, place.length, reading))

    def sync(self) -> None:
        """Write and sync what waits. On return it survives a power cut; when it raises, nothing of it is left."""
        waiting, self._waiting = self._waiting, []
        written: list[tuple[str, int]] = []
        for volume, parts in waiting:
            try:
                tail = self._tail_of(volume)
                written.append((volume, tail.end))
                tail.append(b"".join(parts))
                self._tell("spool.appended", volume=volume, count=len(parts))
                tail.sync()
            except GossamerError:
                self._undo(written)
                raise
            self._tell("spool.synced", volume=volume, count=len(parts))

    def forget(self) -> None:
        """Drop what waits: its group failed."""
        self._waiting = []

    def close(self) -> None:
        """Write what waits and mark the volume as finished."""
        try:
            self.sync()
        finally:
            volume, self._volume = self._volume, ""
            self._close_tail()
            if volume:
                self._mark_end(volume)

    def _tail_of(self, volume: str) -> Tail:
        if self._tail is None or self._volume != volume:
            self._close_tail()
            tail = Tail(self._files, self._folder / (volume + SUFFIX))
            tail.open()
            self._tail, self._volume = tail, volume
            self._tell("spool.opened", volume=volume)
        return self._tail

    def _close_tail(self) -> None:
        if self._tail is not None:
            self._tail.close()
            self._tail = None

    def _undo(self, written: list[tuple[str, int]]) -> None:
        """Cut files back to these ends. Best effort: a frame too many only shows the views what is written again."""
        self._close_tail()
        for volume, end in written:
            tail = Tail(self._files, self._folder / (volume + SUFFIX))
            with contextlib.suppress(GossamerError):
                tail.open()
                tail.back_to(end)
            tail.close()
            self._tell("spool.cut", volume=volume, offset=end)

    def _mark_end(self, volume: str) -> None:
        path = self._folder / (volume + SUFFIX)
        size = self._files.size(path) or 0
        if size and self._files.read(path, max(0, size - len(END))) == END:
            return
        tail = Tail(self._files, path)
        with contextlib.suppress(GossamerError):  # the next volume's spool file says the same, only later
            tail.open()
            tail.append(END)
            tail.sync()
        tail.close()

    def _cut_torn(self, volume: str) -> None:
        path = self._folder / (volume + SUFFIX)
        end = sound_end(self._files, path)
        if end < (self._files.size(path) or 0):
            tail = Tail(self._files, path)
            tail.open()
            tail.back_to(end)
            tail.close()
            self._tell("spool.cut", volume=volume, offset=end)


def spooled_volumes(files: Files, folder: Path) -> list[str]:
    """The volumes that have a spool file, in order."""
    return [name.removesuffix(SUFFIX) for name in files.names(folder) if name.endswith(SUFFIX)]


def discard(files: Files, folder: Path, volume: str, tell: Tell) -> None:
    """Delete a finished volume's spool file. REQUIRES: every view has passed it."""
    files.remove(folder / (volume + SUFFIX))
    tell("spool.discarded", volume=volume)
