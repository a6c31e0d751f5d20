"""The hosts of a crawl looked over, for the hints. A pass over a table of one row a host: ask it now and then."""

import sqlite3

from gossamer.base.clock import SECOND, Instant
from gossamer.monitor.hints import Survey
from gossamer.store.statements import load

_SQL = load("gossamer.monitor", "survey.sql")


def survey(state: sqlite3.Connection, now: Instant) -> Survey:
    """Through any connection to the state, a reader's too."""
    hosts, ready, failing, backing_off, queued, gap = state.execute(_SQL["hosts"], {"now": now}).fetchone()
    name, most = state.execute(_SQL["fullest"]).fetchone() or ("", 0)
    return Survey(hosts, ready, failing, backing_off, name, most, queued, gap / SECOND)
