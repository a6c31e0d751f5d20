"""How fresh the collection is and was: the age of its copies over time, by collection, against what was possible."""

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec
from msgspec import Meta
from starlette.responses import Response

from gossamer.base.clock import Instant, from_words
from gossamer.monitor.chronicle import (
    MEANINGS,
    Box,
    FreshnessReport,
    Point,
    days_in_words,
    freshness_report,
    is_curve,
    rounded_up,
    span_in_words,
)
from gossamer.web.crawl.status import LISTS
from gossamer.web.responses import Show, json_answer
from gossamer.web.routes import Routes, answers_with
from gossamer.web.site import WebSite

BOX = Box(52, 12, 530, 136)
"""Where in a picture of 600 by 180 the curves are drawn."""
SITES = "#sites-name"
MOST_SITES = 100
MOST_ROWS = 24


class FreshnessParameters(msgspec.Struct, frozen=True):
    site: Annotated[str, Meta(max_length=300, description="Only this site.")] = ""


class Curve(msgspec.Struct, frozen=True):
    name: str
    look: str
    points: str


class Picture(msgspec.Struct, frozen=True):
    """What is drawn: curves, and where their scale has lines."""

    title: str
    summary: str
    """In a sentence, for those who do not see it."""
    curves: tuple[Curve, ...]
    lines: tuple[tuple[float, str], ...]
    """Height in the picture, and what it stands for."""
    ends: tuple[str, str]


def router(site: WebSite, show: Show) -> Routes:
    collection = site.collection
    routes = Routes()

    def looked_at(site: str) -> FreshnessReport:
        found = freshness_report(
            collection.watch.chronicle(), None, collection.outside.dates.now(), site.strip().lower()
        )
        return msgspec.structs.replace(found, sites=found.sites[:MOST_SITES])

    @routes.get("/crawl/freshness")
    def page(wanted: FreshnessParameters) -> Response:
        runs = collection.watch.chronicle().runs
        return show("freshness.html", **page_of(looked_at(wanted.site)), is_over=bool(runs) and runs[-1].is_over)

    @routes.get("/crawl/freshness.json", answers_with(FreshnessReport), "The freshness of the collection")
    def as_json(wanted: FreshnessParameters) -> Response:
        """How old the copies are and how many are fresh, now and over time, by site; what the same number of fetches
        could achieve at best; what revisits found. Samples are taken while a crawl that revisits pages is running."""
        return json_answer(looked_at(wanted.site))

    return routes


def page_of(found: FreshnessReport) -> dict[str, Any]:
    points = found.samples
    return {
        "told": found,
        "now": points[-1] if points else None,
        "cards": cards_of(found) if found.all is not None and not found.site else [],
        "pictures": pictures_of(points),
        "rows": spread(points, MOST_ROWS)[::-1],
        "meanings": MEANINGS,
        "days": days_in_words,
        "lists": LISTS,
    }


def cards_of(found: FreshnessReport) -> list[tuple[str, str, str]]:
    """Each with the list behind it; none is kept of what is counted as it happens."""
    whole, visits = found.all, found.visits
    assert whole is not None, "the caller has seen to that"
    return [
        (f"{whole.freshness:.0%}", "of the copies are fresh", SITES),
        (days_in_words(whole.average_age_days), "average age", SITES),
        (days_in_words(whole.possible_age_days), "lowest possible with the same number of fetches", SITES),
        (f"{whole.visits_a_day:,.0f}", "fetches a day planned", LISTS["revisits"]),
        (f"{visits.changed:,} of {visits.visits:,}", "revisits found a change", ""),
        (share(found.spared_share), "of the bytes not transferred again", ""),
        (f"{visits.appeared:,}", "pages appeared", ""),
        (f"{visits.vanished:,}", "pages vanished", ""),
    ]


def share(part: float | None) -> str:
    return "–" if part is None else f"{part:.0%}"


def pictures_of(points: Sequence[Point]) -> list[Picture]:
    """None before there is anything to compare."""
    instants = [from_words(point.at) for point in points]
    if not is_curve(instants):
        return []
    ages = [point.age_days for point in points]
    least = [point.possible_age_days for point in points]
    shares = [point.freshness for point in points]
    most = rounded_up(max(*ages, *least, 1.0 / 24.0))
    span = span_in_words(instants[0], instants[-1])
    ends = points[0].at[:16].replace("T", " "), points[-1].at[:16].replace("T", " ")
    return [
        Picture(
            "Average age of the copies",
            f"Over {span} the age changed from {days_in_words(ages[0])} to {days_in_words(ages[-1])}, "
            f"at most {days_in_words(max(ages))}; the lowest possible is {days_in_words(least[-1])} now.",
            (curve("age", "age", instants, ages, most), curve("lowest possible", "least", instants, least, most)),
            tuple([(BOX.top + BOX.height * (1 - part / 2), days_short(most * part / 2)) for part in range(3)]),
            ends,
        ),
        Picture(
            "Share of fresh copies",
            f"Over {span} the share changed from {shares[0]:.0%} to {shares[-1]:.0%}, at least {min(shares):.0%}.",
            (curve("fresh", "fresh", instants, shares, 1.0),),
            tuple([(BOX.top + BOX.height * (1 - part / 2), f"{part / 2:.0%}") for part in range(3)]),
            ends,
        ),
    ]


def curve(name: str, look: str, instants: Sequence[Instant], values: Sequence[float], most: float) -> Curve:
    return Curve(name, look, BOX.points(instants, values, most))


def days_short(days: float) -> str:
    if days == 0:
        return "0"
    return f"{days:g} d" if days >= 1 else f"{days * 24:.3g} h"


def spread(points: Sequence[Point], most: int) -> list[Point]:
    """At most so many of them, evenly chosen, the last among them."""
    if len(points) <= most:
        return list(points)
    return [points[round(place * (len(points) - 1) / (most - 1))] for place in range(most)]
