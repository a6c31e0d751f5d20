"""What is wrong with a crawl and how to fix it: a table of checks on its figures, each with a hint."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

import msgspec

from gossamer.archive.directories import ArchiveStatus
from gossamer.base.clock import SECOND, Instant
from gossamer.monitor.control import ProcessStatus
from gossamer.store.statements import State, load
from gossamer.values.format import counted, duration
from gossamer.values.outcome import Reason
from gossamer.workers.protocol import MEANINGS, from_bits

Severity = Literal["trouble", "warning", "advice"]
MIB = 1 << 20


class Hint(msgspec.Struct, frozen=True):
    code: str
    """Stable: "disk-low", "indexer-silent", ..."""
    severity: Severity
    """trouble: work has stopped or is being lost; warning: it may be soon; advice: it could run better."""
    words: str
    fix: str = msgspec.field(name="mend")
    """What to do about it."""
    link: str = ""
    """The page with the list that it is about; may be empty."""


class HostSums(msgspec.Struct, frozen=True):
    """The hosts of a crawl, in summary."""

    waiting_hosts: int = 0
    """With URLs waiting, and not retired."""
    ready_hosts: int = 0
    """Of them, those that may be fetched from now."""
    failing_hosts: int = 0
    """Down at the last fetch."""
    backing_off: int = 0
    """Fetched from less often because they failed or asked for it."""
    fullest: str = ""
    """The host with the most URLs waiting."""
    fullest_queued: int = 0
    queued: int = 0
    mean_gap_s: float = 0.0
    """Required for the hosts that wait."""


@dataclass(frozen=True, slots=True)
class Overview:
    """What the hints are derived from."""

    processes: Sequence[ProcessStatus]
    nodes: Sequence[ProcessStatus] = ()
    outcomes: Mapping[str, int] = field(default_factory=dict)
    counters: Mapping[str, int] = field(default_factory=dict)
    survey: HostSums = field(default_factory=HostSums)
    lag_before_s: float | None = None
    """The index delay some minutes ago."""
    has_contact: bool = True
    low_water: int = 256 * MIB
    delay_s: float = 1.0
    archive: ArchiveStatus = field(default_factory=ArchiveStatus)
    """Its directories, if it is on several disks."""

    def process(self, name: str) -> ProcessStatus | None:
        return next((one for one in self.processes if one.name == name), None)

    def figure(self, process: str, name: str) -> float:
        found = self.process(process)
        return found.figures.get(name, 0.0) if found is not None and found.is_alive else 0.0

    def ended(self, *reasons: Reason) -> int:
        return sum(self.outcomes.get(reason, 0) for reason in reasons)

    @property
    def visited(self) -> int:
        return sum(self.outcomes.values())

    @property
    def is_crawling(self) -> bool:
        crawler = self.process("crawler")
        return crawler is not None and crawler.is_alive


Question = Callable[[Overview], Hint | None]
ORDER: Mapping[Severity, int] = {"trouble": 0, "warning": 1, "advice": 2}


def hints(overview: Overview) -> tuple[Hint, ...]:
    """The most severe first."""
    found = [hint for question in QUESTIONS if (hint := question(overview)) is not None]
    return tuple(sorted(found, key=lambda hint: ORDER[hint.severity]))


def disk(at: Overview) -> Hint | None:
    free = min((one.figures["disk_free"] for one in at.nodes if one.figures.get("disk_total")), default=None)
    fix = "Free some space on that disk, or move the directory to a larger one; no stored data is lost."
    if free is None or free > 4 * at.low_water:
        return None
    left = f"{free / 1e9:.1f} GB are free on the disk of the data directory"
    if free <= at.low_water:
        words = f"The disk is full: {left}. The crawl waits for space and continues by itself; search still works."
        return Hint("disk-low", "trouble", words, fix, "/nodes#nodes")
    return Hint("disk-low", "warning", f"The disk is nearly full: {left}.", fix, "/nodes#nodes")


def archive_disks(at: Overview) -> Hint | None:
    """A directory of the archive that is away, or full."""
    used = [one for one in at.archive.disks if one.is_used]
    there = [one for one in used if one.state == "there"]
    if away := [one for one in used if one.state != "there"]:
        which = ", ".join(one.directory for one in away)
        words = f"Of the directories of the archive, {len(away)} of {len(used)} cannot be used: {which}."
        fix = (
            "Mount its disk, and its volumes count again. If it was replaced by an empty one: `gossamer verify "
            "--repair --new-disk DIRECTORY`."
        )
        return Hint("archive-disk-away", "warning" if there else "trouble", words, fix, "/nodes#nodes")
    low = [one.directory for one in there if one.free_bytes < at.archive.low_water_bytes]
    if not low:
        return None
    words = f"Of the disks of the archive, {len(low)} of {len(used)} are full: {', '.join(low)}."
    if len(low) == len(used):
        words += " The crawl waits for space and continues by itself; search still works."
    fix = "Free some space there, or add a directory on another disk to archive.directories."
    return Hint("archive-disk-low", "trouble" if len(low) == len(used) else "warning", words, fix, "/nodes#nodes")


def copies(at: Overview) -> Hint | None:
    archive = at.archive
    if archive.short:
        (name, have), more = archive.short[0], len(archive.short) - 1
        words = f"Volume {name} has {have} of {archive.copies} copies"
        words += f", and {more:,} more {'have' if more > 1 else 'has'} too few." if more else "."
        fix = "A running crawl makes them again in the background; `gossamer verify --repair` does it at once."
        return Hint("copies-missing", "warning", words, fix, "/nodes#nodes")
    if archive.copies > 1 and archive.shared:
        words = f"{' and '.join(archive.shared[0])} are on one file system: copies there do not survive its loss."
        return Hint("copies-on-one-disk", "warning", words, "Name directories on different disks.")
    if unused := [one for one in archive.disks if not one.is_used and one.volumes]:
        held = counted(unused[0].volumes, "volume")
        words = f"{unused[0].directory} is no longer in archive.directories, and has {held}."
        return Hint("archive-disk-unused", "advice", words, "`gossamer verify --repair` moves them.")
    return None


def silence(at: Overview) -> Hint | None:
    silent = [one.name for one in at.processes if one.life == "silent" and one.name in ("crawler", "indexer")]
    if not silent:
        return None
    who = " and the ".join(silent)
    are, their = ("have", "Their") if len(silent) > 1 else ("has", "Its")
    words = f"The {who} {are} stopped responding: killed, or the machine is overloaded."
    fix = f"{their} work is safe. `gossamer crawl` with the same --dir continues; see its terminal for the cause."
    return Hint(f"{silent[0]}-silent", "trouble", words, fix, "/nodes#processes")


def lag(at: Overview) -> Hint | None:
    behind, before = at.figure("crawler", "words_lag_s"), at.lag_before_s
    if behind < 15 or (before is not None and behind < before):
        return None
    words = f"The index is {behind:.0f} s behind the crawl, and the delay is growing."
    fix = "The crawl slows down for it. A faster disk helps the indexer most; a lower `crawl.at_once`, too."
    return Hint("lag-grows", "warning", words, fix, "/nodes#history")


def contact(at: Overview) -> Hint | None:
    if refused := at.ended(Reason.CONTACT):
        words = f"{counted(refused, 'public URL')} not fetched, because no contact is set."
        fix = "Set contact in gossamer.toml to a URL or email address where site owners reach you, and crawl again."
        return Hint("contact-missing", "trouble", words, fix, "/crawl?reason=contact")
    if not at.has_contact and not at.is_crawling:  # a crawl may have been given one with --config
        words = "No contact is set: public sites will not be fetched."
        fix = "Set contact in gossamer.toml to a URL or email address where site owners reach you."
        return Hint("contact-missing", "advice", words, fix)
    return None


def refusals(at: Overview) -> Hint | None:
    refused = at.ended(Reason.CLIENT_ERROR, Reason.SLOW_DOWN)
    if refused < 20 or refused < 0.05 * at.visited:
        return None
    slow = at.ended(Reason.SLOW_DOWN)
    words = f"{refused:,} URLs were refused by their servers (4xx); {slow:,} of them asked us to slow down."
    fix = "Raise `politeness.delay_s`, and name yourself in the contact: site owners allow crawlers they know."
    return Hint("hosts-refuse", "warning", words, fix, "/crawl?reason=client-error")


def robots(at: Overview) -> Hint | None:
    if not (given_up := at.ended(Reason.ROBOTS_UNREACHABLE)):
        return None
    words = f"{counted(given_up, 'URL')} not fetched, because robots.txt cannot be read."
    fix = "Most recover by themselves. `gossamer why --host NAME` shows a host's state; retire hosts that are gone."
    return Hint("robots-unread", "warning", words, fix, "/crawl?reason=robots-unreachable")


def names(at: Overview) -> Hint | None:
    failed = at.ended(Reason.DNS)
    if failed < 10 or failed < 0.05 * at.visited:
        return None
    words = f"The host names of {failed:,} URLs do not resolve."
    if failed > 0.5 * at.visited:
        fix = "DNS does not seem to work here: check the network of this machine."
        return Hint("names-fail", "trouble", words, fix)
    fix = "Either the links lead to dead sites, or DNS is not working."
    return Hint("names-fail", "warning", words, fix, "/crawl?reason=dns")


def patience(at: Overview) -> Hint | None:
    hosts, queued, gap_s = at.survey.waiting_hosts, at.survey.queued, at.survey.mean_gap_s or at.delay_s
    if not at.is_crawling or not hosts or hosts > 50 or queued < 200 or gap_s <= 0:
        return None
    rate = hosts / gap_s
    rest_s = queued / rate
    if rest_s < 120:
        return None
    words = (
        f"Everything is waiting for politeness: {queued:,} URLs on {counted(hosts, 'host')}, one fetch per "
        f"host every {gap_s:.1f} s. That is at most {rate:.1f} pages per second; the queue takes {duration(rest_s)}."
    )
    fix = "Crawl more hosts at the same time; or, if the sites are your own, lower `politeness.delay_s`."
    return Hint("politeness-waits", "advice", words, fix, "/crawl/hosts")


def readers(at: Overview) -> Hint | None:
    lost = at.ended(Reason.READ_CRASH, Reason.READ_MEMORY, Reason.READ_TIMEOUT)
    if lost < 5 or lost < 0.01 * at.visited:
        return None
    words = f"{lost:,} pages could not be read: the reader hit a limit or crashed."
    fix = (
        "They are stored in the archive. If memory was the limit, raise `readers.memory_mib`; if time, "
        "`readers.cpu_s`; then `gossamer rebuild` reads them again."
    )
    return Hint("readers-lost", "warning", words, fix, "/crawl?reason=read-timeout")


def one_host(at: Overview) -> Hint | None:
    survey = at.survey
    if survey.waiting_hosts < 2 or survey.queued < 500 or survey.fullest_queued < 0.9 * survey.queued:
        return None
    share = 100 * survey.fullest_queued // survey.queued
    words = f"{survey.fullest} has {share} % of the waiting URLs."
    fix = "If it matters less than the rest, give it a rule (later 2, or exclude), or lower `crawl.site_visits`."
    return Hint("one-host", "advice", words, fix, "/crawl/hosts")


def traps(at: Overview) -> Hint | None:
    held = at.counters.get("quarantined", 0)
    if not held:
        return None
    words = f"{counted(held, 'URL')} quarantined (possible crawler trap)."
    fix = "If that is a mistake, release them with `gossamer hosts release HOST --pattern PATTERN`."
    return Hint("traps-held", "advice", words, fix, "/crawl/hosts")


def hosts_down(at: Overview) -> Hint | None:
    failing, waiting = at.survey.failing_hosts, at.survey.waiting_hosts
    if failing < 5 or failing < 0.2 * max(1, waiting):
        return None
    words = f"{failing:,} of the hosts with waiting URLs are down or unreachable."
    fix = "They are retried, less and less often, and finally retired. If there are many, check your own network."
    return Hint("hosts-down", "warning", words, fix, "/crawl/hosts")


def paused(at: Overview) -> Hint | None:
    crawler = at.process("crawler")
    if crawler is None or crawler.says != "paused":
        return None
    return Hint(
        "paused", "advice", "The crawl is paused: nothing new is fetched.", "Resume it on the crawl page.", "/crawl"
    )


def memory(at: Overview) -> Hint | None:
    for node in at.nodes:
        total, free = node.figures.get("memory_total", 0), node.figures.get("memory_free", 0)
        if node.is_alive and total and free < 0.05 * total:
            words = f"{node.name} has {free / 1e9:.1f} GB of memory left, out of {total / 1e9:.1f} GB."
            fix = "Use fewer readers (`readers.count`); a machine that swaps crawls many times slower."
            return Hint("memory-low", "warning", words, fix, "/nodes#nodes")
    return None


def barriers(at: Overview) -> Hint | None:
    lacking = [one for one in at.processes if one.figures.get("barriers_missing") and one.is_alive]
    if not lacking:
        return None
    missing = 0
    for one in lacking:
        missing |= int(one.figures["barriers_missing"])
    held = from_bits(missing)
    who = " and the ".join(one.name for one in lacking)
    words = f"The workers of the {who} lack a sandbox barrier: {', '.join(MEANINGS[name] for name in held.missing)}."
    if not held.is_network_closed:
        words += " Their network is open, so SPARQL is refused."
    fix = "Allow user namespaces and seccomp to this user or container; docs/hardening.md says how."
    severity: Severity = "advice" if held.is_network_closed and held.memory and held.cpu else "warning"
    return Hint("barrier-missing", severity, words, fix, "/nodes#processes")


QUESTIONS: tuple[Question, ...] = (
    disk, archive_disks, silence, contact, names, memory, lag, copies, refusals, robots, hosts_down, readers, paused,
    patience, one_host, traps, barriers,
)  # fmt: skip


# A summary of the hosts, for the hints. It reads a table of one row a host, so it is not for every second.

_SQL = load("gossamer.monitor", "survey.sql")


def survey(state: State, now: Instant) -> HostSums:
    """Through any connection to the state, also a read-only one."""
    hosts, ready, failing, backing_off, queued, gap = state.execute(_SQL["hosts"], {"now": now}).fetchone()
    name, most = state.execute(_SQL["fullest"]).fetchone() or ("", 0)
    return HostSums(hosts, ready, failing, backing_off, name, most, queued, gap / SECOND)
