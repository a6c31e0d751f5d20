"""The freshness page: the age of the copies over time and by site, and the lowest age possible."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer.base.clock import Instant, from_words
from gossamer.monitor import chronicle
from gossamer.web.crawl.status import LISTS
from gossamer.web.responses import Show
from gossamer.web.routes import Routes
from gossamer.web.site import WebSite

BOX = chronicle.Box(52, 12, 530, 136)
"""The plot area within a chart of 600 by 180."""
SITES = "#sites-name"
MOST_SITES = 100
MOST_ROWS = 24


class FreshnessParameters(msgspec.Struct, frozen=True):
    site: Annotated[str, Meta(max_length=300, description="Only this site.")] = ""


class Curve(msgspec.Struct, frozen=True):
    name: str
    look: str
    points: str


class FreshnessChart(msgspec.Struct, frozen=True):
    """A chart: its curves and the lines of its scale."""

    title: str
    summary: str
    """The chart in a sentence, for screen readers."""
    curves: tuple[Curve, ...]
    lines: tuple[tuple[float, str], ...]
    """Vertical position and label of each."""
    ends: tuple[str, str]


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()

    @routes.get("/crawl/freshness.json", "The freshness of the collection")
    def freshness(params: FreshnessParameters) -> chronicle.FreshnessReport:
        """How old the copies are and how many are fresh, now and over time, by site; what the same number of fetches
        could achieve at best; what revisits found. Samples are taken while a crawl that revisits pages is running."""
        found = chronicle.freshness_report(
            collection.watch.chronicle(), None, collection.outside.dates.now(), params.site.strip().lower()
        )
        return msgspec.structs.replace(found, sites=found.sites[:MOST_SITES])

    @routes.get("/crawl/freshness")
    def page(params: FreshnessParameters) -> Response:
        runs = collection.watch.chronicle().runs
        return show("freshness.html", **page_of(freshness(params)), is_over=bool(runs) and runs[-1].is_over)

    return routes


def page_of(found: chronicle.FreshnessReport) -> dict[str, Any]:
    points = found.samples
    return {
        "report": found,
        "now": points[-1] if points else None,
        "cards": cards_of(found) if found.all is not None and not found.site else [],
        "pictures": pictures_of(points),
        "rows": spread(points, MOST_ROWS)[::-1],
        "meanings": chronicle.MEANINGS,
        "days": chronicle.days_in_words,
        "lists": LISTS,
    }


def cards_of(found: chronicle.FreshnessReport) -> list[tuple[str, str, str]]:
    """Figure, label and the list behind it; empty for what is only counted, not listed."""
    whole, visits = found.all, found.visits
    assert whole is not None, "checked by the caller"
    return [
        (f"{whole.freshness:.0%}", "of the copies are fresh", SITES),
        (chronicle.days_in_words(whole.average_age_days), "average age", SITES),
        (chronicle.days_in_words(whole.possible_age_days), "lowest possible with the same number of fetches", SITES),
        (f"{whole.visits_a_day:,.0f}", "fetches a day planned", LISTS["revisits"]),
        (f"{visits.changed:,} of {visits.visits:,}", "revisits found a change", ""),
        ("–" if found.spared_share is None else f"{found.spared_share:.0%}", "of the bytes not transferred again", ""),
        (f"{visits.appeared:,}", "pages appeared", ""),
        (f"{visits.vanished:,}", "pages vanished", ""),
    ]


def pictures_of(points: Sequence[chronicle.Point]) -> list[FreshnessChart]:
    """Empty until there are two samples to compare."""
    instants = [from_words(point.at) for point in points]
    if not chronicle.is_curve(instants):
        return []
    ages = [point.age_days for point in points]
    least = [point.possible_age_days for point in points]
    shares = [point.freshness for point in points]
    most = chronicle.rounded_up(max(*ages, *least, 1.0 / 24.0))
    span = chronicle.span_in_words(instants[0], instants[-1])
    then, now, worst, best = map(chronicle.days_in_words, (ages[0], ages[-1], max(ages), least[-1]))
    ends = points[0].at[:16].replace("T", " "), points[-1].at[:16].replace("T", " ")
    return [
        FreshnessChart(
            "Average age of the copies",
            f"Over {span} the age changed from {then} to {now}, at most {worst}; the lowest possible is {best} now.",
            (curve("age", "age", instants, ages, most), curve("lowest possible", "least", instants, least, most)),
            scale([days_short(most * part / 2) for part in range(3)]),
            ends,
        ),
        FreshnessChart(
            "Share of fresh copies",
            f"Over {span} the share changed from {shares[0]:.0%} to {shares[-1]:.0%}, at least {min(shares):.0%}.",
            (curve("fresh", "fresh", instants, shares, 1.0),),
            scale(["0%", "50%", "100%"]),
            ends,
        ),
    ]


def scale(labels: Sequence[str]) -> tuple[tuple[float, str], ...]:
    """Three lines, from the bottom to the top."""
    return tuple([(BOX.top + BOX.height * (1 - part / 2), label) for part, label in enumerate(labels)])


def curve(name: str, look: str, instants: Sequence[Instant], values: Sequence[float], most: float) -> Curve:
    return Curve(name, look, BOX.points(instants, values, most))


def days_short(days: float) -> str:
    if days == 0:
        return "0"
    return f"{days:g} d" if days >= 1 else f"{days * 24:.3g} h"


def spread(points: Sequence[chronicle.Point], most: int) -> list[chronicle.Point]:
    """At most so many, evenly spread, including the last."""
    if len(points) <= most:
        return list(points)
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]
