"""Running totals of one crawl, kept from what it tells."""

from collections import Counter, deque
from dataclasses import dataclass, field

from gossamer.clock import Clock
from gossamer.values.outcome import IN_WORDS, Reason
from gossamer.values.visit import Counts, VisitKind

GOOD = {Reason.FETCHED, Reason.UNCHANGED, Reason.MOVED}
REFUSALS = {Reason.ROBOTS, Reason.ROBOTS_UNREACHABLE, Reason.SCOPE, Reason.ADDRESS, Reason.CONTACT, Reason.MEDIA_TYPE}
ROBOTS_TOLD = GOOD | {Reason.GONE, Reason.CLIENT_ERROR}
"""Ends of a visit to a robots.txt after which its host may be visited."""
WINDOW_S = 10.0
MINUTE_S = 60.0


@dataclass(slots=True)
class Tally:
    clock: Clock
    started: float = 0.0
    pages: int = 0
    facts: int = 0
    size: int = 0
    visits: int = 0
    again: int = 0
    reasons: Counter[str] = field(default_factory=Counter)
    """How visits to pages ended; those to robots.txt files are no pages."""
    troubles: dict[str, Reason] = field(default_factory=dict)
    """Each robots.txt that could not be read, and why."""
    recent: deque[float] = field(default_factory=lambda: deque(maxlen=20_000))
    queued: int = 0
    hosts: int = 0
    given_up: int = 0
    """Addresses that were settled without a visit since we began: their robots.txt could not be read."""
    lag_s: float = 0.0
    """How far the words that can be searched are behind."""
    facts_lag_s: float = 0.0
    rests_s: float = 0.0
    """How long no host may be visited."""
    notice: str = ""
    last_url: str = ""
    _given_up_before: int | None = None
    _past: deque[tuple[float, int, int]] = field(default_factory=deque)
    """When, bytes and errors until then; of the last minute."""

    def __post_init__(self) -> None:
        self.started = self.clock.elapsed_s()

    def settled(self, facts: dict[str, object]) -> None:
        self.visits += 1
        reason = Reason(str(facts["outcome"]))
        self.size += int(str(facts["size"]))
        self.last_url = str(facts["url"])
        self.notice = ""
        if facts["kind"] == VisitKind.ROBOTS:
            if reason not in ROBOTS_TOLD:
                self.troubles[self.last_url] = reason
            else:
                self.troubles.pop(self.last_url, None)
            return
        self.reasons[reason] += 1
        self.facts += int(str(facts["facts"]))
        self.again += bool(facts["again"])
        if reason is Reason.FETCHED:
            self.pages += 1
            self.recent.append(self.clock.elapsed_s())

    def counted(self, counts: Counts, lag_s: float, rests_s: float = 0.0, facts_lag_s: float = 0.0) -> None:
        self.queued, self.hosts, self.lag_s, self.rests_s = counts.queued, counts.hosts, lag_s, rests_s
        self.facts_lag_s = facts_lag_s
        given_up = counts.by_reason.get(Reason.ROBOTS_UNREACHABLE, 0)
        if self._given_up_before is None:
            self._given_up_before = given_up
        self.given_up = max(0, given_up - self._given_up_before)

    @property
    def errors(self) -> int:
        return sum(n for reason, n in self.reasons.items() if reason not in GOOD and Reason(reason) not in REFUSALS)

    @property
    def refused(self) -> int:
        return self.given_up + sum(n for reason, n in self.reasons.items() if Reason(reason) in REFUSALS)

    def rate(self) -> float:
        """Pages a second over the last ten seconds."""
        now = self.clock.elapsed_s()
        while self.recent and now - self.recent[0] > WINDOW_S:
            self.recent.popleft()
        return len(self.recent) / max(0.5, min(WINDOW_S, now - self.started))

    def figures(self) -> dict[str, float]:
        """For the monitor; asked about once a second."""
        now, errors = self.clock.elapsed_s(), self.errors
        self._past.append((now, self.size, errors))
        while now - self._past[0][0] > MINUTE_S:
            self._past.popleft()
        lately = next(one for one in self._past if now - one[0] <= WINDOW_S)
        return {
            "pages": self.pages,
            "pages_s": round(self.rate(), 1),
            "bytes": self.size,
            "bytes_s": round((self.size - lately[1]) / max(1.0, now - lately[0])),
            "visits": self.visits,
            "errors": errors,
            "errors_min": errors - self._past[0][2],
        }

    def elapsed_s(self) -> float:
        return self.clock.elapsed_s() - self.started


def trouble_in_words(url: str, reason: Reason) -> str:
    return f"{url} could not be read ({reason}: {IN_WORDS[reason]}); nothing on its host is fetched before it can be"
