"""The summary of a crawl: what was found, what went wrong and why, what to do next."""

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec
from rich.console import Group
from rich.filesize import decimal
from rich.table import Table
from rich.text import Text

from gossamer.crawler.damage import DAMAGED
from gossamer.crawler.heartbeat import Tally
from gossamer.fetch.guard import closed_address
from gossamer.values.format import counted, fitted
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.visit import Counts, EndedGroup

STOPPED = 130
NOTHING_FETCHED = 1
MOST_TROUBLES = 5
NEXT_STEP = {
    Reason.CONTACT: "set a contact for site owners: --contact you@example.org, or contact in gossamer.toml",
    Reason.ADDRESS: "for your own network, allow it: --allow-address RANGE, such as 10.1.0.0/16",
    Reason.DNS: "check how the host is spelled, and that this machine can resolve names",
    Reason.CONNECT: "check that the server is up and the port is right, then give the same command again",
    Reason.TLS: "check the server's certificate; add your own authority with fetch.tls_authorities",
    Reason.TIMEOUT: "the server is slow or silent; try again later, or raise fetch.timeout_s",
    Reason.UNFINISHED: "the page is slow, or never ends; raise fetch.timeout_s if you need it",
    Reason.TOO_SLOW: "the page is very slow; lower fetch.least_rate if you need it",
    Reason.ROBOTS: "the site's robots.txt disallows crawlers, and it is always obeyed: ask the site's owner",
    Reason.ROBOTS_UNREACHABLE: "without a readable robots.txt nothing is fetched; a later crawl requests it again",
    Reason.GONE: "check the URL",
    Reason.FILTER_ERROR: "fix the filter, or remove it from crawl.filters; the next crawl runs it again",
    Reason.SERVER_ERROR: "the server has errors; try again later",
    Reason.SLOW_DOWN: "the server asks to slow down; try again later",
    Reason.MEDIA_TYPE: "this crawl collects pages and text; give a URL of such a page",
    Reason.CLIENT_ERROR: "the server refuses it (such as 401 or 403): try it in a browser, or ask the site's owner",
    Reason.SOFT_404: "the server says there is no such page: check the URL",
    Reason.SCOPE: "it is outside the scope of this crawl: add its site as a seed, or widen crawl.scope",
    Reason.FILTER: "one of your rules excludes it: `gossamer rules` shows which",
    Reason.TRAP: "it looks like a trap: `gossamer why --host HOST` shows it, `gossamer hosts release` releases it",
    Reason.RETIRED: "its host was down or too slow for a long time: `gossamer hosts reinstate HOST` tries it again",
    Reason.FORGOTTEN: "it was forgotten on request: `gossamer forget --list` shows what is",
    Reason.TOO_MANY_REDIRECTS: "give the URL at which its redirects end, if there is one",
    Reason.REDIRECT_OUT: "give an http or https URL of the site",
    Reason.PROTOCOL: "check that a web server answers there, at that port",
    Reason.HEADERS_TOO_LARGE: "the server's response is invalid: ask the site's owner",
    Reason.DISCONNECTED: "run the same command again; if it keeps failing, ask the site's owner",
    Reason.CODING: "the server's response is invalid: ask the site's owner",
    Reason.READ_TIMEOUT: "raise readers.cpu_s or readers.wall_s; `gossamer rebuild` then reads what is stored",
    Reason.READ_CRASH: "`gossamer rebuild` reads what is stored again; please report a URL that fails each time",
    Reason.READ_MEMORY: "raise readers.memory_mib; `gossamer rebuild` then reads what is stored",
    Reason.FETCHED: "what was fetched is not a page (an image, a sitemap, a noindex page): give a page",
    Reason.MOVED: "it redirects to another URL that was not fetched: `gossamer why URL` says why",
    Reason.UNCHANGED: "it has not changed, and is not a page: give a page",
}
"""What helps when nothing could be fetched, by outcome."""


@dataclass(frozen=True, slots=True)
class CrawlEnd:
    """How a crawl ended, for the exit code and the summary."""

    was_stopped: bool
    counts: Counts
    limit: int | None = None
    """The maximum number of pages."""
    held: tuple[EndedGroup, ...] = ()
    """URLs waiting for an option (`values.outcome.HELD`)."""
    allowed: tuple[str, ...] = ()
    """The private ranges that were allowed."""

    @property
    def is_full(self) -> bool:
        return not self.was_stopped and self.limit is not None and self.counts.pages >= self.limit

    def exit_code(self, tally: Tally) -> int:
        """Finding nothing new is success; an empty collection or a damaged archive is not."""
        if self.was_stopped:
            return STOPPED
        if tally.found_damage:
            return DAMAGED
        return NOTHING_FETCHED if not tally.fetched and not self.counts.pages else 0


def summary(tally: Tally, ended: CrawlEnd, directory: str | None) -> Group:
    """`directory`: None for a temporary one."""
    seconds = max(0.001, tally.elapsed_s())
    title = f"{'Stopped' if ended.was_stopped else 'Finished'} after {seconds:.1f} s"
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    table.add_column(justify="right", style="bold")
    table.add_column()
    run = f"{tally.fetched:,} fetched in this run, {tally.fetched / seconds:.1f} per second, {decimal(tally.size)}"
    table.add_row(f"{ended.counts.pages:,}", f"{fitted('pages', ended.counts.pages)}; {run}")
    table.add_row(f"{tally.facts:,}", fitted("facts found in this run", tally.facts))
    for reason, number in sorted(ended.counts.by_reason.items(), key=lambda one: -one[1]):
        table.add_row(f"{number:,}", f"{reason}: {IN_WORDS[Reason(reason)]}", style="dim")
    for words in left_out(tally):
        table.add_row("", words)
    for waiting in waiting_for_options(ended.held, ended.allowed):
        wait = "URL waits" if waiting.urls == 1 else "URLs wait"
        table.add_row(f"{waiting.urls:,}", f"{wait} because {waiting.why}; continue with {waiting.flags}")
    if ended.is_full:
        words = (
            "the limit crawl.max_pages is reached: a higher --max-pages continues "
            f"({counted(tally.queued, 'URL')} waiting), or none: gossamer config unset crawl.max_pages"
        )
        table.add_row("", words)
    elif tally.queued:
        is_retired = not ended.was_stopped and ended.counts.retired
        where = (
            "at retired hosts: `gossamer hosts` shows them" if is_retired else "the same command continues from here"
        )
        table.add_row(f"{tally.queued:,}", f"{fitted('URLs', tally.queued)} still waiting: {where}")
    elif not tally.visits and ended.counts.known and not ended.held:
        table.add_row("", f"nothing was left to fetch: all {ended.counts.known:,} known URLs have been fetched")
    if directory is not None and ended.counts.by_reason:
        table.add_row("", f"which URLs: gossamer export outcomes --reason REASON --dir {directory}", style="dim")
    return Group(table, *_last_words(tally, ended, directory))


def left_out(tally: Tally) -> list[str]:
    """The hosts that were skipped because of their robots.txt, why, and how to continue."""
    many, shown = len(tally.troubles), list(tally.troubles.items())[:MOST_TROUBLES]
    lines = [f"{url} could not be read, so its host is skipped: {IN_WORDS[why]}" for url, why in shown]
    if many > MOST_TROUBLES:
        lines.append(f"... and {many - MOST_TROUBLES:,} more such hosts: `gossamer hosts` shows them")
    return [*lines, "the same command tries again; with --forever a crawl keeps trying by itself"] if many else []


class OptionWait(msgspec.Struct, frozen=True):
    """URLs waiting for an option, and the flags that continue with them."""

    reason: Reason
    urls: int
    why: str
    flags: str


def waiting_for_options(held: Sequence[EndedGroup], allowed: Sequence[str] = ()) -> list[OptionWait]:
    """`allowed`: ranges that new flags would replace. Addresses that cannot be allowed are left out."""
    found = []
    for group in held:
        if group.reason is Reason.CONTACT:
            found.append(OptionWait(group.reason, group.urls, "no contact is set", "--contact you@example.org"))
        closed = {address: many for detail, many in group.details if (address := closed_address(detail))}
        if closed:
            flags = " ".join(f"--allow-address {address}" for address in dict.fromkeys((*allowed, *closed)))
            why = f"their IP addresses are not allowed: {', '.join(closed)}"
            found.append(OptionWait(group.reason, sum(closed.values()), why, flags))
    return found


def _last_words(tally: Tally, ended: CrawlEnd, directory: str | None) -> list[Text]:
    if ended.counts.pages and directory is None:
        return [Text("The collection was temporary: use --dir DIR to keep it for searching later.")]
    if ended.counts.pages:
        search = f"gossamer search WORDS --dir {directory}"
        return [Text(f"Search it:  {search}   or   gossamer serve --dir {directory}")]
    if ended.was_stopped:
        return []
    return [Text("Nothing was fetched. What to do next:", style="bold"), *map(Text, next_steps(tally, ended.counts))]


def next_steps(tally: Tally, counts: Counts) -> list[str]:
    """What helps against each reason why nothing was fetched: those of a robots.txt first, then the most frequent."""
    causes = dict.fromkeys([*tally.troubles.values(), *(Reason(reason) for reason, _ in tally.reasons.most_common())])
    causes |= dict.fromkeys(Reason(reason) for reason in counts.by_reason)
    if tally.troubles:
        causes.pop(Reason.ROBOTS_UNREACHABLE, None)
    if not causes and (counts.known or tally.visits):
        return ["  no fetch has ended yet: the same command continues from here"]
    return [f"  {cause}: {NEXT_STEP[cause]}" for cause in causes] or [
        "  give a seed URL: gossamer crawl https://example.org/"
    ]
