"""Clock, randomness, files and processes, bundled for injection; and the two ways to the network.

This is the only source of randomness: code that needs random numbers is given a `Chance`.
"""

import random
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.base.clock import Clock, FastCalendar, SystemClock
from gossamer.base.files import DiskFiles, Files
from gossamer.base.processes import Processes, SystemProcesses


class Chance(Protocol):
    """Real ones: `system_chance()` in the program, `seeded(n)` in simulations and tests."""

    def random(self) -> float:
        """A number in [0, 1)."""


def system_chance() -> Chance:
    """Seeded by the system. Spreads retries and the like; never used for secrets."""
    return random.Random()


def seeded(seed: int) -> Chance:
    return random.Random(seed)


def random_token(octets: int = 32) -> str:
    """A secret of that many random bytes as URL-safe text. Not a Chance: it must never be seeded."""
    return secrets.token_urlsafe(octets)


class Endpoint(NamedTuple):
    address: str
    port: int


class Resolver(Protocol):
    """Real ones: `DnsResolver` in `fetch/dns.py`, `AddressPlan` here."""

    async def addresses(self, hostname: str) -> list[str]:
        """All IPv4 and IPv6 addresses of the name, as text. An empty list or OSError: it does not resolve."""


class Dialer(Protocol):
    """Real ones, both here: `DirectDialer` and `AddressPlan`."""

    def endpoint(self, address: str, port: int) -> Endpoint:
        """Where to connect for a *checked* IP address. OSError when it must not be dialled at all."""


class DirectDialer:
    def endpoint(self, address: str, port: int) -> Endpoint:
        return Endpoint(address, port)


class AddressPlan:
    """A virtual network: made-up public addresses that lead to loopback ports, and nowhere else.

    Resolver and dialer in one. Names not in the plan do not exist; addresses not in it are never dialled. The
    demonstration web, the benchmarks and the tests run the production guard unchanged on top of it.
    """

    def __init__(self, ports: Mapping[str, Mapping[int, int]]) -> None:
        """`ports[name][asked_port]` is the loopback port that answers for that name on that port."""
        self._address_of = {name: made_up_address(number) for number, name in enumerate(sorted(ports))}
        self._ports = {self._address_of[name]: dict(given) for name, given in ports.items()}

    async def addresses(self, hostname: str) -> list[str]:
        found = self._address_of.get(hostname)
        return [found] if found else []

    def endpoint(self, address: str, port: int) -> Endpoint:
        try:
            return Endpoint("127.0.0.1", self._ports[address][port])
        except KeyError:
            raise ConnectionRefusedError(f"{address} port {port} is not in the address plan") from None


def made_up_address(number: int) -> str:
    """The number-th address of 20.0.0.0/8: public in form, and ours in this plan only."""
    if not 0 <= number < 1 << 24:
        raise ValueError(f"an address plan holds at most {1 << 24} names")
    return f"20.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"


@dataclass(frozen=True, slots=True)
class Outside:
    """Everything outside the program that it may touch, apart from the network."""

    clock: Clock
    chance: Chance
    files: Files
    processes: Processes
    calendar: FastCalendar | None = None
    """The clock that dates pages and their revisits, if it is another one: the demonstration's days are short."""

    @property
    def dates(self) -> Clock:
        """The clock to compare with dates stored in the collection."""
        return self.calendar or self.clock

    def lasting_s(self, seconds: float) -> float:
        """Real seconds that pass during so many seconds between two dates of the collection."""
        return seconds if self.calendar is None else self.calendar.lasting_s(seconds)


@dataclass(frozen=True, slots=True)
class Network:
    """Names to IP addresses, IP addresses to sockets."""

    resolver: Resolver
    dialer: Dialer


def real_outside() -> Outside:
    return Outside(SystemClock(), system_chance(), DiskFiles(), SystemProcesses())
