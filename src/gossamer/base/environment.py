"""Clock, randomness, files and processes, bundled for injection; and the two ways to the network."""

from dataclasses import dataclass
from typing import NamedTuple, Protocol

from gossamer.base.chance import Chance, system_chance
from gossamer.base.clock import Clock, FastCalendar, SystemClock
from gossamer.base.files import DiskFiles, Files
from gossamer.base.processes import Processes, SystemProcesses


class Endpoint(NamedTuple):
    address: str
    port: int


class Resolver(Protocol):
    """Real ones: `DnsResolver` in `fetch/dns.py`, `AddressPlan` in `fetch/address_plan.py`."""

    async def addresses(self, hostname: str) -> list[str]:
        """All IPv4 and IPv6 addresses of the name, as text. An empty list or OSError: it does not resolve."""


class Dialer(Protocol):
    """Real ones: `DirectDialer` here, `AddressPlan` in `fetch/address_plan.py`."""

    def endpoint(self, address: str, port: int) -> Endpoint:
        """Where to connect for a *checked* IP address. OSError when it must not be dialled at all."""


class DirectDialer:
    def endpoint(self, address: str, port: int) -> Endpoint:
        return Endpoint(address, port)


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
