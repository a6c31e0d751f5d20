"""The plan of an attack: names, IP addresses and ports of the honest and of the hostile web."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

from tests.hostile.behaviour import BEHAVIOURS, DOMAIN, Behaviour
from tests.hostile.behaviours.addresses import PUBLIC
from tests.hostile.names import Reply
from tests.hostile.server import HostileServer  # noqa: F401  (registers every behaviour)

from gossamer.base.environment import made_up_address
from gossamer.demo.web import DemoWeb

SEED = 5
GATE = f"gate.{DOMAIN}"
"""The one hostile seed: it links to all behaviours, so that each is found as an ordinary link."""
NAME_SERVER = "20.255.255.53"
CLIENT = "20.255.0.1"
"""The source of the crawler's own packets, inside a namespace."""
HTTP, HTTPS = 80, 443
EVERY_THIRD = 3
EXPENSIVE = ("M2-", "X2-")
"""Pages of many megabytes, left out of a selection: each takes a reader several seconds, and has its own test."""


@dataclass(frozen=True)
class Plan:
    """An attack defined by numbers, so that it is the same in every process."""

    hosts: int = 20
    pages: int = 800
    step: int = 1
    """Only every `step`-th behaviour."""

    @cached_property
    def web(self) -> DemoWeb:
        return DemoWeb(SEED, self.hosts, self.pages, "quick")

    @property
    def honest(self) -> tuple[str, ...]:
        return tuple(site.host for site in self.web.sites)

    @cached_property
    def behaviours(self) -> tuple[Behaviour, ...]:
        every = [one for one in BEHAVIOURS.values() if not one.is_step]
        if self.step == 1:
            return tuple(every)
        return tuple(one for one in every if not one.name.startswith(EXPENSIVE))[:: self.step]

    @cached_property
    def addresses(self) -> Mapping[str, str]:
        """The IP address of each name. Subdomains of a behaviour's own host share its IP address."""
        names = [*self.honest, GATE]
        for one in BEHAVIOURS.values():
            names += [one.host, *(name for name in one.hosts if not name.endswith(f".{one.host}"))]
        found = {name: made_up_address(number + 1) for number, name in enumerate(dict.fromkeys(names))}
        shared = {name: found[one.host] for one in BEHAVIOURS.values() for name in one.hosts if name not in found}
        return found | shared

    @cached_property
    def names(self) -> dict[str, list[Reply]]:
        """The table of the name server."""
        special = {one.host: list(one.replies) for one in BEHAVIOURS.values() if one.replies}
        return {name: [Reply((address,))] for name, address in self.addresses.items()} | special

    @cached_property
    def tls(self) -> tuple[Behaviour, ...]:
        return tuple(one for one in BEHAVIOURS.values() if one.context or one.raw_tls)

    @cached_property
    def public(self) -> frozenset[str]:
        """Every IP address that may be connected to."""
        replied = {text for replies in self.names.values() for reply in replies for text in reply.addresses}
        planned = {text for text in replied if text.startswith(PUBLIC.partition(".")[0] + ".")}
        return frozenset(self.addresses.values()) | planned


def gate_page(behaviours: Iterable[Behaviour]) -> bytes:
    links = "".join(f'<p><a href="{one.url}">{one.name}</a></p>' for one in behaviours)
    return f"<!DOCTYPE html><title>Come in</title>{links}".encode()
