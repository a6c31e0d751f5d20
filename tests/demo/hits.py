"""Fetches as the server would have logged them."""

from collections.abc import Iterable

from gossamer.base.clock import SECOND
from gossamer.demo.server import Logged
from gossamer.values.url import Url


def hits_of(urls: Iterable[str], status: int = 200) -> list[Logged]:
    """One fetch each, a second apart."""
    return [
        Logged(url.host.name, url.target, status, at * SECOND, at * SECOND)
        for at, url in enumerate(map(Url, urls), start=1)
    ]
