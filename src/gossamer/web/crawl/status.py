"""The numbers of a crawl, its processes, and which list stands behind which number."""

from collections.abc import Mapping
from typing import Any

import msgspec
from starlette.responses import Response

from gossamer.base.clock import SECOND
from gossamer.monitor.control import Beat
from gossamer.values.outcome import IN_WORDS
from gossamer.web.responses import Show, json_answer
from gossamer.web.routes import Routes, answers_with
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
SAID = {
    "pages": "{} pages",
    "rate": "{} per second",
    "queued": "{} waiting",
    "failed": "{} failed",
    "lag_s": "index delay {} s",
    "waiting": "{} read pages waiting for a commit",
}


class BeatNow(msgspec.Struct, frozen=True):
    """A process, and how long ago it was heard of."""

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

    @routes.get("/status")
    def page() -> Response:
        reasons = [
            {"code": code, "number": number, "words": MEANING.get(code, "")}
            for code, number in sorted(collection.counts().by_reason.items(), key=lambda one: -one[1])
        ]
        return show(
            "status.html",
            state=state_of(collection),
            numbers=numbers_of(collection),
            cards=CARDS,
            lists=LISTS,
            reasons=reasons,
            beats=[shown(beat, collection.outside.clock.now()) for beat in collection.beats()],
        )

    @routes.get("/status.json", answers_with(Status), "Crawl status")
    def as_json() -> Response:
        now = collection.outside.clock.now()
        beats = [BeatNow(beat.name, beat.pid, age_s(beat, now), dict(beat.facts)) for beat in collection.beats()]
        return json_answer(Status(state_of(collection), numbers_of(collection), collection.counts().by_reason, beats))

    return routes


def age_s(beat: Beat, now: int) -> float:
    return max(0.0, (now - beat.at) / SECOND)


def shown(beat: Beat, now: int) -> dict[str, object]:
    age = age_s(beat, now)
    has_ended = beat.facts.get("state") == "ended"
    facts = [(text, beat.facts.get(name)) for name, text in SAID.items()]
    words = [text.format(f"{round(value, 1):,}") for text, value in facts if isinstance(value, int | float)]
    return {
        "name": beat.name,
        "pid": beat.pid,
        "age_s": age,
        "state": "ended" if has_ended else "not responding" if age > SILENT_AFTER_S else "alive",
        "says": ", ".join(words),
    }


LISTS: Mapping[str, str] = {
    "pages": "/crawl/pages",
    "known": "/export/addresses.csv",
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
    "leased": "/crawl/hosts?state=under-way",
    "in_flight": "/crawl/hosts?state=under-way",
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
