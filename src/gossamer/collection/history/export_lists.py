"""The tables of an export: for each folder of a crawl one beside it, of its files and their addresses."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gossamer.base.clock import Instant, from_words, in_words
from gossamer.base.files import Files
from gossamer.values.capture import Kept
from gossamer.values.url import Url

HEADING = "file\turl\tfetched\tstatus\tmedia type\tbytes\n"
_NAME = re.compile(r"(\d{4,}-\d\d-\d\dT\d\d-\d\d-\d\dZ)\.tsv")


@dataclass(frozen=True, slots=True)
class Placed:
    """A capture and the file that it goes to."""

    kept: Kept
    crawl: str
    file: str

    @property
    def line(self) -> bytes:
        kept = self.kept
        told = (self.file, kept.url.text, in_words(kept.fetched_at), kept.status, kept.media_type, kept.size)
        return ("\t".join(map(str, told)) + "\n").encode("utf-8", "replace")


class ExportTables:
    def __init__(self, files: Files, folder: Path) -> None:
        self._files, self._folder = files, folder

    def add(self, group: list[Placed]) -> None:
        """REQUIRES: the files are written: what is listed is not written again."""
        for crawl in dict.fromkeys([one.crawl for one in group]):
            path = self._folder / f"{crawl}.tsv"
            lines = b"".join([one.line for one in group if one.crawl == crawl])
            file = self._files.appender(path)
            try:
                file.append(lines if file.size() else HEADING.encode() + lines)
            finally:
                file.close()


def rows_in(files: Files, folder: Path) -> Iterator[tuple[str, Url, Instant, str]]:
    """Crawl, address, moment and media type of every page that is listed. A line that was torn is cut off first."""
    for name in files.names(folder):
        named = _NAME.fullmatch(name)
        if named is None:
            continue
        content = files.read(folder / name)
        whole = content.rpartition(b"\n")[0] + b"\n" if b"\n" in content else b""
        if whole != content:
            files.write(folder / name, whole)
        for line in whole.decode("utf-8", "replace").splitlines()[1:]:
            try:
                _, url, fetched, _, media_type, _ = line.split("\t")
                yield named[1], Url(url), from_words(fetched), media_type
            except ValueError:  # somebody has edited it
                continue
