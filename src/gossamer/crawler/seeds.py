"""Seeds as people name them, checked before the crawl starts: what cannot work is reported at once.

No connection is opened here, and nothing is decided: `fetch/guard.py` checks every connection by itself.
"""

import asyncio
from collections.abc import Sequence

from gossamer.base.environment import Resolver
from gossamer.base.errors import ConfigError
from gossamer.config.settings import Settings
from gossamer.fetch import guard
from gossamer.rules.scope import Reach
from gossamer.store.options import put_seeds, stored_seeds
from gossamer.store.statements import State, StateWriter
from gossamer.values.url import Url, url_of

MOST_LOOKED_AT = 100
"""Hosts; a long list of seeds should not flood the name server."""
WANTS_CONTACT = (
    "is public, and site owners must be able to reach you: give --contact you@example.org (a page or mail address), "
    "or set contact in gossamer.toml"
)


def checked_seeds(texts: Sequence[str]) -> list[Url]:
    """The URLs that were typed. The scheme defaults to https; for an IP address, localhost or a port, to http."""
    found = []
    for text in texts:
        url = url_of(text) if "://" in text else _without_scheme(text)
        if url is None:
            raise ConfigError(f"{text!r} is not an http or https URL; name one such as https://example.org/")
        found.append(url)
    return found


def _without_scheme(text: str) -> Url | None:
    """None for what looks like a file or an email address."""
    host = text.partition("/")[0]
    if not host or host.startswith(".") or "@" in host:
        return None
    name, _, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    is_plain = (
        bool(port and name and port != "443") or host == "localhost" or guard.address_of(host.strip("[]")) is not None
    )
    return url_of(f"{'http' if is_plain else 'https'}://{text}")


async def admitted(seeds: Sequence[Url], settings: Settings, resolver: Resolver) -> tuple[list[Url], list[str]]:
    """The seeds that may be fetched, and in words why others may not. Raises ConfigError if none is left."""
    opened = guard.ranges(settings.fetch.allow_addresses)
    hosts = list(dict.fromkeys((seed.hostname, seed.port) for seed in seeds))[:MOST_LOOKED_AT]
    answers = await asyncio.gather(*(_refusal(*host, settings.contact, opened, resolver) for host in hosts))
    refusals = {host: why for host, why in zip(hosts, answers, strict=True) if why}
    good = [seed for seed in seeds if (seed.hostname, seed.port) not in refusals]
    words = [f"{name} {why}" for (name, _), why in refusals.items()]
    if seeds and not good:
        raise ConfigError("\n  ".join(["nothing can be fetched:", *words]) if len(words) > 1 else words[0])
    return good, words


async def _refusal(
    hostname: str, port: int, contact: str | None, opened: Sequence[guard.Range], resolver: Resolver
) -> str | None:
    if port in guard.BAD_PORTS:
        return f"cannot be crawled on port {port}: no web pages are served there"
    if guard.forbidden_name(hostname, opened):
        return "is this machine; to crawl it, allow it: --allow-address 127.0.0.0/8 --allow-address ::1"
    literal = guard.address_of(hostname)
    if literal is None and contact is None and not opened:
        return WANTS_CONTACT
    try:
        found = [literal] if literal else await resolver.addresses(hostname)
    except OSError:
        return None  # it may resolve later: the crawl retries
    if not found:
        return "does not resolve to an IP address: is it spelled correctly?"
    if closed := [address for address in found if guard.forbidden(address, opened)]:
        return _closed(closed)
    if contact is None and not all(guard.is_opened(address, opened) for address in found):
        return WANTS_CONTACT
    return None


def _closed(addresses: Sequence[str]) -> str:
    why = guard.forbidden(addresses[0], ())
    if any(address in map(str, guard.METADATA) for address in addresses):
        return f"cannot be crawled: {why}"
    flags = " ".join(f"--allow-address {address}" for address in addresses)
    return f"cannot be crawled: {why}. If it is a network of your own, allow it and nothing else: {flags}"


async def store_seeds(database: StateWriter, new: Sequence[Url], reach: str) -> list[tuple[Url, Reach]]:
    """Store new seeds. Returns every seed of the collection with its reach."""

    def work(connection: State) -> list[tuple[Url, str]]:
        put_seeds(connection, new, reach)
        return stored_seeds(connection)

    return [(seed, Reach(reach)) for seed, reach in await database.run(work)]
