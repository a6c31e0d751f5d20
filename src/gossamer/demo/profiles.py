"""How fast the demonstration web wants to be visited."""

from typing import NamedTuple


class Profile(NamedTuple):
    crawl_delays_s: tuple[float | None, ...]
    """Of the ordinary hosts, in turn; the second one also of the flaky host. None: robots.txt names none."""
    slow_s: float
    """How long a slow server takes to answer."""
    retry_after_s: int


PROFILES = {
    "demo": Profile((None, 0.5, None, 0.4, 0.25), 1.2, 1),  # a crawl of 600 pages that one can watch
    "crash": Profile((None, 2.0, 0.5), 1.0, 2),  # gaps wide enough to see whether a restart keeps them
    "quick": Profile((None, 0.05, None), 0.1, 1),  # for tests
}
