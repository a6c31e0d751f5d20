"""The checks of an attack, and its figures as text."""

from dataclasses import dataclass, field
from statistics import median

from tests.attack.crawl import Crawled, CrawlSpec
from tests.attack.plan import Plan
from tests.hostile.behaviour import Behaviour

from gossamer.values.outcome import Reason

LEAST_SPEED = 0.9
"""The least share of their speed that honest hosts keep during an attack."""
MOST_CRAWLER, MOST_READER = 512 << 20, 1024 << 20
"""Resident bytes. A reader may use 512 MiB more than its libraries."""
LONGEST_STALL_S = 0.1
ENDED, STOPPED = 0, 130
CODES = frozenset(reason.value for reason in Reason)


@dataclass
class Verdict:
    whole: Crawled
    spec: CrawlSpec
    alone: list[Crawled] = field(default_factory=list)
    attacked: list[Crawled] = field(default_factory=list)

    @property
    def ratio(self) -> float | None:
        if not self.alone:
            return None
        return median(one.speed for one in self.attacked) / median(one.speed for one in self.alone)

    @property
    def _all_attacked(self) -> list[Crawled]:
        return [self.whole, *self.attacked]

    def failures(self) -> list[str]:
        """Every failed check, as text."""
        found = []
        for one in self._all_attacked:
            if one.missing:
                found.append(f"{len(one.missing)} of {len(one.expected)} honest pages missing: {one.missing[:3]}")
            if one.outside:
                found.append(f"outside the plan: {dict(list(one.outside.items())[:5])}")
            if one.dropped:
                found.append(f"{one.dropped} packets were not inspected")
            if one.tree is not None and one.tree.lost:
                found.append(f"processes lost: {', '.join(one.tree.lost)}")
            if one.exit_code not in (ENDED, STOPPED) or "Traceback" in one.errors:
                found.append(f"the crawl ended with {one.exit_code}: {one.errors.strip()[-300:]}")
            if one.poisoned:
                found.append(f"stored under the wrong URL: {one.poisoned[:3]}")
            if one.strays:
                found.append(f"files outside the data directory: {one.strays[:3]}")
        without = [one.name for one in self.spec.plan.behaviours if not ends_of(self.whole, one)]
        if without:
            found.append(f"{len(without)} behaviours without an outcome: {without[:8]}")
        odd = {end for ends in self.whole.ends.values() for _, end in ends} - CODES
        if odd:
            found.append(f"unknown reason codes: {sorted(odd)}")
        return found + self._measured()

    def _measured(self) -> list[str]:
        """Checks that depend on the machine, made only where speed is measured."""
        if self.ratio is None:
            return []
        found = []
        if self.ratio < LEAST_SPEED:
            found.append(f"honest hosts kept {self.ratio:.0%} of their speed, less than {LEAST_SPEED:.0%}")
        for role, most in (("crawler", MOST_CRAWLER), ("reader", MOST_READER)):
            peak = max(one.tree.peaks.get(role, 0) for one in self._all_attacked if one.tree is not None)
            if peak > most:
                found.append(f"{role}: {peak >> 20} MiB of memory, more than {most >> 20}")
        stalled = max(one.stall_s for one in self._all_attacked)
        if stalled > LONGEST_STALL_S:
            found.append(f"the crawler's loop stalled for {stalled * 1000:.0f} ms")
        return found

    def summary(self) -> str:
        whole, tree, plan = self.whole, self.whole.tree, self.spec.plan
        assert tree is not None
        tried = sum(1 for one in plan.behaviours if ends_of(whole, one))
        total = sum(len(ends) for ends in whole.ends.values())
        inspected = f"{whole.connections:,} packets inspected" if self.spec.is_inside else "connections inspected"
        lines = [
            f"behaviours tried: {tried} of {len(plan.behaviours)}, {total:,} fetches in {whole.seconds:.0f} s",
            f"honest pages: {len(whole.expected) - len(whole.missing)} of {len(whole.expected)}",
            f"sent by hostile servers: {sum(whole.sent.values()) / 1e6:,.0f} MB",
            f"outside the plan: {sum(whole.outside.values())} ({inspected}, {whole.dropped} not)",
            f"loop stalled for at most {whole.stall_s * 1000:.0f} ms, in {' > '.join(whole.stalled_in[-5:])}",
            f"events: {', '.join(f'{name} {count:,}' for name, count in sorted(whole.events.items()))}",
            "peak memory: "
            + ", ".join(f"{role} {peak >> 20} MiB ({tree.counts[role]})" for role, peak in tree.peaks.items()),
        ]
        if self.ratio is not None:
            alone, attacked = (median(one.speed for one in ones) for ones in (self.alone, self.attacked))
            lines.append(f"honest speed: {attacked:.1f} of {alone:.1f} pages/s = {self.ratio:.0%}")
        return "\n".join(lines + [f"failed: {failure}" for failure in self.failures()])


def ends_of(result: Crawled, one: Behaviour) -> list[tuple[str, str]]:
    return result.ends.get(one.host, [])


def table(result: Crawled, plan: Plan) -> str:
    """A line for each behaviour: outcome of the last fetch of its URL, number of fetches, bytes sent, URL."""
    lines = []
    for one in plan.behaviours:
        ends = ends_of(result, one)
        outcome = next((end for url, end in reversed(ends) if url == one.url), ends[-1][1] if ends else "-")
        sent = sum(result.sent.get(host, 0) for host in (one.host, *one.hosts))
        lines.append(f"{one.name:34} {outcome:20} {len(ends):5} fetches {sent:14,} bytes  {one.url}")
    return "\n".join(lines)
