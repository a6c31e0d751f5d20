"""What the settings mean to the rooms. Whoever only asks needs no more than this, and loads no client for it."""

from gossamer.base.clock import DAY_S
from gossamer.config.fetch import Fetch, RobotsKeeping
from gossamer.config.settings import Settings
from gossamer.frontier.politeness import Politeness
from gossamer.frontier.priority import Budget
from gossamer.plugins.record import NOTHING, Plugged


def fetch_settings(settings: Settings, plugged: Plugged = NOTHING) -> Fetch:
    given = settings.fetch
    return Fetch(
        agent=settings.agent,
        contact=settings.contact,
        timeout_s=given.timeout_s,
        connect_s=given.connect_s,
        least_rate=given.least_rate,
        body_limit=given.body_limit,
        at_once=settings.crawl.at_once,
        wanted=(*given.types, *[media_type for media_type, _ in plugged.readers]),
        allow_addresses=given.allow_addresses,
        tls=given.tls,
        tls_authorities=given.tls_authorities,
    )


def politeness(settings: Settings) -> Politeness:
    given = settings.politeness
    return Politeness(
        delay_s=given.delay_s,
        longest_crawl_delay_s=given.most_crawl_delay_s,
        times_took=given.times_took,
        longest_gap_s=given.most_gap_s,
        times_read=given.times_read,
        robots_tries=given.robots_tries if settings.crawl.revisit == "no" else None,
        per_address=given.per_address,
        apart_s=given.apart_s,
        retire_failures=given.retire_failures,
        retire_span_s=given.retire_days * DAY_S,
    )


def budget(settings: Settings) -> Budget:
    return Budget(visits=settings.crawl.site_visits, time_s=settings.crawl.site_time_s)


def robots_keeping(settings: Settings) -> RobotsKeeping:
    given = settings.politeness
    return RobotsKeeping(
        retry_s=given.robots_retry_s,
        retry_most_s=given.robots_retry_most_s,
        refusal_disallows=given.robots_refusal_disallows,
    )
