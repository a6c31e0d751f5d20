"""Sites without an end, as a table: each has real pages, and around them a trap that a crawler must leave in time.

Nothing of them is stored: any page of a trap is written from its address when it is asked for.
"""

from typing import NamedTuple

from gossamer.demo.markup import DOMAIN


class Trap(NamedTuple):
    name: str
    what: str
    real: str
    """The path of real page {n}, counted from 1."""
    listing: str = ""
    """The path of the {k}-th list of real pages, counted from 1; empty when only the trap's own pages lead there."""
    void: str = ""
    """A parameter that chooses nothing."""
    twin: str = ""
    """Another host that serves the very same pages."""

    @property
    def host(self) -> str:
        return f"{self.name}.{DOMAIN}"

    @property
    def hosts(self) -> tuple[str, ...]:
        return (self.host, f"{self.twin}.{DOMAIN}") if self.twin else (self.host,)


CALENDAR = Trap("almanac", "calendar", "/event/{n}")
FACETS = Trap("bazaar", "faceted navigation", "/item/{n}", "/all/{k}")
SESSIONS = Trap("desk", "session ids", "/note/{n}", void="visit")
MAZE = Trap("maze", "repeating paths", "/room/{n}", "/rooms/{k}")
SERIES = Trap("serial", "endless series", "/page/{n}")
LOST = Trap("lost", "soft 404s", "/entry/{n}-kept", "/entries/{k}")
BABBLE = Trap("babble", "random pages", "/essay/{n}", "/essays/{k}")
MIRROR = Trap("gallery", "mirrored host", "/picture/{n}", "/pictures/{k}", twin="twin")

TRAPS = (CALENDAR, FACETS, SESSIONS, MAZE, SERIES, LOST, BABBLE, MIRROR)
TRAP_HOSTS = {host: trap for trap in TRAPS for host in trap.hosts}
A_LIST_HOLDS = 20
MOST_WASTED = 500
"""Visits beyond its real pages that a trap may cost at most."""
LEAST_FOUND = 0.99


def real_paths(trap: Trap, real: int) -> tuple[str, ...]:
    """The pages a crawler should get to, when there are `real` on the site."""
    lists = [trap.listing.format(k=k) for k in range(1, lists_of(real) + 1)] if trap.listing else []
    return ("/", *lists, *(trap.real.format(n=n) for n in range(1, real + 1)))


def lists_of(real: int) -> int:
    return -(-real // A_LIST_HOLDS)
