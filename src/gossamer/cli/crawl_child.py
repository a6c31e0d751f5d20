"""The crawl that the web pages start.

`gossamer crawl` without arguments, with a log file for its output.

It is a child process of `gossamer serve`, and reports its state through the control database like any crawl.
"""

import io
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TextIO, cast

import uvloop

from gossamer.base.clock import in_words
from gossamer.base.environment import Outside, real_outside
from gossamer.base.errors import GossamerError
from gossamer.base.files import Appender
from gossamer.cli.crawl.crawl import crawl_to_end
from gossamer.cli.crawl.progress import PlainLines
from gossamer.cli.crawl.summary import next_steps, waiting_for_options
from gossamer.cli.main import first_of_ours
from gossamer.config.settings import Settings
from gossamer.crawler.heartbeat import Tally
from gossamer.fetch.dns import real_network
from gossamer.plugins.settings import protocols_of
from gossamer.store.directory import LOG_NAME, Directory
from gossamer.store.options import config_of, withheld_in_words
from gossamer.values.format import counted, error_in_words

MOST_LOG = 256 * 1024
"""Bytes; a larger log is renamed, and a new one started."""
LINE_EVERY_S = 30.0
REFUSED = 2


class Log(io.TextIOBase):
    """Lines with a timestamp. A line that cannot be written is dropped: the crawl matters more."""

    def __init__(self, path: Path, outside: Outside) -> None:
        self._path, self._outside = path, outside
        self._file: Appender | None = None

    def write(self, text: str) -> int:
        if line := text.strip("\n"):
            try:
                self._opened().append(f"{in_words(self._outside.clock.now())[:19]}Z  {line}\n".encode())
            except OSError:
                self._file = None
        return len(text)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        super().close()

    def _opened(self) -> Appender:
        if self._file is not None and self._file.size() > MOST_LOG:
            self._file.close()
            self._file = None
        if self._file is None:
            files = self._outside.files
            if (files.size(self._path) or 0) > MOST_LOG:
                files.rename(self._path, self._path.with_name(LOG_NAME + ".before"))
            self._file = files.appender(self._path)
        return self._file


def main(arguments: Sequence[str]) -> int:
    """REQUIRES: the data directory, and a contact or an empty text."""
    root, contact = Path(arguments[0]), arguments[1]
    outside = real_outside()
    with Log(root / LOG_NAME, outside) as log:
        try:
            config = config_of(root, flags={"contact": contact or None})
            settings = config.settings
            protocols_of(settings.crawl.protocols, root)
            for words in withheld_in_words(config.withheld, root):
                log.write(words + "\n")
            log.write("the crawl starts\n")
            return uvloop.run(crawl(Directory(root), settings, outside, log))
        except (GossamerError, OSError, BaseExceptionGroup) as trouble:
            log.write(" ".join(error_in_words(first_of_ours(trouble)).split()) + "\n")
            return REFUSED


async def crawl(directory: Directory, settings: Settings, outside: Outside, log: Log) -> int:
    tally = Tally(outside.clock)
    face = PlainLines(tally, cast(TextIO, log), LINE_EVERY_S)
    ended = await crawl_to_end(directory, settings, [], real_network(outside), outside, face, tally, signals=True)
    code = ended.exit_code(tally)
    for words in next_steps(tally, ended.counts) if code == 1 else ():
        log.write(f"{words.strip()}\n")
    for one in waiting_for_options(ended.held, ended.allowed):
        log.write(f"{counted(one.urls, 'URL')} not fetched because {one.why}; continue with {one.flags}\n")
    log.write(
        f"{'stopped' if ended.was_stopped else 'finished'}: {counted(tally.fetched, 'page')} fetched in this run\n"
    )
    return code


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
