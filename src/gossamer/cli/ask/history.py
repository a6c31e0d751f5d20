"""`gossamer history`: when and how pages changed, and pages and facts as they were."""

import asyncio
import sys
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager, closing
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from cyclopts import Parameter
from rich.console import Console
from rich.filesize import decimal
from rich.text import Text

from gossamer.archive.versions import CaptureVersion, Timeline, moment_of, vanished
from gossamer.base.clock import Instant, in_words
from gossamer.base.environment import Outside
from gossamer.base.errors import ConfigError, GossamerError
from gossamer.cli.flags import Dir, Json
from gossamer.cli.output import RESULT_TYPES, Progress, console, note, print_result, table
from gossamer.collection.directory import existing, outside_of
from gossamer.collection.history.export import export_tree
from gossamer.collection.history.facts import MOST_PAGES, answer_at
from gossamer.collection.history.reader import DAMAGED, HistoryReader, extractor, past_of
from gossamer.store import captures
from gossamer.store.directory import DEFAULT, Directory
from gossamer.store.options import config_of
from gossamer.store.state import open_state
from gossamer.values.capture import Kept
from gossamer.values.format import as_json, counted, harmless
from gossamer.values.messages import Difference, ReadVersion, TextLine
from gossamer.values.url import Host, Url, url_of

NO_PAGE = "this directory has no copy of {url}{when}; `gossamer why` explains why"
SOME_DAMAGED = 4
"""The exit code when a version cannot be read from the archive."""
SIGNS = {"added": ("+ ", "green"), "removed": ("- ", "red"), "same": ("  ", "dim")}
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
    dir: Dir = DEFAULT,
    json: Json = False,
) -> int:
    directory = existing(dir)
    outside = outside_of(directory)
    moment = _moment(at) if at is not None else None
    wanted: dict[Part, bool] = {"text": text, "facts": facts, "html": html}
    parts = [name for name, is_wanted in wanted.items() if is_wanted]
    if len(parts) > 1:
        raise ConfigError("choose one of --text, --facts and --html")
    command = HistoryCommand(directory, outside, json)
    if sparql is not None:
        if moment is None or what:
            raise ConfigError("a query needs the time, and no URL: gossamer history --at 2026-11-15 --sparql '...'")
        return asyncio.run(command.sparql(sys.stdin.read() if sparql == "-" else sparql, moment, _host(site), most))
    if what[:1] == ("export",):
        if len(what) != 2:
            raise ConfigError("name one folder: gossamer history export DIR")
        return asyncio.run(command.export(Path(what[1])))
    url = _url(what, directory)
    if diff or len(what) > 1:
        return asyncio.run(command.diff(url, what[1:]))
    if parts and moment is None:
        moment = outside.dates.now()
    if moment is not None:
        return asyncio.run(command.page(url, moment, parts[0] if parts else None))
    return asyncio.run(command.timeline(url))


class HistoryCommand:
    """The forms of the command, for one collection."""

    def __init__(self, directory: Directory, outside: Outside, is_json: bool) -> None:
        self._directory, self._outside, self._is_json = directory, outside, is_json

    async def timeline(self, url: Url) -> int:
        async with self._past(1) as past:
            with Progress("reading its versions", self._outside.clock):
                found = await past.timeline(url)
        if not found.versions:
            raise GossamerError(NO_PAGE.format(url=url, when=""))
        if self._is_json:
            print(as_json(found))
        else:
            show_timeline(found, console())
        return SOME_DAMAGED if any(version.note == DAMAGED for version in found.versions) else 0

    async def diff(self, url: Url, named: tuple[str, ...]) -> int:
        async with self._past(1) as past:
            before, after = chosen(past.versions(url), named, url)
            difference = await past.difference(before, after)
        if self._is_json:
            print(as_json(difference))
        else:
            show_difference(difference, console())
        return 0

    async def page(self, url: Url, at: Instant, part: Part | None) -> int:
        async with self._past(1) as past:
            versions = past.versions(url)
            kept = in_force(versions, at, url)
            gone = vanished([one for one in reversed(versions) if one.fetched_at <= at])
            if gone is not None and not self._is_json:
                note(gone_in_words(gone, kept))
            if part == "html":
                body = await past.body(kept)
                if body is None:
                    when = in_words(kept.fetched_at)
                    raise GossamerError(f"the version of {when} was not stored completely, or cannot be read")
                sys.stdout.buffer.write(body)
                sys.stdout.buffer.flush()
                return 0
            version = await past.said(kept)
        if isinstance(version, str):
            raise GossamerError(f"the version of {in_words(kept.fetched_at)} cannot be read: {version}")
        if self._is_json:
            print(as_json(page_json(version, kept, at, gone)))
        elif part == "text":
            print(harmless(version.words))
        elif part == "facts":
            sys.stdout.write(version.facts.decode("utf-8", "replace"))
        else:
            show_page(version, kept, gone, console())
        return 0

    async def sparql(self, query: str, at: Instant, host: Host | None, most: int) -> int:
        form = "json" if self._is_json else "table" if sys.stdout.isatty() else ""
        async with self._past() as past:
            with Progress("reading again", self._outside.clock) as progress:
                found = await answer_at(
                    past=past,
                    directory=self._directory,
                    outside=self._outside,
                    query=query,
                    accept=RESULT_TYPES[form],
                    at=at,
                    host=host,
                    most=most,
                    says=progress.show,
                )
        result, replayed = found.result, found.replayed
        if self._is_json:
            is_rows = result.media_type.endswith("json")
            answer = {
                "asked_at": in_words(at),
                "site": host.name if host else None,
                "pages": replayed.pages,
                "unread": replayed.unread,
                "extractor": found.extractor,
                "is_cut": result.truncated,
                "media_type": result.media_type,
                "answer": msgspec.Raw(result.body) if is_rows else result.body.decode("utf-8", "replace"),
            }
            print(as_json(answer))
            return 0
        print_result(result.body, result.media_type, form)
        cut = "; cut at the limit of rows" if result.truncated else ""
        missing = f"; {counted(replayed.unread, 'page')} could not be read again" if replayed.unread else ""
        pages = f"{counted(replayed.pages, 'page')} as of {in_words(at)}"
        note(f"{pages}, read by {found.extractor}{missing}{cut}")
        return 0

    async def export(self, folder: Path) -> int:
        async with self._past() as past:
            with Progress("writing", self._outside.clock) as progress:
                written = await export_tree(past, self._directory, self._outside, folder, progress.show)
        if self._is_json:
            print(as_json(written))
            return 0
        more = f"; {written.known:,} already existed" if written.known else ""
        lost = f"; {written.unread:,} could not be read" if written.unread else ""
        pages = f"{counted(written.pages, 'page')} written, {counted(written.crawls, 'folder')}{more}{lost}"
        note(f"{pages}. Each folder is a crawl, or a day (UTC) of a crawl with revisits.")
        return 0

    def _past(self, workers: int = 0) -> AbstractAsyncContextManager[HistoryReader]:
        """One worker is enough for one page: a second takes longer to start than it saves."""
        return past_of(self._directory, config_of(self._directory.root).settings, self._outside, workers)


def in_force(versions: Sequence[Kept], at: Instant, url: Url) -> Kept:
    """The page at that time, else the last response before it. Raises GossamerError if there is none."""
    until = [kept for kept in versions if kept.fetched_at <= at]
    if not until:
        raise GossamerError(NO_PAGE.format(url=url, when=f" at {in_words(at)} or before"))
    return next((kept for kept in reversed(until) if kept.is_page), until[-1])


def chosen(versions: Sequence[Kept], named: tuple[str, ...], url: Url) -> tuple[Kept, Kept]:
    """The two versions to compare: those named, the one named and the newest, or the last two that differ."""
    if not versions:
        raise GossamerError(NO_PAGE.format(url=url, when=""))
    if len(named) > 2:
        raise ConfigError("give two versions at most: gossamer history URL --diff FROM TO")
    readable = [kept for kept in versions if 200 <= kept.status < 300]
    last = readable[-1] if readable else versions[-1]
    if named:
        found = [_version(versions, name, url) for name in named]
        return found[0], found[1] if len(found) == 2 else last
    before = next((kept for kept in reversed(readable[:-1]) if kept.digest != last.digest), None)
    if before is None:
        same = (
            f"all {len(readable):,} versions of it are the same" if len(readable) > 1 else "only one version is stored"
        )
        raise GossamerError(f"{url} has not changed: {same}")
    return before, readable[readable.index(before) + 1]


def _version(versions: Sequence[Kept], name: str, url: Url) -> Kept:
    if not name.isdigit() or len(name) >= len("20261115"):
        return in_force(versions, _moment(name), url)
    if not 1 <= int(name) <= len(versions):
        raise ConfigError(f"{url} has {counted(len(versions), 'version')}; there is no number {name}")
    return versions[int(name) - 1]


def _moment(text: str) -> Instant:
    try:
        return moment_of(text)
    except ValueError:
        raise ConfigError(f"{text!r} is not a time: write 2026-11-15, or 2026-11-15T08:30:00Z") from None


def _url(what: tuple[str, ...], directory: Directory) -> Url:
    """Without a scheme: the https or http URL, whichever is stored."""
    if not what:
        raise ConfigError("give a URL: gossamer history https://example.org/; or export and a folder")
    spelled = [what[0]] if "://" in what[0] else [f"https://{what[0]}", f"http://{what[0]}"]
    urls = [url for text in spelled if (url := url_of(text)) is not None]
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


def page_json(version: ReadVersion, kept: Kept, at: Instant, gone: Kept | None) -> dict[str, object]:
    """`gone_at`: when the page was found gone; the version is the last one before that."""
    return {
        "url": version.url,
        "asked_at": in_words(at),
        "fetched_at": in_words(kept.fetched_at),
        "status": kept.status,
        "title": version.title,
        "description": version.description,
        "language": version.language,
        "text": version.text,
        "facts": facts_of(version),
        "extractor": extractor(),
        "gone_at": in_words(gone.fetched_at) if gone is not None else None,
        "gone_status": gone.status if gone is not None else None,
    }


def facts_of(version: ReadVersion) -> list[str]:
    return version.facts.decode("utf-8", "replace").splitlines()


def shown_time(at: Instant | str) -> str:
    return (at if isinstance(at, str) else in_words(at))[:19].replace("T", " ")


def gone_in_words(gone: Kept, last: Kept) -> str:
    how = "redirected elsewhere" if gone.status < 400 else f"answered {gone.status}"
    when, before = shown_time(gone.fetched_at), shown_time(last.fetched_at)
    return f"gone by then: it {how} on {when} UTC; this is the last version before that, of {before} UTC"


def show_timeline(found: Timeline, out: Console) -> None:
    out.print(found.url, style="cyan", soft_wrap=True)
    if found.seen_again:
        again = counted(len(found.seen_again), "fetch")
        out.print(f"{again} found it unchanged, most recently on {shown_time(found.seen_again[-1])} UTC", style="dim")
    if found.earlier:
        out.print(f"the newest of {counted(found.earlier + len(found.versions), 'version')}", style="dim")
    versions = table(">", "fetched (UTC)", ">status", ">size", "encoding", ">facts", "changed")
    for version in found.versions:
        versions.add_row(
            str(version.number),
            shown_time(version.fetched_at),
            str(version.status),
            decimal(version.size),
            version.charset + ("?" if version.charset_from == "guess" else ""),
            "" if version.fact_count is None else f"{version.fact_count:,}",
            change_of(version),
        )
    out.print(versions)


def change_of(version: CaptureVersion) -> Text:
    if version.is_gone:
        return Text(f"gone ({version.note})", style="red")
    shown = Text("back, ", style="bold") if version.is_back else Text()
    if version.changes is None:
        first = "first seen" if version.number == 1 else "first readable version"
        shown.append(version.note or first, style="dim")
    elif strong := [name for name in version.changes if name != "bytes"]:
        shown.append(", ".join(strong), style="bold")
    else:
        shown.append("bytes only" if version.changes else "no", style="dim")
    if version.seen_again:
        shown.append(f"; seen unchanged {counted(version.seen_again, 'time')} more", style="dim")
    return shown


def show_difference(difference: Difference, out: Console) -> None:
    out.print(difference.url, style="cyan", soft_wrap=True)
    out.print(f"--- {difference.from_at}\n+++ {difference.to_at}", style="bold")
    out.print("changed: " + (", ".join(difference.changes) or "nothing"))
    if any(line.how in ("added", "removed") for line in difference.text):
        out.print("\ntext", style="bold")
        for line in difference.text:
            out.print(text_line(line), soft_wrap=True)
    facts = difference.facts
    if facts.added or facts.removed:
        out.print(f"\nfacts ({facts.kept:,} unchanged)", style="bold")
        for sign, style, lines in (("- ", "red", facts.removed), ("+ ", "green", facts.added)):
            for fact in lines:
                out.print(sign + harmless(fact), style=style, soft_wrap=True)
    if difference.is_cut:
        out.print("\nthe output was cut at the limit", style="dim")


def text_line(line: TextLine) -> Text:
    """Changed words are highlighted; without colours, the signs at the left mark the lines."""
    if line.how == "gap":
        return Text("  ...", style="dim")
    sign, style = SIGNS[line.how]
    shown = Text(sign, style=style)
    for piece in line.pieces:
        shown.append(harmless(piece.text), style=f"bold {style} reverse" if piece.is_changed else style)
    return shown


def show_page(version: ReadVersion, kept: Kept, gone: Kept | None, out: Console) -> None:
    out.print(harmless(version.title or version.url), style="bold")
    out.print(version.url, style="cyan", soft_wrap=True)
    if gone is not None:
        out.print(f"gone by then: status {gone.status}, {shown_time(gone.fetched_at)} UTC", style="red")
    out.print(f"as it was fetched on {shown_time(kept.fetched_at)} UTC, status {kept.status}", style="dim")
    out.print("\n" + harmless(version.text), soft_wrap=True)
    if facts := facts_of(version):
        out.print(f"\n{counted(len(facts), 'fact')}", style="bold")
    for fact in facts:
        out.print(harmless(fact), soft_wrap=True)
    out.print(f"\nread by {extractor()}", style="dim")
