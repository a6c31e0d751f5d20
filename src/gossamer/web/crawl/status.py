"""The numbers of a crawl, its processes, and the list behind each number."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from gossamer.base.clock import SECOND
from gossamer.values.outcome import IN_WORDS
from gossamer.web.responses import Show
from gossamer.web.routes import Routes
from gossamer.web.site import SILENT_AFTER_S, WebSite, numbers_of, state_of

CARDS = [
    ("pages", "pages"),
    ("queued", "URLs waiting"),
    ("leased", "fetches in progress"),
    ("hosts", "hosts"),
    ("known", "known URLs"),
    ("captures", "captures stored"),
]
MEANING = {reason.value: words for reason, words in IN_WORDS.items()}
WORK = {
    "pages": "{} pages",
    "rate": "{} per second",
    "queued": "{} waiting",
    "failed": "{} failed",
    "lag_s": "index delay {} s",
    "waiting": "{} read pages waiting for a commit",
}


class BeatNow(msgspec.Struct, frozen=True):
    """A process, and the age of its last heartbeat."""

    name: str
    pid: int
    age_s: float
    facts: dict[str, Any]


class Status(msgspec.Struct, frozen=True):
    state: str
    numbers: dict[str, float]
    outcomes: dict[str, int]
    """Fetch outcomes: reason codes, and the number of URLs."""
    processes: list[BeatNow]


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()

    @routes.get("/status.json", "Crawl status")
    def status() -> Status:
        now = collection.outside.clock.now()
        beats = [
            BeatNow(beat.name, beat.pid, max(0.0, (now - beat.at) / SECOND), dict(beat.facts))
            for beat in collection.beats()
        ]
        return Status(state_of(collection), numbers_of(collection), collection.counts().by_reason, beats)

    @routes.get("/status")
    def page() -> Response:
        now = status()
        beats = [(beat, *state_and_work(beat)) for beat in now.processes]
        return show("status.html", now=now, cards=CARDS, lists=LISTS, outcomes=outcomes_in(now.outcomes), beats=beats)

    return routes


def outcomes_in(counts: Mapping[str, int]) -> list[tuple[str, int, str]]:
    """Reason codes with the number of URLs and the meaning, most frequent first."""
    return [(code, counts[code], MEANING.get(code, "")) for code in sorted(counts, key=lambda code: -counts[code])]


def state_and_work(beat: BeatNow) -> tuple[str, str]:
    facts = [(text, beat.facts.get(name)) for name, text in WORK.items()]
    work = ", ".join(text.format(f"{round(value, 1):,}") for text, value in facts if isinstance(value, int | float))
    if beat.facts.get("state") == "ended":
        return "ended", work
    return "not responding" if beat.age_s > SILENT_AFTER_S else "alive", work


LISTS: Mapping[str, str] = {
    "pages": "/crawl/pages",
    "known": "/export/urls.csv",
    "captures": "/export/captures.csv",
    "revisits": "/export/revisits.csv",
    "visited": "/crawl/visits",
    "found": "/crawl/visits?reason=found",
    "redirected": "/crawl/visits?reason=redirected",
    "missing": "/crawl/visits?reason=missing",
    "refused": "/crawl/visits?reason=refused",
    "failed": "/crawl/visits?reason=failed&reason=unread",
    "errors_min": "/crawl/visits?reason=failed&reason=unread",
    "queued": "/crawl/hosts?sort=queued",
    "quarantined": "/crawl/hosts?sort=held",
    "leased": "/crawl/hosts?state=in-progress",
    "in_flight": "/crawl/hosts?state=in-progress",
    "hosts": "/crawl/hosts?sort=visits",
    "retired": "/crawl/hosts?state=retired",
    "ready_hosts": "/crawl/hosts?state=ready",
    "waiting_hosts": "/crawl/hosts?sort=queued",
    "archive_bytes": "/export/captures.csv",
    "pages_s": "/nodes#history",
    "bytes_s": "/nodes#history",
    "words_lag_s": "/nodes#history",
    "facts_lag_s": "/nodes#history",
    "cpu": "/nodes#processes",
}
