"""Pages that lead to new pages: what a visit that was not the first has brought to the frontier (MISSION E7)."""

import sqlite3
from collections.abc import Sequence

from gossamer.frontier.sqlite.hosts import find_host_id, parts_of
from gossamer.frontier.sqlite.sieve import Keys
from gossamer.store.statements import load
from gossamer.values.link import Offer
from gossamer.values.past import MOST_NEW, Past
from gossamer.values.visit import Settled

_SQL = load("gossamer.frontier.sqlite", "leads.sql")
MOST_ASKED = 100
"""Offers of one page that are looked up: after a restart none of them was met lately."""


def led(connection: sqlite3.Connection, settled: Settled, fresh: Sequence[Offer], keys: Keys) -> Past | None:
    """What is to be remembered of a page whose visit led to new pages; None: it did not, or was its first.

    `fresh`: what it offers that was not met lately and may enter; what is known all the same is not new.
    """
    past = settled.past
    if past is None or settled.visit.past is None or not fresh:
        return None
    new = 0
    for offer in fresh[:MOST_ASKED]:
        text = offer.url.text
        host_id = find_host_id(connection, parts_of(text)[1])
        key = (host_id, keys.url_id(text if keys.identity is None else keys.identity(text)))
        new += connection.execute(_SQL["is_known"], key).fetchone() is None
        if new == MOST_NEW:
            break
    return past.led(new) if new else None
