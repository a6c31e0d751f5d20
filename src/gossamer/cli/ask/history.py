"""`gossamer history`: what pages were, when and how they changed, and a site's facts as they were at a moment."""

import asyncio
import sys
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Annotated, Literal

from cyclopts import Parameter
from rich.console import Console

from gossamer.archive.versions import moment_of, vanished
from gossamer.base.clock import Instant, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.cli.ask.history_tables import (
    PastFacts,
    PastPage,
    answer_json,
    difference_shown,
    gone_in_words,
    past_page,
    past_shown,
    timeline_shown,
)
from gossamer.cli.ask.sparql import FORMATS, tabled
from gossamer.cli.steps import Working
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.history.export import export_tree
from gossamer.collection.history.facts import MOST_PAGES, PastAnswer, asked_at
from gossamer.collection.history.reader import DAMAGED, HistoryReader, extractor, past_of
from gossamer.store import captures
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.store.state import open_state
from gossamer.values.capture import Kept
from gossamer.values.format import as_json, counted, harmless
from gossamer.values.messages import ReadVersion
from gossamer.values.url import Host, Url, url_of

NO_PAGE = "no copy of {url} was stored{when}; `gossamer why` explains why"
SOME_DAMAGED = 4
"""The exit code when a version cannot be read from the archive."""
Part = Literal["text", "facts", "html"]


def history(
    *what: Annotated[str, Parameter(help="A URL, and two versions to compare; or `export` and a folder.")],
    diff: Annotated[
        bool,
        Parameter(help="What changed: FROM TO are numbers of versions or times; without them, the last change."),
    ] = False,
    at: Annotated[str | None, Parameter(help="As it was at this time: 2026-11-15, or 2026-11-15T08:30:00Z.")] = None,
    text: Annotated[bool, Parameter(help="With --at: only its text.")] = False,
    facts: Annotated[bool, Parameter(help="With --at: only its facts, as N-Triples.")] = False,
    html: Annotated[bool, Parameter(help="With --at: the page itself, as it was received.")] = False,
    sparql: Annotated[
        str | None,
        Parameter(allow_leading_hyphen=True, help="With --at: a SPARQL query over the facts of that time; - reads it."),
    ] = None,
    site: Annotated[str | None, Parameter(help="With --sparql: only the pages of this host.")] = None,
    most: Annotated[int, Parameter(help="With --sparql: the maximum number of pages to read again.")] = MOST_PAGES,
    dir: Annotated[Path, Parameter(help="The collection's data directory.")] = DEFAULT,
    json: Annotated[bool, Parameter(help="As JSON.")] = False,
) -> int:
    directory = existing(dir)
    outside = outside_of(directory)
    moment = _moment(at) if at is not None else None
    parts: list[Part] = [name for name, is_on in _parts(text, facts, html) if is_on]
    if len(parts) > 1:
        raise ConfigError("choose one of --text, --facts and --html")
    asked = HistoryCommand(directory, outside, json)
    if sparql is not None:
        if moment is None or what:
            raise ConfigError("a query needs the time, and no URL: gossamer history --at 2026-11-15 --sparql '...'")
        return asyncio.run(asked.sparql(sys.stdin.read() if sparql == "-" else sparql, moment, _host(site), most))
    if what[:1] == ("export",):
        if len(what) != 2:
            raise ConfigError("name one folder: gossamer history export DIR")
        return asyncio.run(asked.export(Path(what[1])))
    url = _url(what, directory)
    if diff or len(what) > 1:
        return asyncio.run(asked.diff(url, what[1:]))
    if parts and moment is None:
        moment = outside.dates.now()
    if moment is not None:
        return asyncio.run(asked.page(url, moment, parts[0] if parts else None))
    return asyncio.run(asked.timeline(url))


class HistoryCommand:
    """The command's questions, put to the past of one collection."""

    def __init__(self, directory: Directory, outside: Outside, is_json: bool) -> None:
        self._directory, self._outside, self._is_json = directory, outside, is_json
        self._settings = config_of(directory.root).settings

    async def timeline(self, url: Url) -> int:
        async with self._past(1) as past:
            with Working("reading its versions", self._outside.clock):
                found = await past.timeline(url)
        if not found.versions:
            raise GossamerError(NO_PAGE.format(url=url, when=""))
        if self._is_json:
            print(as_json(found))
        else:
            timeline_shown(found, Console())
        return SOME_DAMAGED if any(version.note == DAMAGED for version in found.versions) else 0

    async def diff(self, url: Url, named: tuple[str, ...]) -> int:
        async with self._past(1) as past:
            before, after = chosen(past.versions(url), named, url)
            difference = await past.difference(before, after)
        if self._is_json:
            print(as_json(difference))
        else:
            difference_shown(difference, Console(highlight=False))
        return 0

    async def page(self, url: Url, at: Instant, part: Part | None) -> int:
        async with self._past(1) as past:
            versions = past.versions(url)
            kept = in_force(versions, at)
            if kept is None:
                raise GossamerError(NO_PAGE.format(url=url, when=f" at {in_words(at)} or before"))
            gone = vanished([one for one in reversed(versions) if one.fetched_at <= at])
            if gone is not None and not self._is_json:
                print(gone_in_words(gone, kept), file=sys.stderr)
            if part == "html":
                return await self._raw(past, kept)
            said = await past.said(kept)
        if isinstance(said, str):
            raise GossamerError(f"the version of {in_words(kept.fetched_at)} cannot be read: {said}")
        self._tell(past_page(said, kept, at, extractor(), gone), said, part)
        return 0

    async def _raw(self, past: HistoryReader, kept: Kept) -> int:
        body = await past.body(kept)
        if body is None:
            raise GossamerError(
                f"the version of {in_words(kept.fetched_at)} was not stored completely, or cannot be read"
            )
        sys.stdout.buffer.write(body)
        sys.stdout.buffer.flush()
        return 0

    def _tell(self, page: PastPage, said: ReadVersion, part: Part | None) -> None:
        if self._is_json:
            print(as_json(page))
        elif part == "text":
            print(harmless(said.words))
        elif part == "facts":
            sys.stdout.write(said.facts.decode("utf-8", "replace"))
        else:
            past_shown(page, Console(highlight=False))

    async def sparql(self, query: str, at: Instant, host: Host | None, most: int) -> int:
        form = "json" if self._is_json else "table" if sys.stdout.isatty() else ""
        async with self._past() as past:
            with Working("reading again", self._outside.clock) as progress:
                found = await asked_at(
                    past=past,
                    directory=self._directory,
                    outside=self._outside,
                    query=query,
                    accept=FORMATS[form],
                    at=at,
                    host=host,
                    most=most,
                    says=progress.says,
                )
        about = PastFacts(in_words(at), host.name if host else None, found.replayed.pages, found.replayed.unread)
        self._answer(found, about, form)
        return 0

    def _answer(self, found: PastAnswer, about: PastFacts, form: str) -> None:
        result = found.result
        if self._is_json:
            print(answer_json(found, about))
            return
        if form == "table" and result.media_type == FORMATS["json"]:
            Console().print(tabled(result.body))
        else:
            sys.stdout.write(result.body.decode("utf-8", "replace"))
            sys.stdout.write("" if result.body.endswith(b"\n") else "\n")
        cut = "; cut at the limit of rows" if result.truncated else ""
        missing = f"; {counted(about.unread, 'page')} could not be read again" if about.unread else ""
        of = f"{counted(about.pages, 'page')} as of {about.asked_at}"
        print(f"{of}, read by {found.extractor}{missing}{cut}", file=sys.stderr)

    async def export(self, folder: Path) -> int:
        async with self._past() as past:
            with Working("writing", self._outside.clock) as progress:
                written = await export_tree(past, self._directory, self._outside, folder, progress.says)
        if self._is_json:
            print(as_json(written))
            return 0
        more = f"; {written.known:,} already existed" if written.known else ""
        lost = f"; {written.unread:,} could not be read" if written.unread else ""
        of = f"{counted(written.pages, 'page')} written, {counted(written.crawls, 'folder')}{more}{lost}"
        print(f"{of}. Each folder is a crawl, or a day (UTC) of a crawl with revisits.", file=sys.stderr)
        return 0

    def _past(self, workers: int = 0) -> AbstractAsyncContextManager[HistoryReader]:
        """One worker is enough for one page: a second takes longer to start than it saves."""
        return past_of(self._directory, self._settings, self._outside, workers)


def in_force(versions: list[Kept], at: Instant) -> Kept | None:
    """The page of that moment; where there was none, whatever was answered last."""
    until = [kept for kept in versions if kept.fetched_at <= at]
    return next((kept for kept in reversed(until) if kept.is_page), until[-1] if until else None)


def chosen(versions: list[Kept], named: tuple[str, ...], url: Url) -> tuple[Kept, Kept]:
    """The two to compare: as named, one against the newest, or the last two that differ."""
    if not versions:
        raise GossamerError(NO_PAGE.format(url=url, when=""))
    if len(named) > 2:
        raise ConfigError("give two versions at most: gossamer history URL --diff FROM TO")
    readable = [kept for kept in versions if 200 <= kept.status < 300]
    if not named:
        last = readable[-1] if readable else versions[-1]
        before = next((kept for kept in reversed(readable[:-1]) if kept.digest != last.digest), None)
        if before is None:
            raise GossamerError(f"{url} has not changed: {counted(len(readable), 'version')} of it, all the same")
        after = next(kept for kept in readable[readable.index(before) + 1 :])
        return before, after
    found = [_version(versions, name, url) for name in named]
    return found[0], found[1] if len(found) == 2 else readable[-1] if readable else versions[-1]


def _version(versions: list[Kept], name: str, url: Url) -> Kept:
    if name.isdigit() and len(name) < len("20261115"):
        if not 1 <= int(name) <= len(versions):
            raise ConfigError(f"{url} has {counted(len(versions), 'version')}; there is no number {name}")
        return versions[int(name) - 1]
    at = _moment(name)
    kept = in_force(versions, at)
    if kept is None:
        raise GossamerError(NO_PAGE.format(url=url, when=f" at {in_words(at)} or before"))
    return kept


def _moment(text: str) -> Instant:
    try:
        return moment_of(text)
    except ValueError:
        raise ConfigError(f"{text!r} is not a time: write 2026-11-15, or 2026-11-15T08:30:00Z") from None


def _url(what: tuple[str, ...], directory: Directory) -> Url:
    """The address meant; one without a scheme is the one of which something was kept."""
    if not what:
        raise ConfigError("give a URL: gossamer history https://example.org/; or export and a folder")
    spelt = [what[0]] if "://" in what[0] else [f"https://{what[0]}", f"http://{what[0]}"]
    urls = [url for text in spelt if (url := url_of(text)) is not None]
    if not urls:
        raise ConfigError(f"{what[0]} is not the URL of a page")
    with closing(open_state(directory)) as state:
        return next((url for url in urls if captures.latest(state, url) is not None), urls[0])


def _host(site: str | None) -> Host | None:
    if site is None:
        return None
    url = url_of(site if "://" in site else f"http://{site}/")
    if url is None:
        raise ConfigError(f"{site} is not a host")
    return url.host


def _parts(text: bool, facts: bool, html: bool) -> tuple[tuple[Part, bool], ...]:
    return ("text", text), ("facts", facts), ("html", html)
