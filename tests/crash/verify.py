"""Checks of a crawl that was killed: nothing lost, no duplicates, every gap kept."""

import asyncio
import gzip
from collections import Counter
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

from fastwarc.warc import ArchiveIterator as FastIterator
from fastwarc.warc import WarcRecord
from tests.cli.site import held
from tests.crash.child import SETTINGS
from tests.crash.web import crash_web
from warcio.archiveiterator import ArchiveIterator

from gossamer.archive.catalogue import Catalogue
from gossamer.base.environment import real_outside
from gossamer.base.files import DiskFiles
from gossamer.collection.maintenance.backup import back_up
from gossamer.collection.maintenance.rebuild import build_again
from gossamer.demo.server import Logged
from gossamer.demo.verdict import CrawledPage, check, manifest_of
from gossamer.frontier.reports import every_end
from gossamer.store.directory import Directory
from gossamer.store.sqlite.database import read_only
from gossamer.values.url import Url
from gossamer.views.facts.store import opened
from gossamer.views.words.searcher import Searcher

LISTS: tuple[str, ...] = ("lost", "fetched_after", "duplicates", "unreadable", "too_early", "disallowed", "missing")
LISTS += ("not_searchable", "differing")
SKEW_S = 0.005
"""Two processes read one clock; this allows for the time between reading and recording it."""
MOST_SHOWN = 20
"""Facts that only one of two stores has; enough to see where they come from."""


@dataclass(slots=True)
class Findings:
    acknowledged: int = 0
    lost: list[str] = field(default_factory=list)
    fetched_after: list[str] = field(default_factory=list)
    """Fetched again although a fetch had been acknowledged as the last one."""
    differing: list[str] = field(default_factory=list)
    """Views that differ from those that a rebuild from the archive makes."""
    refetches: int = 0
    in_flight: int = 0
    duplicates: list[str] = field(default_factory=list)
    unreadable: list[str] = field(default_factory=list)
    too_early: list[str] = field(default_factory=list)
    disallowed: list[str] = field(default_factory=list)
    missing: list[str] = field(default_factory=list)
    not_searchable: list[str] = field(default_factory=list)
    wrong_facts: list[str] = field(default_factory=list)

    def errors(self) -> list[str]:
        """Empty if every guarantee holds."""
        found = []
        for name in LISTS:
            if listed := getattr(self, name):
                found.append(f"{len(listed)} {name}: {', '.join(map(str, listed[:5]))}")
        if self.wrong_facts:
            found.append(f"{len(self.wrong_facts)} pages with wrong facts: {', '.join(self.wrong_facts[:5])}")
        if self.refetches > self.in_flight:
            found.append(f"{self.refetches} refetches, and only {self.in_flight} fetches were in flight")
        return found

    def in_words(self) -> str:
        return (
            f"{self.acknowledged} acknowledged, {len(self.lost)} lost, {self.refetches} refetches of "
            f"{self.in_flight} in flight, {len(self.duplicates)} duplicates, {len(self.too_early)} too early"
        )


def findings(
    root: Path, events: list[dict[str, object]], hits: list[Logged], in_flight: int, hosts: int, pages: int
) -> Findings:
    directory, files = Directory(root), DiskFiles()
    settled = [event for event in events if event.get("event") == "visit.settled"]
    found = Findings(acknowledged=len(settled), in_flight=in_flight)
    found.lost = lost(directory, settled)
    found.fetched_after = fetched_after(hits, settled)
    found.refetches = refetches(hits, settled)
    found.unreadable = unreadable(directory)
    urls = searchable(directory)
    found.duplicates = [url for url, times in Counter(urls).items() if times > 1]
    judge(found, directory, hits, hosts, pages)
    with Catalogue(directory, files) as catalogue:
        kept = {one.url.text for one in catalogue.pages()}
    found.not_searchable = sorted(kept - set(urls))
    found.differing = differing(root)
    return found


def lost(directory: Directory, settled: list[dict[str, object]]) -> list[str]:
    """Acknowledged pages that the catalogue does not know, or whose bytes the archive cannot return."""
    gone = []
    with Catalogue(directory, DiskFiles()) as catalogue:
        for event in settled:
            if event["is_page"]:
                versions = catalogue.versions(Url(str(event["url"])))
                whole = [catalogue.read(kept) for kept in versions if kept.size == event["size"]]
                if not any(capture is not None and len(capture.body) == event["size"] for capture in whole):
                    gone.append(str(event["url"]))
    return gone


def fetched_after(hits: list[Logged], settled: list[dict[str, object]]) -> list[str]:
    """Pages requested after the crawl had reported that they were done: the acknowledgement was lost."""
    over = {str(event["url"]): int(str(event["read_at"])) for event in reversed(settled) if is_over(event)}
    return sorted({hit.url for hit in hits if hit.url in over and hit.asked_at > over[hit.url]})


def is_over(event: dict[str, object]) -> bool:
    return event["kind"] == "page" and not event["again"]


def differing(root: Path) -> list[str]:
    """The views of the killed crawl that differ from views made from its archive alone."""
    copy, outside = root.with_name("copy"), real_outside()
    back_up(Directory(root), Directory(copy), outside)
    asyncio.run(build_again(Directory(copy), SETTINGS.agent, outside))
    killed, made = held(root), held(copy)
    views = [view for view in ("facts", "sources", "links", "cards") if getattr(killed, view) != getattr(made, view)]
    return views + (sorted(facts_of(root) ^ facts_of(copy))[:MOST_SHOWN] if "facts" in views else [])


def facts_of(root: Path) -> set[str]:
    return {str(quad) for quad in opened(Directory(root).graph).quads_for_pattern(None, None, None, None)}


def refetches(hits: list[Logged], settled: list[dict[str, object]]) -> int:
    """Fetches after the first of each URL, minus the announced ones (retries after a failure)."""
    again = Counter(str(event["url"]) for event in settled if event["again"])
    counts = Counter(hit.url for hit in hits)
    robots_again = sum(1 for event in settled if event["kind"] == "robots" and event["outcome"] != "fetched")
    extra = sum(max(0, times - 1 - again[url]) for url, times in counts.items())
    return max(0, extra - robots_again)


def unreadable(directory: Directory) -> list[str]:
    """Volumes that gzip, warcio or fastwarc complain about."""
    wrong = []
    for path in sorted(directory.archive.iterdir()):
        try:
            with gzip.open(path) as file:
                while file.read(1 << 20):
                    pass
            with path.open("rb") as stream:
                count = sum(1 for _ in ArchiveIterator(stream, check_digests="raise"))
            with path.open("rb") as stream:
                fast = sum(1 for record in FastIterator(stream, parse_http=False) if not is_damaged(record))
            if count != fast:
                wrong.append(f"{path.name}: warcio sees {count} records, fastwarc {fast}")
        except Exception as error:  # noqa: BLE001 - any error of a reader is a finding
            wrong.append(f"{path.name}: {error!r}")
    return wrong


def is_damaged(record: WarcRecord) -> bool:
    """A warcinfo record has no digest, so it never counts as damaged."""
    return record.headers.get("WARC-Block-Digest") is not None and not record.verify_block_digest()


def searchable(directory: Directory) -> list[str]:
    searcher = Searcher(directory.index)
    searcher.open()
    return [card.url.text for card in searcher.cards()]


def judge(found: Findings, directory: Directory, hits: list[Logged], hosts: int, pages: int) -> None:
    """The demonstration web's own verdict: recall, politeness, rules, facts."""
    verdict = check(manifest_of(crash_web(hosts, pages)), outcomes(directory), hits, SETTINGS.politeness.delay_s)
    found.too_early = [
        f"{one.url} after {one.gap_s:.3f} of {one.promised_s} s"
        for one in verdict.politeness_violations
        if one.gap_s < one.promised_s - SKEW_S
    ]
    found.disallowed = list(verdict.disallowed_fetched)
    found.missing = list(verdict.missing)
    found.wrong_facts = [f"{one.url}: {one.found} of {one.expected}" for one in verdict.wrong_facts]


def outcomes(directory: Directory) -> dict[str, CrawledPage]:
    searcher = Searcher(directory.index)
    searcher.open()
    facts = {card.url.text: card.fact_count for card in searcher.cards()}
    with closing(read_only(directory.state)) as state:
        return {url: CrawledPage(reason, facts.get(url, 0)) for url, reason in every_end(state)}
